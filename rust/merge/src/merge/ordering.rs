//! Ordering values, brought to forms that compare as Hudi compares the Java values.
//!
//! | column | form | order |
//! |---|---|---|
//! | none (commit-time ordering) | `Default` | all equal |
//! | boolean, int, long, date, timestamp | `Fixed` | numeric; false before true |
//! | float, double | `Fixed` | `Double.compareTo`: -0.0 before 0.0, NaN greatest |
//! | decimal | `Wide` | numeric, at the column's scale |
//! | string | `Bytes` | UTF-8 bytes, as Spark has it |
//! | several fields | `Bytes` | field by field (`ordering_tuple`) |
//!
//! Null is Java's `Integer` 0, Hudi's default. On an int or a date column, whose values are `Integer`s, too, that is
//! the number 0. On any other type it cannot be compared (Hudi's read fails); here it is smallest, and two nulls tie.
//!
//! A delete may be ordered by a value of another class than the column's, such as the `Integer` of before a column was
//! widened. In Hudi it wins over what came before it in the log; where it would have to be compared, the read fails.
//! Here it is compared by its number or string, and ties with all values if it has neither (`Foreign`). It is not an
//! unordered delete.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

use mortice_base::error::{Error, Result};

/// One ordering value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderingValue<'a> {
    /// None, or null.
    Default,
    /// Of another class than the column's, and nothing that could be compared with its values: neither before nor after
    /// any of them.
    Foreign,
    /// Numbers of up to 64 bits, mapped to integers of the same order.
    Fixed(i64),
    /// Decimals, unscaled at the column's scale.
    Wide(i128),
    /// Text, or a tuple of several fields in bytes that compare as it does.
    Bytes(&'a [u8]),
}

impl OrderingValue<'_> {
    /// The order Hudi gives. Values of one column are of one form, but for foreign ones, which tie; a default is before
    /// any other value.
    #[inline]
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Fixed(one), Self::Fixed(two)) => one.cmp(two),
            (Self::Wide(one), Self::Wide(two)) => one.cmp(two),
            (Self::Bytes(one), Self::Bytes(two)) => one.cmp(two),
            _ => (*self != Self::Default).cmp(&(*other != Self::Default)),
        }
    }
}

/// The ordering values of many records.
#[derive(Debug, Clone)]
pub enum OrderingColumn {
    /// No ordering: every value is the default.
    Unordered,
    /// Values of up to 64 bits, and which are there.
    Fixed(Vec<i64>, Option<NullBuffer>),
    /// Decimals.
    Wide(Vec<i128>, Option<NullBuffer>),
    /// Strings, and tuples.
    Bytes(BinaryArray),
    /// Values of deletes, some of them of another class than the column's.
    WithForeign(Box<Self>, BooleanBuffer),
}

impl OrderingColumn {
    /// The values of a column of the table; [`mortice_base::ErrorKind::Unsupported`] for types that have no order in
    /// Hudi.
    pub fn from_array(array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Boolean => {
                let values = array.as_boolean();
                Self::Fixed(values.values().iter().map(i64::from).collect(), values.nulls().cloned())
            }
            DataType::Int32 => fixed::<Int32Type>(array, i64::from),
            DataType::Int64 => fixed::<Int64Type>(array, |value| value),
            DataType::Date32 => fixed::<Date32Type>(array, i64::from),
            DataType::Timestamp(TimeUnit::Microsecond, _) => fixed::<TimestampMicrosecondType>(array, |value| value),
            // Rows that are no table's may have these; a column has one unit.
            DataType::Timestamp(TimeUnit::Nanosecond, _) => fixed::<TimestampNanosecondType>(array, |value| value),
            DataType::Timestamp(TimeUnit::Millisecond, _) => fixed::<TimestampMillisecondType>(array, |value| value),
            DataType::Timestamp(TimeUnit::Second, _) => fixed::<TimestampSecondType>(array, |value| value),
            DataType::Float32 => fixed::<Float32Type>(array, |value| double_order(f64::from(value))),
            DataType::Float64 => fixed::<Float64Type>(array, double_order),
            DataType::Decimal128(..) => {
                let values = array.as_primitive::<Decimal128Type>();
                Self::Wide(values.values().to_vec(), values.nulls().cloned())
            }
            DataType::Utf8 => Self::Bytes(array.as_string::<i32>().clone().into()),
            other => {
                let message = format!(
                    "unsupported type {other} of an ordering field (supported: numbers, strings, dates, timestamps)"
                );
                return Err(Error::unsupported(message));
            }
        })
    }

    /// The same values, 0 where there was none: for columns whose values Java holds as an `Integer`, as it does the
    /// default.
    #[must_use]
    pub fn null_is_zero(self) -> Self {
        match self {
            Self::Fixed(values, Some(there)) => {
                let values = values.into_iter().zip(there.iter());
                Self::Fixed(values.map(|(value, there)| if there { value } else { 0 }).collect(), None)
            }
            other => other,
        }
    }

    /// The number of values; none if there is no ordering, which is every row's.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        match self {
            Self::Unordered => None,
            Self::Fixed(values, _) => Some(values.len()),
            Self::Wide(values, _) => Some(values.len()),
            Self::Bytes(values) => Some(values.len()),
            Self::WithForeign(values, _) => values.rows(),
        }
    }

    /// The value of a row; the default where the row has none.
    #[inline]
    #[must_use]
    pub fn value(&self, row: usize) -> OrderingValue<'_> {
        let there = |nulls: &Option<NullBuffer>| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        match self {
            Self::Unordered => OrderingValue::Default,
            Self::Fixed(values, nulls) => match values.get(row) {
                Some(value) if there(nulls) => OrderingValue::Fixed(*value),
                _ => OrderingValue::Default,
            },
            Self::Wide(values, nulls) => match values.get(row) {
                Some(value) if there(nulls) => OrderingValue::Wide(*value),
                _ => OrderingValue::Default,
            },
            Self::Bytes(values) if values.is_valid(row) => OrderingValue::Bytes(values.value(row)),
            Self::Bytes(_) => OrderingValue::Default,
            Self::WithForeign(values, _) => match values.value(row) {
                OrderingValue::Default if self.is_foreign(row) => OrderingValue::Foreign,
                value => value,
            },
        }
    }

    /// Whether the value of a row is of another class than the column's.
    #[inline]
    #[must_use]
    pub fn is_foreign(&self, row: usize) -> bool {
        matches!(self, Self::WithForeign(_, foreign) if row < foreign.len() && foreign.value(row))
    }

    /// The same values, those of the rows that `foreign` names of another class than the column's.
    #[must_use]
    pub fn with_foreign(self, foreign: BooleanBuffer) -> Self {
        if foreign.count_set_bits() == 0 { self } else { Self::WithForeign(Box::new(self), foreign) }
    }
}

fn fixed<T: ArrowPrimitiveType>(array: &ArrayRef, order: impl Fn(T::Native) -> i64) -> OrderingColumn {
    let values = array.as_primitive::<T>();
    OrderingColumn::Fixed(values.values().iter().map(|value| order(*value)).collect(), values.nulls().cloned())
}

/// An integer that orders as `Double.compareTo` orders doubles: all NaNs equal and greatest.
#[must_use]
pub fn double_order(value: f64) -> i64 {
    let canonical = if value.is_nan() { f64::NAN } else { value };
    let bits = canonical.to_bits().cast_signed();
    if canonical.is_nan() { i64::MAX } else { bits ^ ((bits >> 63) & i64::MAX) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray};

    use super::*;

    fn ascending(array: ArrayRef) {
        let column = OrderingColumn::from_array(&array).unwrap();
        for one in 0..array.len() {
            for two in 0..array.len() {
                assert_eq!(column.value(one).compare(&column.value(two)), one.cmp(&two), "{one} {two} of {array:?}");
            }
        }
    }

    #[test]
    fn orders_as_java_does() {
        ascending(Arc::new(Int64Array::from(vec![None, Some(i64::MIN), Some(-1), Some(0), Some(i64::MAX)])));
        ascending(Arc::new(BooleanArray::from(vec![None, Some(false), Some(true)])));
        let doubles = vec![f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        ascending(Arc::new(Float64Array::from(doubles)));
        ascending(Arc::new(Decimal128Array::from(vec![-5, 0, 7]).with_precision_and_scale(10, 2).unwrap()));
        ascending(Arc::new(StringArray::from(vec![
            None,
            Some(""),
            Some("10"),
            Some("9"),
            Some("\u{fffd}"),
            Some("\u{10000}"),
        ])));
    }

    #[test]
    fn null_may_be_zero() {
        let column =
            OrderingColumn::from_array(&(Arc::new(Int32Array::from(vec![None, Some(0), Some(-1)])) as ArrayRef));
        let column = column.unwrap().null_is_zero();
        assert_eq!(column.value(0).compare(&column.value(1)), Ordering::Equal);
        assert_eq!(column.value(0).compare(&column.value(2)), Ordering::Greater);
    }

    #[test]
    fn foreign_values_tie_with_all_but_the_default() {
        let column = OrderingColumn::Fixed(vec![7, 0, 0, 9], Some(vec![true, false, false, true].into()));
        let column = column.with_foreign(BooleanBuffer::from(vec![false, false, true, true]));
        assert_eq!((0..5).map(|row| column.is_foreign(row)).collect::<Vec<_>>(), [false, false, true, true, false]);
        assert_eq!(column.value(3), OrderingValue::Fixed(9));
        let compared = |one: usize, two: usize| column.value(one).compare(&column.value(two));
        assert_eq!([column.value(1), column.value(2)], [OrderingValue::Default, OrderingValue::Foreign]);
        assert_eq!([compared(2, 0), compared(0, 2), compared(2, 2)], [Ordering::Equal; 3]);
        assert_eq!([compared(2, 1), compared(1, 2)], [Ordering::Greater, Ordering::Less]);
    }

    #[test]
    fn every_nan_is_the_same_nan() {
        assert_eq!(double_order(f64::NAN), double_order(-f64::NAN));
    }
}
