//! Table services: plans that are put on the timeline, and their execution. A plan whose execution is stopped stays on
//! the timeline, and is executed again.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::begin::{repaired, start_heartbeat};
use super::{Committed, Transaction};
use crate::recovery::{Rollbacks, check_no_restore};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{Heartbeats, request_instant};
use mortice_commit::metadata_upkeep::MetadataUpkeep;
use mortice_commit::writable_table::WritableTable;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, Instant, InstantState, WriteOperation};

/// Makes a plan at an instant; none if there is nothing to do.
pub(crate) type MakePlan<'a> = &'a dyn Fn(&OpenTable, &RequestedTime) -> Result<Option<Bytes>>;

/// Executes a plan that has begun: writes its files and completes it. A plan whose execution fails stays on the
/// timeline.
pub(crate) type ExecutePlan<'a> = &'a dyn Fn(Transaction) -> Result<Committed>;

/// Plans a service under the table's lock, after failed writes were rolled back, and returns its requested time.
pub(crate) fn schedule(target: &WritableTable, action: Action, plan: MakePlan<'_>) -> Result<Option<RequestedTime>> {
    let planned = target.locked(|table, _| request(target, table, action, plan))?;
    Ok(planned.map(|(instant, _)| instant))
}

/// Plans a service and begins to execute the plan, while the table is locked once.
pub(crate) fn schedule_and_begin(
    target: &Arc<WritableTable>,
    operation: WriteOperation,
    plan: MakePlan<'_>,
) -> Result<Option<Transaction>> {
    target.locked(|table, _| {
        let action = operation.action(&table.config);
        let Some((instant, table)) = request(target, table, action, plan)? else { return Ok(None) };
        begin_locked(target, table, operation, &instant)
    })
}

/// Puts the plan on the timeline. Returns its time, and the table with it.
fn request(
    target: &WritableTable,
    table: Arc<OpenTable>,
    action: Action,
    plan: MakePlan<'_>,
) -> Result<Option<(RequestedTime, Arc<OpenTable>)>> {
    let state = repaired(target, table)?;
    let (clock, files) = (state.clock.clone(), target.timeline_writer(&state.table));
    let requested = request_instant(
        &clock,
        state,
        || target.state(),
        |state, instant| {
            let Some(content) = plan(&state.table, instant)? else { return Ok(None) };
            files.request(instant, action, &content).map(Some)
        },
    );
    let Some((instant, state)) = requested.map_err(|error| error.in_file(target.uri()))? else { return Ok(None) };
    let table = target.advance(&state.table, files.requested_instant(&instant, action))?;
    Ok(Some((instant, table)))
}

/// Begins to execute a plan that is on the timeline. An execution that was stopped is rolled back before, under the
/// lock. None if the plan is not pending any more, or if another process executes it.
///
/// # Errors
/// As for [`Transaction::begin`] and [`Rollbacks::roll_back_execution`].
///
/// [`Rollbacks::roll_back_execution`]: crate::recovery::Rollbacks::roll_back_execution
pub fn begin_service(
    target: &Arc<WritableTable>,
    operation: WriteOperation,
    instant: &RequestedTime,
) -> Result<Option<Transaction>> {
    target.locked(|table, _| begin_locked(target, table, operation, instant))
}

fn begin_locked(
    target: &Arc<WritableTable>,
    mut table: Arc<OpenTable>,
    operation: WriteOperation,
    instant: &RequestedTime,
) -> Result<Option<Transaction>> {
    check_no_restore(&table.timeline).map_err(|error| error.in_file(target.uri()))?;
    let action = operation.action(&table.config);
    let is_pending = |one: &&Instant| one.action == action && !one.is_completed();
    let Some(pending) = table.timeline.writes_at(instant).find(is_pending).cloned() else { return Ok(None) };
    if pending.state == InstantState::Inflight {
        if !Heartbeats::list(&**target.store())?.is_expired(instant, target.concurrency().heartbeat) {
            return Ok(None);
        }
        if Rollbacks::new(&target.sound_state(table)?).roll_back_execution(instant)?.is_none() {
            return Ok(None);
        }
        table = target.reopen()?;
    }
    let heartbeat = start_heartbeat(target, instant)?;
    let transaction = Transaction::at(target, table, operation, instant.clone(), heartbeat);
    transaction.start(&Bytes::new())?;
    Ok(Some(transaction))
}

/// Brings the metadata table into the state that options ask for, under the lock, after failed writes were rolled back.
/// With `rebuilds` it is deleted before, even if it is damaged, and gets the partitions that it had. What earlier
/// attempts left that were stopped is deleted. Returns the table as it is then.
pub(crate) fn change_metadata(target: &WritableTable, rebuilds: bool) -> Result<Arc<OpenTable>> {
    target.locked(|mut table, _| {
        let mut target = target.clone();
        if rebuilds {
            check_no_restore(&table.timeline).map_err(|error| error.in_file(target.uri()))?;
            MetadataUpkeep::check_can_build(&table, target.metadata_options())
                .map_err(|error| error.in_file(target.uri()))?;
            if !table.config.metadata_partitions.is_empty() {
                let options = MetadataUpkeep::drop_to_rebuild(target.store(), &table, target.metadata_options())?;
                target = target.with_metadata_options(options);
                table = target.reopen()?;
            }
        }
        let table = repaired(&target, table)?.table;
        MetadataUpkeep::delete_unlisted(target.store(), &table)?;
        Ok(table)
    })
}

/// Takes a plan that cannot be executed any more off the timeline, under the lock. Nothing is done if another process
/// executes it.
///
/// # Errors
/// As for [`Transaction::begin`] and [`Rollbacks::roll_back`].
///
/// [`Rollbacks::roll_back`]: crate::recovery::Rollbacks::roll_back
pub fn give_up(target: &WritableTable, instant: &RequestedTime) -> Result<()> {
    target.locked(|table, _| {
        target.mark_changed();
        check_no_restore(&table.timeline).map_err(|error| error.in_file(target.uri()))?;
        let is_inflight = table.timeline.writes_at(instant).any(|one| one.state == InstantState::Inflight);
        if !is_inflight || Heartbeats::list(&**target.store())?.is_expired(instant, target.concurrency().heartbeat) {
            Rollbacks::new(&target.sound_state(table)?).roll_back(instant)?;
        }
        Ok(())
    })
}

impl Transaction {
    /// Rolls back plans of services, and what executions of them have written, under the lock.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn roll_back_plans(&self, plans: &BTreeSet<RequestedTime>) -> Result<()> {
        self.target.locked_state(|now| {
            let rollbacks = Rollbacks::new(now);
            plans.iter().try_for_each(|plan| rollbacks.roll_back(plan).map(|_| ()))
        })
    }
}
