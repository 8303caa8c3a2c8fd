//! The rows of an incremental query: those that the commits of its range wrote, by `_hoodie_commit_time`. Compaction
//! and clustering keep that column, so rows that they only moved keep their commit time. Base rows of other commits are
//! removed before the merge; merged rows of other commits are removed after it.

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::Schema;
use arrow_select::filter::filter_record_batch;

use crate::split::Query;
use mortice_base::error::{Error, Result};
use mortice_base::names::instant_range::InstantRange;
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_formats::filter::{BoundFilter, Filter, Literal, Operator, Term};

/// The predicate on commit times.
pub(in crate::read) struct RowRange(Option<InstantRange>);

impl RowRange {
    /// Returns the predicate of a query; without a range all rows match.
    pub(in crate::read) fn from_query(query: &Query) -> Self {
        Self(query.range.as_ref().map(|range| range.rows.clone()))
    }

    /// Returns the predicate for the base file that a commit wrote.
    pub(in crate::read) fn for_base_file(query: &Query, instant: &RequestedTime) -> Self {
        match &query.range {
            Some(range) if range.own_base_rows => Self(Some(InstantRange::ExactMatch([instant.clone()].into()))),
            _ => Self::from_query(query),
        }
    }

    /// Returns the columns that rows must have.
    pub(in crate::read) fn columns(query: &Query) -> Vec<String> {
        query.range.iter().map(|_| meta_columns::COMMIT_TIME.to_owned()).collect()
    }

    /// Returns the predicate as a filter for statistics; `None` without a range.
    pub(in crate::read) fn bounds(&self, columns: &Schema) -> Result<Option<BoundFilter>> {
        let Some(InstantRange::ExactMatch(instants)) = &self.0 else { return Ok(None) };
        let (Some(first), Some(last)) = (instants.first(), instants.last()) else { return Ok(None) };
        let term = |operator, instant: &RequestedTime| {
            Term::new(meta_columns::COMMIT_TIME, operator, vec![Literal::Text(instant.to_string())])
        };
        let both = vec![term(Operator::GtEq, first)?, term(Operator::LtEq, last)?];
        BoundFilter::bind(&Filter::any_of(vec![both]), columns).map(Some)
    }

    /// Returns the matching rows.
    pub(in crate::read) fn keep(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let Some(range) = &self.0 else { return Ok(rows) };
        let times = rows.column_by_name(meta_columns::COMMIT_TIME).and_then(|column| column.as_string_opt::<i32>());
        let times = times.ok_or_else(|| Error::invalid_table("rows without commit times"))?;
        // Rows of a commit are usually adjacent.
        let mut last: Option<(&str, bool)> = None;
        let kept: BooleanArray = times
            .iter()
            .map(|time| {
                let Some(time) = time else { return Some(false) };
                let kept = match last {
                    Some((known, kept)) if known == time => kept,
                    _ => RequestedTime::parse(time).is_some_and(|time| range.contains(&time)),
                };
                last = Some((time, kept));
                Some(kept)
            })
            .collect();
        if kept.true_count() == rows.num_rows() {
            return Ok(rows);
        }
        filter_record_batch(&rows, &kept)
            .map_err(|error| Error::invalid_table("rows could not be filtered by commit time").caused_by(error))
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
                range.map(|instants| InstantRange::ExactMatch(instants.into_iter().map(RequestedTime::from).collect()));
            let kept_rows = RowRange(range).keep(batch.clone()).unwrap();
            assert_eq!(kept_rows.column(1).as_primitive::<arrow_array::types::Int32Type>().values(), &kept[..]);
        }
        let without = batch.project(&[1]).unwrap();
        assert!(RowRange(Some(InstantRange::ExactMatch([].into()))).keep(without).is_err());
    }
}
