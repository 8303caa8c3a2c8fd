//! Columns as a file has them, brought to the table's types, by name and without loss.
//!
//! | in the file | in the table |
//! |---|---|
//! | any list layout (`array`, `bag/array_element`, `list/element`) | list of `element` |
//! | struct | struct with the wanted children, by name; those missing are null |
//! | map with any names of children | map of `key` and `value` |
//! | fixed bytes | binary; list of numbers where the table has a VECTOR |
//! | int | long, float, double |
//! | long | float, double; int, if every value fits |
//! | unsigned int | int or long that has all its values |
//! | float | double, through its shortest decimal text, as Hudi widens floats |
//! | int, long, float, double, date, decimal | string, as Java writes it |
//! | decimal | decimal of at least its whole digits and scale |
//! | int, long, float, double, string | decimal, rounded HALF_UP, floats by their strings; null where it does not fit, as in Spark |
//! | string | date; null if it is not a date, as in Spark |
//! | date | timestamp: its midnight |
//! | time of day | its milliseconds (int) or microseconds (long) |
//! | timestamp of another unit | microseconds, if none is lost |
//! | nulls of any type | nulls |
//!
//! Anything else is refused by name: a narrowing would change values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef, TimeUnit};

use mortice_avro::{self as avro, HUDI_TYPE, LogicalRecord, TYPED_VALUE, VectorShape, are_vectors, shredded_variant};
use mortice_base::error::{Error, Result};

const MICROS_OF_A_DAY: i64 = 86_400_000_000;

/// The type to read a column as, so that conforming it loses nothing: INT96 times, which would overflow in nanoseconds,
/// are read in microseconds.
pub(super) fn reading_type(file: &DataType, wanted: &DataType) -> DataType {
    match (file, wanted) {
        (DataType::Timestamp(TimeUnit::Nanosecond, zone), DataType::Timestamp(TimeUnit::Microsecond, _)) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        (DataType::Struct(fields), DataType::Struct(targets)) => DataType::Struct(
            fields
                .iter()
                .map(|field| match targets.find(field.name()) {
                    Some((_, target)) => retyped(field, target),
                    None => Arc::clone(field),
                })
                .collect(),
        ),
        (DataType::List(item), DataType::List(target)) => DataType::List(retyped(item, target)),
        (DataType::Map(entries, sorted), DataType::Map(targets, _)) => match (entries.data_type(), targets.data_type())
        {
            (DataType::Struct(pair), DataType::Struct(target)) => {
                let pair: Fields = pair.iter().zip(target.iter()).map(|(one, target)| retyped(one, target)).collect();
                DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(DataType::Struct(pair))), *sorted)
            }
            _ => file.clone(),
        },
        _ => file.clone(),
    }
}

fn retyped(field: &FieldRef, target: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(reading_type(field.data_type(), target.data_type())))
}

/// A batch with exactly the wanted columns: those that it has not are null.
pub(super) fn conformed(batch: &RecordBatch, wanted: &SchemaRef) -> Result<RecordBatch> {
    let columns = wanted
        .fields()
        .iter()
        .map(|field| match batch.column_by_name(field.name()) {
            Some(column) => conform_field(column, field, field.name()),
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        })
        .collect::<Result<Vec<ArrayRef>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(wanted), columns, &options)
        .map_err(|error| Error::invalid_table("columns of a base file make no batch").caused_by(error))
}

/// The array as `wanted` says; its metadata names the types of Hudi's that Arrow has not. `column` names it in errors.
pub(super) fn conform_field(array: &ArrayRef, wanted: &Field, column: &str) -> Result<ArrayRef> {
    let Some(hudi_type) = wanted.metadata().get(HUDI_TYPE) else { return conform(array, wanted.data_type(), column) };
    if let Some(shape) = VectorShape::from_descriptor(hudi_type) {
        return vector(array, shape, column);
    }
    let is_shredded = || array.as_struct_opt().is_some_and(|array| array.column_by_name(TYPED_VALUE).is_some());
    if hudi_type == LogicalRecord::Variant.descriptor() && is_shredded() {
        return Err(shredded_variant(column));
    }
    conform(array, wanted.data_type(), column)
}

/// Stored vectors as lists.
fn vector(array: &ArrayRef, shape: VectorShape, column: &str) -> Result<ArrayRef> {
    let refused = |error: fn(String) -> Error| {
        let (descriptor, size) = (shape.descriptor(), shape.size());
        error(format!(
            "column {column} is a {descriptor} in the table, stored as {size} bytes of fixed length, but of type {} in the base file",
            array.data_type()
        ))
    };
    match array.data_type() {
        DataType::Null => Ok(new_null_array(&shape.data_type(), array.len())),
        DataType::FixedSizeBinary(size) if usize::try_from(*size) == Ok(shape.size()) => {
            let stored = array.as_fixed_size_binary();
            if stored.null_count() == 0 {
                return shape.lists(stored.value_data(), stored.len(), None);
            }
            let there: Vec<u8> = stored.iter().flatten().flatten().copied().collect();
            shape.lists(&there, stored.len(), stored.nulls().cloned())
        }
        kind if *kind == shape.data_type() && are_vectors(array.as_list(), shape) => Ok(Arc::clone(array)),
        DataType::FixedSizeBinary(_) | DataType::List(_) => Err(refused(Error::invalid_table)),
        _ => Err(refused(Error::unsupported)),
    }
}

/// The array as `wanted`; itself where it is that already. `column` names it in errors.
pub(super) fn conform(array: &ArrayRef, wanted: &DataType, column: &str) -> Result<ArrayRef> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), wanted) {
        (DataType::List(_), DataType::List(item)) => list(array.as_list(), item, column),
        (DataType::Struct(_), DataType::Struct(fields)) => structure(array.as_struct(), fields, column),
        (DataType::Map(..), DataType::Map(entries, sorted)) => map(array.as_map(), entries, *sorted, column),
        (DataType::Float32, DataType::Float64) => {
            Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float64Type>(avro::float_to_double)))
        }
        (DataType::Timestamp(..), DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            let micros = micros(array).ok_or_else(|| misfit(array.data_type(), wanted, column))?;
            Ok(Arc::new(micros.with_timezone_opt(zone.clone())))
        }
        (
            DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Date32
            | DataType::Decimal128(..),
            DataType::Utf8,
        ) => avro::java_text_of(array),
        (
            DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64 | DataType::Utf8,
            DataType::Decimal128(precision, scale),
        ) => avro::decimals_of(array, *precision, *scale),
        (DataType::Utf8, DataType::Date32) => Ok(avro::dates_of_strings(array.as_string())),
        (DataType::Date32, DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            let midnights: PrimitiveArray<TimestampMicrosecondType> = array
                .as_primitive::<Date32Type>()
                .try_unary(|days| i64::from(days).checked_mul(MICROS_OF_A_DAY).ok_or(()))
                .map_err(|()| misfit(array.data_type(), wanted, column))?;
            Ok(Arc::new(midnights.with_timezone_opt(zone.clone())))
        }
        (from, to) if is_widening(from, to) || (from, to) == (&DataType::Int64, &DataType::Int32) => {
            cast(array, wanted, column)
        }
        _ if array.null_count() == array.len() => Ok(new_null_array(wanted, array.len())),
        (from, _) => Err(misfit(from, wanted, column)),
    }
}

/// Casts all values exactly, or fails.
fn cast(array: &ArrayRef, wanted: &DataType, column: &str) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..Default::default() };
    cast_with_options(array, wanted, &options)
        .map_err(|error| misfit(array.data_type(), wanted, column).caused_by(error))
}

fn is_widening(from: &DataType, to: &DataType) -> bool {
    use DataType::{
        Binary, Decimal128, FixedSizeBinary, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, Utf8,
    };
    match (from, to) {
        (Int8 | Int16, Int32 | Int64 | Float32 | Float64)
        | (Int32, Int64 | Float32 | Float64)
        | (Int64, Float32 | Float64)
        | (UInt8 | UInt16, Int32 | Int64)
        | (UInt32, Int64) => true,
        // The table's schema has numbers for times of day, which Spark does not have.
        (DataType::Time32(TimeUnit::Millisecond), Int32) | (DataType::Time64(TimeUnit::Microsecond), Int64) => true,
        (FixedSizeBinary(_) | Utf8, Binary) | (Binary, Utf8) | (DataType::Null, _) => true,
        (Decimal128(precision, scale), Decimal128(to_precision, to_scale)) => {
            let whole = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
            to_scale >= scale && whole(*to_precision, *to_scale) >= whole(*precision, *scale)
        }
        _ => false,
    }
}

fn misfit(from: &DataType, wanted: &DataType, column: &str) -> Error {
    Error::unsupported(format!(
        "column {column}: cannot convert type {from} of the base file to {wanted}, the type in the table"
    ))
}

/// Microseconds of any unit; none where a value does not fit.
fn micros(array: &ArrayRef) -> Option<PrimitiveArray<TimestampMicrosecondType>> {
    let DataType::Timestamp(unit, _) = array.data_type() else { return None };
    match unit {
        TimeUnit::Second => None,
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().try_unary(|value| value.checked_mul(1000).ok_or(())).ok()
        }
        TimeUnit::Microsecond => Some(array.as_primitive::<TimestampMicrosecondType>().clone()),
        TimeUnit::Nanosecond => {
            Some(array.as_primitive::<TimestampNanosecondType>().unary(|value| value.div_euclid(1000)))
        }
    }
}

fn list(array: &ListArray, item: &FieldRef, column: &str) -> Result<ArrayRef> {
    let values = conform_field(array.values(), item, &format!("{column}.{}", item.name()))?;
    let list = ListArray::try_new(Arc::clone(item), array.offsets().clone(), values, array.nulls().cloned());
    list.map(|list| Arc::new(list) as ArrayRef).map_err(|error| unshaped(column, error))
}

fn structure(array: &StructArray, fields: &Fields, column: &str) -> Result<ArrayRef> {
    let children = fields
        .iter()
        .map(|field| match array.column_by_name(field.name()) {
            Some(child) => conform_field(child, field, &format!("{column}.{}", field.name())),
            None => Ok(new_null_array(field.data_type(), array.len())),
        })
        .collect::<Result<Vec<_>>>()?;
    StructArray::try_new_with_length(fields.clone(), children, array.nulls().cloned(), array.len())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| unshaped(column, error))
}

fn map(array: &MapArray, entries: &FieldRef, sorted: bool, column: &str) -> Result<ArrayRef> {
    let DataType::Struct(pair) = entries.data_type() else {
        return Err(misfit(array.data_type(), entries.data_type(), column));
    };
    let (Some(key), Some(value)) = (pair.first(), pair.get(1)) else {
        return Err(misfit(array.data_type(), entries.data_type(), column));
    };
    let children = vec![
        conform_field(array.keys(), key, &format!("{column}.key"))?,
        conform_field(array.values(), value, &format!("{column}.value"))?,
    ];
    let pairs = StructArray::try_new(pair.clone(), children, None).map_err(|error| unshaped(column, error))?;
    MapArray::try_new(Arc::clone(entries), array.offsets().clone(), pairs, array.nulls().cloned(), sorted)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| unshaped(column, error))
}

fn unshaped(column: &str, error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table(format!("column {column}: its type in the base file differs from that of the table"))
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        Date32Array, Int32Array, Int64Array, Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
        UInt32Array,
    };

    use super::*;

    /// Earlier releases created tables with such columns.
    #[test]
    fn times_of_day_are_the_numbers_of_the_table() {
        let millis: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![Some(5), None]));
        let read = conform(&millis, &DataType::Int32, "x").unwrap();
        assert_eq!(read.as_ref(), &Int32Array::from(vec![Some(5), None]) as &dyn Array);
        let micros: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![Some(5), None]));
        let read = conform(&micros, &DataType::Int64, "x").unwrap();
        assert_eq!(read.as_ref(), &Int64Array::from(vec![Some(5), None]) as &dyn Array);
        assert!(conform(&micros, &DataType::Int32, "x").is_err());
        let nulls = conform(&new_null_array(micros.data_type(), 2), &DataType::Int32, "x").unwrap();
        assert_eq!(nulls.as_ref(), &Int32Array::from(vec![None::<i32>; 2]) as &dyn Array);
    }
    #[test]
    fn longs_are_ints_if_every_value_fits() {
        let longs = |last: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![Some(-1), None, Some(last)])) };
        let read = conform(&longs(i64::from(i32::MAX)), &DataType::Int32, "x").unwrap();
        assert_eq!(read.as_ref(), &Int32Array::from(vec![Some(-1), None, Some(i32::MAX)]) as &dyn Array);
        let error = conform(&longs(i64::from(i32::MAX) + 1), &DataType::Int32, "x").unwrap_err();
        assert!(error.to_string().contains("column x: cannot convert type Int64"), "{error}");
    }

    #[test]
    fn unsigned_numbers_are_longs_and_dates_midnights() {
        let unsigned: ArrayRef = Arc::new(UInt32Array::from(vec![u32::MAX]));
        let read = conform(&unsigned, &DataType::Int64, "x").unwrap();
        assert_eq!(read.as_ref(), &Int64Array::from(vec![i64::from(u32::MAX)]) as &dyn Array);
        assert!(conform(&unsigned, &DataType::Int32, "x").is_err());
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(-1), None]));
        for zone in [None, Some("UTC".into())] {
            let read = conform(&dates, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()), "x").unwrap();
            let midnights = TimestampMicrosecondArray::from(vec![Some(-86_400_000_000), None]).with_timezone_opt(zone);
            assert_eq!(read.as_ref(), &midnights as &dyn Array);
        }
        let late: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX]));
        assert!(conform(&late, &DataType::Timestamp(TimeUnit::Microsecond, None), "x").is_err());
    }
}
