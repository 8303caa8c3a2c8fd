//! Rows that are collected: once they take too much memory they are written to a file and mapped back.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::batches::BatchWriter;
use super::row_batches::RowBatches;
use super::row_bytes::{row_bytes, slice_bytes};
use super::row_memory::RowMemory;
use super::shared_buffers::SharedBuffers;
use mortice_base::error::{Error, Result};

const UNFIT: &str = "rows of a write, in batches";

/// Rows of a batch that is made of rows by number.
const CHUNK_ROWS: usize = 1 << 16;

/// Collects batches of one schema.
pub struct RowBatchesBuilder {
    schema: SchemaRef,
    memory: RowMemory,
    batches: Vec<RecordBatch>,
    /// Batches that have columns in memory.
    waiting: Vec<usize>,
    /// The columns that some of them have in memory.
    columns: BTreeSet<usize>,
    bytes: usize,
}

impl RowBatchesBuilder {
    /// No rows yet.
    #[must_use]
    pub const fn new(schema: SchemaRef, memory: RowMemory) -> Self {
        Self { schema, memory, batches: Vec::new(), waiting: Vec::new(), columns: BTreeSet::new(), bytes: 0 }
    }

    /// How many rows there are.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Adds rows.
    ///
    /// # Errors
    /// `Internal` for other columns; `Io` where rows cannot be written to a file.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.add(batch, |column| slice_bytes(column.as_ref()))
    }

    /// Adds rows that are made of those of another batch, which stays where it is: columns that share its buffers take
    /// no memory.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub fn push_of(&mut self, batch: RecordBatch, source: &RecordBatch) -> Result<()> {
        let shared = SharedBuffers::of_batch(source);
        self.add(batch, |column| shared.own_bytes(column))
    }

    /// Adds rows that somebody else has in memory for as long as they are needed.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub fn push_held(&mut self, batch: RecordBatch) -> Result<()> {
        self.add(batch, |_| 0)
    }

    /// The rows.
    #[must_use]
    pub fn finish(self) -> RowBatches {
        RowBatches::new(self.schema, self.batches, self.memory)
    }

    fn add(&mut self, batch: RecordBatch, bytes_of: impl Fn(&ArrayRef) -> usize) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let batch = self.of_columns(batch.columns().to_vec(), batch.num_rows())?;
        let mut bytes = 0_usize;
        for (at, column) in batch.columns().iter().enumerate() {
            let of_column = bytes_of(column);
            if of_column > 0 {
                self.columns.insert(at);
                bytes = bytes.saturating_add(of_column);
            }
        }
        if bytes > 0 {
            self.waiting.push(self.batches.len());
            self.bytes = self.bytes.saturating_add(bytes);
        }
        // It may be made of rows that were read from a file.
        self.memory.folder.pages.touch(row_bytes(&batch));
        self.batches.push(batch);
        if self.bytes > self.memory.limit { self.write_waiting() } else { Ok(()) }
    }

    /// Writes the columns that are in memory to a file; they are in its mapping then.
    fn write_waiting(&mut self) -> Result<()> {
        let columns: Vec<usize> = std::mem::take(&mut self.columns).into_iter().collect();
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let schema = self.schema.project(&columns).map_err(Error::internal_by(UNFIT))?;
        let mut file = BatchWriter::new(&self.memory.folder, &schema, false)?;
        for at in &waiting {
            let batch = self.batches.get(*at).ok_or_else(lost)?.project(&columns).map_err(Error::internal_by(UNFIT))?;
            file.write(&compact(&batch)?)?;
        }
        let mut stored = file.finish()?;
        for at in waiting {
            let stored = stored.next().ok_or_else(lost)??;
            let batch = self.batches.get(at).ok_or_else(lost)?;
            let mut all = batch.columns().to_vec();
            for (column, at) in stored.columns().iter().zip(&columns) {
                *all.get_mut(*at).ok_or_else(lost)? = Arc::clone(column);
            }
            let batch = self.of_columns(all, batch.num_rows())?;
            *self.batches.get_mut(at).ok_or_else(lost)? = batch;
        }
        Ok(())
    }

    fn of_columns(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(Error::internal_by(UNFIT))
    }
}

impl RowBatches {
    /// Some rows, by number.
    ///
    /// # Errors
    /// As for [`Self::take`]; `Io` where rows cannot be written to a file.
    pub fn select(&self, rows: &[u32]) -> Result<Self> {
        let mut selected = RowBatchesBuilder::new(self.schema(), self.memory().clone());
        for stretch in self.stretches(rows, CHUNK_ROWS, self.memory().chunk_bytes()) {
            let rows = rows.get(stretch).ok_or_else(|| Error::internal("a stretch of rows that were not asked for"))?;
            let taken = self.take(rows)?;
            // A slice shares the buffers of its batch.
            match rows.first().and_then(|first| self.batches().get(self.batch_of(*first))) {
                Some(source) => selected.push_of(taken, source)?,
                None => selected.push(taken)?,
            }
        }
        Ok(selected.finish())
    }
}

/// A batch whose views have no other bytes than their own: the file gets all buffers of an array of views, however few
/// of their bytes it uses.
fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let column = |column: &ArrayRef| -> ArrayRef {
        if let Some(views) = column.as_string_view_opt() {
            return Arc::new(views.gc());
        }
        column.as_binary_view_opt().map_or_else(|| Arc::clone(column), |views| Arc::new(views.gc()))
    };
    let columns = batch.columns().iter().map(column).collect();
    RecordBatch::try_new(batch.schema(), columns).map_err(Error::internal_by(UNFIT))
}

fn lost() -> Error {
    Error::internal("rows that were written to a file are lost")
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int64Array, ListArray, StringArray, StringViewArray, StructArray, UInt32Array};
    use arrow_schema::{Field, Schema};
    use arrow_select::concat::concat_batches;
    use arrow_select::take::take_record_batch;

    use super::*;
    use crate::spill::SpillFolder;

    fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
        let text =
            |number: i64| (number % 5 > 0).then(|| format!("text {number} {}", "x".repeat(number as usize % 40)));
        let strings: StringArray = numbers.clone().map(text).collect();
        let views: StringViewArray = numbers.clone().map(text).collect();
        let words: DictionaryArray<Int32Type> =
            numbers.clone().map(|number| Some(["a", "b"][number as usize % 2])).collect();
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
            numbers
                .clone()
                .map(|number| (number % 7 > 0).then(|| (0..number as i32 % 4).map(Some).collect::<Vec<_>>())),
        );
        let nested: StructArray = vec![(
            Arc::new(Field::new("number", arrow_schema::DataType::Int64, true)),
            Arc::new(numbers.clone().collect::<Int64Array>()) as ArrayRef,
        )]
        .into();
        let columns: [(&str, ArrayRef); 6] = [
            ("number", Arc::new(numbers.collect::<Int64Array>())),
            ("text", Arc::new(strings)),
            ("view", Arc::new(views)),
            ("word", Arc::new(words)),
            ("list", Arc::new(lists)),
            ("nested", Arc::new(nested)),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    }

    /// Rows in batches of different sizes, and as one batch.
    fn rows(limit: usize) -> (RowBatches, RecordBatch) {
        let all = batch(0..20_000);
        let mut builder = RowBatchesBuilder::new(all.schema(), RowMemory::new(SpillFolder::new(None), limit));
        let mut start = 0;
        for len in [1, 0, 3000, 7, 5000, 11_992] {
            builder.push(all.slice(start, len)).unwrap();
            start += len;
        }
        assert_eq!((start, builder.num_rows()), (20_000, 20_000));
        (builder.finish(), all)
    }

    fn taken(all: &RecordBatch, numbers: &[u32]) -> RecordBatch {
        take_record_batch(all, &UInt32Array::from(numbers.to_vec())).unwrap()
    }

    fn is_heap(batch: &RecordBatch, source: &RecordBatch) -> bool {
        let shared = SharedBuffers::of_batch(source);
        batch.columns().iter().any(|column| shared.own_bytes(column) > 0)
    }

    #[test]
    fn rows_come_back_from_memory_and_from_files() {
        for limit in [usize::MAX, 100_000, 0] {
            let (rows, all) = rows(limit);
            assert_eq!((rows.num_rows(), rows.batches().len()), (20_000, 5), "{limit}");
            assert_eq!(concat_batches(&all.schema(), rows.batches()).unwrap(), all, "{limit}");
            let is_moved = is_heap(&rows.batches()[1], &all);
            assert_eq!(is_moved, limit < usize::MAX, "batches are in a file only if they take too much memory");
            assert_eq!(rows.to_batch().unwrap(), all);
        }
    }

    #[test]
    fn rows_are_taken_by_number() {
        let (rows, all) = rows(100_000);
        let numbers: Vec<Vec<u32>> = vec![
            Vec::new(),
            vec![0],
            (10..2000).collect(),
            (0..20_000).collect(),
            (0..20_000).rev().collect(),
            (3002..8001).step_by(3).collect(),
            (0..40_000).map(|row| row * 7919 % 20_000).collect(),
        ];
        for numbers in &numbers {
            assert_eq!(rows.take(numbers).unwrap(), taken(&all, numbers));
            let selected = rows.select(numbers).unwrap();
            assert_eq!(selected.num_rows(), numbers.len());
            assert_eq!(concat_batches(&all.schema(), selected.batches()).unwrap(), taken(&all, numbers));
            let column = rows.column("text", numbers).unwrap().unwrap();
            assert_eq!(&column, taken(&all, numbers).column_by_name("text").unwrap());
        }
        assert!(rows.column("none", &[0]).unwrap().is_none());
        assert!(rows.take(&[20_000]).is_err() && rows.take(&[0, 3500, 20_000]).is_err());
        // Rows that follow each other in a batch are a slice of it, in files and in memory.
        for number in [10_000, 2] {
            let slice = rows.take(&(number..number + 500).collect::<Vec<_>>()).unwrap();
            let source = rows.batches().iter().find(|source| !is_heap(&slice, source));
            assert!(source.is_some(), "rows from {number} on were copied");
        }
    }

    #[test]
    fn stretches_have_all_rows_in_order_and_are_of_limited_size() {
        let (rows, all) = rows(usize::MAX);
        let of_row = slice_bytes(&StructArray::from(all)) / 20_000;
        let numbers: Vec<u32> = (0..6000).chain((0..20_000).step_by(2)).chain(19_000..20_000).chain([5]).collect();
        for (most_rows, most_bytes) in
            [(1, usize::MAX), (900, usize::MAX), (1 << 16, usize::MAX), (1 << 16, 500 * of_row)]
        {
            let stretches = rows.stretches(&numbers, most_rows, most_bytes);
            assert!(stretches.iter().flat_map(Clone::clone).eq(0..numbers.len()));
            let longest = stretches.iter().map(ExactSizeIterator::len).max().unwrap();
            assert!(longest <= most_rows && (most_bytes == usize::MAX || longest < 1000), "{longest}");
        }
        let stretches = rows.stretches(&numbers, 1 << 16, usize::MAX);
        // Long runs are stretches of their own; shorter ones are put together.
        assert_eq!(stretches, [0..1, 1..3001, 3001..3008, 3008..6000, 6000..17_001]);
        assert!(rows.stretches(&[], 5, 5).is_empty());
    }

    #[test]
    fn columns_that_others_have_in_memory_are_not_written_to_files() {
        let source = batch(0..5000);
        let schema = source.schema();
        let mut columns = source.columns().to_vec();
        columns[1] = Arc::new(StringArray::from(vec!["another text"; 5000]));
        let derived = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        let memory = RowMemory::new(SpillFolder::new(None), 1000);
        let mut held = RowBatchesBuilder::new(Arc::clone(&schema), memory.clone());
        held.push_held(source.clone()).unwrap();
        held.push_of(source.slice(10, 100), &source).unwrap();
        let held = held.finish();
        assert!(held.batches().iter().all(|batch| !is_heap(batch, &source)));
        let mut own = RowBatchesBuilder::new(schema, memory);
        own.push_of(derived.clone(), &source).unwrap();
        let own = own.finish();
        assert_eq!(own.batches(), std::slice::from_ref(&derived));
        let shared = SharedBuffers::of_batch(&source);
        let is_own: Vec<bool> = own.batches()[0].columns().iter().map(|column| shared.own_bytes(column) > 0).collect();
        assert_eq!(is_own, [false, true, false, false, false, false]);
        assert!(is_heap(&own.batches()[0], &derived), "the other text is in a file");
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let options = RecordBatchOptions::new().with_row_count(Some(7));
        let schema = Arc::new(Schema::empty());
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), Vec::new(), &options).unwrap();
        let mut builder = RowBatchesBuilder::new(schema, RowMemory::new(SpillFolder::new(None), 0));
        builder.push(batch.clone()).unwrap();
        builder.push(batch).unwrap();
        let rows = builder.finish();
        assert_eq!((rows.num_rows(), rows.take(&[1, 8]).unwrap().num_rows()), (14, 2));
        assert_eq!(rows.select(&[0, 13, 3]).unwrap().num_rows(), 3);
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let rows = batch(0..1000);
        let memory = RowMemory::new(SpillFolder::new(Some("/dev/null/none")), 10);
        let error = RowBatchesBuilder::new(rows.schema(), memory).push(rows).unwrap_err();
        assert!(error.to_string().contains("/dev/null/none"), "{error}");
    }
}
