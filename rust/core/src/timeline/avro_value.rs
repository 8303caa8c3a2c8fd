//! A walk over one record of an Avro container, by field names.
//!
//! Metadata files are written with the schema of the release that wrote them, and fields are added with each: what is
//! absent reads as null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::DataType;

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
        let batch = container.read(Some(&there), Types::File)?;
        if batch.num_rows() != 1 {
            let message = format!("a metadata file of {} records; one was expected", batch.num_rows());
            return Err(Error::invalid_table(message));
        }
        Ok(Self(Arc::new(StructArray::from(batch))))
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

    fn wrong(self, expected: &str) -> Error {
        let found: &DataType = self.array.data_type();
        Error::invalid_table(format!("{} is {found}, where {expected} was expected", self.name))
    }
}
