//! Rows with their keys, as they pass from the reader of a bulk insert to its writers.

use arrow_array::{Array, BooleanArray, RecordBatch, StringArray, UInt32Array};
use arrow_select::filter::{filter, filter_record_batch};
use arrow_select::take::{take, take_record_batch};

use crate::error::{Error, Result};
use crate::keys::RowKeys;

/// Rows of the table's columns, and their keys.
#[derive(Debug, Clone)]
pub(in crate::client) struct KeyedRows {
    pub(in crate::client) rows: RecordBatch,
    pub(in crate::client) keys: RowKeys,
}

impl KeyedRows {
    /// Without the rows that delete their keys: there is nothing to delete in new file groups (`HoodieCreateHandle`).
    pub(in crate::client) fn without(self, deletes: &BooleanArray) -> Result<Self> {
        if deletes.true_count() == 0 {
            return Ok(self);
        }
        let kept: BooleanArray = deletes.iter().map(|delete| Some(delete != Some(true))).collect();
        let texts = |column: &StringArray| strings(filter(column, &kept).map_err(unfit)?.as_ref());
        let keys = RowKeys { record_keys: texts(&self.keys.record_keys)?, partitions: texts(&self.keys.partitions)? };
        Ok(Self { rows: filter_record_batch(&self.rows, &kept).map_err(unfit)?, keys })
    }

    /// The rows of each partition, in the order in which the partitions appear.
    pub(super) fn by_partition(self) -> Result<Vec<(String, Self)>> {
        let partitions = &self.keys.partitions;
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        let first = partitions.value(0);
        if partitions.iter().all(|partition| partition == Some(first)) {
            return Ok(vec![(first.to_owned(), self)]);
        }
        let mut found: Vec<(&str, Vec<u32>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (row, partition) in (0_u32..).zip(partitions) {
            let partition = partition.unwrap_or_default();
            let place = *places.entry(partition).or_insert(found.len());
            match found.get_mut(place) {
                Some((_, rows)) => rows.push(row),
                None => found.push((partition, vec![row])),
            }
        }
        let part =
            |(partition, rows): (&str, Vec<u32>)| Ok((partition.to_owned(), self.taken(&UInt32Array::from(rows))?));
        found.into_iter().map(part).collect()
    }

    fn taken(&self, rows: &UInt32Array) -> Result<Self> {
        let texts = |column: &StringArray| strings(take(column, rows, None).map_err(unfit)?.as_ref());
        let keys = RowKeys { record_keys: texts(&self.keys.record_keys)?, partitions: texts(&self.keys.partitions)? };
        Ok(Self { rows: take_record_batch(&self.rows, rows).map_err(unfit)?, keys })
    }
}

pub(super) fn strings(array: &dyn Array) -> Result<StringArray> {
    array.as_any().downcast_ref::<StringArray>().cloned().ok_or_else(|| Error::internal("keys are no strings"))
}

pub(super) fn unfit(error: arrow_schema::ArrowError) -> Error {
    Error::internal("rows of a bulk insert").caused_by(error)
}
