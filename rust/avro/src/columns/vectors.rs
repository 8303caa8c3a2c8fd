//! Vectors: bytes of a fixed size, lists of numbers once the column is finished.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::vector::VectorShape;
use super::column::ColumnValues;
use mortice_base::error::{Error, ErrorKind, Result};

pub(super) struct VectorColumn {
    shape: VectorShape,
    bytes: Vec<u8>,
    rows: usize,
}

impl VectorColumn {
    pub(super) fn new(shape: VectorShape) -> Self {
        Self { shape, bytes: Vec::new(), rows: 0 }
    }
}

impl ColumnValues for VectorColumn {
    #[inline(always)]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        lane.copy_to(self.shape.size(), &mut self.bytes)?;
        self.rows += 1;
        Ok(())
    }

    fn absent(&mut self) {
        self.rows += 1;
    }

    /// Allocates nothing: the size is the schema's word, and only bytes that are there back it.
    fn reserve(&mut self, _: usize) {}

    fn finish(&mut self, _: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let (bytes, rows) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.rows));
        self.shape.lists(&bytes, rows, nulls).map_err(|error: Error| match error.kind() {
            ErrorKind::InvalidTable => error.with_kind(ErrorKind::CorruptLog),
            _ => error,
        })
    }
}
