//! Rows of a write with their keys and marks.

use arrow_array::{Array, UInt32Array};
use arrow_schema::SchemaRef;

use super::keys::{join_keys, select_keys};
use super::marks::RowMarks;
use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::RowBatches;

/// Rows that are written, in the table's types.
#[derive(Debug, Clone)]
pub struct WriteRows {
    /// The table's columns, without meta columns.
    pub batches: RowBatches,
    /// Their record keys and partition paths.
    pub keys: RowKeys,
    /// What they do to their keys.
    pub marks: RowMarks,
}

impl WriteRows {
    /// Rows with their keys and marks.
    ///
    /// # Errors
    /// `Internal` unless there are as many keys, partition paths and marks as rows.
    pub fn new(batches: RowBatches, keys: RowKeys, marks: RowMarks) -> Result<Self> {
        let rows = batches.num_rows();
        let found = [keys.record_keys.len(), keys.partitions.len(), marks.len()];
        if found != [rows; 3] {
            let [keys, partitions, marks] = found;
            let counts = format_args!("{rows} rows with {keys} keys, {partitions} partition paths and {marks} marks");
            return Err(Error::internal(counts));
        }
        Ok(Self { batches, keys, marks })
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Some of the rows.
    ///
    /// # Errors
    /// `Internal` for a row that does not exist; `InvalidArgument` if their keys are too large together.
    pub fn select(&self, rows: &[u32]) -> Result<Self> {
        let marks = self.marks.select(rows)?;
        let keys = select_keys(&self.keys, &UInt32Array::from(rows.to_vec()))?;
        Self::new(self.batches.select(rows)?, keys, marks)
    }

    /// Rows, and others behind them, with the columns of a schema.
    ///
    /// # Errors
    /// `InvalidArgument` if their keys are too large together.
    pub fn chained(&self, then: &Self, schema: &SchemaRef) -> Result<Self> {
        let memory = self.batches.memory().clone();
        let batches = RowBatches::chained(schema, &[&self.batches, &then.batches], memory)?;
        Self::new(batches, join_keys([&self.keys, &then.keys])?, self.marks.chained(&then.marks))
    }

    /// The rows by partition path and record key.
    ///
    /// # Errors
    /// `Internal` for a row without a key; as for [`Self::select`].
    pub fn sorted(&self) -> Result<Self> {
        let RowKeys { record_keys, partitions } = &self.keys;
        let keys = partitions.iter().zip(record_keys).zip(0..);
        let keys = keys.map(|((partition, key), row)| Some((partition?, key?, row)));
        let order: Option<Vec<(&str, &str, u32)>> = keys.collect();
        let mut order = order.ok_or_else(|| Error::internal("a row without a key"))?;
        order.sort_unstable();
        self.select(&order.into_iter().map(|(.., row)| row).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    use super::super::mark::RowMark;
    use super::*;

    type Row = (u8, u8, i64, RowMark);

    fn rows_of(rows: &[Row]) -> WriteRows {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)));
        let text = |of: fn(&Row) -> u8| StringArray::from_iter_values(rows.iter().map(|row| of(row).to_string()));
        let keys = RowKeys { record_keys: text(|row| row.1), partitions: text(|row| row.0) };
        let batch = RecordBatch::try_from_iter([("n", values)]).unwrap();
        WriteRows::new(batch.into(), keys, rows.iter().map(|row| row.3).collect()).unwrap()
    }

    fn values(rows: &WriteRows) -> Vec<Row> {
        let batch = rows.batches.to_batch().unwrap();
        let numbers = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        let number = |text: Option<&str>| text.unwrap().parse().unwrap();
        let keys = rows.keys.partitions.iter().zip(&rows.keys.record_keys).map(|(one, two)| (number(one), number(two)));
        keys.zip(numbers.values()).zip(rows.marks.iter()).map(|(((p, k), n), mark)| (p, k, *n, mark)).collect()
    }

    fn some_rows() -> impl Strategy<Value = Vec<Row>> {
        let mark = prop::sample::select(RowMark::ALL.to_vec());
        proptest::collection::vec((0_u8..3, 0_u8..9, any::<i64>(), mark), 0..30)
    }

    proptest! {
        #[test]
        fn keys_and_marks_stay_with_their_rows(one in some_rows(), two in some_rows(), chosen in any::<[prop::sample::Index; 4]>()) {
            let schema = rows_of(&one).batches.schema();
            let both = rows_of(&one).chained(&rows_of(&two), &schema).unwrap();
            let mut expected = [one, two].concat();
            prop_assert_eq!(values(&both), expected.clone());
            if !expected.is_empty() {
                let chosen = chosen.map(|row| row.index(expected.len()));
                let rows = chosen.map(|row| u32::try_from(row).unwrap());
                prop_assert_eq!(values(&both.select(&rows).unwrap()), chosen.map(|row| expected[row]));
            }
            // Rows of one key keep their order.
            expected.sort_by_key(|row| (row.0, row.1));
            prop_assert_eq!(values(&both.sorted().unwrap()), expected);
        }
    }

    #[test]
    fn rows_without_a_key_or_a_mark_are_an_internal_error() {
        let rows = rows_of(&[(0, 1, 2, RowMark::Upsert), (1, 1, 3, RowMark::Delete)]);
        let WriteRows { batches, keys, .. } = rows.clone();
        let short = WriteRows::new(batches, keys, RowMarks::repeated(RowMark::Upsert, 1));
        assert_eq!(short.unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(rows.select(&[2]).unwrap_err().kind(), ErrorKind::Internal);
        let mut rows = rows;
        rows.keys.record_keys = StringArray::from(vec![Some("a"), None]);
        assert_eq!(rows.sorted().unwrap_err().kind(), ErrorKind::Internal);
    }
}
