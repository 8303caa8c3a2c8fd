//! `alter_schema`: changes of a table's columns.

use std::collections::BTreeMap;

use mortice::avro;
use mortice::client::{self, AlteredColumns, WithIds};
use pyo3::prelude::*;

use crate::arrow_in::ArrowInput;
use crate::commit::{Commit, commit_of_write};
use crate::errors::released;
use crate::table::Table;
use crate::validator::validator as validator_of;

#[pymethods]
impl Table {
    /// The Avro schema of the columns, as JSON, and the columns with their ids, if they have some.
    fn stored_columns(&self, py: Python<'_>) -> PyResult<(String, Option<String>)> {
        let core = self.core();
        released(py, || client::stored_columns(core.opened()))
    }

    /// Changes the columns of the table, in the state in which it was opened.
    #[pyo3(signature = (schema, with_ids, options, validator=None))]
    fn alter_schema(
        &self,
        py: Python<'_>,
        schema: String,
        with_ids: Option<(String, String)>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        let (core, validator) = (self.core(), validator_of(validator));
        let with_ids = with_ids.map(|(before, after)| WithIds { before, after });
        let columns = AlteredColumns { schema, with_ids };
        let written = self.changed(py, |_| client::alter_schema(core.opened(), &columns, &options, validator))?;
        commit_of_write(py, written)
    }
}

/// Returns the Avro schema of the columns of Arrow data in a record of this full name, as JSON, as a write stores them.
#[pyfunction]
pub(crate) fn avro_record(columns: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let schema = ArrowInput::from_python(columns)?.schema();
    released(columns.py(), || {
        let fields = avro::hudi_fields(schema.fields(), name, "")?;
        Ok(avro::Schema::record(name, fields).json().to_owned())
    })
}
