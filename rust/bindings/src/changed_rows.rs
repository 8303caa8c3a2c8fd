//! `write_changes`: rows of a table that Python has changed, by expressions.

use std::collections::BTreeMap;

use mortice::client;
use mortice::client::WriteInput;
use pyo3::prelude::*;

use crate::arrow_in::ArrowInput;
use crate::commit::{Commit, commit_of_write};
use crate::errors::released;
use crate::scan::Scan;
use crate::table::Table;
use crate::validator::validator as validator_of;

/// Adds the functions of this file to the module.
pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(write_changes, module)?)?;
    module.add_function(wrap_pyfunction!(check_changes, module)?)?;
    module.add_function(wrap_pyfunction!(rows_of_keys, module)?)
}

/// Writes changed rows to a table, in the state in which it was opened.
#[pyfunction]
#[pyo3(signature = (table, rows, updated, options, validator=None))]
pub(crate) fn write_changes(
    table: &Bound<'_, Table>,
    rows: &Bound<'_, PyAny>,
    updated: Vec<String>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<Commit> {
    let mut rows = ArrowInput::from_python(rows)?;
    let (core, validator) = (table.get().core(), validator_of(validator));
    let written = released(table.py(), || {
        let schema = rows.schema();
        let input = WriteInput { schema, batches: &mut rows, is_in_memory: false, options: &options, validator };
        client::write_changes(core.opened(), &updated, input)
    })?;
    commit_of_write(table.py(), written)
}

/// Raises for a table whose rows, or columns, cannot be changed by expressions.
#[pyfunction]
pub(crate) fn check_changes(
    table: &Bound<'_, Table>,
    updated: Vec<String>,
    options: BTreeMap<String, String>,
) -> PyResult<()> {
    let core = table.get().core();
    released(table.py(), || client::check_changes(core.opened(), &updated, &options))
}

/// Plans a query of the rows that have the keys of others.
#[pyfunction]
pub(crate) fn rows_of_keys(table: &Bound<'_, Table>, keys: &Bound<'_, PyAny>, columns: Vec<String>) -> PyResult<Scan> {
    let (core, mut batches) = (table.get().core(), ArrowInput::from_python(keys)?);
    released(table.py(), || match (batches.next().transpose()?, batches.next()) {
        (Some(keys), None) => client::rows_of_keys(core.opened(), &keys, &columns).map(Scan::new),
        _ => Err(mortice::Error::invalid_argument("keys must be one record batch")),
    })
}
