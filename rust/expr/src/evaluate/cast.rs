//! Casts of values: as SQL does (`cast`), or without any loss (`exact_cast`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, DecimalType, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Decimal128Array, PrimitiveArray, StringArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use mortice_base::{Error, Result};

use super::from_text::cast_text;
use super::value::{Value, downcast, failed};
use crate::decimals::{MOST_DIGITS, with_scale};
use crate::kinds::{has_zone, is_decimal, is_float, is_text, is_timestamp, timestamp_type, type_name};
use crate::literals::UTC;
use crate::moments::{MICROS_OF_DAY, format_moment};

/// Casts as SQL does: fractions are cut off for integers, and rounded half away from zero for decimals.
pub(crate) fn cast(value: &Value, kind: &DataType) -> Result<Value> {
    value.map(|array| cast_array(array, kind))
}

fn cast_array(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let source = array.data_type();
    if source == kind {
        return Ok(array.clone());
    }
    if source.is_null() {
        return Ok(new_null_array(kind, array.len()));
    }
    if is_text(source) && !is_text(kind) && !matches!(kind, DataType::Binary) {
        return text_as(array, kind);
    }
    match kind {
        _ if is_timestamp(kind) => as_type_array(array, kind),
        _ if kind.is_integer() && (is_float(source) || is_decimal(source)) => kernel(array, kind),
        DataType::Decimal128(..) if is_float(source) => kernel(array, kind),
        DataType::Decimal128(_, scale) if is_decimal(source) || source.is_integer() => {
            rescaled(array, kind, *scale, false)
        }
        _ if is_float(kind) && !is_timestamp(source) => kernel(array, kind),
        _ => exact_array(array, kind),
    }
}

/// Returns values in a type that holds all of them. A time without a zone is one of UTC.
pub(crate) fn as_type(value: &Value, kind: &DataType) -> Result<Value> {
    value.map(|array| as_type_array(array, kind))
}

fn as_type_array(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let source = array.data_type();
    if source == kind {
        return Ok(array.clone());
    }
    if has_zone(kind) && !has_zone(source) {
        let local = exact_array(array, &timestamp_type(false))?;
        return with_zone(&local, kind);
    }
    exact_array(array, kind)
}

fn with_zone(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let DataType::Timestamp(TimeUnit::Microsecond, zone) = kind else { return exact_array(array, kind) };
    let times = downcast::<PrimitiveArray<TimestampMicrosecondType>>(array)?;
    Ok(Arc::new(times.clone().with_timezone_opt(zone.clone())))
}

/// Casts to a type that holds all values exactly. `InvalidArgument` for one that it does not.
pub(crate) fn exact_cast(value: &Value, kind: &DataType) -> Result<Value> {
    value.map(|array| exact_array(array, kind))
}

pub(crate) fn exact_array(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let source = array.data_type();
    if source == kind {
        return Ok(array.clone());
    }
    match (source, kind) {
        (DataType::Null, _) => Ok(new_null_array(kind, array.len())),
        (_, DataType::Timestamp(..)) if is_timestamp(source) => converted_unit(array, kind),
        (DataType::Date32, DataType::Timestamp(..)) => {
            let times =
                checked_times(array.as_primitive::<Date32Type>(), |day| i64::from(day).checked_mul(MICROS_OF_DAY))?;
            converted_unit(&times, kind)
        }
        (DataType::Timestamp(..), DataType::Date32) => {
            let times = converted_unit(array, &timestamp_type(has_zone(source)))?;
            let days = times.as_primitive::<TimestampMicrosecondType>();
            let day = |micros: i64| i32::try_from(micros.div_euclid(MICROS_OF_DAY)).map_err(|_| overflow(kind));
            Ok(Arc::new(days.try_unary::<_, Date32Type, Error>(day)?))
        }
        (DataType::Timestamp(unit, zone), DataType::Utf8) => times_as_text(array, *unit, zone.is_some()),
        (_, DataType::Utf8) if is_float(source) => floats_as_text(array),
        (_, DataType::Float32 | DataType::Float64) if source.is_integer() => exact_float(array, kind),
        (_, DataType::Decimal128(_, scale)) if is_decimal(source) || source.is_integer() => {
            rescaled(array, kind, *scale, true)
        }
        _ if kind.is_integer() && (is_float(source) || is_decimal(source)) => exact_integers(array, kind),
        _ if is_text(source) && !is_text(kind) && !matches!(kind, DataType::Binary) => text_as(array, kind),
        _ if !is_supported(source, kind) => {
            Err(Error::invalid_argument(format!("{} cannot be cast to {}", type_name(source), type_name(kind))))
        }
        _ => kernel(array, kind),
    }
}

fn text_as(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let strings = as_strings(array)?;
    match kind {
        DataType::Timestamp(_, zone) => {
            let times = cast_text(&strings, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
            exact_array(&times, kind)
        }
        _ => cast_text(&strings, kind),
    }
}

/// The pairs of types that a cast is defined for, besides those that are handled above.
fn is_supported(source: &DataType, kind: &DataType) -> bool {
    use DataType::{Binary, Boolean, Date32, FixedSizeBinary, Int32, Int64, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let is_plain = |kind: &DataType| kind.is_integer() || is_float(kind) || matches!(kind, Boolean);
    let is_string = |kind: &DataType| matches!(kind, Utf8 | LargeUtf8 | Utf8View);
    let is_bytes = |kind: &DataType| matches!(kind, Binary | LargeBinary | FixedSizeBinary(_));
    match (source, kind) {
        (Date32, Int32) | (Int32, Date32) | (DataType::Timestamp(..), Int64) | (Int64, DataType::Timestamp(..)) => true,
        (Date32, kind) => is_string(kind),
        (source, kind) if is_decimal(source) => is_string(kind) || is_float(kind) || is_decimal(kind),
        (source, DataType::Decimal128(..)) => is_float(source),
        (source, kind) => {
            (is_plain(source) && (is_plain(kind) || is_string(kind)))
                || ((is_string(source) || is_bytes(source)) && (is_string(kind) || is_bytes(kind)))
        }
    }
}

fn kernel(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, kind, &options).map_err(|error| failed(&error))
}

pub(crate) fn as_strings(array: &ArrayRef) -> Result<StringArray> {
    let strings = if array.data_type() == &DataType::Utf8 { array.clone() } else { kernel(array, &DataType::Utf8)? };
    downcast::<StringArray>(&strings).cloned()
}

fn overflow(kind: &DataType) -> Error {
    Error::invalid_argument(format!("overflow: {} does not hold a value", type_name(kind)))
}

fn checked_times(days: &PrimitiveArray<Date32Type>, micros: impl Fn(i32) -> Option<i64>) -> Result<ArrayRef> {
    let kind = timestamp_type(false);
    let times =
        days.try_unary::<_, TimestampMicrosecondType, Error>(|day| micros(day).ok_or_else(|| overflow(&kind)))?;
    Ok(Arc::new(times))
}

/// Returns times in another unit. `InvalidArgument` for one that it does not hold exactly.
fn converted_unit(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) = (array.data_type(), kind) else {
        return Err(Error::internal("units are those of times"));
    };
    let (from, to) = (per_second(*from), per_second(*to));
    let data = array.to_data().into_builder().data_type(DataType::Int64).build().map_err(|error| failed(&error))?;
    let convert = |value: i64| {
        let exact = if to >= from { value.checked_mul(to / from) } else { Some(value / (from / to)) };
        exact.filter(|_| to >= from || value % (from / to) == 0).ok_or_else(|| overflow(kind))
    };
    let numbers = PrimitiveArray::<Int64Type>::from(data).try_unary::<_, Int64Type, Error>(convert)?;
    let data = numbers.into_data().into_builder().data_type(kind.clone()).build().map_err(|error| failed(&error))?;
    Ok(arrow_array::make_array(data))
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn times_as_text(array: &ArrayRef, unit: TimeUnit, has_zone: bool) -> Result<ArrayRef> {
    let digits = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => return Err(Error::invalid_argument("nanoseconds cannot be cast to string")),
    };
    let zone = has_zone.then(|| UTC.into());
    let times = converted_unit(array, &DataType::Timestamp(TimeUnit::Microsecond, zone))?;
    let times = times.as_primitive::<TimestampMicrosecondType>();
    let shown = times.iter().map(|time| match time {
        Some(micros) => format_moment(micros, has_zone, digits).map(Some).ok_or_else(|| overflow(&DataType::Utf8)),
        None => Ok(None),
    });
    Ok(Arc::new(shown.collect::<Result<StringArray>>()?))
}

/// Returns numbers as the shortest strings that say them.
fn floats_as_text(array: &ArrayRef) -> Result<ArrayRef> {
    let is_short = array.data_type() == &DataType::Float32;
    let numbers = kernel(array, &DataType::Float64)?;
    let numbers = numbers.as_primitive::<Float64Type>();
    let shown = numbers.iter().map(|number| number.map(|number| float_as_text(number, is_short)));
    Ok(Arc::new(shown.collect::<StringArray>()))
}

#[allow(clippy::cast_possible_truncation)]
fn float_as_text(number: f64, is_short: bool) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf".into() } else { "-inf".into() };
    }
    // The value was one of 32 bits.
    let scientific = if is_short { format!("{:e}", number as f32) } else { format!("{number:e}") };
    let (_, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-5..10).contains(&exponent) || number == 0.0 {
        return if is_short { format!("{}", number as f32) } else { format!("{number}") };
    }
    if exponent > 0 { scientific.replace('e', "e+") } else { scientific }
}

/// Integers as floating-point numbers, which hold those of 53 bits, or 24.
fn exact_float(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let most = if kind == &DataType::Float32 { 1_i64 << 24 } else { 1_i64 << 53 };
    let longs = kernel(array, &DataType::Int64)?;
    let is_beyond = |value: i64| value.unsigned_abs() > most.unsigned_abs();
    if let Some(value) = longs.as_primitive::<Int64Type>().iter().flatten().find(|value| is_beyond(*value)) {
        return Err(Error::invalid_argument(format!("{} does not hold {value} exactly", type_name(kind))));
    }
    kernel(array, kind)
}

/// Numbers as integers. `InvalidArgument` for one with a fraction.
fn exact_integers(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let integers = kernel(array, kind)?;
    let same = kernel(&integers, array.data_type())?;
    let differs = arrow_ord::cmp::neq(&same, array).map_err(|error| failed(&error))?;
    // Negative zero is another value to the kernel than zero.
    let is_lost = |row: &usize| differs.is_valid(*row) && differs.value(*row) && !is_zero(array, *row);
    if let Some(row) = (0..differs.len()).find(is_lost) {
        return Err(lossy(array, row, kind));
    }
    Ok(integers)
}

/// The error for a value that another type does not hold exactly.
pub(crate) fn lossy(array: &ArrayRef, row: usize, kind: &DataType) -> Error {
    let shown = arrow_cast::display::array_value_to_string(array, row).unwrap_or_else(|error| error.to_string());
    Error::invalid_argument(format!("{} does not hold {shown} exactly", type_name(kind)))
}

fn is_zero(array: &ArrayRef, row: usize) -> bool {
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row) == 0.0,
        DataType::Float32 => array.as_primitive::<arrow_array::types::Float32Type>().value(row) == 0.0,
        _ => false,
    }
}

/// Returns decimals or integers as decimals of a type.
fn rescaled(array: &ArrayRef, kind: &DataType, scale: i8, is_exact: bool) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, _) = kind else { return kernel(array, kind) };
    let source = match array.data_type() {
        DataType::Decimal128(..) => array.clone(),
        DataType::Decimal256(_, scale) => kernel(array, &DataType::Decimal128(38, *scale))?,
        _ => kernel(&kernel(array, &DataType::Int64)?, &DataType::Decimal128(19, 0))?,
    };
    let DataType::Decimal128(_, from) = source.data_type() else {
        return Err(Error::internal("a decimal has 128 bits"));
    };
    let scale_of_source = *from;
    let (from, to) = (i64::from(*from), i64::from(scale));
    let limit = 10_i128.checked_pow(u32::from(*precision)).unwrap_or(i128::MAX);
    let convert = |value: i128| {
        let found = with_scale(value, from, to).filter(|found| found.unsigned_abs() < limit.unsigned_abs());
        let shown = || Decimal128Type::format_decimal(value, MOST_DIGITS, scale_of_source);
        let holds =
            |what: &str| Error::invalid_argument(format!("{what}{} does not hold {}", type_name(kind), shown()));
        let found = found.ok_or_else(|| holds("overflow: "))?;
        if is_exact && to < from && with_scale(found, to, from) != Some(value) {
            return Err(holds(""));
        }
        Ok(found)
    };
    let numbers: Decimal128Array =
        downcast::<Decimal128Array>(&source)?.try_unary::<_, Decimal128Type, Error>(convert)?;
    let numbers = numbers.with_precision_and_scale(*precision, scale).map_err(|error| failed(&error))?;
    Ok(Arc::new(numbers))
}
