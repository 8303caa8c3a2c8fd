//! Compactions of logs into logs (`BaseHoodieTableServiceClient.logCompact`).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::compact::{CompactRequest, Compacted, PlannedCompaction, checked, compactions_for_preview};
use super::log_execute::execute_pending_log_compactions;
use super::schedule::check_merge;
use crate::commit::Clock;
use crate::services::{LogCompactionOptions, TableCompactions};
use crate::transaction::Committed;
use crate::transaction::ServiceTarget;
use crate::write::LogCompactHandle;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_storage::{StorageOptions, open_file_store};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Action;
use mortice_table::timeline::metadata::{HoodieCompactionPlan, TimelineMetadata};

/// What messages call the service.
const SERVICE: &str = "log_compact";

/// Compacts the logs of a table into logs: executes log compactions that are pending, then plans another one, if it is due, and executes
/// it. Base files stay as they are.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, by name, for tables and options that logs cannot be compacted with; those of reading the logs
/// and of the storage: a log compaction that was planned is pending then, and the next call executes it.
pub fn log_compact(
    uri: &str,
    storage: &StorageOptions,
    request: CompactRequest,
    options: &BTreeMap<String, String>,
) -> Result<Compacted> {
    let (table, parsed) = checked(uri, storage, options, SERVICE)?;
    LogCompactHandle::check(&table).map_err(|error| error.in_file(uri))?;
    let target = ServiceTarget { uri, storage, options: parsed.values() };
    let done = request.fulfilled(|| execute_pending_log_compactions(target), || schedule_log_compaction(target))?;
    Ok(Compacted { warnings: parsed.warnings().to_vec(), ..done })
}

/// The same after a write. Options were checked before it.
///
/// # Errors
/// As for [`log_compact`].
pub(crate) fn log_compact_pending(target: ServiceTarget<'_>, table: &OpenTable) -> Result<Vec<Committed>> {
    LogCompactHandle::check(table)?;
    let request = CompactRequest { schedule: true, run: true };
    Ok(request.fulfilled(|| execute_pending_log_compactions(target), || schedule_log_compaction(target))?.committed)
}

/// What [`log_compact`] would do. Nothing is changed.
///
/// # Errors
/// As for [`log_compact`].
pub fn planned_log_compactions(
    uri: &str,
    storage: &StorageOptions,
    request: CompactRequest,
    options: &BTreeMap<String, String>,
) -> Result<Vec<PlannedCompaction>> {
    let (table, parsed) = checked(uri, storage, options, SERVICE)?;
    LogCompactHandle::check(&table).map_err(|error| error.in_file(uri))?;
    let compactions = compactions_for_preview(uri, storage, &parsed)?;
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
        let options = LogCompactionOptions::from_options(parsed.values())?;
        let instant = Clock::new(&table.config).requested_time(&[&table.timeline])?;
        if let Some(plan) = plan_if_due(&compactions, &options, &table, &instant)? {
            planned.push(PlannedCompaction { instant: None, slices: compactions.slices_of_plan(&plan)? });
        }
    }
    Ok(planned)
}

/// Plans a log compaction, if one is due, and returns its requested time.
///
/// # Errors
/// `InvalidArgument`, naming the option; as for [`ServiceTarget::schedule`].
pub(crate) fn schedule_log_compaction(target: ServiceTarget<'_>) -> Result<Option<RequestedTime>> {
    let options = LogCompactionOptions::from_options(target.options)?;
    target.schedule(Action::LogCompaction, &|table, instant| {
        let compactions = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?;
        plan_if_due(&compactions, &options, table, instant)?.map(|plan| plan.to_avro().map(Bytes::from)).transpose()
    })
}

fn plan_if_due(
    compactions: &TableCompactions,
    options: &LogCompactionOptions,
    table: &OpenTable,
    instant: &RequestedTime,
) -> Result<Option<HoodieCompactionPlan>> {
    if !compactions.is_log_compaction_due(options)? {
        return Ok(None);
    }
    check_merge(table)?;
    compactions.log_plan(table, options, &table.files_of_partitions(None)?, instant)
}
