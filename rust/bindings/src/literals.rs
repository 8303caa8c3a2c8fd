//! Literals of filters: Python values, scalars of numpy, pandas and pyarrow among them, and the literals of the core.

use mortice::expr::predicate::Misuse;
use mortice::filter::Literal;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple,
    PyTzInfo,
};

use crate::errors::raised;

const MOST_DIGITS: u32 = 38;
/// The ordinal of 1970-01-01.
const EPOCH: i32 = 719_163;

/// Returns a value as a literal. `InvalidArgument` for one that is none.
///
/// # Arguments
/// * `value` - The value.
/// * `term` - The term that it is in, for errors.
pub(crate) fn literal(value: &Bound<'_, PyAny>, term: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if value.is_none() {
        return Ok(Literal::Null);
    }
    // In Python a bool is an int and a datetime a date: the narrower type is checked first. Subclasses are literals,
    // too: numpy's str_ and float64, enums of strings.
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Literal::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyString>() {
        return string(value, || format!("a literal of the filter on {}", shown(term.get_item(0)))).map(Literal::Text);
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i128>().ok().filter(|number| is_short(*number));
        return number.map(Literal::Int).ok_or_else(|| refused(value, term, Misuse::TOO_MANY_DIGITS));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Literal::Float(value.extract()?));
    }
    if is_a(value, "datetime", "datetime")? {
        // A pandas.Timestamp has nanoseconds, and may be NaT, which has NaN.
        let nanoseconds = value.getattr_opt("nanosecond")?;
        if nanoseconds.is_some_and(|nanos| !nanos.eq(0).unwrap_or(false)) {
            return Err(refused(value, term, "it is not a whole number of microseconds"));
        }
        return timestamp(value);
    }
    if is_a(value, "datetime", "date")? {
        let days: i32 = value.call_method0("toordinal")?.extract()?;
        return Ok(Literal::Date(days - EPOCH));
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(Literal::Bytes(value.extract()?));
    }
    if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        return Ok(Literal::Bytes(value.py().get_type::<PyBytes>().call1((value,))?.extract()?));
    }
    if is_a(value, "decimal", "Decimal")? {
        return decimal(value).map_err(|why| why.map_or_else(|error| error, |why| refused(value, term, why)));
    }
    if is_a(value, "uuid", "UUID")? {
        return Ok(Literal::Text(value.str()?.extract()?));
    }
    unwrapped(value, term)
}

/// Returns a string that can be encoded as UTF-8. `InvalidArgument` for one with lone surrogates.
pub(crate) fn string(value: &Bound<'_, PyAny>, argument: impl FnOnce() -> String) -> PyResult<String> {
    value.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyUnicodeEncodeError>(value.py()) {
            return error;
        }
        let message = format!("{} must be valid Unicode, got {}", argument(), shown(Ok(value.clone())));
        raised(value.py(), &mortice::Error::invalid_argument(message))
    })
}

/// Returns the literal of the Python value of a scalar of numpy or pyarrow.
fn unwrapped(value: &Bound<'_, PyAny>, term: &Bound<'_, PyAny>) -> PyResult<Literal> {
    for method in ["as_py", "item"] {
        let Some(unwrap) = value.getattr_opt(method)?.filter(|unwrap| unwrap.is_callable()) else { continue };
        let plain = unwrap.call0()?;
        // A datetime64 of nanoseconds unwraps to an integer, whose unit would be lost.
        let kind = type_name(value);
        if plain.get_type().is(value.py().get_type::<PyInt>()) && matches!(&*kind, "datetime64" | "timedelta64") {
            return Err(refused(value, term, "use a datetime, or datetime64[us]"));
        }
        let is_list = plain.is_instance_of::<PyList>() || plain.is_instance_of::<PyTuple>();
        if !plain.get_type().is(value.get_type()) && !is_list {
            return literal(&plain, term);
        }
    }
    Err(refused(value, term, Misuse::OTHER_TYPE))
}

fn is_a(value: &Bound<'_, PyAny>, module: &str, class: &str) -> PyResult<bool> {
    value.is_instance(&value.py().import(module)?.getattr(class)?)
}

fn is_short(number: i128) -> bool {
    number.unsigned_abs() < 10_u128.pow(MOST_DIGITS)
}

/// Returns microseconds since the epoch; without a time zone, of local time.
fn timestamp(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let py = value.py();
    let utc = PyTzInfo::utc(py)?;
    let zoned = !value.getattr("tzinfo")?.is_none();
    let value = if zoned {
        value.call_method1("astimezone", (&utc,))?
    } else {
        let replaced = pyo3::types::PyDict::new(py);
        replaced.set_item("tzinfo", utc)?;
        value.call_method("replace", (), Some(&replaced))?
    };
    let since = value.sub(epoch(py)?)?;
    let micro = PyDelta::new(py, 0, 0, 1, false)?;
    Ok(Literal::Timestamp { micros: since.floor_div(micro)?.extract()?, utc: zoned })
}

fn epoch(py: Python<'_>) -> PyResult<Bound<'_, PyDateTime>> {
    PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&*PyTzInfo::utc(py)?))
}

/// Returns digits and exponent. The error is one of Python, or why the number is refused.
fn decimal(value: &Bound<'_, PyAny>) -> Result<Literal, Result<&'static str, PyErr>> {
    let parts: PyResult<(u8, Vec<u8>, Bound<'_, PyAny>)> = value.call_method0("as_tuple").and_then(|it| it.extract());
    let (negative, digits, exponent) = parts.map_err(Err)?;
    let exponent: i32 = exponent.extract().map_err(|_| Ok("it is not a finite number"))?;
    let unscaled = digits.iter().try_fold(0_i128, |sum, digit| sum.checked_mul(10)?.checked_add(i128::from(*digit)));
    let zeros = u32::try_from(exponent).unwrap_or(0);
    let unscaled = unscaled.zip(10_i128.checked_pow(zeros)).and_then(|(value, zeros)| value.checked_mul(zeros));
    let unscaled = unscaled.filter(|value| is_short(*value)).ok_or(Ok(Misuse::TOO_MANY_DIGITS))?;
    let scale = i8::try_from(-i64::from(exponent.min(0))).map_err(|_| Ok("it has more than 127 decimal places"))?;
    Ok(Literal::Decimal { unscaled: if negative == 1 { -unscaled } else { unscaled }, scale })
}

fn refused(value: &Bound<'_, PyAny>, term: &Bound<'_, PyAny>, why: &str) -> PyErr {
    let misuse = (shown(Ok(value.clone())), type_name(value), shown(Ok(term.clone())));
    raised(value.py(), &Misuse::Unusable(&misuse.0, &misuse.1, why).error(&misuse.2))
}

pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map(|name| name.to_string()).unwrap_or_default()
}

/// Returns a value as Python shows it.
pub(crate) fn shown(value: PyResult<Bound<'_, PyAny>>) -> String {
    value.and_then(|value| value.repr()).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns a literal as a Python value.
pub(crate) fn python_value<'py>(py: Python<'py>, literal: &Literal) -> PyResult<Bound<'py, PyAny>> {
    Ok(match literal {
        Literal::Null => py.None().into_bound(py),
        Literal::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Literal::Int(value) => value.into_pyobject(py)?.into_any(),
        Literal::Float(value) => PyFloat::new(py, *value).into_any(),
        Literal::Text(value) => PyString::new(py, value).into_any(),
        Literal::Bytes(value) => PyBytes::new(py, value).into_any(),
        Literal::Decimal { unscaled, scale } => {
            let exponent = -i32::from(*scale);
            py.import("decimal")?.getattr("Decimal")?.call1((format!("{unscaled}E{exponent}"),))?
        }
        Literal::Date(days) => {
            let ordinal = days.checked_add(EPOCH).ok_or_else(|| PyTypeError::new_err("a date that Python has not"))?;
            py.get_type::<PyDate>().call_method1("fromordinal", (ordinal,))?
        }
        Literal::Timestamp { micros, utc } => {
            let since = PyDelta::new(py, 0, 0, 0, false)?.get_type().call1((0, 0, *micros))?;
            let moment = epoch(py)?.add(since)?;
            if *utc {
                return Ok(moment);
            }
            let replaced = pyo3::types::PyDict::new(py);
            replaced.set_item("tzinfo", py.None())?;
            moment.call_method("replace", (), Some(&replaced))?
        }
    })
}
