//! Sorts rows by the columns that give their commit order. The sort is stable.

use std::cmp::Ordering;

use arrow_array::{Array, RecordBatch};
use arrow_select::interleave::interleave_record_batch;

use super::row_columns::{as_type, table_type};
use mortice_base::error::{Error, Result};
use mortice_merge::merge::OrderingColumn;

/// A row of a sorted batch.
const ROWS: usize = 64 * 1024;

/// Sorts the rows of some batches of one schema by the named columns, the first being the most significant. Nulls are
/// first.
pub(in crate::read) fn in_commit_order(batches: &[RecordBatch], by: &[String]) -> Result<Vec<RecordBatch>> {
    if by.is_empty() {
        return Ok(batches.to_vec());
    }
    let keys = batches.iter().map(|batch| columns(batch, by)).collect::<Result<Vec<_>>>()?;
    let mut rows: Vec<(usize, usize)> = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
    for (at, batch) in batches.iter().enumerate() {
        rows.extend((0..batch.num_rows()).map(|row| (at, row)));
    }
    if rows.is_sorted_by(|one, two| compare(&keys, *one, *two) != Ordering::Greater) {
        return Ok(batches.to_vec());
    }
    rows.sort_by(|one, two| compare(&keys, *one, *two));
    let all: Vec<&RecordBatch> = batches.iter().collect();
    rows.chunks(ROWS)
        .map(|some| {
            interleave_record_batch(&all, some)
                .map_err(|error| Error::invalid_argument("the newer rows cannot be ordered").caused_by(error))
        })
        .collect()
}

fn columns(batch: &RecordBatch, by: &[String]) -> Result<Vec<OrderingColumn>> {
    let column = |name: &String| {
        let column = batch.column_by_name(name).ok_or_else(|| {
            Error::invalid_argument(format!("the newer rows have no column {name:?}, which gives their commit order"))
        })?;
        OrderingColumn::from_array(&as_type(column, &table_type(column.data_type()), name)?)
    };
    by.iter().map(column).collect()
}

fn compare(keys: &[Vec<OrderingColumn>], one: (usize, usize), two: (usize, usize)) -> Ordering {
    let of = |at: usize| keys.get(at).into_iter().flatten();
    of(one.0)
        .zip(of(two.0))
        .map(|(first, second)| first.value(one.1).compare(&second.value(two.1)))
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, Int32Array, StringArray};

    use super::*;

    fn batch(rows: &[(Option<&str>, i32, i32)]) -> RecordBatch {
        let times: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<StringArray>());
        let numbers: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int32Array>());
        let names: ArrayRef = Arc::new(rows.iter().map(|row| row.2).collect::<Int32Array>());
        RecordBatch::try_from_iter_with_nullable([
            ("time", times, true),
            ("number", numbers, true),
            ("name", names, true),
        ])
        .unwrap()
    }

    fn names(batches: &[RecordBatch]) -> Vec<i32> {
        batches.iter().flat_map(|batch| batch.column(2).as_primitive::<Int32Type>().values().to_vec()).collect()
    }

    #[test]
    fn rows_of_all_batches_by_all_columns_and_ties_as_they_stood() {
        let rows = [
            batch(&[(Some("2"), 1, 0), (Some("1"), 2, 1), (Some("1"), 1, 2)]),
            batch(&[(Some("1"), 1, 3), (None, 9, 4)]),
        ];
        let by = |columns: &[&str]| columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let ordered = |columns: &[&str]| names(&in_commit_order(&rows, &by(columns)).unwrap());
        assert_eq!(ordered(&["time", "number"]), [4, 2, 3, 1, 0]);
        assert_eq!(ordered(&["time"]), [4, 1, 2, 3, 0]);
        assert_eq!(ordered(&[]), [0, 1, 2, 3, 4]);
        assert_eq!(ordered(&["name"]), [0, 1, 2, 3, 4]);
        assert!(in_commit_order(&rows, &by(&["nothing"])).is_err());
    }
}
