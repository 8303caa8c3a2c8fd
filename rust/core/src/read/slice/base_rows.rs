//! Base rows and what becomes of them: folded with the records that they meet, and the rows that a fold made.

use arrow_array::{RecordBatch, UInt64Array};
use arrow_select::take::take_record_batch;

use crate::error::{Error, Result};
use crate::keys::KeyColumns;
use crate::merge::fold::{Fold, FoldBase, FoldedRows};
use crate::merge::{MergeOutcome, RecordFetcher, RecordGroups};
use crate::read::columns::projection::Projection;

/// What becomes of base rows that do not stay.
pub(in crate::read) struct BatchOutcomes {
    /// By ascending rows.
    pub(in crate::read) outcomes: Vec<(usize, MergeOutcome)>,
    /// The rows that take their places, where they were made and are not those of log records.
    pub(in crate::read) made: Option<FoldedRows>,
}

impl BatchOutcomes {
    /// Of rows in any order: what was set aside comes part by part of the keys. None where all rows stay.
    pub(in crate::read) fn of(mut outcomes: Vec<(usize, MergeOutcome)>, made: Option<FoldedRows>) -> Option<Self> {
        outcomes.sort_by_key(|(row, _)| *row);
        (!outcomes.is_empty()).then_some(Self { outcomes, made })
    }
}

/// A batch of base rows.
pub(in crate::read) struct Base<'a> {
    pub(in crate::read) rows: &'a RecordBatch,
    /// The number of the first row.
    pub(in crate::read) first: u64,
    pub(in crate::read) projection: &'a Projection,
    pub(in crate::read) keys: &'a KeyColumns,
}

impl Base<'_> {
    /// What becomes of the rows, folded with the log records that are noted under their numbers.
    pub(in crate::read) fn folded(
        self,
        folder: &dyn Fold,
        groups: &RecordGroups,
        fetcher: &mut dyn RecordFetcher,
    ) -> Result<Option<BatchOutcomes>> {
        if groups.is_empty() {
            return Ok(None);
        }
        let rows = groups.numbers().map(|number| row_in_batch(number, self.first));
        let rows: Vec<usize> = rows.collect::<Result<_>>()?;
        let ordering = self.keys.base_ordering(self.rows)?;
        let carried = self.projection.carried_of(self.rows)?;
        let base = FoldBase { batch: &carried, ordering: &ordering, rows: &rows };
        let folded = folder.fold(groups, Some(base), fetcher)?;
        if folded.outcomes.len() != rows.len() {
            let message = format_args!("{} merge outcomes for {} keys", folded.outcomes.len(), rows.len());
            return Err(Error::internal(message));
        }
        let outcomes = rows.into_iter().zip(folded.outcomes).filter(|(_, outcome)| *outcome != MergeOutcome::Keep);
        Ok(BatchOutcomes::of(outcomes.collect(), Some(folded.rows)))
    }
}

/// The row of a batch whose first row has the number `first`, of a row by its number.
pub(in crate::read) fn row_in_batch(number: u64, first: u64) -> Result<usize> {
    let row = number.checked_sub(first).and_then(|row| usize::try_from(row).ok());
    let outside = || format!("base row {number} is not in the batch that begins with row {first}");
    row.ok_or_else(|| Error::internal(outside()))
}

pub(in crate::read) fn take_rows(batch: &RecordBatch, rows: &[u64]) -> Result<RecordBatch> {
    take_record_batch(batch, &UInt64Array::from(rows.to_vec()))
        .map_err(|error| Error::invalid_table("rows of a base file could not be taken").caused_by(error))
}
