//! Values of segments of partition paths, and the bounds of column values that they imply.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::types::Date32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
    UInt64Array,
};
use arrow_cast::parse::Parser;
use arrow_schema::DataType;

use super::partition_part::PartitionPart;
use super::partition_path::NULL as NULL_PARTITION;
use super::path_time;
use mortice_formats::filter::ColumnBounds;

const OLD_NULL_PARTITION: &str = "default";
/// Calendars differ before this year.
const FIRST_DATE: &str = "1900-01-01";

/// The value of a segment.
#[derive(Debug, Clone, PartialEq)]
pub enum PathValue {
    /// Any value.
    Unknown,
    /// This string; or null or empty.
    NullOr(String),
    /// This string.
    Text(String),
    /// This string, in which some or all slashes may have been dashes.
    Slashed(String),
    /// A number between the two, inclusive; or null.
    NullOrWithin(i64, i64),
}

impl PathValue {
    /// Parses a segment of a path of partitions, by what is known of its format.
    pub fn parse(text: String, says: &PartitionPart) -> Self {
        match says {
            PartitionPart::Unknown => Self::Unknown,
            PartitionPart::Time(format) => path_time::numbers(format, &text)
                .map_or(Self::Unknown, |(least, greatest)| Self::NullOrWithin(least, greatest)),
            _ if text == NULL_PARTITION || text == OLD_NULL_PARTITION => Self::NullOr(text),
            PartitionPart::Value => Self::Text(text),
            PartitionPart::SlashedDate => Self::Slashed(text),
        }
    }

    fn least_text(&self) -> Option<String> {
        match self {
            Self::Unknown | Self::NullOrWithin(..) => None,
            Self::NullOr(_) => Some(String::new()),
            Self::Text(text) => Some(text.clone()),
            // A dash sorts before a slash.
            Self::Slashed(text) => Some(text.replace('/', "-")),
        }
    }

    fn greatest_text(&self) -> Option<String> {
        match self {
            Self::Unknown | Self::NullOrWithin(..) => None,
            Self::NullOr(text) | Self::Text(text) | Self::Slashed(text) => Some(text.clone()),
        }
    }

    /// Parses an integer or a boolean, if the string is Java's representation of it.
    fn exactly<T: FromStr + ToString>(&self) -> Option<T> {
        let Self::Text(text) = self else { return None };
        text.parse().ok().filter(|parsed: &T| parsed.to_string() == *text)
    }

    /// Parses a float. Java's string of a float is not that of another one.
    fn float<T: FromStr>(&self) -> Option<T> {
        if let Self::Text(text) = self { text.parse().ok() } else { None }
    }

    fn within<T: TryFrom<i64>>(&self) -> (Option<T>, Option<T>) {
        let Self::NullOrWithin(least, greatest) = self else { return (None, None) };
        (T::try_from(*least).ok(), T::try_from(*greatest).ok())
    }

    fn date(&self) -> Option<i32> {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::Slashed(text) => text.replace('/', "-"),
            _ => return None,
        };
        let is_date = text.len() == FIRST_DATE.len() && text.as_str() >= FIRST_DATE;
        is_date.then(|| Date32Type::parse(&text)).flatten()
    }

    /// Returns the null count of one value.
    fn nulls(&self, is_value: bool) -> Option<u64> {
        match self {
            Self::NullOr(text) if !is_value && text == NULL_PARTITION => Some(1),
            Self::Text(_) | Self::Slashed(_) if is_value => Some(0),
            _ => None,
        }
    }
}

/// Returns the bounds of a column of that type in partitions with these values.
pub fn bounds_of(values: Vec<PathValue>, kind: &DataType) -> ColumnBounds {
    let some = || values.iter();
    let (least, greatest): (ArrayRef, ArrayRef) = match kind {
        DataType::Utf8 => (
            Arc::new(some().map(PathValue::least_text).collect::<StringArray>()),
            Arc::new(some().map(PathValue::greatest_text).collect::<StringArray>()),
        ),
        DataType::Int32 => (
            Arc::new(some().map(|value| value.exactly().or(value.within().0)).collect::<Int32Array>()),
            Arc::new(some().map(|value| value.exactly().or(value.within().1)).collect::<Int32Array>()),
        ),
        DataType::Int64 => (
            Arc::new(some().map(|value| value.exactly().or(value.within().0)).collect::<Int64Array>()),
            Arc::new(some().map(|value| value.exactly().or(value.within().1)).collect::<Int64Array>()),
        ),
        DataType::Float32 => twice(some().map(PathValue::float).collect::<Float32Array>()),
        DataType::Float64 => twice(some().map(PathValue::float).collect::<Float64Array>()),
        DataType::Date32 => twice(some().map(PathValue::date).collect::<Date32Array>()),
        _ => twice(some().map(PathValue::exactly::<bool>).collect::<BooleanArray>()),
    };
    // A string that may be null may be empty as well.
    let is_value = |at: usize| *kind == DataType::Utf8 || greatest.is_valid(at);
    let nulls: UInt64Array = some().enumerate().map(|(at, value)| value.nulls(is_value(at))).collect();
    ColumnBounds { least, greatest, nulls }
}

fn twice(values: impl Array + 'static) -> (ArrayRef, ArrayRef) {
    let values: ArrayRef = Arc::new(values);
    (Arc::clone(&values), values)
}
