//! A user's batches, in the table's types and with their keys.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;

use super::conform::conformed;
use super::delete_marks::DeleteMarks;
use super::operations::check_operations;
use super::reader_pool::ReaderPool;
use super::refused_rows::{ReadRows, RefusedRows};
use super::required::check_required;
use super::row_source::RowSource;
use super::schema::DELETES_KEY;
use crate::row_set::join_keys;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_formats::avro_parquet::{ListStructure, ParquetColumns};
use mortice_merge::keys::{RowKeyReader, RowKeys};
use mortice_merge::spill::{RowBatches, RowBatchesBuilder, row_bytes};
use mortice_storage::{check_cancelled, parallel};

/// Rows with all columns, and their keys.
pub struct FullRows<'a> {
    source: RowSource<'a>,
    keys: RowKeyReader,
    /// Whether rows that have keys in their meta columns keep them.
    keeps_keys: bool,
    /// Says what the files' schema does not take, if that is to be found before files are written.
    stored: Option<ParquetColumns>,
}

impl<'a> FullRows<'a> {
    /// Prepares reading. Keys that are generated have the instant and the number of the task.
    pub fn new(source: RowSource<'a>, instant: &RequestedTime, task: u32, ignores_failed: bool) -> Result<Self> {
        let RowSource { table, schema, keys, .. } = source;
        let keys = RowKeyReader::new(&table.config, &schema.types, keys)?.with_instant(instant, task);
        let stored = || ParquetColumns::new(&schema.columns, ListStructure::ThreeLevels);
        Ok(Self { source, keys, keeps_keys: false, stored: ignores_failed.then(stored).transpose()? })
    }

    /// The same, for an upsert: queried rows of a table without key fields are those of the keys in their meta columns.
    /// New keys would make duplicates of them. Hudi updates them, too.
    pub(crate) fn keeping_keys(self) -> Self {
        Self { keeps_keys: self.keys.generates_keys(), ..self }
    }

    fn keys_of(&self, given: &RecordBatch, rows: &RecordBatch, first_row: u64) -> Result<RowKeys> {
        let stored = RowKeyReader::of_meta_columns(given.schema_ref()).filter(|_| self.keeps_keys);
        let Some(stored) = stored else { return self.keys.read(rows, first_row) };
        let keys = stored.read(given, first_row)?;
        let partitions = self.keys.read_partitions(rows, first_row)?;
        match keys.partitions.iter().zip(&partitions).position(|(own, new)| own != new) {
            None => Ok(keys),
            Some(row) => Err(Error::invalid_argument(format!(
                "row {}: {:?} is {:?}, but the partition columns say {:?}; a table without key fields does not move rows: delete the row and insert it",
                first_row.saturating_add(row as u64),
                meta_columns::PARTITION_PATH,
                keys.partitions.value(row),
                partitions.value(row)
            ))),
        }
    }
}

impl ReadRows for FullRows<'_> {
    type KeyedRows = (RecordBatch, RowKeys);

    fn read(&mut self, batch: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows> {
        let rows = conformed(batch, &self.source.schema.types, first_row)?;
        check_required_columns(&self.source, batch, &rows, first_row)?;
        self.source.check_ordering(&rows, first_row)?;
        check_operations(&rows, first_row)?;
        if let Some(stored) = &mut self.stored {
            stored.convert(&rows)?;
        }
        let keys = self.keys_of(batch, &rows, first_row)?;
        Ok((rows, keys))
    }

    fn record_key(&self, row: &RecordBatch) -> Option<String> {
        self.source.key_of_row(row)
    }
}

/// Checks required columns. Rows that delete their keys may have null anywhere; they are looked for only if there is a
/// null.
fn check_required_columns(
    source: &RowSource<'_>,
    given: &RecordBatch,
    rows: &RecordBatch,
    first_row: u64,
) -> Result<()> {
    let columns = &source.schema.columns;
    if check_required(rows, columns, first_row, &|_| false).is_ok() {
        return Ok(());
    }
    let marks = DeleteMarks::new(source)?.of_rows(rows)?;
    let given = given.column_by_name(DELETES_KEY).and_then(|column| column.as_boolean_opt());
    let is_set = |flags: &BooleanArray, row: usize| flags.is_valid(row) && flags.value(row);
    let is_delete = |row: usize| is_set(&marks, row) || given.is_some_and(|given| is_set(given, row));
    check_required(rows, columns, first_row, &is_delete)
}

/// Keys of rows that have no more columns than it takes.
pub(crate) struct KeysAlone<'a>(pub(crate) RowSource<'a>);

impl ReadRows for KeysAlone<'_> {
    type KeyedRows = (RecordBatch, RowKeys);

    fn read(&mut self, batch: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows> {
        let (rows, reader) = self.0.keys_to_delete(batch, first_row)?;
        Ok((
            batch.project(&[]).map_err(|error| Error::internal("rows without columns").caused_by(error))?,
            reader.read(&rows, first_row)?,
        ))
    }

    fn record_key(&self, row: &RecordBatch) -> Option<String> {
        self.0.key_of_row(row)
    }
}

/// How batches are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMode {
    /// Whether rows that cannot be written are left out.
    pub(crate) ignores_failed: bool,
    /// The number of the first row.
    pub(crate) first_row: u64,
    /// Threads that read at the same time, each a batch.
    pub(crate) threads: usize,
}

/// Bytes of batches that are read at the same time, unless one alone has more.
const WINDOW_BYTES: usize = 128 << 20;

/// Reads batches, several at a time, and returns their rows in order. `types` are the columns of what is read.
pub(crate) fn read_all<R: ReadRows<KeyedRows = (RecordBatch, RowKeys)> + Send>(
    new_reader: impl Fn() -> Result<R> + Sync,
    types: &SchemaRef,
    batches: &RowBatches,
    mode: ReadMode,
    refused: &mut RefusedRows,
) -> Result<(RowBatches, RowKeys)> {
    let mut rows = RowBatchesBuilder::new(Arc::clone(types), batches.memory().clone());
    let mut keys: Vec<RowKeys> = Vec::new();
    // What is wrong with the options of keys is an error without rows, too.
    let readers = ReaderPool::new(Some(new_reader()?), mode.ignores_failed);
    let read = |(batch, first_row): &(&RecordBatch, u64)| {
        check_cancelled()?;
        readers.read(&new_reader, batch, *first_row)
    };
    for window in windows(batches.batches(), mode) {
        let found = parallel::map(&window, mode.threads, read)?;
        if found.len() != window.len() {
            return Err(Error::internal(format!("{} of {} batches were read", found.len(), window.len())));
        }
        for ((batch, _), (parts, left_out)) in window.into_iter().zip(found) {
            refused.append(left_out);
            for (part, keys_of_part) in parts {
                rows.push_of(part, batch)?;
                keys.push(keys_of_part);
            }
        }
    }
    let keys = join_keys(&keys)?;
    Ok((rows.finish(), keys))
}

/// Batches that are read at the same time, each with the number of its first row. One thread reads one batch at a time,
/// so that no more is in memory than it takes.
fn windows(batches: &[RecordBatch], mode: ReadMode) -> Vec<Vec<(&RecordBatch, u64)>> {
    let most = if mode.threads > 1 { mode.threads.saturating_mul(4) } else { 1 };
    let (mut windows, mut window) = (Vec::new(), Vec::new());
    let (mut first_row, mut bytes) = (mode.first_row, 0_usize);
    for batch in batches {
        let own = row_bytes(batch);
        if window.len() >= most || (!window.is_empty() && bytes.saturating_add(own) > WINDOW_BYTES) {
            windows.push(std::mem::take(&mut window));
            bytes = 0;
        }
        window.push((batch, first_row));
        bytes = bytes.saturating_add(own);
        first_row = first_row.saturating_add(batch.num_rows() as u64);
    }
    windows.extend((!window.is_empty()).then_some(window));
    windows
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use mortice_merge::spill::RowMemory;

    use super::*;

    /// Reads numbers, of which 50 and 70 are refused, as keys. Earlier batches take longer.
    struct Numbers;

    impl ReadRows for Numbers {
        type KeyedRows = (RecordBatch, RowKeys);

        fn read(&mut self, rows: &RecordBatch, first_row: u64) -> Result<Self::KeyedRows> {
            (0..1200_u64.saturating_sub(first_row)).for_each(|_| std::thread::yield_now());
            let numbers = rows.column(0).as_primitive::<arrow_array::types::Int64Type>().values();
            if let Some(at) = numbers.iter().position(|number| matches!(number, 50 | 70)) {
                return Err(Error::invalid_argument(format!("row {}, number {}", first_row + at as u64, numbers[at])));
            }
            let keys = |tens: i64| StringArray::from_iter_values(numbers.iter().map(|one| format!("{}", one / tens)));
            Ok((rows.clone(), RowKeys { record_keys: keys(1), partitions: keys(10) }))
        }

        fn record_key(&self, _: &RecordBatch) -> Option<String> {
            None
        }
    }

    fn read(threads: usize, ignores_failed: bool) -> (Result<(RowBatches, RowKeys)>, RefusedRows) {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        let batch = |from: i64| {
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + 7));
            RecordBatch::try_new(Arc::clone(&schema), vec![numbers]).unwrap()
        };
        let batches = (0..20).map(|number| batch(number * 7)).collect();
        let batches = RowBatches::new(Arc::clone(&schema), batches, RowMemory::unlimited());
        let mut refused = RefusedRows::default();
        let mode = ReadMode { ignores_failed, first_row: 1000, threads };
        (read_all(|| Ok(Numbers), &schema, &batches, mode, &mut refused), refused)
    }

    #[test]
    fn rows_keep_their_order_by_any_number_of_threads() {
        let (alone, refused) = read(1, true);
        let (rows, keys) = alone.unwrap();
        let expected: Vec<String> = (0..140).filter(|n| ![50, 70].contains(n)).map(|n: i64| n.to_string()).collect();
        assert!(keys.record_keys.iter().flatten().eq(expected.iter().map(String::as_str)));
        assert_eq!((rows.num_rows(), refused.total), (138, 2));
        assert!(refused.errors[0].message.contains("number 50") && refused.errors[1].message.contains("number 70"));
        for threads in [2, 3, 16] {
            let (found, left_out) = read(threads, true);
            let (found, found_keys) = found.unwrap();
            assert_eq!(found.to_batch().unwrap(), rows.to_batch().unwrap(), "{threads} threads");
            assert_eq!(
                (found_keys.record_keys, found_keys.partitions),
                (keys.record_keys.clone(), keys.partitions.clone())
            );
            assert_eq!(left_out, refused);
        }
    }

    #[test]
    fn the_first_row_that_is_refused_is_named_by_any_number_of_threads() {
        for threads in [1, 2, 16] {
            let error = read(threads, false).0.unwrap_err();
            assert!(error.to_string().contains("row 1050, number 50"), "{threads} threads: {error}");
        }
    }

    #[test]
    fn one_thread_reads_one_batch_at_a_time() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4));
        let batches = vec![RecordBatch::try_from_iter([("n", numbers)]).unwrap(); 9];
        let lens = |threads: usize| {
            let mode = ReadMode { ignores_failed: false, first_row: 5, threads };
            let windows = windows(&batches, mode);
            assert_eq!(windows.iter().flatten().map(|(_, row)| *row).next_back(), Some(5 + 8 * 4));
            windows.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!((lens(1), lens(2)), (vec![1; 9], vec![8, 1]));
    }
}
