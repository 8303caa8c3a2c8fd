//! `cluster`: plans clustering, and executes plans.

use std::collections::BTreeMap;

use mortice::maintenance::{self, ClusteringSteps};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;
use crate::write::{CommitOfWrite, commit_of_write};

/// The requested time of the new plan, the commits of executed plans, warnings.
type ClusteringDone = (Option<String>, Vec<CommitOfWrite>, Vec<String>);
/// A group of a plan: the requested time of a pending plan, partition, files that are expected, file slices as (file
/// id, files, bytes).
type PreviewGroup = (Option<String>, String, usize, Vec<(String, usize, u64)>);

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
        let done = maintenance::cluster(uri, &storage, &options, ClusteringSteps { schedule, run })?;
        let commits = done.commits.into_iter().map(commit_of_write).collect();
        Ok((done.scheduled.map(|instant| instant.to_string()), commits, done.warnings))
    })
}

/// The groups of the plans that `cluster` would execute, and of the plan that it would make.
#[pyfunction]
pub(crate) fn clustering_preview(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    schedule: bool,
    run: bool,
) -> PyResult<Vec<PreviewGroup>> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let plans = maintenance::clustering_preview(uri, &storage, &options, ClusteringSteps { schedule, run })?;
        let mut groups = Vec::new();
        for (instant, plan) in plans {
            for group in plan.groups {
                let slices = group.slices.iter().map(|slice| {
                    let files = usize::from(slice.base_file.is_some()).saturating_add(slice.log_files.len());
                    (slice.file_id.clone(), files, slice.total_len())
                });
                let slices = slices.collect();
                groups.push((instant.as_ref().map(ToString::to_string), group.partition, group.outputs, slices));
            }
        }
        Ok(groups)
    })
}
