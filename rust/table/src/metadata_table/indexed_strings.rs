//! Values as the strings that indexes have of them (`SecondaryIndexRecordGenerationUtils`, `KeyGenUtils`).
//!
//! | type | string |
//! |---|---|
//! | string | itself |
//! | int, long | its digits |
//! | date | days since 1970-01-01 |
//! | timestamp, in micro- or milliseconds | microseconds since 1970-01-01, as Spark has them |

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType};
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};

/// Returns the strings of a column's values; `None` for types that secondary indexes do not have.
#[must_use]
pub fn indexed_strings(column: &ArrayRef) -> Option<StringArray> {
    fn digits<T: ToString>(values: impl Iterator<Item = Option<T>>) -> StringArray {
        values.map(|value| value.map(|value| value.to_string())).collect()
    }
    Some(match column.data_type() {
        DataType::Utf8 => column.as_string_opt::<i32>()?.clone(),
        DataType::Int32 => digits(column.as_primitive_opt::<Int32Type>()?.iter()),
        DataType::Int64 => digits(column.as_primitive_opt::<Int64Type>()?.iter()),
        DataType::Date32 => digits(column.as_primitive_opt::<Date32Type>()?.iter()),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            digits(column.as_primitive_opt::<TimestampMicrosecondType>()?.iter())
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let millis = column.as_primitive_opt::<TimestampMillisecondType>()?.iter();
            digits(millis.map(|value| value.map(|value| i128::from(value).saturating_mul(1000))))
        }
        _ => return None,
    })
}
