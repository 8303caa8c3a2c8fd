//! Whole columns through Java's strings, for base files whose columns became strings, doubles, dates or decimals since.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Date32Array, Decimal128Array, StringArray};
use arrow_schema::DataType;

use super::java_text;
use mortice_base::error::{Error, Result};

/// A float as the double of the same text (1.1 becomes 1.1), as Hudi widens floats.
#[must_use]
pub fn float_to_double(value: f32) -> f64 {
    java_text::float_to_double(value)
}

/// A float as `Float.toString` writes it.
pub fn write_float(value: f32, out: &mut String) {
    out.push_str(java_text::float(value).as_str());
}

/// A double as `Double.toString` writes it.
pub fn write_double(value: f64, out: &mut String) {
    out.push_str(java_text::double(value).as_str());
}

/// A decimal's digits, plain.
pub fn write_decimal(unscaled: i128, scale: u32, out: &mut String) {
    out.push_str(java_text::decimal(unscaled, scale).as_str());
}

/// Numbers and dates as `toString` writes them. [`mortice_base::ErrorKind::Unsupported`] for other types.
pub fn java_text_of(array: &ArrayRef) -> Result<ArrayRef> {
    let strings: StringArray = match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().iter().map(|x| x.map(|x| x.to_string())).collect(),
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().map(|x| x.map(|x| x.to_string())).collect(),
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().iter().map(|x| x.map(|x| text(&java_text::float(x)))).collect()
        }
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().iter().map(|x| x.map(|x| text(&java_text::double(x)))).collect()
        }
        DataType::Date32 => {
            array.as_primitive::<Date32Type>().iter().map(|x| x.map(|x| text(&java_text::date(x)))).collect()
        }
        DataType::Decimal128(_, scale) => {
            let scale = u32::try_from(*scale).unwrap_or(0);
            array
                .as_primitive::<Decimal128Type>()
                .iter()
                .map(|x| x.map(|x| text(&java_text::decimal(x, scale))))
                .collect()
        }
        other => return Err(Error::unsupported(format!("cannot convert a column of type {other} to string"))),
    };
    Ok(Arc::new(strings))
}

/// Days of strings `yyyy-mm-dd`; null where a text is no date.
#[must_use]
pub fn dates_of_strings(strings: &StringArray) -> ArrayRef {
    Arc::new(strings.iter().map(|text| text.and_then(java_text::parse_date)).collect::<Date32Array>())
}

/// Numbers, and strings of numbers, as decimals, rounded HALF_UP; null where one is no number or does not fit. Floats
/// go by their shortest strings. [`mortice_base::ErrorKind::Unsupported`] for other types.
pub fn decimals_of(array: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef> {
    let places = u32::try_from(scale).unwrap_or(0);
    let parse = |text: &str| java_text::parse_decimal(text.trim(), places);
    let whole = |number: i64| java_text::rescale(i128::from(number), 0, places);
    let decimals: Decimal128Array = match array.data_type() {
        DataType::Int32 => {
            array.as_primitive::<Int32Type>().iter().map(|x| x.and_then(|x| whole(i64::from(x)))).collect()
        }
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().map(|x| x.and_then(whole)).collect(),
        DataType::Float32 => array
            .as_primitive::<Float32Type>()
            .iter()
            .map(|x| x.and_then(|x| parse(java_text::float(x).as_str())))
            .collect(),
        DataType::Float64 => array
            .as_primitive::<Float64Type>()
            .iter()
            .map(|x| x.and_then(|x| parse(java_text::double(x).as_str())))
            .collect(),
        DataType::Utf8 => array.as_string::<i32>().iter().map(|text| text.and_then(parse)).collect(),
        other => return Err(Error::unsupported(format!("cannot convert a column of type {other} to decimal"))),
    };
    let limit = 10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    let fitting = decimals.unary_opt::<_, Decimal128Type>(|value| (value.unsigned_abs() < limit).then_some(value));
    let fitting = fitting.with_precision_and_scale(precision, scale);
    fitting
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| Error::unsupported("cannot convert values to decimal").caused_by(error))
}

fn text(short: &java_text::ShortText) -> String {
    short.as_str().to_owned()
}
