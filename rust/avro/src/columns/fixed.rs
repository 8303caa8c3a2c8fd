//! Bytes of a fixed size, kept as such (the file's own type; tables have them as binary).

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::column::ColumnValues;
use super::numbers::arrow;
use mortice_base::error::Result;

pub(super) struct FixedBytes {
    size: usize,
    bytes: Vec<u8>,
    rows: usize,
}

impl FixedBytes {
    pub(super) fn new(size: usize) -> Self {
        Self { size, bytes: Vec::new(), rows: 0 }
    }
}

impl ColumnValues for FixedBytes {
    #[inline(always)]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        lane.copy_to(self.size, &mut self.bytes)?;
        self.rows += 1;
        Ok(())
    }

    fn absent(&mut self) {
        self.bytes.resize(self.bytes.len() + self.size, 0);
        self.rows += 1;
    }

    /// Nothing ahead: the size is the schema's word, and only bytes that are there back it.
    fn reserve(&mut self, _: usize) {}

    fn finish(&mut self, _: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let bytes = Buffer::from_vec(std::mem::take(&mut self.bytes));
        let rows = std::mem::take(&mut self.rows);
        let size = i32::try_from(self.size).unwrap_or(i32::MAX);
        let array = FixedSizeBinaryArray::try_new_with_len(size, bytes, nulls, rows).map_err(arrow)?;
        Ok(Arc::new(array))
    }
}
