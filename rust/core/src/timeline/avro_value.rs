//! A walk over one record of an Avro container, by field names.
//!
//! Metadata files are written with the schema of the release that wrote them, and fields are added with each: what is
//! absent reads as null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, FieldRef};
use serde_json::Value as Json;

use crate::avro::{Container, Types};
use crate::error::{Error, Result};

/// What an Avro container begins with.
const MAGIC: &[u8] = b"Obj\x01";

/// Whether bytes are an Avro container; older metadata is JSON.
pub(super) fn is_container(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The one record of a metadata file, with those of the wanted fields that it has.
pub(super) struct Record(ArrayRef);

impl Record {
    pub(super) fn read(bytes: &[u8], wanted: &[&str]) -> Result<Self> {
        let container = Container::open(bytes)?;
        let there: Vec<&str> = wanted.iter().copied().filter(|name| container.schema().field(name).is_some()).collect();
        if there.is_empty() {
            return Ok(Self(Arc::new(StructArray::new_empty_fields(1, None))));
        }
        Self::only(container.read(Some(&there), Types::File)?)
    }

    fn only(batch: RecordBatch) -> Result<Self> {
        if batch.num_rows() != 1 {
            let message = format!("a metadata file of {} records; one was expected", batch.num_rows());
            return Err(Error::invalid_table(message));
        }
        Ok(Self::of_batch(batch))
    }

    /// The one record of a metadata file, with all its fields.
    pub(super) fn read_whole(bytes: &[u8]) -> Result<Self> {
        let container = Container::open(bytes)?;
        Self::only(container.read(None, Types::File)?)
    }

    /// Records of a batch, for [`Record::row`].
    pub(super) fn of_batch(batch: RecordBatch) -> Self {
        Self(Arc::new(StructArray::from(batch)))
    }

    pub(super) fn root(&self) -> Value<'_> {
        self.row(0)
    }

    /// One record of several.
    pub(super) fn row(&self, at: usize) -> Value<'_> {
        Value { array: &*self.0, at, name: "the record" }
    }
}

/// A value that is not null.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    array: &'a dyn Array,
    at: usize,
    name: &'a str,
}

impl<'a> Value<'a> {
    /// The field of a record; `None` where it is null or not there.
    pub(super) fn field(self, name: &'static str) -> Result<Option<Self>> {
        let record = self.array.as_struct_opt().ok_or_else(|| self.wrong("a record"))?;
        Ok(record.column_by_name(name).and_then(|column| Self::at(&**column, self.at, name)))
    }

    fn at(array: &'a dyn Array, at: usize, name: &'a str) -> Option<Self> {
        (at < array.len() && !array.is_null(at)).then_some(Self { array, at, name })
    }

    /// A string.
    pub(super) fn text(self) -> Result<&'a str> {
        let texts = self.array.as_string_opt::<i32>().ok_or_else(|| self.wrong("a string"))?;
        Ok(texts.value(self.at))
    }

    /// A long.
    pub(super) fn long(self) -> Result<i64> {
        let longs = self.array.as_primitive_opt::<Int64Type>().ok_or_else(|| self.wrong("a long"))?;
        Ok(longs.value(self.at))
    }

    /// The items of an array, nulls left out.
    pub(super) fn items(self) -> Result<Vec<Self>> {
        let list = self.array.as_list_opt::<i32>().ok_or_else(|| self.wrong("an array"))?;
        let range = self.range(list.value_offsets());
        Ok(range.filter_map(|at| Self::at(&**list.values(), at, self.name)).collect())
    }

    /// The entries of a map, those with a null value left out.
    pub(super) fn entries(self) -> Result<Vec<(&'a str, Self)>> {
        let map = self.array.as_map_opt().ok_or_else(|| self.wrong("a map"))?;
        let keys = map.keys().as_string_opt::<i32>().ok_or_else(|| self.wrong("a map of strings"))?;
        let range = self.range(map.value_offsets());
        Ok(range.filter_map(|at| Some((keys.value(at), Self::at(&**map.values(), at, self.name)?))).collect())
    }

    fn range(self, offsets: &[i32]) -> std::ops::Range<usize> {
        let offset = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or_default();
        offset(self.at)..offset(self.at.saturating_add(1))
    }

    /// The value as JSON: bytes as text of as many characters, as Avro's own JSON has them.
    pub(super) fn json(self) -> Result<Json> {
        Ok(match self.array.data_type() {
            DataType::Utf8 => Json::from(self.text()?),
            DataType::Boolean => Json::from(self.array.as_boolean().value(self.at)),
            DataType::Int32 => Json::from(self.array.as_primitive::<Int32Type>().value(self.at)),
            DataType::Int64 => Json::from(self.long()?),
            DataType::Float32 => Json::from(self.array.as_primitive::<Float32Type>().value(self.at)),
            DataType::Float64 => Json::from(self.array.as_primitive::<Float64Type>().value(self.at)),
            DataType::Binary => Json::from(latin(self.array.as_binary::<i32>().value(self.at))),
            DataType::FixedSizeBinary(_) => Json::from(latin(self.array.as_fixed_size_binary().value(self.at))),
            DataType::Null => Json::Null,
            DataType::List(_) => {
                let list = self.array.as_list::<i32>();
                let items = self.range(list.value_offsets()).map(|at| json_at(&**list.values(), at, self.name));
                Json::Array(items.collect::<Result<_>>()?)
            }
            DataType::Map(..) => {
                let map = self.array.as_map();
                let keys = map.keys().as_string_opt::<i32>().ok_or_else(|| self.wrong("a map of strings"))?;
                let range = self.range(map.value_offsets());
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
            _ => return Err(self.wrong("a value that metadata has")),
        })
    }

    fn wrong(self, expected: &str) -> Error {
        let found: &DataType = self.array.data_type();
        Error::invalid_table(format!("{} is {found}, where {expected} was expected", self.name))
    }
}

fn json_at(array: &dyn Array, at: usize, name: &str) -> Result<Json> {
    Value::at(array, at, name).map_or(Ok(Json::Null), Value::json)
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}
