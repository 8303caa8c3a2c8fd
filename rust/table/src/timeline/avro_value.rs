//! Access to the fields of one record of an Avro container, by name.
//!
//! Metadata files are written with the schema of the release that wrote them, and each release adds fields: a missing
//! field is read as null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, FieldRef};
use serde_json::Value as Json;

use mortice_avro::{ArrowMapping, Container};
use mortice_base::error::{Error, Result};

/// The first bytes of an Avro container.
const MAGIC: &[u8] = b"Obj\x01";

/// Returns true if the bytes are an Avro container. Older metadata is JSON.
pub(super) fn is_container(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The record of a metadata file, with those of the requested fields that it has.
pub(super) struct AvroRecord(ArrayRef);

impl AvroRecord {
    pub(super) fn read(bytes: &[u8], columns: &[&str]) -> Result<Self> {
        let container = Container::open(bytes)?;
        let present: Vec<&str> =
            columns.iter().copied().filter(|name| container.schema().field(name).is_some()).collect();
        if present.is_empty() {
            return Ok(Self(Arc::new(StructArray::new_empty_fields(1, None))));
        }
        Self::from_single_row(container.read(Some(&present), ArrowMapping::File)?)
    }

    fn from_single_row(batch: RecordBatch) -> Result<Self> {
        if batch.num_rows() != 1 {
            let message = format!("invalid metadata file: expected one record, found {}", batch.num_rows());
            return Err(Error::invalid_table(message));
        }
        Ok(Self::from_batch(batch))
    }

    /// Reads the record of a metadata file with all its fields.
    pub(super) fn read_whole(bytes: &[u8]) -> Result<Self> {
        let container = Container::open(bytes)?;
        Self::from_single_row(container.read(None, ArrowMapping::File)?)
    }

    /// Wraps the records of a batch, for [`AvroRecord::row`].
    pub(super) fn from_batch(batch: RecordBatch) -> Self {
        Self(Arc::new(StructArray::from(batch)))
    }

    pub(super) fn root(&self) -> MetadataValue<'_> {
        self.row(0)
    }

    /// Returns one of several records.
    pub(super) fn row(&self, at: usize) -> MetadataValue<'_> {
        MetadataValue { array: &*self.0, at, name: "the record" }
    }
}

/// A value that is not null.
#[derive(Clone, Copy)]
pub(super) struct MetadataValue<'a> {
    array: &'a dyn Array,
    at: usize,
    name: &'a str,
}

impl<'a> MetadataValue<'a> {
    /// Returns the field of a record; `None` if it is null or missing.
    pub(super) fn field(self, name: &'static str) -> Result<Option<Self>> {
        let record = self.array.as_struct_opt().ok_or_else(|| self.type_error("a record"))?;
        Ok(record.column_by_name(name).and_then(|column| Self::at(&**column, self.at, name)))
    }

    fn at(array: &'a dyn Array, at: usize, name: &'a str) -> Option<Self> {
        (at < array.len() && !array.is_null(at)).then_some(Self { array, at, name })
    }

    /// Returns a string.
    pub(super) fn text(self) -> Result<&'a str> {
        let strings = self.array.as_string_opt::<i32>().ok_or_else(|| self.type_error("a string"))?;
        Ok(strings.value(self.at))
    }

    /// Returns a long.
    pub(super) fn long(self) -> Result<i64> {
        let longs = self.array.as_primitive_opt::<Int64Type>().ok_or_else(|| self.type_error("a long"))?;
        Ok(longs.value(self.at))
    }

    /// Returns the items of an array, without nulls.
    pub(super) fn items(self) -> Result<Vec<Self>> {
        let list = self.array.as_list_opt::<i32>().ok_or_else(|| self.type_error("an array"))?;
        let range = self.range(list.value_offsets())?;
        Ok(range.filter_map(|at| Self::at(&**list.values(), at, self.name)).collect())
    }

    /// Returns the entries of a map, without those with a null value.
    pub(super) fn entries(self) -> Result<Vec<(&'a str, Self)>> {
        let map = self.array.as_map_opt().ok_or_else(|| self.type_error("a map"))?;
        let keys = map.keys().as_string_opt::<i32>().ok_or_else(|| self.type_error("a map of strings"))?;
        let range = self.range(map.value_offsets())?;
        Ok(range.filter_map(|at| Some((keys.value(at), Self::at(&**map.values(), at, self.name)?))).collect())
    }

    fn range(self, offsets: &[i32]) -> Result<std::ops::Range<usize>> {
        let lost = || Error::internal(format_args!("{} has no items at row {}", self.name, self.at));
        let offset = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(*offset).ok()).ok_or_else(lost);
        Ok(offset(self.at)?..offset(self.at.saturating_add(1))?)
    }

    /// Converts the value to JSON. Bytes become a string with one character per byte, as in Avro's JSON encoding.
    pub(super) fn json(self) -> Result<Json> {
        Ok(match self.array.data_type() {
            DataType::Utf8 => Json::from(self.text()?),
            DataType::Boolean => Json::from(self.array.as_boolean().value(self.at)),
            DataType::Int32 => Json::from(self.array.as_primitive::<Int32Type>().value(self.at)),
            DataType::Int64 => Json::from(self.long()?),
            DataType::Float32 => Json::from(self.array.as_primitive::<Float32Type>().value(self.at)),
            DataType::Float64 => Json::from(self.array.as_primitive::<Float64Type>().value(self.at)),
            DataType::Binary => Json::from(decode_latin1(self.array.as_binary::<i32>().value(self.at))),
            DataType::FixedSizeBinary(_) => Json::from(decode_latin1(self.array.as_fixed_size_binary().value(self.at))),
            DataType::Null => Json::Null,
            DataType::List(_) => {
                let list = self.array.as_list::<i32>();
                let items = self.range(list.value_offsets())?.map(|at| json_at(&**list.values(), at, self.name));
                Json::Array(items.collect::<Result<_>>()?)
            }
            DataType::Map(..) => {
                let map = self.array.as_map();
                let keys = map.keys().as_string_opt::<i32>().ok_or_else(|| self.type_error("a map of strings"))?;
                let range = self.range(map.value_offsets())?;
                let entry = |at| Ok((keys.value(at).to_owned(), json_at(&**map.values(), at, self.name)?));
                Json::Object(range.map(entry).collect::<Result<_>>()?)
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(self.array.as_struct().columns());
                let field = |(field, column): (&FieldRef, &ArrayRef)| {
                    Ok((field.name().clone(), json_at(&**column, self.at, self.name)?))
                };
                Json::Object(columns.map(field).collect::<Result<_>>()?)
            }
            _ => return Err(self.type_error("a value that metadata has")),
        })
    }

    fn type_error(self, expected: &str) -> Error {
        let found: &DataType = self.array.data_type();
        Error::invalid_table(format!("invalid metadata field {}: expected {expected}, found {found}", self.name))
    }
}

fn json_at(array: &dyn Array, at: usize, name: &str) -> Result<Json> {
    MetadataValue::at(array, at, name).map_or(Ok(Json::Null), MetadataValue::json)
}

fn decode_latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}
