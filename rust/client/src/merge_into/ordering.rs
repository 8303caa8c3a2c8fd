//! Updates that readers would not show: those whose ordering value is less than the stored one. SQL knows no ordering
//! values, so an update is never lost to them.

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_ord::cmp;
use arrow_schema::ArrowError;

use super::key_text::key_text;
use mortice_base::error::{Error, Result};

/// Which given rows have ordering values that are less than those of the stored rows beside them. Null is neither less
/// nor equal.
pub(super) fn late_rows(names: &[String], given: &RecordBatch, stored: &RecordBatch) -> Result<BooleanBuffer> {
    let mut is_equal = BooleanBuffer::new_set(given.num_rows());
    let mut is_less = BooleanBuffer::new_unset(given.num_rows());
    for name in names {
        let missing = || Error::internal(format!("a merge without the ordering column {name:?}"));
        let new = given.column_by_name(name).ok_or_else(missing)?;
        let old = stored.column_by_name(name).ok_or_else(missing)?;
        is_less = &is_less | &(&is_equal & &is_true(cmp::lt(new, old))?);
        is_equal = &is_equal & &is_true(cmp::eq(new, old))?;
    }
    Ok(is_less)
}

fn is_true(compared: std::result::Result<BooleanArray, ArrowError>) -> Result<BooleanBuffer> {
    let compared = compared.map_err(|error| Error::internal("ordering values are not compared").caused_by(error))?;
    Ok(match compared.nulls() {
        None => compared.values().clone(),
        Some(valid) => compared.values() & valid.inner(),
    })
}

/// Late rows of a merge, counted.
#[derive(Debug, Default)]
pub(super) struct LateRows {
    count: usize,
    key: Option<String>,
}

impl LateRows {
    /// Counts late rows. `names` are the columns of their keys.
    pub(super) fn add(&mut self, is_late: &BooleanBuffer, rows: &RecordBatch, names: &[String]) -> Result<()> {
        self.count = self.count.saturating_add(is_late.count_set_bits());
        if let (None, Some(row)) = (&self.key, is_late.set_indices().next()) {
            self.key = Some(key_text(rows, names, row)?);
        }
        Ok(())
    }

    /// Refuses late rows.
    pub(super) fn refuse(&self, ordering: &[String]) -> Result<()> {
        let Some(key) = &self.key else { return Ok(()) };
        Err(Error::invalid_argument(format!(
            "{} rows, such as that of the key {key}, have an ordering value ({}) that is less than the stored one, so that the stored row would win (if it was deleted, until the table is compacted); leave the column out of when_matched_update to keep the stored value, or leave these rows out",
            self.count,
            ordering.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};

    use super::super::testing::batch;
    use super::super::testing::names;
    use super::*;

    fn rows(a: &[Option<i64>], b: &[Option<i64>]) -> RecordBatch {
        let column = |values: &[Option<i64>]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("a", column(a), true), ("b", column(b), true)]).unwrap()
    }

    #[test]
    fn columns_are_compared_in_their_order_and_null_is_never_late() {
        let given = rows(&[Some(1), Some(2), Some(2), None, Some(1)], &[Some(9), Some(1), Some(3), Some(0), Some(0)]);
        let stored = rows(&[Some(2), Some(2), Some(2), Some(1), None], &[Some(0), Some(2), Some(2), Some(1), Some(1)]);
        let late = |by: &[&str]| late_rows(&names(by), &given, &stored).unwrap().iter().collect::<Vec<_>>();
        assert_eq!(late(&["a", "b"]), [true, true, false, false, false]);
        assert_eq!(late(&["b"]), [false, true, false, true, true]);
        assert_eq!(late(&[]), [false; 5]);
        assert!(late_rows(&names(&["c"]), &given, &stored).is_err());
    }

    #[test]
    fn late_rows_are_counted_over_all_batches() {
        let rows = batch(&[("a", "oslo", 1.0, 1), ("b", "oslo", 1.0, 1)]);
        let (mut late, on) = (LateRows::default(), names(&["id"]));
        late.add(&BooleanBuffer::from(vec![false, false]), &rows, &on).unwrap();
        assert!(late.refuse(&names(&["ts"])).is_ok());
        late.add(&BooleanBuffer::from(vec![false, true]), &rows, &on).unwrap();
        late.add(&BooleanBuffer::from(vec![true, true]), &rows, &on).unwrap();
        let text = late.refuse(&names(&["ts", "n"])).unwrap_err().text();
        assert!(text.starts_with("3 rows, such as that of the key ['b'], have an ordering value (ts, n)"), "{text}");
    }
}
