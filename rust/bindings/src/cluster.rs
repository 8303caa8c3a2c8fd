//! `cluster`: plans clustering, and executes plans.

use std::collections::BTreeMap;

use mortice::services::{self, ServiceRequest};
use pyo3::prelude::*;

use crate::commit::{Commit, commit_of_write};
use crate::results::{fields_repr, result_class, warn};
use crate::table::Table;

result_class! {
    /// What clustering did.
    ClusterResult(scheduled, commits) {
        scheduled: Option<String>,
        commits: Vec<Commit>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);

    /// The last commit; None if nothing was executed.
    #[getter]
    fn commit(&self) -> Option<Commit> {
        self.commits.last().cloned()
    }
}

result_class! {
    /// File groups of a partition that are rewritten together.
    ClusteringGroup(instant, partition, file_ids, files, file_bytes, outputs) {
        instant: Option<String>,
        partition: String,
        file_ids: Vec<String>,
        files: usize,
        file_bytes: u64,
        outputs: usize,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

#[pymethods]
impl Table {
    /// Plans a clustering, and executes what is planned.
    fn cluster(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        schedule: bool,
        run: bool,
    ) -> PyResult<ClusterResult> {
        let request = ServiceRequest { schedule, run };
        let done = self.changed(py, |location| services::run_clustering(location, request, &options))?;
        warn(py, &done.warnings)?;
        let commits = done.commits.into_iter().map(|written| commit_of_write(py, written)).collect::<PyResult<_>>()?;
        Ok(ClusterResult { scheduled: done.scheduled.map(|instant| instant.to_string()), commits })
    }

    /// The groups of the plans that `cluster` would execute, and of the plan that it would make.
    fn plan_cluster(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        schedule: bool,
        run: bool,
    ) -> PyResult<Vec<ClusteringGroup>> {
        let request = ServiceRequest { schedule, run };
        let plans = self.planned(py, |location| services::plan_clustering(location, request, &options))?;
        let mut groups = Vec::new();
        for (instant, plan) in plans {
            let instant = instant.as_ref().map(ToString::to_string);
            groups.extend(plan.groups.into_iter().map(|group| group_of(instant.clone(), group)));
        }
        Ok(groups)
    }
}

fn group_of(instant: Option<String>, group: services::PlannedGroup) -> ClusteringGroup {
    let files =
        group.slices.iter().map(|slice| usize::from(slice.base_file.is_some()).saturating_add(slice.log_files.len()));
    ClusteringGroup {
        instant,
        files: files.fold(0, usize::saturating_add),
        file_bytes: group.bytes(),
        file_ids: group.slices.iter().map(|slice| slice.file_id.clone()).collect(),
        partition: group.partition,
        outputs: group.outputs,
    }
}
