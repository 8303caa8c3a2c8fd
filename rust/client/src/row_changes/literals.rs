//! Values of a column, for filters.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};

use super::sides::UNFIT;
use mortice_base::error::{Error, Result};
use mortice_formats::filter::Literal;

/// The distinct values of an array that are not null; `None` for types that filters do not compare exactly.
pub(super) fn literals(values: &ArrayRef) -> Result<Option<Vec<Literal>>> {
    let of = |kind: &DataType| cast(values, kind).map_err(Error::internal_by(UNFIT));
    Ok(Some(match values.data_type() {
        DataType::Boolean => distinct(values.as_boolean().iter(), Literal::Bool),
        DataType::UInt64 => {
            distinct(values.as_primitive::<UInt64Type>().iter(), |value| Literal::Int(i128::from(value)))
        }
        kind if kind.is_integer() => {
            let values = of(&DataType::Int64)?;
            distinct(values.as_primitive::<Int64Type>().iter(), |value| Literal::Int(i128::from(value)))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let values = of(&DataType::Utf8)?;
            distinct(values.as_string::<i32>().iter(), |value| Literal::Text(value.to_owned()))
        }
        DataType::Date32 | DataType::Date64 => {
            distinct(of(&DataType::Date32)?.as_primitive::<Date32Type>().iter(), Literal::Date)
        }
        DataType::Timestamp(_, zone) => {
            let values = of(&DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
            let literal = |micros| Literal::Timestamp { micros, utc: zone.is_some() };
            distinct(values.as_primitive::<TimestampMicrosecondType>().iter(), literal)
        }
        _ => return Ok(None),
    }))
}

fn distinct<T: Ord>(values: impl Iterator<Item = Option<T>>, literal: impl Fn(T) -> Literal) -> Vec<Literal> {
    let distinct: BTreeSet<T> = values.flatten().collect();
    distinct.into_iter().map(literal).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, Date32Array, Float64Array, Int32Array, LargeStringArray, TimestampMillisecondArray, UInt64Array,
    };

    use super::*;

    #[test]
    fn values_are_distinct_and_not_null() {
        let found = |array: ArrayRef| literals(&array).unwrap();
        let ints = found(Arc::new(Int32Array::from(vec![Some(2), None, Some(-1), Some(2)])));
        assert_eq!(ints, Some(vec![Literal::Int(-1), Literal::Int(2)]));
        let large = found(Arc::new(UInt64Array::from(vec![u64::MAX])));
        assert_eq!(large, Some(vec![Literal::Int(i128::from(u64::MAX))]));
        let texts = found(Arc::new(LargeStringArray::from(vec!["b", "a", "b"])));
        assert_eq!(texts, Some(vec![Literal::Text("a".into()), Literal::Text("b".into())]));
        assert_eq!(found(Arc::new(BooleanArray::from(vec![true]))), Some(vec![Literal::Bool(true)]));
        assert_eq!(found(Arc::new(Date32Array::from(vec![7]))), Some(vec![Literal::Date(7)]));
        for (zone, utc) in [(None, false), (Some("UTC"), true)] {
            let times = TimestampMillisecondArray::from(vec![3]).with_timezone_opt(zone);
            assert_eq!(found(Arc::new(times)), Some(vec![Literal::Timestamp { micros: 3000, utc }]));
        }
        assert_eq!(found(Arc::new(Float64Array::from(vec![1.0]))), None);
    }
}
