//! Constants of an expression, as arrays of one value.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, DurationMicrosecondArray, Float64Array, Int64Array, NullArray,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};

use crate::decimals::{MOST_DIGITS, decimal_array, parse_decimal};
use crate::moments::{parse_date, parse_moment};

/// The zone of all times that have one.
pub(crate) const UTC: &str = "UTC";

/// The types that a cast can name, without decimals.
pub(crate) const TYPES: &[(&str, DataType)] = &[
    ("BOOLEAN", DataType::Boolean),
    ("INT", DataType::Int32),
    ("INTEGER", DataType::Int32),
    ("BIGINT", DataType::Int64),
    ("LONG", DataType::Int64),
    ("FLOAT", DataType::Float32),
    ("REAL", DataType::Float32),
    ("DOUBLE", DataType::Float64),
    ("STRING", DataType::Utf8),
    ("VARCHAR", DataType::Utf8),
    ("TEXT", DataType::Utf8),
    ("BINARY", DataType::Binary),
    ("DATE", DataType::Date32),
];

/// Returns the type of a name in upper case.
pub(crate) fn type_of(name: &str) -> Option<DataType> {
    match name {
        "TIMESTAMP" => Some(DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))),
        "TIMESTAMP_NTZ" => Some(DataType::Timestamp(TimeUnit::Microsecond, None)),
        _ => TYPES.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind.clone()),
    }
}

/// The names of types, for messages.
pub(crate) fn type_names() -> String {
    let names: Vec<_> = TYPES.iter().map(|(name, _)| name.to_lowercase()).collect();
    format!("{}, timestamp, timestamp_ntz, decimal(p, s)", names.join(", "))
}

pub(crate) fn null() -> ArrayRef {
    Arc::new(NullArray::new(1))
}

pub(crate) fn boolean(value: bool) -> ArrayRef {
    Arc::new(BooleanArray::from(vec![value]))
}

pub(crate) fn float(value: f64) -> ArrayRef {
    Arc::new(Float64Array::from(vec![value]))
}

pub(crate) fn string(value: &str) -> ArrayRef {
    Arc::new(StringArray::from(vec![value]))
}

pub(crate) fn duration(micros: i64) -> ArrayRef {
    Arc::new(DurationMicrosecondArray::from(vec![micros]))
}

pub(crate) fn timestamp(micros: i64, has_zone: bool) -> ArrayRef {
    let array = TimestampMicrosecondArray::from(vec![micros]);
    Arc::new(if has_zone { array.with_timezone(UTC) } else { array })
}

pub(crate) fn date(days: i32) -> ArrayRef {
    Arc::new(Date32Array::from(vec![days]))
}

/// Returns a number: an integer, with a point a decimal, with an exponent a float. None if it has too many digits.
pub(crate) fn number(text: &str) -> Option<ArrayRef> {
    if text.contains(['e', 'E']) {
        return text.parse().ok().map(float);
    }
    if !text.contains('.')
        && let Ok(value) = text.parse::<i64>()
    {
        return Some(Arc::new(Int64Array::from(vec![value])));
    }
    let decimal = parse_decimal(text)?;
    let scale = u8::try_from(decimal.scale).ok()?;
    let precision = u8::try_from(decimal.digits).ok()?.max(scale);
    if precision > MOST_DIGITS {
        return None;
    }
    decimal_array(decimal.value, precision, i8::try_from(scale).ok()?).ok()
}

/// Returns the bytes that pairs of hexadecimal digits are, between which there may be spaces.
pub(crate) fn bytes(text: &str) -> Option<ArrayRef> {
    let mut found = Vec::new();
    let digits: Vec<char> = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    for pair in digits.chunks(2) {
        let [high, low] = pair else { return None };
        let value = high.to_digit(16)?.checked_mul(16)?.checked_add(low.to_digit(16)?)?;
        found.push(u8::try_from(value).ok()?);
    }
    Some(Arc::new(BinaryArray::from_vec(vec![found.as_slice()])))
}

/// Returns the value of `DATE 'text'` and the like. None if the text is not one.
pub(crate) fn typed(word: &str, text: &str) -> Option<ArrayRef> {
    match word {
        "X" => bytes(text),
        "DATE" => parse_date(text.trim()).map(date),
        _ => {
            let moment = parse_moment(&truncated(text.trim()))?;
            let has_zone = word == "TIMESTAMP";
            (has_zone || !moment.has_zone).then(|| timestamp(moment.micros, has_zone))
        }
    }
}

/// Returns a time without the digits behind microseconds.
fn truncated(text: &str) -> String {
    let Some(point) = text.find('.') else { return text.to_owned() };
    let (whole, rest) = text.split_at(point + 1);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, zone) = rest.split_at(end);
    format!("{whole}{}{zone}", digits.chars().take(6).collect::<String>())
}
