//! Rows sorted by keys of bytes: sorted runs are set aside in files and merged.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;

use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_merge::spill::{BatchReader, BatchWriter, SpillFolder, most_row_bytes};

const UNFIT: &str = "rows that are sorted";

/// Rows of a batch of a run, and of the result. Large rows are fewer.
const BATCH_ROWS: usize = 8192;

fn batch_limit() -> BatchLimit {
    BatchLimit::with_rows(BATCH_ROWS)
}

/// Sorts rows. Those of equal keys keep their order.
pub struct RowSorter {
    columns: SchemaRef,
    /// Bytes of a run, which is sorted in memory.
    run_bytes: usize,
    folder: SpillFolder,
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    runs: Vec<BatchReader>,
}

impl RowSorter {
    /// Sorts rows of these columns in runs of so many bytes, which wait in files of a folder.
    pub fn new(columns: &SchemaRef, run_bytes: usize, folder: SpillFolder) -> Self {
        let columns = Arc::clone(columns);
        Self { columns, run_bytes, folder, waiting: Vec::new(), waiting_bytes: 0, runs: Vec::new() }
    }

    /// The columns of the rows.
    pub fn columns(&self) -> SchemaRef {
        Arc::clone(&self.columns)
    }

    /// Adds rows with a key of bytes for each.
    ///
    /// # Errors
    /// `Io` where data cannot be set aside.
    pub fn add(&mut self, rows: &RecordBatch, keys: ArrayRef) -> Result<()> {
        let batch = with_keys(rows, keys)?;
        self.waiting_bytes = self.waiting_bytes.saturating_add(bytes_of(&batch));
        self.waiting.push(batch);
        if self.waiting_bytes < self.run_bytes {
            return Ok(());
        }
        self.spill()
    }

    /// Sorts what waits and sets it aside.
    fn spill(&mut self) -> Result<()> {
        let Some(first) = self.waiting.first() else { return Ok(()) };
        let mut run = BatchWriter::new(&self.folder, first.schema_ref(), false)?;
        for batch in self.sorted_waiting()? {
            run.write(&batch?)?;
        }
        self.runs.push(run.finish()?);
        Ok(())
    }

    /// The rows in order.
    ///
    /// # Errors
    /// `Io` where data that was set aside cannot be read.
    pub fn finish(self) -> Result<SortedRows> {
        let columns = self.columns();
        SortedRows::merged(columns, vec![self.finish_run(usize::MAX)?])
    }

    /// The rows in order, for [`SortedRows::merged`]. Those that wait are set aside, too, if they have so many bytes.
    ///
    /// # Errors
    /// `Io` where data cannot be set aside.
    pub fn finish_run(mut self, spilled_bytes: usize) -> Result<SortedRun> {
        if self.waiting_bytes >= spilled_bytes {
            self.spill()?;
        }
        let last: Vec<Result<RecordBatch>> = self.sorted_waiting()?.collect();
        let runs = std::mem::take(&mut self.runs);
        let mut sources: Vec<Batches> = runs.into_iter().map(|run| Box::new(run) as Batches).collect();
        if !last.is_empty() {
            sources.push(Box::new(last.into_iter()));
        }
        Ok(SortedRun(sources))
    }

    /// Sorts what waits; nothing waits then.
    fn sorted_waiting(&mut self) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let batches = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let keys = batches.iter().map(keys_of).collect::<Result<Vec<_>>>()?;
        let mut order: Vec<(usize, usize)> = batches
            .iter()
            .enumerate()
            .flat_map(|(batch, rows)| (0..rows.num_rows()).map(move |row| (batch, row)))
            .collect();
        let key = |(batch, row): &(usize, usize)| keys.get(*batch).map(|keys| keys.value(*row));
        order.sort_by(|one, other| key(one).cmp(&key(other)));
        let most_row_bytes = batches.iter().map(most_row_bytes).max().unwrap_or_default();
        let chunks: Vec<Vec<(usize, usize)>> =
            order.chunks(batch_limit().rows_of(most_row_bytes)).map(<[_]>::to_vec).collect();
        Ok(chunks.into_iter().map(move |chunk| {
            let sources: Vec<&RecordBatch> = batches.iter().collect();
            interleave_record_batch(&sources, &chunk).map_err(Error::internal_by(UNFIT))
        }))
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Rows that one sorter has sorted.
pub struct SortedRun(Vec<Batches>);

/// Merges sorted runs.
pub struct SortedRows {
    columns: SchemaRef,
    runs: Vec<Batches>,
    heads: BinaryHeap<Head>,
    /// The batch that each head is in.
    current: Vec<Option<RecordBatch>>,
}

/// The next row of a run.
struct Head {
    keys: BinaryArray,
    row: usize,
    run: usize,
    /// Bytes of the largest row of its batch.
    most_row_bytes: usize,
}

impl Ord for Head {
    /// The greatest head is the one whose row comes first; of equal rows that of the earlier run.
    fn cmp(&self, other: &Self) -> Ordering {
        other.keys.value(other.row).cmp(self.keys.value(self.row)).then(other.run.cmp(&self.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl SortedRows {
    /// Merges what several sorters have sorted. Rows of equal keys are in the order of the runs.
    ///
    /// # Errors
    /// `Io` where data that was set aside cannot be read.
    pub fn merged(columns: SchemaRef, runs: Vec<SortedRun>) -> Result<Self> {
        Self::new(columns, runs.into_iter().flat_map(|run| run.0).collect())
    }

    fn new(columns: SchemaRef, runs: Vec<Batches>) -> Result<Self> {
        let current = runs.iter().map(|_| None).collect();
        let mut merged = Self { columns, heads: BinaryHeap::new(), current, runs };
        for run in 0..merged.runs.len() {
            if let Some(head) = merged.next_head(run)? {
                merged.heads.push(head);
            }
        }
        Ok(merged)
    }

    /// The first row of the next batch of a run.
    fn next_head(&mut self, run: usize) -> Result<Option<Head>> {
        let batches = self.runs.get_mut(run).ok_or_else(lost)?;
        let Some(batch) = batches.find(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0)) else {
            return Ok(None);
        };
        let batch = batch?;
        let (keys, most_row_bytes) = (keys_of(&batch)?, most_row_bytes(&batch));
        *self.current.get_mut(run).ok_or_else(lost)? = Some(batch);
        Ok(Some(Head { keys, row: 0, run, most_row_bytes }))
    }

    /// The next rows.
    fn merge(&mut self) -> Result<Option<RecordBatch>> {
        let mut sources: Vec<RecordBatch> = Vec::new();
        let mut of_run: HashMap<usize, usize> = HashMap::new();
        let mut rows = Vec::with_capacity(BATCH_ROWS);
        let (limit, mut bytes) = (batch_limit(), 0_usize);
        while rows.len() < limit.rows() && bytes < limit.bytes() {
            let Some(mut head) = self.heads.peek_mut() else { break };
            let run = head.run;
            let source = match of_run.get(&run) {
                Some(source) => *source,
                None => {
                    sources.push(self.current.get(run).cloned().flatten().ok_or_else(lost)?);
                    of_run.insert(run, sources.len() - 1);
                    sources.len() - 1
                }
            };
            rows.push((source, head.row));
            bytes = bytes.saturating_add(head.most_row_bytes);
            head.row += 1;
            if head.row < head.keys.len() {
                continue;
            }
            std::collections::binary_heap::PeekMut::pop(head);
            of_run.remove(&run);
            if let Some(next) = self.next_head(run)? {
                self.heads.push(next);
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let sources: Vec<&RecordBatch> = sources.iter().collect();
        let batch = interleave_record_batch(&sources, &rows).map_err(Error::internal_by(UNFIT))?;
        without_keys(&batch, &self.columns).map(Some)
    }
}

impl Iterator for SortedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.merge().transpose()
    }
}

/// The last column.
fn keys_of(batch: &RecordBatch) -> Result<BinaryArray> {
    let keys = batch.columns().last().and_then(|keys| keys.as_any().downcast_ref::<BinaryArray>());
    keys.cloned().ok_or_else(|| Error::internal("sorted rows without their keys"))
}

fn lost() -> Error {
    Error::internal("a sorted run is lost")
}

/// Bytes of the rows of a batch, those alone that belong to a slice.
fn bytes_of(batch: &RecordBatch) -> usize {
    let bytes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or_default());
    bytes.fold(0, usize::saturating_add)
}

fn with_keys(rows: &RecordBatch, keys: ArrayRef) -> Result<RecordBatch> {
    let mut fields: Vec<Arc<Field>> = rows.schema_ref().fields().iter().cloned().collect();
    // The name does not matter, and may be that of a column.
    fields.push(Arc::new(Field::new("key", DataType::Binary, false)));
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    columns.push(keys);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::internal_by(UNFIT))
}

fn without_keys(batch: &RecordBatch, columns: &SchemaRef) -> Result<RecordBatch> {
    let own = batch.columns().get(..columns.fields().len()).unwrap_or_default().to_vec();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(columns), own, &options).map_err(Error::internal_by(UNFIT))
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    fn sorted(run_bytes: usize, batches: &[Vec<i64>]) -> Vec<i64> {
        let batch = |numbers: &Vec<i64>| {
            let column: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
            RecordBatch::try_from_iter_with_nullable([("n", column, true)]).unwrap()
        };
        let empty = batch(&Vec::new());
        let mut sorter = RowSorter::new(empty.schema_ref(), run_bytes, SpillFolder::new(None));
        for numbers in batches {
            // Rows of the same hundred are equal.
            let keys = BinaryArray::from_iter_values(numbers.iter().map(|number| (number / 100 % 7).to_be_bytes()));
            sorter.add(&batch(numbers), Arc::new(keys)).unwrap();
        }
        let column = |batch: Result<RecordBatch>| {
            let batch = batch.unwrap();
            batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
        };
        sorter.finish().unwrap().flat_map(column).collect()
    }

    #[test]
    fn rows_of_equal_keys_keep_their_order_in_memory_and_by_runs() {
        let batches: Vec<Vec<i64>> = (0..4).map(|at| (at * 5000..(at + 1) * 5000).collect()).collect();
        let mut expected: Vec<i64> = (0..20_000).collect();
        expected.sort_by_key(|number| number / 100 % 7);
        for run_bytes in [usize::MAX, 200_000, 1] {
            assert!(sorted(run_bytes, &batches) == expected, "{run_bytes}");
        }
        assert!(sorted(1, &[Vec::new()]).is_empty());
    }
}
