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

/// Adds the functions of this file to the module.
pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stored_columns, module)?)?;
    module.add_function(wrap_pyfunction!(alter_schema, module)?)?;
    module.add_function(wrap_pyfunction!(avro_record, module)?)
}

/// Returns the Avro schema of a table's columns, as JSON, and the columns with their ids, if they have some.
#[pyfunction]
pub(crate) fn stored_columns(table: &Bound<'_, Table>) -> PyResult<(String, Option<String>)> {
    let core = table.get().core();
    released(table.py(), || client::stored_columns(core.opened()))
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

/// Changes the columns of a table, in the state in which it was opened.
#[pyfunction]
#[pyo3(signature = (table, schema, with_ids, options, validator=None))]
pub(crate) fn alter_schema(
    table: &Bound<'_, Table>,
    schema: String,
    with_ids: Option<(String, String)>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<Commit> {
    let (core, validator) = (table.get().core(), validator_of(validator));
    let with_ids = with_ids.map(|(before, after)| WithIds { before, after });
    let columns = AlteredColumns { schema, with_ids };
    let written = released(table.py(), || client::alter_schema(core.opened(), &columns, &options, validator))?;
    commit_of_write(table.py(), written)
}
