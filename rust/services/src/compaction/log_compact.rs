//! Compactions of logs into logs (`BaseHoodieTableServiceClient.logCompact`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compact::{CompactionResult, PlannedCompaction, open_table};
use super::execute::execute_plan;
use super::kind::Compaction;
use crate::request::ServiceRequest;
use mortice_base::error::Result;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_write::write::LogCompactHandle;

/// Compacts the logs of a table into logs: executes log compactions that are pending, then plans another one, if it is
/// due, and executes it. Base files stay as they are.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, by name, for tables and options that logs cannot be compacted with; those of
/// reading the logs and of the storage: a log compaction that was planned is pending then, and the next call executes
/// it.
pub fn run_log_compaction(
    location: &TableLocation,
    request: ServiceRequest,
    options: &BTreeMap<String, String>,
) -> Result<CompactionResult> {
    request.run_compactions(&open_log_compaction(location, options)?, Compaction::IntoLogs, &execute_plan)
}

/// What [`run_log_compaction`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_log_compaction`].
pub fn plan_log_compaction(
    location: &TableLocation,
    request: ServiceRequest,
    options: &BTreeMap<String, String>,
) -> Result<Vec<PlannedCompaction>> {
    request.plan_compactions(&*open_log_compaction(location, options)?, Compaction::IntoLogs)
}

/// Opens a table whose logs are to be compacted into logs, and checks the options.
///
/// # Errors
/// As for [`open_table`] and [`LogCompactHandle::check`].
pub fn open_log_compaction(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<Arc<WritableTable>> {
    let target = open_table(location, options, "log_compact")?;
    LogCompactHandle::check(&target.latest()).map_err(|error| error.in_file(location.uri()))?;
    Ok(target)
}
