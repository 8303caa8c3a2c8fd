//! Columns in the form in which a parquet file of Hudi stores them: decimals are bytes (parquet would keep short ones
//! as numbers, which Hudi does not look for), vectors too, and what the Avro schema requires is marked as required.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, FixedSizeBinaryArray, ListArray, MapArray, RecordBatch, StructArray,
};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};

use super::lists::ListStructure;
use mortice_avro::{ArrowMapping, Decimal, Record, Schema, Type, arrow_schema, shortest};
use mortice_base::error::{Error, Result};

/// The columns' types in the parquet file.
pub(super) fn stored_schema(schema: &Schema, lists: ListStructure) -> Result<SchemaRef> {
    let types = arrow_schema(schema, ArrowMapping::File)?;
    let record = schema.as_record()?;
    let fields = record.fields.iter().zip(types.fields()).map(|(field, ty)| {
        let empty = arrow_array::new_empty_array(ty.data_type());
        Ok(convert(&field.name, &field.ty, &empty, lists).map_err(|error| unfit(&field.name, error))?.0)
    });
    Ok(Arc::new(ArrowSchema::new(fields.collect::<Result<Vec<FieldRef>>>()?)))
}

/// Columns of the types that [`ArrowMapping::File`] gives the fields.
pub(super) fn stored(
    columns: &[ArrayRef],
    schema: &Schema,
    stored: &SchemaRef,
    lists: ListStructure,
) -> Result<RecordBatch> {
    let record = schema.as_record()?;
    let arrays = record.fields.iter().zip(columns).map(|(field, column)| {
        Ok(convert(&field.name, &field.ty, column, lists).map_err(|error| unfit(&field.name, error))?.1)
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::clone(stored), arrays).map_err(|error| unfit(&record.name, error))
}

fn convert(name: &str, ty: &Type, column: &ArrayRef, lists: ListStructure) -> Result<(FieldRef, ArrayRef), ArrowError> {
    let array: ArrayRef = match ty.non_null() {
        Type::Decimal(decimal) => bytes_of(decimal, column.as_primitive::<Decimal128Type>())?,
        Type::Array(items) => list(items, column.as_list::<i32>(), lists)?,
        Type::Map(values) => map(values, column.as_map(), lists)?,
        Type::Record(record) => structure(record, column.as_struct(), lists)?,
        Type::Vector(vector) => vector.shape.stored(column.as_list::<i32>())?,
        _ => Arc::clone(column),
    };
    Ok((Arc::new(Field::new(name, array.data_type().clone(), ty.is_nullable())), array))
}

fn list(items: &Type, list: &ListArray, lists: ListStructure) -> Result<ArrayRef, ArrowError> {
    let items = match lists {
        ListStructure::ThreeLevels => items,
        ListStructure::TwoLevels => items.non_null(),
    };
    // Values that no list refers to are left behind.
    let (first, last) = (list.value_offsets().first().copied(), list.value_offsets().last().copied());
    let range = |at: Option<i32>| usize::try_from(at.unwrap_or_default()).unwrap_or_default();
    let used = list.values().slice(range(first), range(last).saturating_sub(range(first)));
    if lists == ListStructure::TwoLevels && used.logical_null_count() > 0 {
        let message = "a list has a null element, which lists of two levels cannot hold: write lists of three levels";
        return Err(ArrowError::InvalidArgumentError(message.into()));
    }
    let (element, values) = convert(lists.element(), items, &used, lists)?;
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(list.value_offsets().windows(2).map(|pair| match *pair {
        [start, end] => range(Some(end)).saturating_sub(range(Some(start))),
        _ => 0,
    }));
    Ok(Arc::new(ListArray::try_new(element, offsets, values, list.nulls().cloned())?))
}

fn structure(record: &Record, column: &StructArray, lists: ListStructure) -> Result<ArrayRef, ArrowError> {
    let members = record
        .fields
        .iter()
        .zip(column.columns())
        .map(|(field, member)| convert(&field.name, &field.ty, member, lists));
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) =
        members.collect::<Result<Vec<_>, ArrowError>>()?.into_iter().unzip();
    let nulls = column.nulls().cloned();
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(column.len(), nulls)));
    }
    Ok(Arc::new(StructArray::try_new(Fields::from(fields), arrays, nulls)?))
}

fn map(values: &Type, column: &MapArray, lists: ListStructure) -> Result<ArrayRef, ArrowError> {
    let (key, keys) = convert("key", &Type::String, column.keys(), lists)?;
    let (value, values) = convert("value", values, column.values(), lists)?;
    let entries = StructArray::try_new(Fields::from(vec![key, value]), vec![keys, values], None)?;
    let field = Arc::new(Field::new("key_value", entries.data_type().clone(), false));
    Ok(Arc::new(MapArray::try_new(field, column.offsets().clone(), entries, column.nulls().cloned(), false)?))
}

/// Two's complement, big-endian: as wide as the fixed, or the fewest bytes.
fn bytes_of(decimal: &Decimal, column: &Decimal128Array) -> Result<ArrayRef, ArrowError> {
    let Some(fixed) = &decimal.fixed else {
        let mut bytes = BinaryBuilder::new();
        for value in column {
            bytes.append_option(value.map(|value| shortest(&value.to_be_bytes()).to_vec()));
        }
        return Ok(Arc::new(bytes.finish()));
    };
    let size = i32::try_from(fixed.size).map_err(|_| ArrowError::SchemaError("a fixed of 2 GiB or more".into()))?;
    let mut bytes = Vec::with_capacity(column.len().saturating_mul(fixed.size));
    for value in column.values() {
        // A value fits: it was decoded from as many bytes, or compared with its precision.
        let digits = value.to_be_bytes();
        let sign = if *value < 0 { 0xff } else { 0 };
        bytes.extend(std::iter::repeat_n(sign, fixed.size.saturating_sub(digits.len())));
        bytes.extend_from_slice(digits.get(digits.len().saturating_sub(fixed.size)..).unwrap_or(&digits));
    }
    let nulls = column.nulls().cloned();
    if column.is_empty() {
        return Ok(arrow_array::new_empty_array(&DataType::FixedSizeBinary(size)));
    }
    Ok(Arc::new(FixedSizeBinaryArray::try_new(size, Buffer::from_vec(bytes), nulls)?))
}

fn unfit(field: &str, error: ArrowError) -> Error {
    Error::invalid_argument(format!("field {field} cannot be written as parquet")).caused_by(error)
}
