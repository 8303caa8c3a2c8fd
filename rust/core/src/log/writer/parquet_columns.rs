//! Columns in the form in which a parquet block stores them: as decoded from the records' Avro form, but that decimals
//! are bytes (parquet would keep short ones as numbers, which Hudi does not look for) and that what the Avro schema
//! requires is marked as required.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, FixedSizeBinaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, ListArray, MapArray, RecordBatch, StructArray};
use arrow_schema::{ArrowError, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};

use crate::avro::{Decimal, Field as AvroField, Record, Schema, Type, Types, arrow_schema, shortest};
use crate::error::{Error, Result};

/// The columns' types in the parquet file.
pub(super) fn stored_schema(schema: &Schema) -> Result<SchemaRef> {
    let empty = RecordBatch::new_empty(Arc::new(arrow_schema(schema, Types::File)?));
    Ok(stored(&empty, schema)?.schema())
}

/// The columns of a batch that was decoded with [`Types::File`].
pub(super) fn stored(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch> {
    let record = schema.as_record()?;
    let columns = record.fields.iter().zip(batch.columns()).map(|(field, column)| column_of(field, column));
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) = columns.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).map_err(|error| unfit(&record.name, error))
}

fn column_of(field: &AvroField, column: &ArrayRef) -> Result<(FieldRef, ArrayRef)> {
    convert(&field.name, &field.ty, column).map_err(|error| unfit(&field.name, error))
}

fn convert(name: &str, ty: &Type, column: &ArrayRef) -> Result<(FieldRef, ArrayRef), ArrowError> {
    let array: ArrayRef = match ty.non_null() {
        Type::Decimal(decimal) => bytes_of(decimal, column.as_primitive::<Decimal128Type>())?,
        Type::Array(items) => {
            let list = column.as_list::<i32>();
            let (element, values) = convert("element", items, list.values())?;
            Arc::new(ListArray::try_new(element, list.offsets().clone(), values, list.nulls().cloned())?)
        }
        Type::Map(values) => map(values, column.as_map())?,
        Type::Record(record) => structure(record, column.as_struct())?,
        Type::Vector(vector) => vector.shape.stored(column.as_list::<i32>())?,
        _ => Arc::clone(column),
    };
    Ok((Arc::new(Field::new(name, array.data_type().clone(), ty.is_nullable())), array))
}

fn structure(record: &Record, column: &StructArray) -> Result<ArrayRef, ArrowError> {
    let members =
        record.fields.iter().zip(column.columns()).map(|(field, member)| convert(&field.name, &field.ty, member));
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) =
        members.collect::<Result<Vec<_>, ArrowError>>()?.into_iter().unzip();
    let nulls = column.nulls().cloned();
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(column.len(), nulls)));
    }
    Ok(Arc::new(StructArray::try_new(Fields::from(fields), arrays, nulls)?))
}

fn map(values: &Type, column: &MapArray) -> Result<ArrayRef, ArrowError> {
    let (key, keys) = convert("key", &Type::String, column.keys())?;
    let (value, values) = convert("value", values, column.values())?;
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
    let mut bytes = FixedSizeBinaryBuilder::with_capacity(column.len(), size);
    for value in column {
        match value {
            Some(value) => bytes.append_value(sized(value, fixed.size))?,
            None => bytes.append_null(),
        }
    }
    Ok(Arc::new(bytes.finish()))
}

/// A number in as many bytes; it fits, since it was decoded from as many.
fn sized(value: i128, size: usize) -> Vec<u8> {
    let sign = if value < 0 { 0xff } else { 0 };
    let digits = value.to_be_bytes();
    let mut bytes = vec![sign; size.saturating_sub(digits.len())];
    bytes.extend(digits.get(digits.len().saturating_sub(size)..).unwrap_or(&digits));
    bytes
}

fn unfit(field: &str, error: ArrowError) -> Error {
    Error::invalid_argument(format!("field {field} cannot be written as parquet")).caused_by(error)
}
