//! Hudi's procedures of `CALL`: which there are, and the rows of those that the core computes.

use std::collections::BTreeMap;

use mortice::services::procedures::{self as core, ProcedureValue};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{StorageArgument, at_location};
use crate::results::warn;

/// Adds the class and the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Procedure>()?;
    module.add_function(wrap_pyfunction!(procedures, module)?)?;
    module.add_function(wrap_pyfunction!(procedure_rows, module)?)?;
    module.add_function(wrap_pyfunction!(run_service, module)?)?;
    module.add_function(wrap_pyfunction!(service_rows, module)?)
}

/// A procedure: `kind` is `rows`, `run`, `service`, `function` or `refused`.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
struct Procedure {
    name: &'static str,
    kind: &'static str,
    /// Name, type, whether it is required, default.
    parameters: Vec<(&'static str, &'static str, bool, Option<&'static str>)>,
    /// The options that parameters stand for, by their names.
    options: BTreeMap<&'static str, &'static str>,
    columns: Vec<(&'static str, &'static str)>,
    text: &'static str,
}

/// Returns all procedures, sorted by name.
#[pyfunction]
fn procedures() -> Vec<Procedure> {
    let described = |one: &core::Procedure| Procedure {
        name: one.name,
        kind: one.kind.name(),
        parameters: one
            .parameters
            .iter()
            .map(|one| (one.name, one.kind.name(), one.is_required, one.default))
            .collect(),
        options: one.parameters.iter().filter_map(|one| Some((one.name, one.option?))).collect(),
        columns: one.columns.iter().map(|(name, kind)| (*name, kind.name())).collect(),
        text: one.text,
    };
    core::procedures().iter().map(described).collect()
}

/// A value of an argument.
#[derive(FromPyObject)]
enum Argument {
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(String),
}

impl From<Argument> for ProcedureValue {
    fn from(argument: Argument) -> Self {
        match argument {
            Argument::Boolean(value) => Self::Boolean(value),
            Argument::Integer(value) => Self::Integer(value),
            Argument::Double(value) => Self::Double(value),
            Argument::Text(value) => Self::Text(value),
        }
    }
}

/// Returns the rows of a procedure of the kind `rows`.
#[pyfunction]
fn procedure_rows<'py>(
    py: Python<'py>,
    name: &str,
    uri: &str,
    storage_options: StorageArgument,
    arguments: BTreeMap<String, Argument>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let given = in_core(arguments);
    in_python(py, at_location(py, uri, &storage_options, |location| core::run_procedure(location, name, given))?)
}

/// Runs a procedure of the kind `run`, and returns its rows.
#[pyfunction]
fn run_service<'py>(
    py: Python<'py>,
    name: &str,
    uri: &str,
    storage_options: StorageArgument,
    arguments: BTreeMap<String, Argument>,
    options: BTreeMap<String, String>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let given = in_core(arguments);
    let done = at_location(py, uri, &storage_options, |location| core::run_service(location, name, given, &options))?;
    warn(py, &done.warnings)?;
    in_python(py, done.rows)
}

/// Returns the rows that Hudi's procedure of a table service has of these instants, which the service has run for.
#[pyfunction]
fn service_rows<'py>(
    py: Python<'py>,
    name: &str,
    uri: &str,
    storage_options: StorageArgument,
    instants: Vec<String>,
    shows_partitions: bool,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let rows = at_location(py, uri, &storage_options, |location| {
        core::rows_of_service(location, name, &instants, shows_partitions)
    })?;
    in_python(py, rows)
}

fn in_core(arguments: BTreeMap<String, Argument>) -> BTreeMap<String, ProcedureValue> {
    arguments.into_iter().map(|(name, value)| (name, value.into())).collect()
}

fn in_python(py: Python<'_>, rows: Vec<core::ProcedureRow>) -> PyResult<Vec<Bound<'_, PyTuple>>> {
    rows.into_iter().map(|row| row_in_python(py, row)).collect()
}

fn row_in_python(py: Python<'_>, row: core::ProcedureRow) -> PyResult<Bound<'_, PyTuple>> {
    let value = |value: ProcedureValue| match value {
        ProcedureValue::Null => Ok(py.None().into_bound(py)),
        ProcedureValue::Boolean(value) => {
            value.into_pyobject(py).map(|value| value.to_owned().into_any()).map_err(PyErr::from)
        }
        ProcedureValue::Integer(value) => value.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
        ProcedureValue::Double(value) => value.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
        ProcedureValue::Text(value) => value.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
    };
    PyTuple::new(py, row.into_iter().map(value).collect::<PyResult<Vec<_>>>()?)
}
