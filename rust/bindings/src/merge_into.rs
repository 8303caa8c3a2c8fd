//! `merge_into` and `MergePlan`: SQL's `MERGE INTO`, in this process or joined by another engine.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use mortice::client::WriteInput;
use mortice::client::{
    self, ACTION_COLUMN, ClauseAction, DELETES_COLUMN, GIVEN_PREFIX, KEY_COLUMN, MISFIT_COLUMN, MergeClauses,
    MergePlan as Core, NotMatched, PATH_COLUMN, REPEATED, RowAction, STORED_PREFIX, UPDATES_COLUMN, matched_twice,
};
use mortice::{OpenTable, ReadOptions, storage};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::StorageArgument;
use crate::arrow::{ArrowBatch, ArrowSchema};
use crate::arrow_in::ArrowInput;
use crate::commit::{Commit, commit_of_write};
use crate::errors::{raised, released};
use crate::filter::{FilterArgument, filter};
use crate::table::Table;
use crate::validator::validator as validator_of;
use crate::write::is_in_memory;

/// `on`, `when_matched_update`, `when_not_matched`.
type ClausesArgument = (Option<Vec<String>>, Option<Vec<String>>, String);

fn clauses_of(py: Python<'_>, (on, update, not_matched): ClausesArgument) -> PyResult<MergeClauses> {
    let not_matched = NotMatched::parse(&not_matched).map_err(|error| raised(py, &error))?;
    Ok(MergeClauses { on, update, not_matched })
}

/// Merges Arrow data into a table, in the state in which it was opened.
#[pyfunction]
#[pyo3(signature = (table, data, clauses, delete, options, validator=None))]
pub(crate) fn merge_into(
    table: &Bound<'_, Table>,
    data: &Bound<'_, PyAny>,
    clauses: ClausesArgument,
    delete: FilterArgument<'_>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<Commit> {
    let py = table.py();
    let clauses = clauses_of(py, clauses)?;
    let delete = delete.map(|delete| filter(Some(delete)));
    let is_in_memory = is_in_memory(data)?;
    let mut rows = ArrowInput::from_python(data)?;
    let (opened, validator) = (table.get().core(), validator_of(validator));
    let written = table.get().changed(py, |_| {
        let schema = rows.schema();
        let input = WriteInput { schema, batches: &mut rows, is_in_memory, options: &options, validator };
        client::merge_into(opened.opened(), &clauses, delete.as_ref(), input)
    })?;
    commit_of_write(py, written)
}

/// A merge that another engine joins the rows of.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct MergePlan(Core);

impl MergePlan {
    pub(crate) fn core(&self) -> &Core {
        &self.0
    }
}

#[pymethods]
impl MergePlan {
    #[classattr]
    const KEY: &'static str = KEY_COLUMN;
    #[classattr]
    const PATH: &'static str = PATH_COLUMN;
    #[classattr]
    const DELETES: &'static str = DELETES_COLUMN;
    #[classattr]
    const UPDATES: &'static str = UPDATES_COLUMN;
    #[classattr]
    const GIVEN: &'static str = GIVEN_PREFIX;
    #[classattr]
    const STORED: &'static str = STORED_PREFIX;
    #[classattr]
    const ACTION: &'static str = ACTION_COLUMN;
    #[classattr]
    const MISFIT: &'static str = MISFIT_COLUMN;
    #[classattr]
    const REPEATED: &'static str = REPEATED;

    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        uri: &str,
        storage_options: StorageArgument,
        given: Vec<String>,
        clauses: ClausesArgument,
        options: BTreeMap<String, String>,
        ignores_case: bool,
    ) -> PyResult<Self> {
        let clauses = clauses_of(py, clauses)?;
        released(py, || {
            let storage = storage::needed_options(uri, &storage_options)?;
            let table = OpenTable::open(uri, &storage, ReadOptions::default())?;
            let plan = match ignores_case {
                true => Core::ignoring_case(&table, &given, &clauses, &options)?,
                false => Core::new(&table, &given, &clauses, &options)?,
            };
            plan.check_joined_by_keys().map_err(|error| error.in_file(uri))?;
            Ok(Self(plan))
        })
    }

    /// Resolves changes of rows for which another engine chooses the action: its name, columns of the table and the
    /// columns that have their values.
    #[staticmethod]
    fn of_actions(
        py: Python<'_>,
        uri: &str,
        storage_options: StorageArgument,
        actions: Vec<(String, BTreeMap<String, String>)>,
        options: BTreeMap<String, String>,
    ) -> PyResult<Self> {
        let action = |(name, values): (String, _)| Ok(RowAction { action: ClauseAction::parse(&name)?, values });
        released(py, || {
            let storage = storage::needed_options(uri, &storage_options)?;
            let table = OpenTable::open(uri, &storage, ReadOptions::default())?;
            let actions = actions.into_iter().map(action).collect::<mortice::Result<_>>()?;
            Core::of_actions(&table, actions, &options).map(Self)
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        Core::from_bytes(data).map(Self).map_err(|error| raised(py, &error))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.to_bytes().map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn columns(&self) -> ArrowSchema {
        ArrowSchema(self.0.columns())
    }

    #[getter]
    fn given(&self) -> Vec<String> {
        self.0.given().to_vec()
    }

    #[getter]
    fn used(&self) -> Vec<&str> {
        self.0.used()
    }

    #[getter]
    fn on(&self) -> Vec<String> {
        self.0.on().to_vec()
    }

    #[getter]
    fn partitions(&self) -> Vec<String> {
        self.0.partitions().to_vec()
    }

    #[getter]
    fn by_path(&self) -> bool {
        self.0.by_path()
    }

    #[getter]
    fn actions(&self) -> Vec<&str> {
        self.0.actions().iter().map(|one| one.action.name()).collect()
    }

    #[getter]
    fn has_keys(&self) -> bool {
        self.0.has_keys()
    }

    fn with_keys(&self, rows: &Bound<'_, PyAny>) -> PyResult<ArrowBatch> {
        self.map(rows, |rows| self.0.with_keys(rows))
    }

    fn with_paths(&self, rows: &Bound<'_, PyAny>) -> PyResult<ArrowBatch> {
        self.map(rows, |rows| self.0.with_paths(rows))
    }

    fn merge(&self, rows: &Bound<'_, PyAny>) -> PyResult<ArrowBatch> {
        self.map(rows, |rows| self.0.merge_chosen(rows))
    }

    fn refuse_repeated(&self, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let batches = ArrowInput::from_python(rows)?;
        released(rows.py(), || batches.into_iter().try_for_each(|rows| self.0.refuse_repeated(&rows?)))
    }

    #[staticmethod]
    fn refuse_matched_twice(py: Python<'_>, key: &str) -> PyResult<()> {
        Err(raised(py, &matched_twice(key)))
    }
}

impl MergePlan {
    /// Makes one batch of another one.
    fn map(
        &self,
        rows: &Bound<'_, PyAny>,
        make: impl FnOnce(&RecordBatch) -> mortice::Result<RecordBatch> + Send,
    ) -> PyResult<ArrowBatch> {
        let mut batches = ArrowInput::from_python(rows)?;
        released(rows.py(), move || {
            let (first, second) = (batches.next().transpose()?, batches.next());
            match (first, second) {
                (Some(rows), None) => make(&rows).map(ArrowBatch),
                _ => Err(mortice::Error::invalid_argument("joined rows must be one record batch")),
            }
        })
    }
}
