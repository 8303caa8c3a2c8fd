//! The service: what has expired, and the commit that deletes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::expired::{ExpiredPartition, expired_partitions};
use super::options::PartitionTtlOptions;
use crate::open::open_for_service;
use crate::partition_deletion::delete_chosen_partitions;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::option_names::PARTITION_TTL_STRATEGY_DAYS_RETAIN;

/// What expired, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionTtlResult {
    /// The commit that has deleted the partitions; none of a dry run, and if nothing has expired.
    pub instant: Option<RequestedTime>,
    /// The partitions.
    pub partitions: Vec<ExpiredPartition>,
    /// Why nothing has expired, if that does not depend on the time.
    pub reason: Option<String>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// Deletes the partitions that have expired, by one commit.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, naming the option; those of [`crate::transaction::Transaction::begin`] and
/// [`crate::transaction::Transaction::commit`].
pub fn run_partition_ttl(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<PartitionTtlResult> {
    let target = Arc::new(open_for_service(location, options, "delete_partition")?);
    let done = expire(&target)?;
    target.leave();
    Ok(PartitionTtlResult { warnings: target.warnings(), ..done })
}

/// What [`run_partition_ttl`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_partition_ttl`].
pub fn plan_partition_ttl(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<PartitionTtlResult> {
    let target = open_for_service(location, options, "delete_partition")?;
    let planned = plan(&target, &PartitionTtlOptions::resolve(target.options())?)?;
    target.leave();
    Ok(PartitionTtlResult { warnings: target.warnings(), ..planned })
}

/// Deletes what has expired after a write. That is a write of its own, which the validator of the first one checks,
/// too.
pub(crate) fn expire_inline(target: &Arc<WritableTable>) -> Result<()> {
    expire(target).map(drop)
}

fn expire(target: &Arc<WritableTable>) -> Result<PartitionTtlResult> {
    let options = PartitionTtlOptions::resolve(target.options())?;
    let planned = plan(target, &options)?;
    if planned.partitions.is_empty() {
        return Ok(planned);
    }
    let mut partitions = Vec::new();
    let committed = delete_chosen_partitions(target, BTreeMap::new(), |table| {
        // Somebody may have written to one meanwhile.
        let (view, expired) = expired_partitions(table, &**target.store(), &options, now(target))?;
        let chosen: BTreeSet<String> = expired.iter().map(|one| one.partition.clone()).collect();
        partitions = expired;
        Ok((view, chosen))
    })?;
    Ok(PartitionTtlResult { instant: Some(committed.instant), partitions, ..planned })
}

fn plan(target: &WritableTable, options: &PartitionTtlOptions) -> Result<PartitionTtlResult> {
    let table = target.latest();
    let reason = if table.config.partition_fields.is_empty() {
        Some("the table has no partitions".to_owned())
    } else if options.ttl_millis.is_none() {
        Some(format!("no partition expires without the option {PARTITION_TTL_STRATEGY_DAYS_RETAIN}"))
    } else {
        None
    };
    if reason.is_some() {
        return Ok(PartitionTtlResult { reason, ..PartitionTtlResult::default() });
    }
    let (_, partitions) = expired_partitions(&table, &**target.store(), options, now(target))?;
    Ok(PartitionTtlResult { partitions, ..PartitionTtlResult::default() })
}

fn now(target: &WritableTable) -> i64 {
    target.time().now().timestamp_millis()
}
