//! Rows with their keys, as they pass from the reader of a bulk insert to its writers.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_select::filter::{filter, filter_record_batch};
use arrow_select::take::{take, take_record_batch};

use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_write::row_set::{select_keys, strings};
use mortice_write::rows::OUTPUT;

pub(super) const UNFIT: &str = "rows of a bulk insert";

/// Rows of the table's columns, and their keys.
#[derive(Debug, Clone)]
pub(crate) struct KeyedRows {
    pub(crate) rows: RecordBatch,
    pub(crate) keys: RowKeys,
    /// The outputs that a user-defined partitioner has chosen, if there is one.
    pub(crate) outputs: Option<Int64Array>,
}

/// The series of file groups that rows go to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RowPlace {
    pub(super) partition: String,
    /// The output of a user-defined partitioner.
    pub(super) output: Option<i64>,
}

impl KeyedRows {
    /// Without the rows that delete their keys: there is nothing to delete in new file groups (`HoodieCreateHandle`).
    pub(crate) fn without(self, deletes: &BooleanArray) -> Result<Self> {
        if deletes.true_count() == 0 {
            return Ok(self);
        }
        let kept: BooleanArray = deletes.iter().map(|delete| Some(delete != Some(true))).collect();
        let texts = |column: &StringArray| strings(filter(column, &kept).map_err(Error::internal_by(UNFIT))?.as_ref());
        let keys = RowKeys { record_keys: texts(&self.keys.record_keys)?, partitions: texts(&self.keys.partitions)? };
        let outputs = self
            .outputs
            .as_ref()
            .map(|outputs| numbers(filter(outputs, &kept).map_err(Error::internal_by(UNFIT))?.as_ref()));
        let outputs = outputs.transpose()?;
        Ok(Self { rows: filter_record_batch(&self.rows, &kept).map_err(Error::internal_by(UNFIT))?, keys, outputs })
    }

    /// The rows of each place, in the order in which the places appear.
    pub(super) fn by_place(self) -> Result<Vec<(RowPlace, Self)>> {
        let partitions = &self.keys.partitions;
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        let output = |row: usize| self.outputs.as_ref().map(|outputs| outputs.value(row));
        let place = |(partition, output): (&str, Option<i64>)| RowPlace { partition: partition.to_owned(), output };
        let first = (partitions.value(0), output(0));
        if (0..partitions.len()).all(|row| (partitions.value(row), output(row)) == first) {
            return Ok(vec![(place(first), self)]);
        }
        let mut places: Vec<(&str, Option<i64>)> = Vec::new();
        let mut rows_of: Vec<Vec<u32>> = Vec::new();
        let mut numbers = std::collections::HashMap::new();
        for (row, number) in (0..partitions.len()).zip(0_u32..) {
            let own = (partitions.value(row), output(row));
            let at = *numbers.entry(own).or_insert(places.len());
            match rows_of.get_mut(at) {
                Some(rows) => rows.push(number),
                None => {
                    places.push(own);
                    rows_of.push(vec![number]);
                }
            }
        }
        places
            .into_iter()
            .zip(rows_of)
            .map(|(own, rows)| Ok((place(own), self.taken(&UInt32Array::from(rows))?)))
            .collect()
    }

    fn taken(&self, rows: &UInt32Array) -> Result<Self> {
        let keys = select_keys(&self.keys, rows)?;
        let outputs = self
            .outputs
            .as_ref()
            .map(|outputs| numbers(take(outputs, rows, None).map_err(Error::internal_by(UNFIT))?.as_ref()));
        Ok(Self {
            rows: take_record_batch(&self.rows, rows).map_err(Error::internal_by(UNFIT))?,
            keys,
            outputs: outputs.transpose()?,
        })
    }
}

/// The outputs that a user-defined partitioner has chosen for rows as they are given; none if there is none.
pub(crate) fn outputs_of(given: &RecordBatch) -> Result<Option<Int64Array>> {
    let Some(column) = given.column_by_name(OUTPUT) else { return Ok(None) };
    let outputs = column.as_primitive_opt::<Int64Type>().filter(|outputs| outputs.null_count() == 0);
    let unfit = || Error::invalid_argument("a partitioner must return an integer for each row");
    outputs.cloned().map(Some).ok_or_else(unfit)
}

fn numbers(array: &dyn Array) -> Result<Int64Array> {
    array.as_primitive_opt::<Int64Type>().cloned().ok_or_else(|| Error::internal("outputs are no numbers"))
}
