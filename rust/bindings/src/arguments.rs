//! Converts Python arguments: filters in disjunctive normal form, storage options, for which functions of the core run.

use std::collections::BTreeMap;

use mortice::filter::{Filter, Literal, Operator, Term};
use mortice::storage;
use mortice::writable_table::TableLocation;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};

use crate::errors::{raised, released};
use crate::metadata::progress_of_services;

/// (column, operator, literal or list of literals).
pub(crate) type FilterArgument<'py> = Option<Vec<Vec<(ColumnArgument, String, Bound<'py, PyAny>)>>>;

/// A column, or a field within one by its names, outermost first.
#[derive(FromPyObject)]
pub(crate) enum ColumnArgument {
    Name(String),
    Path(Vec<String>),
}

/// Returns the filter for a list of conjunctions; an empty one selects all rows.
pub(crate) fn filter(py: Python<'_>, argument: FilterArgument<'_>) -> PyResult<Filter> {
    let Some(any) = argument else { return Ok(Filter::default()) };
    let mut filter = Vec::new();
    for all in any {
        filter.push(
            all.into_iter()
                .map(|(column, operator, value)| term(py, column, &operator, &value))
                .collect::<PyResult<_>>()?,
        );
    }
    Ok(Filter::any_of(filter))
}

fn term(py: Python<'_>, column: ColumnArgument, operator: &str, value: &Bound<'_, PyAny>) -> PyResult<Term> {
    let mut path = match column {
        ColumnArgument::Name(name) => vec![name],
        ColumnArgument::Path(names) => names,
    };
    let fields = if path.len() > 1 { path.split_off(1) } else { Vec::new() };
    let column = path.pop().unwrap_or_default();
    let operator = Operator::parse(operator).map_err(|error| raised(py, &error))?;
    let literals = match operator {
        Operator::IsNull | Operator::IsNotNull => Vec::new(),
        Operator::In | Operator::NotIn => value.try_iter()?.map(|item| literal(&item?)).collect::<PyResult<_>>()?,
        _ => vec![literal(value)?],
    };
    let term = Term::new(column, operator, literals).map_err(|error| raised(py, &error))?;
    Ok(term.with_fields(fields))
}

fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if value.is_none() {
        return Ok(Literal::Null);
    }
    // In Python a bool is an int and a datetime a date: the narrower type is checked first.
    if value.is_instance_of::<PyBool>() {
        return Ok(Literal::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Literal::Int(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Literal::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Literal::Text(value.extract()?));
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(Literal::Bytes(value.extract()?));
    }
    if is_a(value, "datetime", "datetime")? {
        return timestamp(value);
    }
    if is_a(value, "datetime", "date")? {
        let days: i32 = value.call_method0("toordinal")?.extract()?;
        // The ordinal of 1970-01-01.
        return Ok(Literal::Date(days - 719_163));
    }
    if is_a(value, "decimal", "Decimal")? {
        return decimal(value);
    }
    Err(PyTypeError::new_err(format!("a filter cannot compare with a {}", value.get_type().name()?)))
}

fn is_a(value: &Bound<'_, PyAny>, module: &str, class: &str) -> PyResult<bool> {
    value.is_instance(&value.py().import(module)?.getattr(class)?)
}

/// Returns microseconds since the epoch; without a time zone, of local time.
fn timestamp(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let py = value.py();
    let datetime = py.import("datetime")?;
    let utc = datetime.getattr("timezone")?.getattr("utc")?;
    let zoned = !value.getattr("tzinfo")?.is_none();
    let value = if zoned {
        value.call_method1("astimezone", (&utc,))?
    } else {
        let replaced = pyo3::types::PyDict::new(py);
        replaced.set_item("tzinfo", &utc)?;
        value.call_method("replace", (), Some(&replaced))?
    };
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, &utc))?;
    let since = value.sub(epoch)?;
    let micro = datetime.getattr("timedelta")?.call1((0, 0, 1))?;
    Ok(Literal::Timestamp { micros: since.floor_div(micro)?.extract()?, utc: zoned })
}

/// Returns digits and exponent; NaN and infinities cannot be compared.
fn decimal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let (negative, digits, exponent): (u8, Vec<u8>, Bound<'_, PyAny>) = value.call_method0("as_tuple")?.extract()?;
    let unfit = || PyTypeError::new_err("a filter cannot compare with this decimal");
    let exponent: i32 = exponent.extract().map_err(|_| unfit())?;
    let mut unscaled = digits
        .iter()
        .try_fold(0_i128, |sum, digit| sum.checked_mul(10)?.checked_add(i128::from(*digit)))
        .ok_or_else(unfit)?;
    if let Ok(zeros) = u32::try_from(exponent) {
        unscaled = 10_i128.checked_pow(zeros).and_then(|factor| unscaled.checked_mul(factor)).ok_or_else(unfit)?;
    }
    let scale = i8::try_from(-exponent.min(0)).map_err(|_| unfit())?;
    Ok(Literal::Decimal { unscaled: if negative == 1 { -unscaled } else { unscaled }, scale })
}

/// Returns the storage options by name.
pub(crate) type StorageArgument = BTreeMap<String, String>;

/// Runs a function of the core without the GIL, with the storage options that a table needs.
pub(crate) fn with_storage<T: Send>(
    py: Python<'_>,
    uri: &str,
    storage_options: &StorageArgument,
    work: impl FnOnce(&StorageArgument) -> mortice::Result<T> + Send,
) -> PyResult<T> {
    released(py, || work(&storage::needed_options(uri, storage_options)?))
}

/// As [`with_storage`], with the place of a table that is changed.
pub(crate) fn at_location<T: Send>(
    py: Python<'_>,
    uri: &str,
    storage_options: &StorageArgument,
    work: impl FnOnce(&TableLocation) -> mortice::Result<T> + Send,
) -> PyResult<T> {
    with_storage(py, uri, storage_options, |storage| {
        work(&TableLocation::new(uri, storage).with_progress(progress_of_services()))
    })
}
