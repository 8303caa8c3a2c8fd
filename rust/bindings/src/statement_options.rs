//! What options say of Spark's `INSERT` and `CREATE TABLE`.

use std::collections::BTreeMap;

use mortice::client::statement_options as core;
use pyo3::prelude::*;

use crate::errors::released;

/// Options by name, in an order.
type Pairs = Vec<(String, String)>;
/// Options by name.
type Options = BTreeMap<String, String>;

/// Adds the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INSERT_OPTIONS", core::INSERT_OPTIONS)?;
    module.add("INSERT_SETTINGS", core::INSERT_SETTINGS)?;
    module.add_function(wrap_pyfunction!(insert_write, module)?)?;
    module.add_function(wrap_pyfunction!(create_table_options, module)?)
}

/// Returns the operation of an `INSERT`, and the options that its write gets besides those of the table.
#[pyfunction]
fn insert_write(py: Python<'_>, session: Options, table: Options, overwrites: bool) -> PyResult<(String, Options)> {
    released(py, || core::insert_write(&session, &table, overwrites))
}

/// Returns the options that the entry of a new table keeps, and those of the write that creates it; the latter are
/// empty without columns.
#[pyfunction]
fn create_table_options(
    py: Python<'_>,
    title: &str,
    properties: Pairs,
    partitions: Vec<String>,
    columns: Option<Vec<String>>,
) -> PyResult<(Pairs, Options)> {
    let table = core::NewSqlTable { title, properties: &properties, partitions: &partitions };
    released(py, || {
        let options = columns.map(|columns| table.write_options(&columns)).transpose()?.unwrap_or_default();
        Ok((table.kept_options()?, options))
    })
}
