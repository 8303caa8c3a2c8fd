//! Columns that take no bytes of a datum: nulls, and the defaults of fields that the writer does not have.

use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::lanes::Lanes;
use super::column::{Column, ColumnValues};
use mortice_base::error::Result;

/// Values of Avro's null type, and of fields that default to null.
#[derive(Default)]
pub(super) struct NullColumn {
    rows: usize,
}

impl ColumnValues for NullColumn {
    fn value(&mut self, _: &mut Lane<'_>) -> Result<()> {
        self.rows += 1;
        Ok(())
    }

    fn absent(&mut self) {
        self.rows += 1;
    }

    fn reserve(&mut self, _: usize) {}

    fn finish(&mut self, data_type: &DataType, _: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(new_null_array(data_type, std::mem::take(&mut self.rows)))
    }
}

/// The same value in every row, read again from its Avro bytes each time.
pub(super) struct DefaultColumn {
    bytes: Arc<[u8]>,
    column: Box<dyn Column>,
}

impl DefaultColumn {
    pub(super) fn new(bytes: Arc<[u8]>, column: Box<dyn Column>) -> Self {
        Self { bytes, column }
    }
}

impl Column for DefaultColumn {
    fn group(&mut self, lanes: &mut Lanes<'_>) -> Result<()> {
        let active = lanes.active();
        for index in 0..lanes.count() {
            if active >> index & 1 == 1 {
                self.column.run(&mut Lane::new(&self.bytes), 1)?;
            } else {
                self.column.nulls(1);
            }
        }
        Ok(())
    }

    fn run(&mut self, _: &mut Lane<'_>, count: usize) -> Result<()> {
        (0..count).try_for_each(|_| self.column.run(&mut Lane::new(&self.bytes), 1))
    }

    fn nulls(&mut self, count: usize) {
        self.column.nulls(count);
    }

    fn reserve(&mut self, rows: usize) {
        self.column.reserve(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.column.finish()
    }
}
