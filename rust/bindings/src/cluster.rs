//! `cluster`: plans clustering, and executes plans.

use std::collections::BTreeMap;

use mortice::client::{self, ClusteringSteps};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;
use crate::write::{CommitOfWrite, commit_of_write};

/// The requested time of the new plan, the commits of executed plans, warnings.
type ClusteringDone = (Option<String>, Vec<CommitOfWrite>, Vec<String>);
/// A group of a plan: partition, files that are expected, file slices as (file id, files, bytes).
type PreviewGroup = (String, usize, Vec<(String, usize, u64)>);

/// Plans a clustering, and executes what is planned.
#[pyfunction]
pub(crate) fn cluster(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    schedule: bool,
    run: bool,
) -> PyResult<ClusteringDone> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let done = client::cluster(uri, &storage, &options, ClusteringSteps { schedule, run })?;
        let commits = done.commits.into_iter().map(commit_of_write).collect();
        Ok((done.scheduled.map(|instant| instant.to_string()), commits, done.warnings))
    })
}

/// The groups of the plan that `cluster` would make.
#[pyfunction]
pub(crate) fn clustering_preview(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
) -> PyResult<Vec<PreviewGroup>> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let plan = client::clustering_preview(uri, &storage, &options)?;
        let groups = plan.into_iter().flat_map(|plan| plan.groups).map(|group| {
            let slices = group.slices.iter().map(|slice| {
                let files = usize::from(slice.base_file.is_some()).saturating_add(slice.log_files.len());
                (slice.file_id.clone(), files, slice.total_len())
            });
            (group.partition.clone(), group.outputs, slices.collect())
        });
        Ok(groups.collect())
    })
}
