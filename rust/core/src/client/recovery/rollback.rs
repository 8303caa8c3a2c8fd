//! Undoes one instant, at a user's request (`BaseHoodieTableServiceClient.rollback`).

use std::collections::BTreeMap;

use super::locked_table::{LockedTable, ServiceRequest, requested_time};
use crate::error::Result;
use crate::names::RequestedTime;
use crate::services::{BegunRollback, UndoneFiles, check_no_restore};
use crate::storage::StorageOptions;
use crate::timeline::{Action, Instant, InstantState};

/// An instant that was undone, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneInstant {
    /// Its requested time.
    pub instant: RequestedTime,
    /// Its action, as it was on the timeline.
    pub action: Action,
    /// Its state before.
    pub state: InstantState,
    /// The requested time of the rollback; none if nothing was done.
    pub rollback: Option<RequestedTime>,
    /// The files that were deleted, or would be: paths relative to the table, and bytes.
    pub deleted: Vec<(String, u64)>,
    /// Log files that stay and whose blocks are undone by a rollback block: up to table version 7.
    pub undone_logs: Vec<(String, u64)>,
}

/// Rolls an instant back: a pending one, or the latest completed write.
///
/// Args:
///     uri: The table's base path.
///     storage: Options of its storage.
///     instant: The requested time.
///     options: Options by Hudi's names, such as those of the lock.
///     is_dry_run: Only find out what would be done.
///
/// # Errors
/// `InvalidArgument` and `Unsupported` if the instant may not be rolled back, with the reason; `InvalidTable` if a plan or a marker names
/// files that are not the instant's. Nothing is changed then. Those of the storage, after which the rollback can be repeated.
pub fn rollback(
    uri: &str,
    storage: &StorageOptions,
    instant: &str,
    options: &BTreeMap<String, String>,
    is_dry_run: bool,
) -> Result<UndoneInstant> {
    let time = requested_time(instant)?;
    let request = ServiceRequest { uri, storage, options };
    let table = LockedTable::open(&request, "rollback", !is_dry_run)?;
    let undone = roll_back(&table, &time, is_dry_run);
    table.close(undone).map_err(|error| error.in_file(uri))
}

fn roll_back(table: &LockedTable, time: &RequestedTime, is_dry_run: bool) -> Result<UndoneInstant> {
    check_no_restore(&table.table.timeline)?;
    let (rollbacks, timeline) = (table.rollbacks(), &table.table.timeline);
    if let Some(BegunRollback { rollback, target }) = rollbacks.begun(timeline, time)? {
        // Its instant may be gone from the timeline already.
        let undone = preview(table, &target, UndoneFiles::OfInstant)?;
        if !is_dry_run {
            rollbacks.finish_pending()?;
        }
        return Ok(UndoneInstant { rollback: (!is_dry_run).then_some(rollback), ..undone });
    }
    let heartbeat = table.concurrency.has_heartbeats().then_some(table.concurrency.heartbeat);
    let target = rollbacks.check(timeline, time, heartbeat)?;
    let undone = preview(table, &target, UndoneFiles::OfInstant)?;
    if is_dry_run {
        return Ok(undone);
    }
    Ok(UndoneInstant { rollback: rollbacks.roll_back(time)?, ..undone })
}

/// What a rollback of an instant does.
pub(super) fn preview(table: &LockedTable, target: &Instant, files: UndoneFiles) -> Result<UndoneInstant> {
    let files = table.rollbacks().preview(target, files)?;
    Ok(UndoneInstant {
        instant: target.requested_time.clone(),
        action: target.action,
        state: target.state,
        rollback: None,
        deleted: files.deleted,
        undone_logs: files.undone_logs,
    })
}
