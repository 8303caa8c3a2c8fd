//! Rows sorted by partition and record key.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::keyed_rows::{KeyedRows, UNFIT};
use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::SpillFolder;
use mortice_write::row_set::strings;
use mortice_write::rows::{RowSorter, SortedRows, SortedRun};

/// Sorts rows. Those of the same key keep their order.
pub(super) struct Sorter {
    columns: SchemaRef,
    rows: RowSorter,
}

impl Sorter {
    pub(super) fn new(columns: &SchemaRef, run_bytes: usize) -> Self {
        let rows = RowSorter::new(&with_key_columns(columns), run_bytes, SpillFolder::new(None));
        Self { columns: Arc::clone(columns), rows }
    }

    pub(super) fn add(&mut self, rows: KeyedRows) -> Result<()> {
        let KeyedRows { rows, keys: RowKeys { record_keys, partitions }, .. } = rows;
        // No path has the character that separates the two.
        let pairs = partitions.iter().zip(&record_keys);
        let pairs = pairs.map(|(partition, key)| [partition.unwrap_or_default(), key.unwrap_or_default()].join("\0"));
        let order = BinaryArray::from_iter_values(pairs);
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.push(Arc::new(partitions));
        columns.push(Arc::new(record_keys));
        let batch = RecordBatch::try_new(self.rows.columns(), columns).map_err(Error::internal_by(UNFIT))?;
        self.rows.add(&batch, Arc::new(order))
    }

    /// The rows in order.
    pub(super) fn finish(self) -> Result<impl Iterator<Item = Result<KeyedRows>> + use<>> {
        let columns = Arc::clone(&self.columns);
        merged(&columns, vec![self.finish_run(usize::MAX)?])
    }

    /// The rows in order, for [`merged`]. They are set aside in files if they have so many bytes.
    pub(super) fn finish_run(self, spilled_bytes: usize) -> Result<SortedRun> {
        self.rows.finish_run(spilled_bytes)
    }
}

/// The rows of several sorters of the same columns, in order. Those of equal keys are in the order of the sorters.
pub(super) fn merged(
    columns: &SchemaRef,
    runs: Vec<SortedRun>,
) -> Result<impl Iterator<Item = Result<KeyedRows>> + use<>> {
    let columns = Arc::clone(columns);
    let sorted = SortedRows::merged(with_key_columns(&columns), runs)?;
    Ok(sorted.map(move |batch| without_keys(&batch?, &columns)))
}

/// Columns, the partition and the key. The names of these two do not matter, and may be those of columns.
fn with_key_columns(columns: &SchemaRef) -> SchemaRef {
    let own = columns.fields().iter().cloned();
    let keys = ["partition", "key"].map(|name| Arc::new(Field::new(name, DataType::Utf8, false)));
    Arc::new(Schema::new(own.chain(keys).collect::<Vec<_>>()))
}

fn without_keys(batch: &RecordBatch, columns: &SchemaRef) -> Result<KeyedRows> {
    let [own @ .., partitions, record_keys] = batch.columns() else {
        return Err(Error::internal("sorted rows without their keys"));
    };
    let keys = RowKeys { record_keys: strings(record_keys.as_ref())?, partitions: strings(partitions.as_ref())? };
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let rows = RecordBatch::try_new_with_options(Arc::clone(columns), own.to_vec(), &options)
        .map_err(Error::internal_by(UNFIT))?;
    Ok(KeyedRows { rows, keys, outputs: None })
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Int64Array};

    use super::*;

    fn rows(keys: &[(&str, &str, i64)]) -> KeyedRows {
        let numbers: ArrayRef = Arc::new(keys.iter().map(|(.., number)| *number).collect::<Int64Array>());
        let rows = RecordBatch::try_from_iter_with_nullable([("n", numbers, true)]).unwrap();
        let record_keys = keys.iter().map(|(_, key, _)| Some(*key)).collect();
        let partitions = keys.iter().map(|(partition, ..)| Some(*partition)).collect();
        KeyedRows { rows, keys: RowKeys { record_keys, partitions }, outputs: None }
    }

    fn sorted(run_bytes: usize, batches: Vec<KeyedRows>) -> Vec<(String, String, i64)> {
        let mut sorter = Sorter::new(batches[0].rows.schema_ref(), run_bytes);
        batches.into_iter().for_each(|batch| sorter.add(batch).unwrap());
        let mut found = Vec::new();
        for part in sorter.finish().unwrap() {
            let KeyedRows { rows, keys, .. } = part.unwrap();
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
