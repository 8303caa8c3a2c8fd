//! `DistributedWrite` and `run_stage`: writes whose rows are in other processes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mortice::client::distributed::{
    DistributedWrite as Core, MovePlan, NextStep, StageBatches as CoreBatches, TagPlan, TaskAttempt, TaskRunner,
    WritePlan, abort_task_insert as abort_insert, begin_task_insert as begin_insert,
    commit_task_insert as commit_insert, run_stage as run,
};
use mortice::client::{StreamBatch, create_table_for_write, forget_schema as forget};
use mortice::timeline::WriteOperation;
use mortice::{Error, ErrorKind, ReadOptions, Table as CoreTable};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{StorageArgument, at_location};
use crate::arrow::{ArrowBatch, ArrowSchema};
use crate::arrow_in::{ArrowInput, is_of_a_value};
use crate::commit::{Commit, commit_of_write};
use crate::errors::{raised, released};
use crate::merge_into::MergePlan;
use crate::table::Table;
use crate::task_runner::PythonRunner;
use crate::validator::validator as validator_of;

/// What tasks do next: its name, partitions of the data frames, stages by name, tasks that read keys.
type StepTuple<'py> = (&'static str, u32, Bound<'py, PyDict>, u32);

/// The driver's part of a write, and what tasks were last said to do.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct DistributedWrite(Mutex<Core>, Mutex<Option<NextStep>>);

impl DistributedWrite {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self) -> MutexGuard<'_, Option<NextStep>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl DistributedWrite {
    #[new]
    #[pyo3(signature = (uri, storage_options, operation, columns, options, parallelism, merge=None, driver_bytes=0))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        uri: &str,
        storage_options: StorageArgument,
        operation: &str,
        columns: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        parallelism: u32,
        merge: Option<&Bound<'_, MergePlan>>,
        driver_bytes: u64,
    ) -> PyResult<Self> {
        let py = columns.py();
        let columns = ArrowInput::from_python(columns)?.schema();
        let operation = operation_named(py, operation)?;
        let write = at_location(py, uri, &storage_options, |location| {
            Core::plan(location, operation, &columns, &options, parallelism)
        })?;
        let write = write.with_driver_bytes(driver_bytes);
        let write = match merge {
            None => write,
            Some(merge) => write.of_merge(merge.get().core()).map_err(|error| raised(py, &error))?,
        };
        Ok(Self(Mutex::new(write), Mutex::new(None)))
    }

    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.lock().schema())
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.lock().warnings().to_vec()
    }

    #[getter]
    fn is_small(&self) -> bool {
        self.lock().is_small()
    }

    fn begin_with_stored_rows(&self, py: Python<'_>) -> PyResult<Table> {
        let table = released(py, || self.lock().begin_with_stored_rows())?;
        Ok(Table::from_core(CoreTable::from(table)))
    }

    fn start<'py>(&self, py: Python<'py>) -> PyResult<StepTuple<'py>> {
        let next = released(py, || self.lock().start())?;
        step_of(py, next)
    }

    fn next<'py>(&self, py: Python<'py>, reports: Vec<Vec<u8>>) -> PyResult<StepTuple<'py>> {
        let next = released(py, || self.lock().next(&reports))?;
        *self.step() = Some(next.clone());
        step_of(py, next)
    }

    fn run_here(&self, prepared: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
        let py = prepared.py();
        let chunks = ArrowInput::from_python(prepared)?.collect::<mortice::Result<Vec<_>>>();
        let chunks = chunks.map_err(|error| raised(py, &error))?;
        let step = self.step().take().ok_or_else(|| raised(py, &Error::internal("a write without a next step")))?;
        released(py, || self.lock().run_here(&chunks, step))
    }

    #[pyo3(signature = (reports, validator=None, runner=None))]
    fn commit(
        &self,
        py: Python<'_>,
        reports: Vec<Vec<u8>>,
        validator: Option<Py<PyAny>>,
        runner: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Commit> {
        let validator = validator_of(validator);
        let runner = runner.map(PythonRunner::after_commit).transpose()?;
        let runner = runner.as_ref().map(|runner| runner as &dyn TaskRunner);
        let written = released(py, || self.lock().commit(&reports, validator, runner))?;
        commit_of_write(py, written)
    }

    fn abort(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        released(py, || self.lock().abort(&Error::new(ErrorKind::Io, reason)))
    }
}

fn step_of(py: Python<'_>, next: NextStep) -> PyResult<StepTuple<'_>> {
    let (name, partitions, stages, tasks) = match next {
        NextStep::Prepare { stage } => ("prepare", 0, vec![("prepare", stage)], 0),
        NextStep::Tag(TagPlan { partitions, split, read_keys, tag }) => {
            let (read_keys, tasks) = read_keys.unzip();
            let stages = [("split", Some(split)), ("read_keys", read_keys), ("tag", Some(tag))];
            let stages = stages.into_iter().filter_map(|(name, stage)| Some((name, stage?))).collect();
            ("tag", partitions, stages, tasks.unwrap_or(0))
        }
        NextStep::Move(MovePlan { partitions, read_rows, merge }) => {
            ("move", partitions, vec![("read_rows", read_rows), ("merge", merge)], 0)
        }
        NextStep::Write(WritePlan { partitions, route, write }) => {
            ("write", partitions, vec![("route", route), ("write", write)], 0)
        }
        NextStep::Insert { stage } => ("insert", 0, vec![("insert", stage)], 0),
        NextStep::Commit => ("commit", 0, Vec::new(), 0),
    };
    let dict = PyDict::new(py);
    for (name, stage) in stages {
        dict.set_item(name, PyBytes::new(py, &stage))?;
    }
    Ok((name, partitions, dict, tasks))
}

fn operation_named(py: Python<'_>, name: &str) -> PyResult<WriteOperation> {
    let unknown = || Error::invalid_argument(format!("no such operation: {name}"));
    WriteOperation::from_option(name).ok_or_else(|| raised(py, &unknown()))
}

/// Creates the table that a write with these options describes. Returns false if there is one meanwhile.
#[pyfunction]
pub(crate) fn create_table_by_options(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    operation: &str,
    columns: &Bound<'_, PyAny>,
    options: BTreeMap<String, String>,
) -> PyResult<bool> {
    let columns = ArrowInput::from_python(columns)?.schema();
    let operation = operation_named(py, operation)?;
    at_location(py, uri, &storage_options, |location| create_table_for_write(location, operation, &columns, &options))
}

/// Removes the columns of a table that a write has created and not written to.
#[pyfunction]
pub(crate) fn forget_schema(py: Python<'_>, uri: &str, storage_options: StorageArgument) -> PyResult<()> {
    at_location(py, uri, &storage_options, forget)
}

/// The batches that a task of a stage hands on.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct StageBatches(Mutex<CoreBatches>);

#[pymethods]
impl StageBatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        let next = || self.0.lock().unwrap_or_else(PoisonError::into_inner).next().transpose();
        Ok(released(py, next)?.map(ArrowBatch))
    }
}

/// Runs one task of a stage: partition, stage and attempt as the engine counts, and the batches that come to it.
#[pyfunction]
pub(crate) fn run_stage(
    py: Python<'_>,
    stage: &[u8],
    task: (u32, u32, u64),
    batches: &Bound<'_, PyAny>,
) -> PyResult<StageBatches> {
    let (partition, stage_number, attempt) = task;
    let task = TaskAttempt { partition, stage: stage_number, attempt };
    // The engine's own errors, which another attempt may not have.
    let failed = |error: Error| if is_of_a_value(&error) { error } else { error.with_kind(ErrorKind::Io) };
    let input = ArrowInput::from_python(batches)?.map(move |batch| batch.map_err(failed));
    let batches = released(py, || run(stage, task, Box::new(input)))?;
    Ok(StageBatches(Mutex::new(batches)))
}

/// Begins inserts whose tasks write the rows that they have. Returns the state of the write, and warnings.
#[pyfunction]
pub(crate) fn begin_task_insert<'py>(
    py: Python<'py>,
    uri: &str,
    storage_options: StorageArgument,
    operation: &str,
    columns: &Bound<'py, PyAny>,
    options: BTreeMap<String, String>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
    let columns = ArrowInput::from_python(columns)?.schema();
    let operation = operation_named(py, operation)?;
    let (state, warnings) =
        at_location(py, uri, &storage_options, |location| begin_insert(location, operation, &columns, &options))?;
    Ok((PyBytes::new(py, &state), warnings))
}

/// Commits such a write, given its state and the reports of its tasks.
#[pyfunction]
pub(crate) fn commit_task_insert(py: Python<'_>, state: &[u8], reports: Vec<Vec<u8>>) -> PyResult<Commit> {
    let written = released(py, || commit_insert(state, &reports))?;
    commit_of_write(py, written)
}

/// Rolls such a write back.
#[pyfunction]
pub(crate) fn abort_task_insert(py: Python<'_>, state: &[u8], reason: &str) -> PyResult<()> {
    released(py, || abort_insert(state, &Error::new(ErrorKind::Io, reason)))
}

/// A batch of a stream: identifier, number, query, operation.
type BatchArgument = (String, u64, Option<String>, String);

fn batch_of((identifier, batch, query, operation): BatchArgument) -> StreamBatch {
    StreamBatch { identifier, batch, query, operation }
}

/// What the commit of a batch of a stream records, as options of the write.
#[pyfunction]
pub(crate) fn stream_batch_options(batch: BatchArgument) -> BTreeMap<String, String> {
    batch_of(batch).options()
}

/// Whether a batch of a stream is in a table. There need not be one.
#[pyfunction]
pub(crate) fn is_stream_batch_written(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    batch: BatchArgument,
    reads_archive: bool,
) -> PyResult<bool> {
    at_location(py, uri, &storage_options, |location| match location.open_table(ReadOptions::default()) {
        Ok(table) => batch_of(batch).is_written(&table, reads_archive),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    })
}

/// Raises for a batch of a stream that another writer has written.
#[pyfunction]
pub(crate) fn refuse_other_writer(py: Python<'_>, uri: &str, batch: BatchArgument) -> PyResult<()> {
    let error = batch_of(batch).of_several_writers("another writer has written a part of it");
    Err(raised(py, &error.in_file(uri)))
}
