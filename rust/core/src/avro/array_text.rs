//! Whole columns through Java's texts, for base files whose columns became strings or doubles since.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;

use super::java_text;
use crate::error::{Error, Result};

/// A float as the double of the same text (1.1 becomes 1.1), as Hudi widens floats.
#[must_use]
pub fn float_to_double(value: f32) -> f64 {
    java_text::float_to_double(value)
}

/// Numbers and dates as `toString` writes them. [`crate::Kind::Unsupported`] for other types.
pub fn java_text_of(array: &ArrayRef) -> Result<ArrayRef> {
    let texts: StringArray = match array.data_type() {
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
        other => return Err(Error::unsupported(format!("a column of type {other} cannot become text"))),
    };
    Ok(Arc::new(texts))
}

fn text(short: &java_text::Short) -> String {
    short.as_str().to_owned()
}
