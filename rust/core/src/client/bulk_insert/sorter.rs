//! Rows sorted by partition and record key: sorted runs are set aside in files and merged.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;

use super::keyed_rows::{KeyedRows, strings, unfit};
use crate::error::{Error, Result};
use crate::keys::RowKeys;
use crate::spill::{BatchReader, BatchWriter, SpillFolder};

/// Rows of a batch of a run, and of the result.
const BATCH_ROWS: usize = 8192;

/// Sorts rows.
pub(super) struct Sorter {
    columns: SchemaRef,
    /// Bytes of a run, which is sorted in memory.
    run_bytes: usize,
    folder: SpillFolder,
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    runs: Vec<BatchReader>,
}

impl Sorter {
    pub(super) fn new(columns: &SchemaRef, run_bytes: usize) -> Self {
        let folder = SpillFolder::new(None);
        let columns = Arc::clone(columns);
        Self { columns, run_bytes, folder, waiting: Vec::new(), waiting_bytes: 0, runs: Vec::new() }
    }

    pub(super) fn add(&mut self, rows: KeyedRows) -> Result<()> {
        let batch = with_keys(rows)?;
        self.waiting_bytes = self.waiting_bytes.saturating_add(bytes_of(&batch));
        self.waiting.push(batch);
        if self.waiting_bytes < self.run_bytes {
            return Ok(());
        }
        let Some(first) = self.waiting.first() else { return Ok(()) };
        let mut run = BatchWriter::new(&self.folder, first.schema_ref(), false)?;
        for batch in self.sorted_waiting()? {
            run.write(&batch?)?;
        }
        self.runs.push(run.finish()?);
        Ok(())
    }

    /// The rows in order.
    pub(super) fn finish(mut self) -> Result<SortedRows> {
        let mut sources: Vec<Batches> = Vec::new();
        let last: Vec<Result<RecordBatch>> = self.sorted_waiting()?.collect();
        sources.push(Box::new(last.into_iter()));
        for run in self.runs {
            sources.push(Box::new(run));
        }
        SortedRows::new(self.columns, sources)
    }

    /// Sorts what waits; nothing waits then.
    fn sorted_waiting(&mut self) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let batches = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let keys = batches.iter().map(Head::keys_of).collect::<Result<Vec<_>>>()?;
        let mut order: Vec<(usize, usize)> = batches
            .iter()
            .enumerate()
            .flat_map(|(batch, rows)| (0..rows.num_rows()).map(move |row| (batch, row)))
            .collect();
        let key = |(batch, row): &(usize, usize)| {
            keys.get(*batch).map(|[partitions, keys]| (partitions.value(*row), keys.value(*row)))
        };
        // Rows of the same key keep their order.
        order.sort_by(|one, other| key(one).cmp(&key(other)));
        let chunks: Vec<Vec<(usize, usize)>> = order.chunks(BATCH_ROWS).map(<[_]>::to_vec).collect();
        Ok(chunks.into_iter().map(move |chunk| {
            let sources: Vec<&RecordBatch> = batches.iter().collect();
            interleave_record_batch(&sources, &chunk).map_err(unfit)
        }))
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Merges sorted runs.
pub(super) struct SortedRows {
    columns: SchemaRef,
    runs: Vec<Batches>,
    heads: BinaryHeap<Head>,
    /// The batch that each head is in.
    current: Vec<Option<RecordBatch>>,
}

/// The next row of a run.
struct Head {
    partitions: StringArray,
    keys: StringArray,
    row: usize,
    run: usize,
}

impl Head {
    /// The last two columns: partitions and keys.
    fn keys_of(batch: &RecordBatch) -> Result<[StringArray; 2]> {
        match batch.columns() {
            [.., partitions, keys] => Ok([strings(partitions.as_ref())?, strings(keys.as_ref())?]),
            _ => Err(Error::internal("sorted rows without their keys")),
        }
    }

    fn key(&self) -> (&str, &str) {
        (self.partitions.value(self.row), self.keys.value(self.row))
    }
}

impl Ord for Head {
    /// The greatest head is the one whose row comes first; of equal rows that of the earlier run.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key()).then(other.run.cmp(&self.run))
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
    fn new(columns: SchemaRef, mut runs: Vec<Batches>) -> Result<Self> {
        // What was in memory last was read last.
        let last = runs.remove(0);
        runs.push(last);
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
        let lost = || Error::internal("a sorted run is lost");
        let batches = self.runs.get_mut(run).ok_or_else(lost)?;
        let Some(batch) = batches.find(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0)) else {
            return Ok(None);
        };
        let batch = batch?;
        let [partitions, keys] = Head::keys_of(&batch)?;
        *self.current.get_mut(run).ok_or_else(lost)? = Some(batch);
        Ok(Some(Head { partitions, keys, row: 0, run }))
    }

    /// The next rows.
    fn merge(&mut self) -> Result<Option<KeyedRows>> {
        let mut sources: Vec<RecordBatch> = Vec::new();
        let mut of_run: HashMap<usize, usize> = HashMap::new();
        let mut rows = Vec::with_capacity(BATCH_ROWS);
        while rows.len() < BATCH_ROWS {
            let Some(mut head) = self.heads.peek_mut() else { break };
            let run = head.run;
            let source = match of_run.get(&run) {
                Some(source) => *source,
                None => {
                    let batch = self.current.get(run).cloned().flatten();
                    sources.push(batch.ok_or_else(|| Error::internal("a sorted run is lost"))?);
                    of_run.insert(run, sources.len() - 1);
                    sources.len() - 1
                }
            };
            rows.push((source, head.row));
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
        let batch = interleave_record_batch(&sources, &rows).map_err(unfit)?;
        without_keys(&batch, &self.columns).map(Some)
    }
}

impl Iterator for SortedRows {
    type Item = Result<KeyedRows>;

    fn next(&mut self) -> Option<Self::Item> {
        self.merge().transpose()
    }
}

/// Bytes of the rows of a batch, those alone that belong to a slice.
fn bytes_of(batch: &RecordBatch) -> usize {
    let bytes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or_default());
    bytes.fold(0, usize::saturating_add)
}

fn with_keys(rows: KeyedRows) -> Result<RecordBatch> {
    let KeyedRows { rows, keys: RowKeys { record_keys, partitions } } = rows;
    let mut fields: Vec<Arc<Field>> = rows.schema_ref().fields().iter().cloned().collect();
    // Names do not matter, and may be those of columns.
    fields.push(Arc::new(Field::new("partition", DataType::Utf8, false)));
    fields.push(Arc::new(Field::new("key", DataType::Utf8, false)));
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    columns.push(Arc::new(partitions));
    columns.push(Arc::new(record_keys));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(unfit)
}

fn without_keys(batch: &RecordBatch, columns: &SchemaRef) -> Result<KeyedRows> {
    let [partitions, record_keys] = Head::keys_of(batch)?;
    let own = batch.columns().get(..columns.fields().len()).unwrap_or_default().to_vec();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let rows = RecordBatch::try_new_with_options(Arc::clone(columns), own, &options).map_err(unfit)?;
    Ok(KeyedRows { rows, keys: RowKeys { record_keys, partitions } })
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    fn rows(keys: &[(&str, &str, i64)]) -> KeyedRows {
        let numbers: ArrayRef = Arc::new(keys.iter().map(|(.., number)| *number).collect::<Int64Array>());
        let rows = RecordBatch::try_from_iter_with_nullable([("n", numbers, true)]).unwrap();
        let record_keys = keys.iter().map(|(_, key, _)| Some(*key)).collect();
        let partitions = keys.iter().map(|(partition, ..)| Some(*partition)).collect();
        KeyedRows { rows, keys: RowKeys { record_keys, partitions } }
    }

    fn sorted(run_bytes: usize, batches: Vec<KeyedRows>) -> Vec<(String, String, i64)> {
        let mut sorter = Sorter::new(batches[0].rows.schema_ref(), run_bytes);
        batches.into_iter().for_each(|batch| sorter.add(batch).unwrap());
        let mut found = Vec::new();
        for part in sorter.finish().unwrap() {
            let KeyedRows { rows, keys } = part.unwrap();
            let numbers = rows.column(0).as_any().downcast_ref::<Int64Array>().unwrap().clone();
            let rows = keys.partitions.iter().zip(&keys.record_keys).zip(&numbers);
            found.extend(rows.map(|((partition, key), number)| {
                (partition.unwrap().to_owned(), key.unwrap().to_owned(), number.unwrap())
            }));
        }
        found
    }

    #[test]
    fn rows_are_sorted_in_memory_and_by_runs() {
        let batch = |start: i64| {
            let keys: Vec<(String, String, i64)> = (start..start + 3000)
                .map(|number| (format!("p{}", number % 3), format!("{:06}", (number * 7919) % 10_007 / 2), number))
                .collect();
            rows(&keys.iter().map(|(one, two, three)| (one.as_str(), two.as_str(), *three)).collect::<Vec<_>>())
        };
        let batches = || (0..4).map(|at| batch(at * 3000)).collect::<Vec<_>>();
        let mut expected: Vec<_> = sorted(usize::MAX, batches());
        assert_eq!(expected.len(), 12_000);
        assert!(expected.is_sorted_by_key(|(partition, key, _)| (partition.clone(), key.clone())));
        // Rows of the same key keep their order.
        for run_bytes in [1, 200_000] {
            assert_eq!(sorted(run_bytes, batches()), expected, "{run_bytes}");
        }
        expected.sort_by_key(|(.., number)| *number);
        assert!(expected.iter().map(|(.., number)| *number).eq(0..12_000));
    }

    #[test]
    fn no_rows_are_sorted_too() {
        assert!(sorted(1, vec![rows(&[])]).is_empty());
    }
}
