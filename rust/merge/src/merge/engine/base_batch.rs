//! A batch of base rows: the probe side of the merge.

use arrow_array::RecordBatch;

use super::super::base_rows::BaseRows;
use super::super::fold::{Fold, FoldBase};
use super::super::input::RecordFetcher;
use super::super::ordering::OrderingColumn;
use super::super::outcome::MergeOutcome;
use super::super::record_groups::RecordGroups;
use super::batch_outcomes::BatchOutcomes;
use mortice_base::error::{Error, Result};

/// Reads keys and ordering values of base rows. Each method is called at most once for a batch, and only if the merge
/// needs it.
pub trait BaseKeys {
    /// The record keys of rows; or their row numbers, where records are merged by position. `first` is the number of
    /// the first row.
    fn keys(&self, rows: &RecordBatch, first: u64) -> Result<BaseRows>;

    /// The ordering values of rows.
    fn ordering(&self, rows: &RecordBatch) -> Result<OrderingColumn>;
}

/// A batch of base rows.
#[derive(Clone, Copy)]
pub struct BaseBatch<'a> {
    /// The rows with all columns that [`BaseBatch::keys`] reads.
    pub rows: &'a RecordBatch,
    /// The same rows with the projected columns: those of log records and merged rows.
    pub projected: &'a RecordBatch,
    /// Reads keys and ordering values of `rows`.
    pub keys: &'a dyn BaseKeys,
}

impl BaseBatch<'_> {
    /// The outcomes of rows, folded with the record groups under their numbers. `first` is the number of the first row.
    pub(super) fn folded(
        self,
        fold: &dyn Fold,
        groups: &RecordGroups,
        first: u64,
        fetcher: &mut dyn RecordFetcher,
    ) -> Result<Option<BatchOutcomes>> {
        if groups.is_empty() {
            return Ok(None);
        }
        let rows = groups.numbers().map(|number| row_in_batch(number, first)).collect::<Result<Vec<usize>>>()?;
        let ordering = self.keys.ordering(self.rows)?;
        let base = FoldBase { batch: self.projected, ordering: &ordering, rows: &rows };
        let folded = fold.fold(groups, Some(base), fetcher)?;
        if folded.outcomes.len() != rows.len() {
            let message = format_args!("{} merge outcomes for {} keys", folded.outcomes.len(), rows.len());
            return Err(Error::internal(message));
        }
        let outcomes = rows.into_iter().zip(folded.outcomes).filter(|(_, outcome)| *outcome != MergeOutcome::Keep);
        Ok(BatchOutcomes::new(outcomes.collect(), Some(folded.rows)))
    }
}

/// The row in its batch of the base row with this number. `first` is the number of the first row of the batch.
pub(super) fn row_in_batch(number: u64, first: u64) -> Result<usize> {
    let row = number.checked_sub(first).and_then(|row| usize::try_from(row).ok());
    let outside = || format!("base row {number} is not in the batch that begins with row {first}");
    row.ok_or_else(|| Error::internal(outside()))
}
