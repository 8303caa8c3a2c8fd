//! Which values are absent, so that they are filled from the other record.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

/// When a value of a column counts as absent.
#[derive(Debug, Clone, PartialEq)]
pub enum Absence {
    /// Never.
    Never,
    /// Where it is null.
    Null,
    /// Where it is this number (of a field whose default it is).
    Number(f64),
    /// Where it is this boolean.
    Boolean(bool),
    /// Where it is this string. Bytes never are.
    Text(String),
    /// Where it is this string, or a binary column holds its UTF-8 bytes.
    TextOrBytes(String),
}

impl Absence {
    /// The rows whose value is absent; `None` if there are none.
    pub(super) fn absent_rows(&self, column: &ArrayRef) -> Option<BooleanBuffer> {
        let is = |array: BooleanArray| match array.nulls() {
            Some(there) => array.values() & there.inner(),
            None => array.values().clone(),
        };
        match (self, column.data_type()) {
            (Self::Never, _) => None,
            (Self::Null, _) => column.logical_nulls().map(|there| !there.inner()),
            (Self::Boolean(value), DataType::Boolean) => {
                Some(is(column.as_boolean().iter().map(|one| one.map(|one| one == *value)).collect()))
            }
            (Self::Number(value), kind) => numbers(column, kind, *value).map(is),
            (Self::Text(text) | Self::TextOrBytes(text), DataType::Utf8) => {
                Some(is(column.as_string::<i32>().iter().map(|one| one.map(|one| one == text)).collect()))
            }
            (Self::TextOrBytes(text), DataType::Binary) => {
                Some(is(column.as_binary::<i32>().iter().map(|one| one.map(|one| one == text.as_bytes())).collect()))
            }
            (Self::Boolean(_) | Self::Text(_) | Self::TextOrBytes(_), _) => None,
        }
    }
}

/// Defaults are numbers of the schema's JSON, which a double represents.
#[allow(clippy::cast_precision_loss, clippy::float_cmp)]
fn numbers(column: &ArrayRef, kind: &DataType, value: f64) -> Option<BooleanArray> {
    Some(match kind {
        DataType::Int32 => {
            column.as_primitive::<Int32Type>().iter().map(|one| one.map(|one| f64::from(one) == value)).collect()
        }
        DataType::Int64 => {
            column.as_primitive::<Int64Type>().iter().map(|one| one.map(|one| one as f64 == value)).collect()
        }
        DataType::Float32 => {
            column.as_primitive::<Float32Type>().iter().map(|one| one.map(|one| f64::from(one) == value)).collect()
        }
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().map(|one| one.map(|one| one == value)).collect()
        }
        _ => return None,
    })
}
