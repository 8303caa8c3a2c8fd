//! Rows of one key that a merge has made of several stored rows, or of several given ones, become one.
//!
//! A write changes all rows of a key. So rows that delete the key are one delete, and rows that become the same are one
//! row. Otherwise it is not known which of them is to be written: combined by ordering values, a delete could become an
//! update.

use crate::index::IncomingKeys;
use crate::row_set::{RowMark, RowMarks, WriteRows};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;

/// One row for each key of which a row is marked by a merge ([`RowMark::Update`], [`RowMark::UnconditionalDelete`]).
/// Rows of other keys stay.
pub(super) fn one_change_of_each_key(rows: WriteRows, key_is_global: bool) -> Result<WriteRows> {
    let is_change = |mark| matches!(mark, RowMark::Update | RowMark::UnconditionalDelete);
    if !rows.marks.iter().any(is_change) {
        return Ok(rows);
    }
    let by_key = IncomingKeys::new(&rows.keys, key_is_global)?;
    if by_key.is_distinct() {
        return Ok(rows);
    }
    let mut marks: Vec<Option<RowMark>> = rows.marks.iter().map(Some).collect();
    for first in by_key.repeated() {
        let of_key: Vec<u32> = by_key.rows_from(first).collect();
        let marks_of_key = rows.marks.select(&of_key)?;
        if !marks_of_key.iter().any(is_change) {
            continue;
        }
        let mark = one_change(&rows, &of_key, &marks_of_key)?;
        for row in of_key {
            let slot = marks.get_mut(at(row)).ok_or_else(|| Error::internal("a row of a key that is not there"))?;
            *slot = (row == first).then_some(mark);
        }
    }
    let kept: Vec<u32> = (0..).zip(&marks).filter(|(_, mark)| mark.is_some()).map(|(row, _)| row).collect();
    let WriteRows { batches, keys, .. } = rows.select(&kept)?;
    WriteRows::new(batches, keys, marks.into_iter().flatten().collect())
}

/// The mark of the one row that several rows of a key become.
fn one_change(rows: &WriteRows, of_key: &[u32], marks: &RowMarks) -> Result<RowMark> {
    if marks.iter().all(|mark| mark == RowMark::UnconditionalDelete) {
        return Ok(RowMark::UnconditionalDelete);
    }
    if marks.iter().all(|mark| mark == RowMark::Update) {
        let values = rows.batches.take(of_key)?;
        let first = values.slice(0, 1);
        if (1..values.num_rows()).all(|row| values.slice(row, 1) == first) {
            return Ok(RowMark::UpdateAll);
        }
    }
    let row = of_key.first().ok_or_else(|| Error::internal("a key without rows"))?;
    let keys = &rows.keys;
    let path = keys.partitions.value(at(*row));
    let place = if path.is_empty() { String::new() } else { format!(" in partition {path:?}") };
    Err(Error::invalid_argument(format!(
        "several rows of the key {:?}{place} would be changed in different ways, and a write changes all rows of a key alike: give them the same values, or delete the key and insert the rows that are to stay",
        keys.record_keys.value(at(*row)),
    )))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

    use super::*;
    use mortice_base::error::ErrorKind;
    use mortice_merge::keys::RowKeys;

    /// Key, partition, value and mark.
    type Row = (&'static str, &'static str, i64, RowMark);

    fn rows(of: &[Row]) -> WriteRows {
        let values: ArrayRef = Arc::new(of.iter().map(|row| Some(row.2)).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([("v", values)]).unwrap();
        let keys = RowKeys {
            record_keys: of.iter().map(|row| Some(row.0)).collect(),
            partitions: of.iter().map(|row| Some(row.1)).collect::<StringArray>(),
        };
        WriteRows::new(batch.into(), keys, of.iter().map(|row| row.3).collect()).unwrap()
    }

    fn changed(of: &[Row], is_global: bool) -> Result<Vec<(String, i64, RowMark)>> {
        let found = one_change_of_each_key(rows(of), is_global)?;
        let batch = found.batches.to_batch().unwrap();
        let values = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        let keys = found.keys.record_keys.iter().flatten().map(str::to_owned);
        Ok(keys.zip(values.values().iter().copied()).zip(found.marks.iter()).map(|((k, v), m)| (k, v, m)).collect())
    }

    fn row(key: &str, value: i64, mark: RowMark) -> (String, i64, RowMark) {
        (key.to_owned(), value, mark)
    }

    use RowMark::{Delete, UnconditionalDelete, Update, UpdateAll, Upsert};

    #[test]
    fn deletes_of_a_key_are_one_and_equal_updates_are_one_row() {
        let found = changed(
            &[
                ("a", "p", 1, UnconditionalDelete),
                ("b", "p", 2, Update),
                ("c", "p", 3, Update),
                ("a", "p", 4, UnconditionalDelete),
                ("b", "p", 2, Update),
                ("b", "p", 2, Update),
                ("d", "p", 5, Upsert),
            ],
            false,
        );
        let expected =
            [row("a", 1, UnconditionalDelete), row("b", 2, UpdateAll), row("c", 3, Update), row("d", 5, Upsert)];
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn rows_that_differ_are_refused_by_key() {
        for other in
            [("k", "p", 2, Update), ("k", "p", 1, UnconditionalDelete), ("k", "p", 1, Upsert), ("k", "p", 1, Delete)]
        {
            let error = changed(&[("k", "p", 1, Update), other], false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.text().contains("\"k\" in partition \"p\""), "{error}");
        }
        assert!(changed(&[("k", "p", 1, UnconditionalDelete), ("k", "p", 1, Upsert)], false).is_err());
    }

    #[test]
    fn partitions_have_keys_of_their_own_unless_the_index_is_global() {
        let rows = [("k", "p", 1, Update), ("k", "q", 2, Update)];
        assert_eq!(changed(&rows, false).unwrap().len(), 2);
        assert!(changed(&rows, true).unwrap_err().text().contains("\"k\""));
    }

    #[test]
    fn rows_of_users_are_left_to_the_merge_rules() {
        let rows = [("k", "p", 1, Upsert), ("k", "p", 2, Delete), ("l", "p", 3, Update)];
        let found = changed(&rows, false).unwrap();
        assert_eq!(found, [row("k", 1, Upsert), row("k", 2, Delete), row("l", 3, Update)]);
    }
}
