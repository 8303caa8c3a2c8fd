//! Base rows of an incremental query: those that the commits of its range wrote, told by `_hoodie_commit_time`. Compaction and
//! clustering keep that column, so that rows which they only moved keep their time. Rows of other commits go before anything is
//! merged with the rest.

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use crate::error::{Error, Result};
use crate::names::instant_range::InstantRange;
use crate::names::meta_columns;

/// Which base rows count.
pub(super) struct RowRange(Option<InstantRange>);

impl RowRange {
    /// None are left out without a range.
    pub(super) fn new(range: Option<InstantRange>) -> Self {
        Self(range)
    }

    /// The columns that base rows must bring along.
    pub(super) fn columns(range: Option<&InstantRange>) -> Vec<String> {
        range.iter().map(|_| meta_columns::COMMIT_TIME.to_owned()).collect()
    }

    /// The rows that count.
    pub(super) fn keep(&self, base: RecordBatch) -> Result<RecordBatch> {
        let Some(range) = &self.0 else { return Ok(base) };
        let times = base.column_by_name(meta_columns::COMMIT_TIME).and_then(|column| column.as_string_opt::<i32>());
        let times = times.ok_or_else(|| Error::invalid_table("a base file without commit times"))?;
        // Commits write rows in runs.
        let mut last: Option<(&str, bool)> = None;
        let kept: BooleanArray = times
            .iter()
            .map(|time| {
                let Some(time) = time else { return Some(false) };
                let kept = match last {
                    Some((known, kept)) if known == time => kept,
                    _ => range.contains(time),
                };
                last = Some((time, kept));
                Some(kept)
            })
            .collect();
        if kept.true_count() == base.num_rows() {
            return Ok(base);
        }
        filter_record_batch(&base, &kept)
            .map_err(|error| Error::invalid_table("rows of a base file could not be filtered").caused_by(error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, StringArray};

    use super::*;

    #[test]
    fn rows_of_other_commits_go() {
        let times: ArrayRef = Arc::new(StringArray::from(vec![Some("1"), Some("1"), Some("3"), None, Some("2")]));
        let rows: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 2, 3, 4]));
        let batch =
            RecordBatch::try_from_iter_with_nullable([(meta_columns::COMMIT_TIME, times, true), ("row", rows, true)])
                .unwrap();
        for (range, kept) in [
            (None, vec![0, 1, 2, 3, 4]),
            (Some(vec!["1", "2"]), vec![0, 1, 4]),
            (Some(vec!["3"]), vec![2]),
            (Some(vec![]), vec![]),
        ] {
            let range =
                range.map(|instants| InstantRange::ExactMatch(instants.into_iter().map(str::to_owned).collect()));
            let kept_rows = RowRange::new(range).keep(batch.clone()).unwrap();
            assert_eq!(kept_rows.column(1).as_primitive::<arrow_array::types::Int32Type>().values(), &kept[..]);
        }
        let without = batch.project(&[1]).unwrap();
        assert!(RowRange::new(Some(InstantRange::ExactMatch([].into()))).keep(without).is_err());
    }
}
