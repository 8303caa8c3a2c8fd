//! Compactions of logs into logs (`BaseHoodieTableServiceClient.logCompact`).

use std::collections::BTreeMap;

use super::compact::{CompactRequest, Compacted, PlannedCompaction, opened};
use super::kind::Compaction;
use super::schedule::log_plan_if_due;
use crate::commit::Clock;
use crate::services::{LogCompactionOptions, TableCompactions};
use crate::writable_table::TableLocation;
use crate::write::LogCompactHandle;
use mortice_base::error::Result;

/// What messages call the service.
const SERVICE: &str = "log_compact";

/// Compacts the logs of a table into logs: executes log compactions that are pending, then plans another one, if it is due, and executes
/// it. Base files stay as they are.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, by name, for tables and options that logs cannot be compacted with; those of reading the logs
/// and of the storage: a log compaction that was planned is pending then, and the next call executes it.
pub fn log_compact(
    location: &TableLocation,
    request: CompactRequest,
    options: &BTreeMap<String, String>,
) -> Result<Compacted> {
    let target = opened(location, options, SERVICE)?;
    LogCompactHandle::check(&target.latest()).map_err(|error| error.in_file(location.uri()))?;
    request.fulfilled(&target, Compaction::IntoLogs)
}

/// What [`log_compact`] would do. Nothing is changed.
///
/// # Errors
/// As for [`log_compact`].
pub fn planned_log_compactions(
    location: &TableLocation,
    request: CompactRequest,
    options: &BTreeMap<String, String>,
) -> Result<Vec<PlannedCompaction>> {
    let target = opened(location, options, SERVICE)?;
    let table = target.latest();
    LogCompactHandle::check(&table).map_err(|error| error.in_file(location.uri()))?;
    let compactions = TableCompactions::for_preview(&target)?;
    let mut planned = Vec::new();
    if request.run {
        for instant in compactions.pending_log_compactions() {
            if compactions.compaction_after(&instant).is_none() {
                let slices = compactions.log_slices(&instant)?;
                planned.push(PlannedCompaction { instant: Some(instant), slices });
            }
        }
    }
    if request.schedule {
        let options = LogCompactionOptions::from_options(target.options())?;
        let instant = Clock::new(&table.config).requested_time(&[&table.timeline])?;
        if let Some(plan) = log_plan_if_due(&compactions, &options, &table, &instant)? {
            planned.push(PlannedCompaction { instant: None, slices: compactions.slices_of_plan(&plan)? });
        }
    }
    Ok(planned)
}
