//! What is done before the version changes (`UpgradeDowngradeUtils.rollbackFailedWritesAndCompact`): failed writes are
//! rolled back, and all logs are merged into base files, by the rules of the version that wrote them.

use std::collections::BTreeMap;

use super::version_path::VersionStep;
use crate::compaction::{PlannedCompaction, plan_compaction, run_compaction};
use crate::recovery::{check_no_restore, failed_writes};
use crate::request::ServiceRequest;
use crate::transaction::change_metadata;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_formats::filter::Filter;
use mortice_merge::config::TableType;
use mortice_merge::config::option_names::{
    COMPACT_INLINE_MAX_DELTA_COMMITS, COMPACT_INLINE_TRIGGER_STRATEGY, COMPACTION_STRATEGY,
};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Action;

/// Whether logs are compacted on the way.
pub(super) fn compacts(table: &OpenTable, steps: &[VersionStep]) -> bool {
    table.config.table_type == TableType::MergeOnRead && steps.iter().any(|step| step.needs_compaction())
}

/// Rolls failed writes back, and compacts all logs. Returns the compactions.
pub(super) fn settle(
    location: &TableLocation,
    target: &WritableTable,
    steps: &[VersionStep],
    options: &BTreeMap<String, String>,
) -> Result<Vec<RequestedTime>> {
    let table = change_metadata(target, false)?;
    if !compacts(&table, steps) {
        return Ok(Vec::new());
    }
    let done = run_compaction(location, ServiceRequest::BOTH, &compaction_options(options))?;
    Ok(done.committed.into_iter().map(|commit| commit.instant).collect())
}

/// The compactions that [`settle`] would run.
pub(super) fn planned_compactions(
    location: &TableLocation,
    table: &OpenTable,
    steps: &[VersionStep],
    options: &BTreeMap<String, String>,
) -> Result<Vec<PlannedCompaction>> {
    match compacts(table, steps) {
        true => plan_compaction(location, ServiceRequest::BOTH, &compaction_options(options)),
        false => Ok(Vec::new()),
    }
}

/// The options by which all logs are compacted, in place of those that say when, and how much at once.
fn compaction_options(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut options = options.clone();
    options.remove(COMPACT_INLINE_MAX_DELTA_COMMITS.name());
    for (name, value) in [
        (COMPACT_INLINE_TRIGGER_STRATEGY.name(), "NUM_COMMITS"),
        (COMPACTION_STRATEGY.name(), "org.apache.hudi.table.action.compact.strategy.UnBoundedCompactionStrategy"),
    ] {
        options.insert(name.to_owned(), value.to_owned());
    }
    options
}

/// What is left to be done before the version can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    /// Nothing.
    Ready,
    /// Logs that were written since.
    Logs,
}

/// Makes sure, under the table's lock, that nothing is under way whose files would be of the old version.
///
/// # Errors
/// `WriteConflict` while a write is under way; `Unsupported` while a restore is not completed.
pub(super) fn check_ready(target: &WritableTable, table: &OpenTable, steps: &[VersionStep]) -> Result<Readiness> {
    check_no_restore(&table.timeline)?;
    // Below version 6 mortice rolls nothing back: failed writes are, once the table is of that version.
    let failed = if steps.contains(&VersionStep::UpTo6) { failed_before_6(target, table)? } else { Vec::new() };
    let clustering = table.timeline.pending_clustering()?;
    let is_plan = |action| matches!(action, Action::Compaction | Action::LogCompaction | Action::Clustering);
    let under_way = table.timeline.pending_writes().find(|one| {
        let is_planned = is_plan(one.action) || clustering.iter().any(|planned| planned.is_same(one));
        !is_planned && !failed.contains(&one.requested_time)
    });
    if let Some(write) = under_way {
        let message =
            "another writer is writing to the table; its version changes when no write is under way, run it again then";
        return Err(Error::new(ErrorKind::WriteConflict, message).at_instant(&write.requested_time));
    }
    if !compacts(table, steps) {
        return Ok(Readiness::Ready);
    }
    let has_logs = table.file_slices(None, &Filter::default())?.iter().any(|slice| !slice.log_files.is_empty());
    Ok(if has_logs { Readiness::Logs } else { Readiness::Ready })
}

/// The failed writes of a table below version 6.
///
/// # Errors
/// `Unsupported` at version 0, whose markers do not say what was done to a file; those of the storage.
pub(super) fn failed_before_6(target: &WritableTable, table: &OpenTable) -> Result<Vec<RequestedTime>> {
    let (policy, heartbeat) = (target.concurrency().failed_writes, target.concurrency().heartbeat);
    let failed = failed_writes(target.store().as_ref(), &table.timeline, policy, heartbeat)?;
    match failed.first().filter(|_| table.config.version.number() == 0) {
        None => Ok(failed),
        Some(instant) => {
            let message = "a write of a table of version 0 has failed, and its markers do not say what it has done; roll it back with Hudi";
            Err(Error::unsupported(message).at_instant(instant))
        }
    }
}

/// The error of a table whose logs cannot be compacted.
pub(super) fn logs_are_left(table: &OpenTable) -> Error {
    let pending: Vec<String> = table.timeline.pending_writes().map(ToString::to_string).collect();
    let message = format!(
        "file slices of the table still have log files after a compaction; complete or roll back what is pending ({}), and run it again",
        if pending.is_empty() { "nothing is".to_owned() } else { pending.join(", ") }
    );
    Error::unsupported(message)
}
