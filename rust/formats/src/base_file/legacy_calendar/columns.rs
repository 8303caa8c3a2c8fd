//! Converts columns of the hybrid calendar.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::days;
use super::zones::{FIRST_COMMON_SECOND, LegacyZone};
use mortice_base::error::{Error, Result};

/// Two days in seconds: no time before 1900 is converted to a later one than 1900 and this.
const MOST_AHEAD: i64 = 2 * 86_400;

/// Converts a batch. `leaves` returns for each leaf of a root column, in order, whether it is hybrid.
pub(super) fn proleptic(
    batch: &RecordBatch,
    zone: &LegacyZone,
    roots: &[usize],
    leaves: impl Fn(usize) -> Vec<bool>,
) -> Result<RecordBatch> {
    let convert = |(column, root): (&ArrayRef, &usize)| {
        let leaves = leaves(*root);
        if !leaves.contains(&true) {
            return Ok(Arc::clone(column));
        }
        let mut leaves = leaves.into_iter();
        let converted = nested(column, zone, &mut leaves)?;
        if leaves.next().is_some() { Err(misfit()) } else { Ok(converted) }
    };
    if batch.num_columns() != roots.len() {
        return Err(misfit());
    }
    let columns = batch.columns().iter().zip(roots).map(convert).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(unshaped)
}

/// Converts the hybrid leaves of a column. The leaves of an Arrow column are those of the Parquet column, in order.
fn nested(array: &ArrayRef, zone: &LegacyZone, leaves: &mut impl Iterator<Item = bool>) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Struct(fields) => {
            let rows = array.as_struct();
            let children =
                rows.columns().iter().map(|child| nested(child, zone, leaves)).collect::<Result<Vec<_>>>()?;
            let nulls = rows.nulls().cloned();
            let rows = StructArray::try_new_with_length(fields.clone(), children, nulls, rows.len());
            Arc::new(rows.map_err(unshaped)?)
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = nested(list.values(), zone, leaves)?;
            let list = ListArray::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned());
            Arc::new(list.map_err(unshaped)?)
        }
        DataType::Map(entry, sorted) => {
            let map = array.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            let pairs = nested(&pairs, zone, leaves)?.as_struct().clone();
            let nulls = map.nulls().cloned();
            let map = MapArray::try_new(Arc::clone(entry), map.offsets().clone(), pairs, nulls, *sorted);
            Arc::new(map.map_err(unshaped)?)
        }
        _ if leaves.next().ok_or_else(misfit)? => proleptic_leaf(array, zone),
        _ => Arc::clone(array),
    })
}

/// Converts dates or times. Values of any other type stay.
pub(super) fn proleptic_leaf(array: &ArrayRef, zone: &LegacyZone) -> ArrayRef {
    match array.data_type() {
        DataType::Date32 => {
            let hybrid = array.as_primitive::<Date32Type>();
            if hybrid.values().iter().all(|day| i64::from(*day) >= days::FIRST_GREGORIAN) {
                return Arc::clone(array);
            }
            let day = |day: i32| i32::try_from(days::proleptic(i64::from(day))).unwrap_or(day);
            Arc::new(hybrid.unary::<_, Date32Type>(day))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => times::<TimestampMillisecondType>(array, zone),
        DataType::Timestamp(TimeUnit::Microsecond, _) => times::<TimestampMicrosecondType>(array, zone),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => times::<TimestampNanosecondType>(array, zone),
        _ => Arc::clone(array),
    }
}

/// Returns the values per second of a unit.
const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn times<T: ArrowTimestampType>(array: &ArrayRef, zone: &LegacyZone) -> ArrayRef {
    let hybrid = array.as_primitive::<T>();
    let per_second = per_second(T::UNIT);
    if hybrid.values().iter().all(|time| *time >= FIRST_COMMON_SECOND * per_second) {
        return Arc::clone(array);
    }
    let time = |time: i64| {
        let correction = zone.correction(time.div_euclid(per_second));
        time.saturating_add(correction.saturating_mul(per_second))
    };
    let times: PrimitiveArray<T> = hybrid.unary(time);
    Arc::new(times.with_data_type(array.data_type().clone()))
}

/// Returns the bounds of times that hold after the conversion: those that are late enough. The order of earlier times
/// may change where the offset of a zone changed.
pub(super) fn known_bounds(bounds: &ArrayRef) -> ArrayRef {
    fn late<T: ArrowTimestampType>(bounds: &ArrayRef) -> ArrayRef {
        let from = (FIRST_COMMON_SECOND + MOST_AHEAD) * per_second(T::UNIT);
        let times = bounds.as_primitive::<T>().iter().map(|time| time.filter(|time| *time >= from));
        Arc::new(times.collect::<PrimitiveArray<T>>().with_data_type(bounds.data_type().clone()))
    }
    match bounds.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => late::<TimestampMillisecondType>(bounds),
        DataType::Timestamp(TimeUnit::Microsecond, _) => late::<TimestampMicrosecondType>(bounds),
        kind => arrow_array::new_null_array(kind, bounds.len()),
    }
}

fn misfit() -> Error {
    Error::invalid_table("columns of a Parquet file have other leaves than its schema")
}

fn unshaped(error: ArrowError) -> Error {
    misfit().caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, TimestampMicrosecondArray, TimestampMillisecondArray};

    use super::*;

    #[test]
    fn times_keep_their_fraction_and_their_zone() {
        let zone = LegacyZone::named("America/Los_Angeles");
        let micros = TimestampMicrosecondArray::from(vec![Some(-12_219_264_000_000_001), None, Some(-1), Some(5)]);
        let micros: ArrayRef = Arc::new(micros.with_timezone("UTC"));
        let expected = TimestampMicrosecondArray::from(vec![Some(-12_220_128_422_000_001), None, Some(-1), Some(5)]);
        assert_eq!(proleptic_leaf(&micros, &zone).as_ref(), &expected.with_timezone("UTC") as &dyn Array);
        let millis: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![-12_219_264_000_001, i64::MIN]));
        let found = proleptic_leaf(&millis, &zone);
        assert_eq!(found.as_primitive::<TimestampMillisecondType>().value(0), -12_220_128_422_001);
    }

    #[test]
    fn only_late_bounds_of_times_hold() {
        let late = FIRST_COMMON_SECOND + MOST_AHEAD;
        let bounds: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![late * 1000 - 1, late * 1000]));
        assert_eq!(
            known_bounds(&bounds).as_ref(),
            &TimestampMillisecondArray::from(vec![None, Some(late * 1000)]) as &dyn Array
        );
    }

    #[test]
    fn dates_of_a_nested_column_are_converted_where_they_are() {
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(-171_595), None, Some(0)]));
        let pairs = StructArray::from(vec![
            (Arc::new(arrow_schema::Field::new("a", DataType::Date32, true)), Arc::clone(&dates)),
            (Arc::new(arrow_schema::Field::new("b", DataType::Date32, true)), Arc::clone(&dates)),
        ]);
        let pairs: ArrayRef = Arc::new(pairs);
        let found = nested(&pairs, &LegacyZone::named("UTC"), &mut [false, true].into_iter()).unwrap();
        assert_eq!(found.as_struct().column(0), &dates);
        assert_eq!(found.as_struct().column(1).as_primitive::<Date32Type>().value(0), -171_605);
        assert!(nested(&pairs, &LegacyZone::named("UTC"), &mut [true].into_iter()).is_err());
    }
}
