//! `alter`: changes of a table's columns.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use mortice::client::{self, ColumnChanges};
use pyo3::prelude::*;

use crate::arrow_in::ArrowInput;
use crate::commit::{Commit, commit_of_write};
use crate::table::Table;
use crate::validator::validator as validator_of;

/// The changes, as they are given: types are those of the columns of Arrow data, whose names are the paths.
#[derive(FromPyObject)]
struct Changes<'py> {
    #[pyo3(item)]
    drop: Vec<String>,
    #[pyo3(item)]
    rename: Vec<(String, String)>,
    #[pyo3(item("type"))]
    widen: Bound<'py, PyAny>,
    #[pyo3(item)]
    add: Bound<'py, PyAny>,
    #[pyo3(item)]
    comment: Vec<(String, String)>,
    #[pyo3(item("nullable"))]
    relax: Vec<String>,
    #[pyo3(item("move"))]
    place: Vec<(String, Option<String>)>,
}

#[pymethods]
impl Table {
    /// Changes the columns of the table, in the state in which it was opened.
    #[pyo3(signature = (changes, options, validator=None))]
    fn alter(
        &self,
        py: Python<'_>,
        changes: Changes<'_>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        let changes = ColumnChanges {
            drop: changes.drop,
            rename: changes.rename,
            widen: types_in(&changes.widen)?,
            add: types_in(&changes.add)?,
            comment: changes.comment,
            relax: changes.relax,
            place: changes.place,
        };
        let (core, validator) = (self.core(), validator_of(validator));
        let written = self.changed(py, |_| client::alter(core.opened(), &changes, &options, validator))?;
        commit_of_write(py, written)
    }
}

fn types_in(columns: &Bound<'_, PyAny>) -> PyResult<Vec<(String, DataType)>> {
    let schema = ArrowInput::from_python(columns)?.schema();
    Ok(schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect())
}
