//! Records to columns: sixty-four datums at a time, and of those one field after the other.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};

use super::columns::{Column, build, step_lanes};
use super::lane::{LANES, Lanes};
use super::program::Program;
use crate::error::{Error, Result};

/// Where the Avro bytes of one record lie in a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Datum {
    /// The first byte's offset in the content.
    pub at: u32,
    /// Bytes of the record.
    pub len: u32,
}

/// Decodes records of one writer's schema into the columns of a [`Program`].
pub struct Decoder {
    program: Arc<Program>,
    columns: Vec<Box<dyn Column>>,
    rows: usize,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder")
            .field("schema", self.program.schema())
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// An empty decoder.
    #[must_use]
    pub fn new(program: Arc<Program>) -> Self {
        let columns = program.columns.iter().map(build).collect();
        Self { program, columns, rows: 0 }
    }

    /// Appends a row for each datum, in the order given, which need not be that of the content.
    ///
    /// # Errors
    /// `CorruptLog`, with the offset in the content, where a datum is not what the writer's schema says, ends before its
    /// fields do or passes the end of the content (bytes left over in a datum are fine); `MemoryLimit` where a column of text or
    /// items passes 2 GiB or 2^31. After an error the decoder has to be dropped.
    pub fn decode(&mut self, content: &[u8], datums: &[Datum]) -> Result<()> {
        if u32::try_from(content.len()).is_err() {
            return Err(Error::invalid_argument("a content of more than 4 GiB"));
        }
        self.columns.iter_mut().for_each(|column| column.reserve(datums.len()));
        let mut lanes = Lanes::new(content);
        for group in datums.chunks(LANES) {
            lanes.load(group.iter().map(|datum| (datum.at, datum.len)))?;
            step_lanes(&self.program.steps, &mut self.columns, &mut lanes)?;
            lanes.check_ends()?;
            self.rows += group.len();
        }
        Ok(())
    }

    /// Rows decoded since the last batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows so far as a batch of the program's schema; the decoder is empty afterwards and can be used again.
    ///
    /// # Errors
    /// `CorruptLog` where a string is not UTF-8.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let schema = self.program.schema();
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter_mut().zip(schema.fields()) {
            let named = |error: Error| Error::new(error.kind(), format!("column {}", field.name())).caused_by(error);
            arrays.push(column.finish().map_err(named)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
            .map_err(|error| Error::corrupt("columns that make no batch").caused_by(error))
    }
}
