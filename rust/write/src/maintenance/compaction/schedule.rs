//! Plans of compactions.

use bytes::Bytes;

use crate::services::{CompactionOptions, TableCompactions};
use crate::transaction::ServiceTarget;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_storage::open_file_store;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Action;
use mortice_table::timeline::metadata::{HoodieCompactionPlan, TimelineMetadata};

/// Plans a compaction, if one is due, and returns its requested time. `commits` is the number of delta commits after which it is due,
/// if options do not say it.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, naming the option; as for [`ServiceTarget::schedule`].
pub(crate) fn schedule(target: ServiceTarget<'_>, commits: u64) -> Result<Option<RequestedTime>> {
    let options = CompactionOptions::from_options(target.options, commits)?;
    target.schedule(Action::Compaction, &|table, instant| {
        let compactions = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?;
        plan_if_due(&compactions, &options, table, instant)?.map(|plan| plan.to_avro().map(Bytes::from)).transpose()
    })
}

/// Refuses a table whose logs cannot be merged: a plan that cannot be executed would stay on the timeline.
///
/// # Errors
/// `Unsupported`, with the payload class or the record merger.
pub(crate) fn check_merge(table: &OpenTable) -> Result<()> {
    table.merge.check_supported(table.options.semantics).map_err(|error| error.in_file(&table.uri))
}

/// The plan of a compaction at `instant`; none if none is due.
///
/// # Errors
/// As for [`check_merge`] and [`TableCompactions::plan`].
pub(super) fn plan_if_due(
    compactions: &TableCompactions,
    options: &CompactionOptions,
    table: &OpenTable,
    instant: &RequestedTime,
) -> Result<Option<HoodieCompactionPlan>> {
    if !compactions.is_due(options, instant) {
        return Ok(None);
    }
    check_merge(table)?;
    compactions.plan(options, &table.files_of_partitions(None)?, instant)
}
