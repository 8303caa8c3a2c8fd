//! Plans of compactions.

use bytes::Bytes;

use crate::client::transaction::ServiceTarget;
use crate::error::Result;
use crate::names::RequestedTime;
use crate::plan::OpenTable;
use crate::services::{CompactionOptions, TableCompactions};
use crate::storage::open_file_store;
use crate::timeline::Action;
use crate::timeline::metadata::{HoodieCompactionPlan, TimelineMetadata};

/// Plans a compaction, if one is due, and returns its requested time. `commits` is the number of delta commits after which it is due,
/// if options do not say it.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, naming the option; as for [`ServiceTarget::schedule`].
pub(in crate::client) fn schedule(target: ServiceTarget<'_>, commits: u64) -> Result<Option<RequestedTime>> {
    let options = CompactionOptions::from_options(target.options, commits)?;
    target.schedule(Action::Compaction, &|table, instant| {
        plan_if_due(target, &options, table, instant)?.map(|plan| plan.to_avro().map(Bytes::from)).transpose()
    })
}

/// The plan of a compaction at `instant`; none if none is due.
///
/// # Errors
/// As for [`TableCompactions::plan`].
pub(super) fn plan_if_due(
    target: ServiceTarget<'_>,
    options: &CompactionOptions,
    table: &OpenTable,
    instant: &RequestedTime,
) -> Result<Option<HoodieCompactionPlan>> {
    let compactions = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?;
    if !compactions.is_due(options, instant) {
        return Ok(None);
    }
    compactions.plan(options, &table.files_of_partitions(None)?, instant)
}
