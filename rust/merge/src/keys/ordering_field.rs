//! An ordering field: its values in rows, and in delete blocks, which have Java classes of their own.

use std::sync::Arc;

use arrow_array::types::Decimal128Type;
use arrow_array::types::DecimalType;
use arrow_array::{Array, ArrayRef, Decimal128Array, Float32Array, Float64Array, Int64Array, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema, TimeUnit};

use super::field_path::FieldPath;
use crate::config::MergeSemantics;
use crate::merge::{OrderingColumn, double_order};
use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_formats::log::content::deleted::StoredOrdering;

/// The largest value that Hudi treats as milliseconds on a column of milliseconds (`OrderingValueEngineTypeConverter`);
/// larger values are microseconds.
const MOST_MILLIS: i64 = 9_999_999_999_999;

/// An ordering field.
#[derive(Debug, Clone)]
pub(super) struct OrderingField {
    pub(super) path: FieldPath,
    pub(super) kind: DataType,
    /// Whether the Avro type is a timestamp in milliseconds.
    millis: bool,
    semantics: MergeSemantics,
}

/// The value of rows without an ordering value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingOrdering {
    /// The default, which is also a regular value of some columns.
    AreDefault,
    /// Null, which is before all other values.
    AreNothing,
}

impl OrderingField {
    /// Returns an ordering field of a table. [`mortice_base::ErrorKind::Unsupported`] if the schema has no such field.
    pub(super) fn new(table: &avro::Schema, types: &Schema, name: &str, semantics: MergeSemantics) -> Result<Self> {
        let path = FieldPath::new(name);
        let Some(kind) = path.type_in(types).cloned() else {
            return Err(Error::unsupported(format!("the table's ordering field {name:?} is not in its schema")));
        };
        let millis =
            matches!(path.avro_type(table), Some(avro::Type::TimestampMillis | avro::Type::LocalTimestampMillis));
        Ok(Self { path, kind, millis, semantics })
    }

    /// Returns true if Java represents the values as `Integer`, like the default: ints, and dates as days.
    pub(super) fn is_integer(&self) -> bool {
        matches!(self.kind, DataType::Int32 | DataType::Date32)
    }

    /// Returns the column if its values are ordered as integers without conversion.
    pub(super) fn whole_numbers(&self) -> Option<&str> {
        let is_whole =
            matches!(self.kind, DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Timestamp(..));
        (is_whole && self.path.name() == self.path.column()).then(|| self.path.column())
    }

    /// Returns the values of rows, from the column that is the field or contains it.
    pub(super) fn row_values(&self, column: &ArrayRef, nulls: MissingOrdering) -> Result<OrderingColumn> {
        let values = OrderingColumn::from_array(&self.path.values(column)?)?;
        Ok(if nulls == MissingOrdering::AreDefault && self.is_integer() { values.null_is_zero() } else { values })
    }

    /// Returns the values of deletes; the default for deletes without a value.
    pub(super) fn delete_values(&self, values: &[Option<&StoredOrdering>], content: &[u8]) -> Result<OrderingColumn> {
        let foreign = values.iter().map(|value| value.is_some_and(|value| self.is_foreign(value))).collect();
        let all = values.iter().copied();
        let default = self.is_integer().then_some(0);
        let number = |value: Option<&StoredOrdering>| match value {
            Some(value) if !is_unordered(value) => self.fixed(value, &self.kind),
            _ => default,
        };
        let column = match &self.kind {
            DataType::Utf8 => OrderingColumn::Bytes(text_column(all, content)?.into()),
            DataType::Decimal128(_, scale) => {
                wide_column(all.map(|one| one.and_then(|one| decimal(one, *scale))).collect())
            }
            _ => fixed_column(all.map(number).collect()),
        };
        Ok(column.with_foreign(foreign))
    }

    /// Returns true if a value is not of the class of the values of rows, and not the default. The classes of rows were
    /// observed with Hudi's readers: days for dates, microseconds for timestamps; in 0.x also strings and decimals of
    /// Avro, which no delete has.
    fn is_foreign(&self, value: &StoredOrdering) -> bool {
        let is_own = match (value, &self.kind) {
            (StoredOrdering::Boolean(_), DataType::Boolean)
            | (StoredOrdering::Int(_), DataType::Int32 | DataType::Date32)
            | (StoredOrdering::Long(_), DataType::Int64 | DataType::Timestamp(..))
            | (StoredOrdering::TimeMicros(_), DataType::Int64)
            | (StoredOrdering::Float(_), DataType::Float32)
            | (StoredOrdering::Double(_), DataType::Float64) => true,
            (StoredOrdering::Text(_), DataType::Utf8) | (StoredOrdering::Decimal { .. }, DataType::Decimal128(..)) => {
                self.semantics == MergeSemantics::V1x
            }
            _ => false,
        };
        !is_own && !is_unordered(value)
    }

    /// Returns the values converted to the type of the field. A value of another class is null.
    pub(super) fn column_of_deletes<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a StoredOrdering>>,
        content: &[u8],
    ) -> Result<Option<ArrayRef>> {
        let real = |value: Option<&StoredOrdering>| match value? {
            StoredOrdering::Float(value) => Some(f64::from(*value)),
            StoredOrdering::Double(value) => Some(*value),
            _ => None,
        };
        Ok(Some(match &self.kind {
            DataType::Utf8 => Arc::new(text_column(values, content)?),
            DataType::Float64 => Arc::new(values.map(real).collect::<Float64Array>()),
            #[allow(clippy::cast_possible_truncation)]
            DataType::Float32 => {
                Arc::new(values.map(|value| real(value).map(|value| value as f32)).collect::<Float32Array>())
            }
            DataType::Decimal128(precision, scale) => {
                let digits = values
                    .map(|one| one.and_then(|one| decimal(one, *scale)).filter(|one| fits(*one, *precision, *scale)));
                let digits = digits.collect::<Decimal128Array>().with_precision_and_scale(*precision, *scale);
                Arc::new(digits.map_err(|error| Error::invalid_table("a decimal column").caused_by(error))?)
            }
            whole => {
                let numbers: ArrayRef =
                    Arc::new(values.map(|one| one.and_then(|one| self.fixed(one, whole))).collect::<Int64Array>());
                let narrow = |kind| arrow_cast::cast(&numbers, kind);
                let column = match whole {
                    DataType::Date32 => narrow(&DataType::Int32).and_then(|days| arrow_cast::cast(&days, whole)),
                    other => narrow(other),
                };
                return Ok(column.ok());
            }
        }))
    }

    /// Returns the values in the type of the field, as they are: null for a delete without a value.
    pub(super) fn exact_column_of_deletes(
        &self,
        values: &[Option<&StoredOrdering>],
        content: &[u8],
    ) -> Result<ArrayRef> {
        // The default is a regular value of a column of integers.
        let is_absent =
            |value: &StoredOrdering| matches!(value, StoredOrdering::None) || is_unordered(value) && !self.is_integer();
        let values: Vec<Option<&StoredOrdering>> =
            values.iter().map(|value| value.filter(|value| !is_absent(value))).collect();
        let is_own = |value: &StoredOrdering| match (value, &self.kind) {
            (StoredOrdering::Text(_), DataType::Utf8) | (StoredOrdering::Decimal { .. }, DataType::Decimal128(..)) => {
                true
            }
            _ => !self.is_foreign(value),
        };
        let column = match values.iter().flatten().all(|value| is_own(value)) {
            true => self.column_of_deletes(values.iter().copied(), content)?,
            false => None,
        };
        let is_held = |column: &ArrayRef| {
            column.len() == values.len()
                && values.iter().enumerate().all(|(row, value)| value.is_none() || column.is_valid(row))
        };
        column.filter(|column| column.data_type() == &self.kind && is_held(column)).ok_or_else(|| self.inexact())
    }

    /// The error for a delete whose ordering value cannot be written again.
    pub(super) fn inexact(&self) -> Error {
        Error::unsupported(format!(
            "the ordering value of a delete is not of the type {} of column {:?}; compact the table instead",
            self.kind,
            self.path.name()
        ))
    }

    /// Converts a value to the number that a column of a type stores, even if its class is that of another type. Hudi
    /// lets such a delete win among log records and fails if it has to compare it, so any consistent result is valid;
    /// this one uses the numeric value.
    fn fixed(&self, value: &StoredOrdering, kind: &DataType) -> Option<i64> {
        match (value, kind) {
            (StoredOrdering::Int(value) | StoredOrdering::Date(value), DataType::Date32)
            | (StoredOrdering::Int(value), DataType::Int32 | DataType::Int64) => Some(i64::from(*value)),
            (StoredOrdering::Long(value), DataType::Timestamp(TimeUnit::Microsecond, _))
                if self.millis && *value <= MOST_MILLIS =>
            {
                value.checked_mul(1000)
            }
            (StoredOrdering::Long(value), DataType::Int32 | DataType::Int64 | DataType::Timestamp(..))
            | (StoredOrdering::TimestampMicros(value), DataType::Timestamp(..))
            | (StoredOrdering::TimeMicros(value), DataType::Int64) => Some(*value),
            (StoredOrdering::Int(value), DataType::Float32 | DataType::Float64) => {
                Some(double_order(f64::from(*value)))
            }
            #[allow(clippy::cast_precision_loss)]
            (StoredOrdering::Long(value), DataType::Float32 | DataType::Float64) => Some(double_order(*value as f64)),
            (StoredOrdering::Float(value), DataType::Float32) => Some(double_order(f64::from(*value))),
            // From its decimal string, as Hudi widens floats.
            (StoredOrdering::Float(value), DataType::Float64) => value.to_string().parse().ok().map(double_order),
            (StoredOrdering::Double(value), DataType::Float32 | DataType::Float64) => Some(double_order(*value)),
            (StoredOrdering::Boolean(value), DataType::Boolean) => Some(i64::from(*value)),
            _ => None,
        }
    }
}

/// Returns true if a delete has no ordering value: null, or the `Integer` 0, which Hudi writes for all column types.
pub(super) const fn is_unordered(value: &StoredOrdering) -> bool {
    matches!(value, StoredOrdering::None | StoredOrdering::Int(0))
}

/// Converts a value to the scale of the column. Excess digits are cut, rounding towards negative infinity. A value that
/// is too large for any column becomes the largest or smallest number.
fn decimal(value: &StoredOrdering, scale: i8) -> Option<i128> {
    let StoredOrdering::Decimal { unscaled, scale: own } = value else { return None };
    // The scale is read from the file and can have any value.
    let shift = i64::from(scale) - i64::from(*own);
    let factor = u32::try_from(shift.unsigned_abs()).ok().and_then(|digits| 10_i128.checked_pow(digits));
    Some(match (factor, shift >= 0) {
        (Some(factor), true) => unscaled.saturating_mul(factor),
        (Some(factor), false) => unscaled.div_euclid(factor),
        (None, true) => match unscaled.signum() {
            0 => 0,
            1 => i128::MAX,
            _ => i128::MIN,
        },
        (None, false) => unscaled.signum().min(0),
    })
}

fn fits(unscaled: i128, precision: u8, scale: i8) -> bool {
    Decimal128Type::validate_decimal_precision(unscaled, precision, scale).is_ok()
}

fn nulls_of<T>(values: &[Option<T>]) -> Option<NullBuffer> {
    values.iter().any(Option::is_none).then(|| values.iter().map(Option::is_some).collect::<Vec<_>>().into())
}

fn fixed_column(values: Vec<Option<i64>>) -> OrderingColumn {
    let nulls = nulls_of(&values);
    OrderingColumn::Fixed(values.into_iter().map(Option::unwrap_or_default).collect(), nulls)
}

fn wide_column(values: Vec<Option<i128>>) -> OrderingColumn {
    let nulls = nulls_of(&values);
    OrderingColumn::Wide(values.into_iter().map(Option::unwrap_or_default).collect(), nulls)
}

fn text_column<'a>(values: impl Iterator<Item = Option<&'a StoredOrdering>>, content: &[u8]) -> Result<StringArray> {
    let strings = values.map(|value| match value {
        Some(StoredOrdering::Text(at)) => {
            let bytes = content.get(at.start as usize..at.end as usize);
            let bytes = bytes.ok_or_else(|| Error::internal("an ordering value outside of its delete block"))?;
            let text = std::str::from_utf8(bytes).map_err(|error| {
                Error::corrupt("invalid ordering value of a deleted key: not UTF-8")
                    .at_offset(u64::from(at.start))
                    .caused_by(error)
            })?;
            Ok(Some(text))
        }
        _ => Ok(None),
    });
    strings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_deletes_come_to_the_scale_of_the_column() {
        let of = |unscaled, scale| StoredOrdering::Decimal { unscaled, scale };
        for (value, scale, expected) in [
            (of(12_340_000_000_000_000, 15), 2, Some(1234)),
            (of(1234, 2), 4, Some(123_400)),
            (of(-1239, 3), 2, Some(-124)),
            (of(i128::MAX, 0), 2, Some(i128::MAX)),
            (of(-1, -40), 2, Some(i128::MIN)),
            (of(1, i32::MIN), 2, Some(i128::MAX)),
            (of(-7, i32::MAX), 2, Some(-1)),
            (of(0, i32::MIN), 2, Some(0)),
            (of(4_999_999, 6), 2, Some(499)),
            (StoredOrdering::Int(3), 2, None),
        ] {
            assert_eq!(decimal(&value, scale), expected, "{value:?}");
        }
    }

    /// Classes as observed with the readers of 0.15.0 and 1.2.0, and the numbers of values of other classes.
    #[test]
    fn a_deletes_ordering_value_on_a_column_of_another_type() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let field = |kind: &DataType, millis, semantics| {
            let path = FieldPath::new("ts");
            OrderingField { path, kind: kind.clone(), millis, semantics }
        };
        for (kind, millis, value, number, is_foreign) in [
            (&DataType::Date32, false, StoredOrdering::Date(18_661), Some(18_661), true),
            (&DataType::Date32, false, StoredOrdering::Int(18_661), Some(18_661), false),
            (&DataType::Date32, false, StoredOrdering::Long(18_661), None, true),
            (&DataType::Int64, false, StoredOrdering::Int(7), Some(7), true),
            (&DataType::Int64, false, StoredOrdering::Long(0), Some(0), false),
            (&DataType::Int32, false, StoredOrdering::Long(7), Some(7), true),
            (&DataType::Float64, false, StoredOrdering::Int(7), Some(double_order(7.0)), true),
            (&DataType::Float64, false, StoredOrdering::Float(0.1), Some(double_order(0.1)), true),
            (&DataType::Boolean, false, StoredOrdering::Int(1), None, true),
            (&micros, false, StoredOrdering::TimestampMicros(5), Some(5), true),
            (&micros, false, StoredOrdering::Long(5), Some(5), false),
            (&micros, true, StoredOrdering::Long(5), Some(5_000), false),
            (&micros, true, StoredOrdering::Long(MOST_MILLIS + 1), Some(MOST_MILLIS + 1), false),
        ] {
            for semantics in [MergeSemantics::V0x, MergeSemantics::V1x] {
                let field = field(kind, millis, semantics);
                assert_eq!(
                    (field.fixed(&value, kind), field.is_foreign(&value)),
                    (number, is_foreign),
                    "{kind} {value:?}"
                );
            }
        }
        let text = StoredOrdering::Text(0..1);
        assert!(!field(&DataType::Utf8, false, MergeSemantics::V1x).is_foreign(&text));
        assert!(field(&DataType::Utf8, false, MergeSemantics::V0x).is_foreign(&text));
    }

    #[test]
    fn deletes_without_an_ordering_value() {
        use crate::merge::OrderingValue::{Default, Fixed, Foreign};
        let values =
            [None, Some(&StoredOrdering::None), Some(&StoredOrdering::Int(0)), Some(&StoredOrdering::Boolean(true))];
        for (kind, default) in [(DataType::Int64, Default), (DataType::Int32, Fixed(0)), (DataType::Date32, Fixed(0))] {
            let field =
                OrderingField { path: FieldPath::new("ts"), kind, millis: false, semantics: MergeSemantics::V1x };
            let column = field.delete_values(&values, &[]).unwrap();
            assert_eq!([0, 1, 2, 3].map(|row| column.value(row)), [default, default, default, Foreign]);
        }
    }
}
