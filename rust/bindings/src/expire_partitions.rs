//! `expire_partitions`: deletes partitions of a table that have expired.

use std::collections::BTreeMap;

use mortice::services;
use pyo3::prelude::*;

use crate::results::{fields_repr, result_class, warn};
use crate::table::Table;

result_class! {
    /// A partition that has expired.
    ExpiredPartition(partition, since) {
        partition: String,
        since: String,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// The partitions that have expired, and the commit that deleted them.
    ExpireResult(instant, partitions, reason=None) {
        instant: Option<String>,
        partitions: Vec<ExpiredPartition>,
        reason: Option<String>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

#[pymethods]
impl Table {
    /// Deletes partitions that have expired.
    fn expire_partitions(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<ExpireResult> {
        expired(py, self.changed(py, |location| services::run_partition_ttl(location, &options))?)
    }

    /// What `expire_partitions` would do. Nothing is changed.
    fn plan_expire_partitions(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<ExpireResult> {
        expired(py, self.planned(py, |location| services::plan_partition_ttl(location, &options))?)
    }
}

fn expired(py: Python<'_>, done: services::PartitionTtlResult) -> PyResult<ExpireResult> {
    warn(py, &done.warnings)?;
    let partitions = done.partitions.into_iter();
    let partitions =
        partitions.map(|one| ExpiredPartition { partition: one.partition, since: one.since.to_string() }).collect();
    Ok(ExpireResult { instant: done.instant.map(|instant| instant.to_string()), partitions, reason: done.reason })
}
