//! Rows in batches of one schema. A row is addressed by its number; batches may be in files.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use super::row_bytes::row_bytes;
use super::row_memory::RowMemory;
use mortice_base::error::{Error, Result};

/// Rows that follow each other in one batch are a stretch of their own from this many on: a slice of the batch, not a
/// copy.
const LONG_STRETCH: usize = 1024;

/// Rows in batches of one schema.
#[derive(Debug, Clone)]
pub struct RowBatches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The number of the first row behind each batch.
    ends: Vec<usize>,
    /// Bytes of a row of each batch, on average.
    row_bytes: Vec<usize>,
    memory: RowMemory,
}

impl From<RecordBatch> for RowBatches {
    fn from(batch: RecordBatch) -> Self {
        let schema = batch.schema();
        Self::new(schema, vec![batch], RowMemory::unlimited())
    }
}

impl RowBatches {
    /// Rows of batches that have the schema. Rows that are made of them wait as `memory` says.
    #[must_use]
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>, memory: RowMemory) -> Self {
        let batches: Vec<RecordBatch> = batches.into_iter().filter(|batch| batch.num_rows() > 0).collect();
        let mut end = 0_usize;
        let ends = batches.iter().map(|batch| {
            end = end.saturating_add(batch.num_rows());
            end
        });
        let ends = ends.collect();
        let row_bytes = batches.iter().map(|batch| row_bytes(batch) / batch.num_rows().max(1)).collect();
        Self { schema, batches, ends, row_bytes, memory }
    }

    /// How many rows there are.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// The batches, none of them empty, in the order of the rows.
    #[must_use]
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Where rows wait that are made of these.
    #[must_use]
    pub const fn memory(&self) -> &RowMemory {
        &self.memory
    }

    /// All rows as one batch: a copy, unless there is one batch already.
    ///
    /// # Errors
    /// `InvalidArgument` if they are too large for one.
    pub fn to_batch(&self) -> Result<RecordBatch> {
        match self.batches.as_slice() {
            [only] => Ok(only.clone()),
            all => concat_batches(&self.schema, all).map_err(too_large),
        }
    }

    /// Some rows, by number: a slice of a batch if they follow each other in it, otherwise a copy.
    ///
    /// # Errors
    /// `InvalidArgument` if they are too large for one batch; `Internal` for numbers that no row has.
    pub fn take(&self, rows: &[u32]) -> Result<RecordBatch> {
        let taken = self.taken(rows)?;
        self.memory.folder.pages.touch(row_bytes(&taken));
        Ok(taken)
    }

    fn taken(&self, rows: &[u32]) -> Result<RecordBatch> {
        let Some(first) = rows.first() else { return Ok(RecordBatch::new_empty(self.schema())) };
        let (batch, row) = self.place(*first)?;
        let start = self.start(batch);
        let len = self.run(rows, batch);
        let source = self.batch(batch)?;
        if len == rows.len() {
            return Ok(source.slice(row, len));
        }
        let end = start.saturating_add(source.num_rows());
        if rows.iter().all(|row| (start..end).contains(&(*row as usize))) {
            // Both are numbers of rows, which are less than 2^32.
            let start = start as u32;
            let places = UInt32Array::from_iter_values(rows.iter().map(|row| row.saturating_sub(start)));
            let columns = source.columns().iter().map(|column| take(column, &places, None));
            return self.of_columns(columns.collect::<Result<_, _>>().map_err(too_large)?, rows.len());
        }
        self.interleaved(rows)
    }

    /// One column of some rows, by number; none if there is no such column.
    ///
    /// # Errors
    /// As for [`Self::take`].
    pub fn column(&self, name: &str, rows: &[u32]) -> Result<Option<ArrayRef>> {
        let Ok(at) = self.schema.index_of(name) else { return Ok(None) };
        let project = |error: ArrowError| Error::internal("a column of rows").caused_by(error);
        let schema = self.schema.project(&[at]).map_err(project)?;
        let batches = self.batches.iter().map(|batch| batch.project(&[at]));
        let batches = batches.collect::<std::result::Result<Vec<_>, _>>().map_err(project)?;
        let column = Self { schema: schema.into(), batches, ..self.clone() };
        Ok(column.take(rows)?.columns().first().cloned())
    }

    fn interleaved(&self, rows: &[u32]) -> Result<RecordBatch> {
        let mut sources: Vec<usize> = Vec::new();
        let mut source_of: Vec<Option<usize>> = vec![None; self.batches.len()];
        let mut places = Vec::with_capacity(rows.len());
        let mut last = 0;
        for number in rows {
            let number = *number as usize;
            // Rows of one batch mostly follow each other.
            if !self.range(last).contains(&number) {
                last = self.place(number as u32)?.0;
            }
            let source = source_of.get_mut(last).ok_or_else(|| unknown(number))?;
            let source = *source.get_or_insert_with(|| {
                sources.push(last);
                sources.len() - 1
            });
            places.push((source, number.saturating_sub(self.start(last))));
        }
        let batches = sources.iter().map(|source| self.batch(*source)).collect::<Result<Vec<_>>>()?;
        let column = |at: usize| -> Result<ArrayRef> {
            let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
            interleave(&arrays, &places).map_err(too_large)
        };
        self.of_columns((0..self.schema.fields().len()).map(column).collect::<Result<_>>()?, rows.len())
    }

    fn of_columns(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
            .map_err(|error| Error::internal("rows of several batches").caused_by(error))
    }

    /// Divides numbers of rows into stretches that [`Self::take`] returns as batches of a sensible size: at most so
    /// many rows and, as far as the rows of a batch are alike, so many bytes. Rows that follow each other in one batch
    /// are not copied.
    #[must_use]
    pub fn stretches(&self, rows: &[u32], most_rows: usize, most_bytes: usize) -> Vec<Range<usize>> {
        let mut stretches = Vec::new();
        let most_rows = most_rows.max(1);
        let (mut start, mut bytes, mut at) = (0, 0_usize, 0);
        let (mut batch, mut range, mut of_row, mut most) = (0, 0..0, 1, most_rows);
        while let Some(row) = rows.get(at) {
            // Rows of one batch mostly follow each other.
            if !range.contains(&(*row as usize)) {
                batch = self.batch_of(*row);
                range = self.range(batch);
                // For the size of a batch alone: an unknown row is an error where it is taken.
                of_row = self.row_bytes.get(batch).copied().unwrap_or_default().max(1);
                most = (most_bytes / of_row).clamp(1, most_rows);
            }
            let (_, rest) = rows.split_at(at);
            let (rest, _) = rest.split_at(most.min(rest.len()));
            let run = self.run(rest, batch).max(1);
            let run_bytes = run.saturating_mul(of_row);
            let is_long = run >= LONG_STRETCH.min(most_rows);
            let is_full = at.saturating_sub(start).saturating_add(run) > most_rows
                || bytes.saturating_add(run_bytes) > most_bytes;
            if at > start && (is_long || is_full) {
                stretches.push(start..at);
                (start, bytes) = (at, 0);
            }
            at = at.saturating_add(run);
            bytes = bytes.saturating_add(run_bytes);
            if is_long {
                stretches.push(start..at);
                (start, bytes) = (at, 0);
            }
        }
        if start < at {
            stretches.push(start..at);
        }
        stretches
    }

    /// The rows of several, one after the other, with columns that hold those of each.
    ///
    /// # Errors
    /// `Internal` for columns that do not fit.
    pub fn chained(schema: &SchemaRef, parts: &[&Self], memory: RowMemory) -> Result<Self> {
        let of_schema = |batch: &RecordBatch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(SchemaRef::clone(schema), batch.columns().to_vec(), &options)
                .map_err(|error| Error::internal("rows that follow others").caused_by(error))
        };
        let batches = parts.iter().flat_map(|part| &part.batches).map(of_schema).collect::<Result<Vec<_>>>()?;
        Ok(Self::new(SchemaRef::clone(schema), batches, memory))
    }

    /// How many of the first rows follow each other in this batch, which has the first one.
    fn run(&self, rows: &[u32], batch: usize) -> usize {
        let Some(first) = rows.first() else { return 0 };
        let left = self.range(batch).end.saturating_sub(*first as usize);
        let follows = |pair: &&[u32]| matches!(pair, [one, next] if one.checked_add(1) == Some(*next));
        rows.windows(2).take(left.saturating_sub(1)).take_while(follows).count().saturating_add(1)
    }

    fn place(&self, row: u32) -> Result<(usize, usize)> {
        let batch = self.batch_of(row);
        let row = row as usize;
        if !self.range(batch).contains(&row) {
            return Err(unknown(row));
        }
        Ok((batch, row.saturating_sub(self.start(batch))))
    }

    /// The number of the batch of a row.
    pub(super) fn batch_of(&self, row: u32) -> usize {
        self.ends.partition_point(|end| *end <= row as usize)
    }

    /// 0 for the first batch.
    fn start(&self, batch: usize) -> usize {
        batch.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default()
    }

    /// Empty behind the last batch, which has no row.
    fn range(&self, batch: usize) -> Range<usize> {
        self.start(batch)..self.ends.get(batch).copied().unwrap_or_default()
    }

    fn batch(&self, batch: usize) -> Result<&RecordBatch> {
        self.batches.get(batch).ok_or_else(|| Error::internal(format!("no batch {batch} of rows")))
    }
}

fn unknown(row: usize) -> Error {
    Error::internal(format!("no row {row}"))
}

fn too_large(error: ArrowError) -> Error {
    Error::invalid_argument("rows are too large for one batch").caused_by(error)
}
