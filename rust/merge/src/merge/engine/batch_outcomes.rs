//! What the merge makes of a batch of base rows.

use arrow_array::{RecordBatch, UInt64Array};
use arrow_select::take::take_record_batch;

use super::super::fold::FoldedRows;
use super::super::input::RecordFetcher;
use super::super::outcome::MergeOutcome;
use super::super::output::{DeletedRows, apply_outcomes, fetch_rows};
use mortice_base::error::{Error, Result};

/// The outcomes of base rows that do not stay.
pub struct BatchOutcomes {
    /// In ascending order of rows.
    outcomes: Vec<(usize, MergeOutcome)>,
    /// The rows that replace them, if they were folded and are not log records.
    folded: Option<FoldedRows>,
}

/// Rows before and after a merge.
pub struct RowChanges {
    /// The rows that do not stay as they are.
    pub before: RecordBatch,
    /// Whether each of these is deleted.
    pub deleted: Vec<bool>,
    /// The rows that replace the others, in their order.
    pub after: RecordBatch,
}

impl BatchOutcomes {
    /// Of rows in any order: spilled outcomes are in the order of passes. Returns `None` if all rows stay.
    pub(super) fn new(mut outcomes: Vec<(usize, MergeOutcome)>, folded: Option<FoldedRows>) -> Option<Self> {
        outcomes.sort_by_key(|(row, _)| *row);
        (!outcomes.is_empty()).then_some(Self { outcomes, folded })
    }

    /// The rows that do not stay, in ascending order, with their outcomes. A [`MergeOutcome`] refers to a log record,
    /// or if rows are folded, to a row that the fold has made.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (usize, MergeOutcome)> + '_ {
        self.outcomes.iter().copied()
    }

    /// The merged batch. `projected` are the projected columns of the base rows.
    ///
    /// # Errors
    /// Those of fetching records; `Internal` if an outcome is of a row outside the batch.
    pub fn apply(
        self,
        projected: &RecordBatch,
        fetcher: &mut dyn RecordFetcher,
        deleted_rows: DeletedRows,
    ) -> Result<RecordBatch> {
        match self.folded {
            Some(folded) => folded.overlay(projected, &self.outcomes, deleted_rows),
            None => apply_outcomes(projected, &self.outcomes, fetcher, deleted_rows),
        }
    }

    /// The rows that do not stay, before and after the merge. `projected` are the projected columns of the base rows.
    ///
    /// # Errors
    /// As [`BatchOutcomes::apply`].
    pub fn changes(
        self,
        projected: &RecordBatch,
        fetcher: &mut dyn RecordFetcher,
        deleted_rows: DeletedRows,
    ) -> Result<RowChanges> {
        let rows: Vec<u64> = self.outcomes.iter().map(|(row, _)| *row as u64).collect();
        let outcomes: Vec<MergeOutcome> = self.outcomes.into_iter().map(|(_, outcome)| outcome).collect();
        let deleted = outcomes.iter().map(|outcome| matches!(outcome, MergeOutcome::Delete(_))).collect();
        let after = match self.folded {
            Some(mut folded) => fetch_rows(&outcomes, &mut folded, deleted_rows)?,
            None => fetch_rows(&outcomes, fetcher, deleted_rows)?,
        };
        let before = take_record_batch(projected, &UInt64Array::from(rows))
            .map_err(|error| Error::invalid_table("rows of a base file could not be taken").caused_by(error))?;
        Ok(RowChanges { before, deleted, after })
    }
}
