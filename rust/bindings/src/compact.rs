//! `compact` and `log_compact`: merge logs into base files, or into logs.

use std::collections::BTreeMap;

use mortice::services::{self, ServiceRequest};
use pyo3::prelude::*;

use crate::commit::{Commit, commit_of};
use crate::results::{fields_repr, result_class, warn};
use crate::table::Table;

result_class! {
    /// What compactions, or log compactions, did.
    CompactResult(scheduled, commits) {
        scheduled: Option<String>,
        commits: Vec<Commit>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);

    /// The last one that was executed; None if nothing was.
    #[getter]
    fn commit(&self) -> Option<Commit> {
        self.commits.last().cloned()
    }
}

result_class! {
    /// A file slice that a compaction merges.
    PlannedSlice(partition, file_id, base_file, base_bytes, log_files, log_bytes) {
        partition: String,
        file_id: String,
        base_file: Option<String>,
        base_bytes: u64,
        log_files: Vec<String>,
        log_bytes: u64,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// A compaction that would be executed.
    PlannedCompaction(instant, slices) {
        instant: Option<String>,
        slices: Vec<PlannedSlice>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

#[pymethods]
impl Table {
    /// Plans a compaction, if one is due, and executes what is pending.
    fn compact(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        schedule: bool,
        run: bool,
    ) -> PyResult<CompactResult> {
        let request = ServiceRequest { schedule, run };
        compacted(py, self.changed(py, |location| services::run_compaction(location, request, &options))?)
    }

    /// What `compact` would do. Nothing is changed.
    fn plan_compact(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        schedule: bool,
        run: bool,
    ) -> PyResult<Vec<PlannedCompaction>> {
        let request = ServiceRequest { schedule, run };
        self.planned(py, |location| services::plan_compaction(location, request, &options)).map(all_planned)
    }

    /// Plans a log compaction, if one is due, and executes what is pending.
    fn log_compact(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        schedule: bool,
        run: bool,
    ) -> PyResult<CompactResult> {
        let request = ServiceRequest { schedule, run };
        compacted(py, self.changed(py, |location| services::run_log_compaction(location, request, &options))?)
    }

    /// What `log_compact` would do. Nothing is changed.
    fn plan_log_compact(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        schedule: bool,
        run: bool,
    ) -> PyResult<Vec<PlannedCompaction>> {
        let request = ServiceRequest { schedule, run };
        self.planned(py, |location| services::plan_log_compaction(location, request, &options)).map(all_planned)
    }
}

fn compacted(py: Python<'_>, done: services::CompactionResult) -> PyResult<CompactResult> {
    warn(py, &done.warnings)?;
    let commits = done.committed.into_iter().map(|committed| commit_of(py, committed)).collect::<PyResult<_>>()?;
    Ok(CompactResult { scheduled: done.scheduled.map(|instant| instant.to_string()), commits })
}

fn all_planned(plans: Vec<services::PlannedCompaction>) -> Vec<PlannedCompaction> {
    plans.into_iter().map(planned_compaction).collect()
}

fn planned_compaction(plan: services::PlannedCompaction) -> PlannedCompaction {
    let slices = plan.slices.into_iter().map(|slice| {
        let (base_file, base_bytes) = slice.base_file.map(|base| (base.name().to_owned(), base.len)).unzip();
        PlannedSlice {
            partition: slice.partition,
            file_id: slice.file_id,
            base_file,
            base_bytes: base_bytes.unwrap_or(0),
            log_bytes: slice.log_files.iter().fold(0, |sum: u64, log| sum.saturating_add(log.len)),
            log_files: slice.log_files.iter().map(|log| log.name().to_owned()).collect(),
        }
    });
    PlannedCompaction { instant: plan.instant.map(|instant| instant.to_string()), slices: slices.collect() }
}
