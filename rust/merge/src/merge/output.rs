//! Outcomes applied to a batch of base rows: the order of base rows is kept, log rows replace base rows in place.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave;

use super::input::{FetchedRows, RecordFetcher, RowRef};
use super::outcome::MergeOutcome;
use super::patch::{RowPatch, patched};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;

/// What is done with deleted rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedRows {
    /// They are left out.
    LeftOut,
    /// They are delivered, with `D` in their `_hoodie_operation`.
    Delivered,
}

/// The `_hoodie_operation` of a delete (`HoodieOperation.DELETE`).
const DELETE: &str = "D";

/// Applies outcomes to a batch of base rows. `outcomes` are those of rows that do not stay, in ascending order. `base`
/// has the schema of `fetcher`.
pub fn apply_outcomes(
    base: &RecordBatch,
    outcomes: &[(usize, MergeOutcome)],
    fetcher: &mut dyn RecordFetcher,
    deleted_rows: DeletedRows,
) -> Result<RecordBatch> {
    let placed = PlacedRows::new(base, outcomes, deleted_rows)?;
    let rows: Vec<RowRef> = placed.rows.iter().map(|(_, row)| *row).collect();
    let FetchedRows { batches, picks } = fetched(&rows, fetcher)?;
    let patches = placed.rows.iter().zip(picks).map(|((row, _), (batch, from))| RowPatch { row: *row, batch, from });
    let rows = patched(&fetcher.schema(), &placed.base, &batches, &patches.collect::<Vec<_>>()).map_err(failed)?;
    marked(rows, &placed.deleted)
}

/// Base rows without the deleted ones, and which of them log rows replace.
pub(super) struct PlacedRows {
    pub(super) base: RecordBatch,
    /// Rows of `base` in ascending order, with the log rows that replace them.
    pub(super) rows: Vec<(usize, RowRef)>,
    /// Those among these rows that are deletes.
    deleted: Vec<usize>,
}

impl PlacedRows {
    /// `outcomes` are those of base rows that do not stay, in ascending order.
    pub(super) fn new(
        base: &RecordBatch,
        outcomes: &[(usize, MergeOutcome)],
        deleted_rows: DeletedRows,
    ) -> Result<Self> {
        let mut rows = Vec::with_capacity(outcomes.len());
        let (mut left_out, mut deleted) = (Vec::new(), Vec::new());
        for (row, outcome) in outcomes {
            let Some(by) = delivered(*outcome, deleted_rows) else {
                left_out.push(*row);
                continue;
            };
            let row = row.saturating_sub(left_out.len());
            if let MergeOutcome::Delete(_) = outcome {
                deleted.push(row);
            }
            rows.push((row, by));
        }
        if !outcomes.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Err(Error::internal("merge outcomes of base rows that are not in order"));
        }
        if let Some(row) = outcomes.last().map(|(row, _)| *row).filter(|row| *row >= base.num_rows()) {
            let message = format_args!("a merge outcome for row {row} of a batch of {} rows", base.num_rows());
            return Err(Error::internal(message));
        }
        Ok(Self { base: without(base, &left_out).map_err(failed)?, rows, deleted })
    }

    /// The base rows with these columns instead of their own.
    pub(super) fn batch(&self, schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.base.num_rows()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(failed)?;
        marked(rows, &self.deleted)
    }
}

/// Fetches the log rows of outcomes, without base rows.
pub fn fetch_rows(
    outcomes: &[MergeOutcome],
    fetcher: &mut dyn RecordFetcher,
    deleted_rows: DeletedRows,
) -> Result<RecordBatch> {
    let given = || outcomes.iter().filter_map(|outcome| Some((outcome, delivered(*outcome, deleted_rows)?)));
    let rows: Vec<RowRef> = given().map(|(_, row)| row).collect();
    let deleted =
        given().enumerate().filter(|(_, (outcome, _))| matches!(outcome, MergeOutcome::Delete(_))).map(|(row, _)| row);
    let fetched = fetched(&rows, fetcher)?;
    let rows = pick(&fetcher.schema(), &fetched.batches, &fetched.picks).map_err(failed)?;
    marked(rows, &deleted.collect::<Vec<_>>())
}

/// Fetches rows, and checks that there are as many as were requested.
fn fetched(rows: &[RowRef], fetcher: &mut dyn RecordFetcher) -> Result<FetchedRows> {
    let fetched = fetcher.fetch(rows)?;
    if fetched.picks.len() == rows.len() {
        return Ok(fetched);
    }
    Err(Error::internal(format_args!("{} rows where {} were asked for", fetched.picks.len(), rows.len())))
}

/// The log record of an outcome, if it is delivered.
const fn delivered(outcome: MergeOutcome, deleted_rows: DeletedRows) -> Option<RowRef> {
    match (outcome, deleted_rows) {
        (MergeOutcome::Replace(row), _) | (MergeOutcome::Delete(row), DeletedRows::Delivered) => Some(row),
        (MergeOutcome::Keep, _) | (MergeOutcome::Delete(_), DeletedRows::LeftOut) => None,
    }
}

/// All rows but those of `left_out`.
fn without(base: &RecordBatch, left_out: &[usize]) -> Result<RecordBatch, ArrowError> {
    if left_out.is_empty() {
        return Ok(base.clone());
    }
    let mut stays = BooleanBufferBuilder::new(base.num_rows());
    stays.append_n(base.num_rows(), true);
    left_out.iter().for_each(|row| stays.set_bit(*row, false));
    filter_record_batch(base, &BooleanArray::new(stays.finish(), None))
}

/// Rows of several batches of one schema, in the order of `picks` (batch, row).
fn pick(schema: &SchemaRef, batches: &[RecordBatch], picks: &[(usize, usize)]) -> Result<RecordBatch, ArrowError> {
    if picks.is_empty() {
        return Ok(RecordBatch::new_empty(schema.clone()));
    }
    if let [only] = batches
        && only.num_rows() == picks.len()
        && picks.iter().enumerate().all(|(row, pick)| *pick == (0, row))
    {
        return Ok(only.clone());
    }
    let columns = (0..schema.fields().len())
        .map(|column| {
            let sources: Vec<_> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
            interleave(&sources, picks)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(picks.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}

/// The same rows, with the operation of deletes set.
fn marked(rows: RecordBatch, deleted: &[usize]) -> Result<RecordBatch> {
    let Ok(column) = rows.schema().index_of(meta_columns::OPERATION) else { return Ok(rows) };
    if deleted.is_empty() {
        return Ok(rows);
    }
    let mut operations: Vec<Option<&str>> = match rows.column(column).as_string_opt::<i32>() {
        Some(operations) => operations.iter().collect(),
        None => vec![None; rows.num_rows()],
    };
    for row in deleted {
        *operations.get_mut(*row).ok_or_else(|| Error::internal("a deleted row that was not delivered"))? =
            Some(DELETE);
    }
    let mut columns = rows.columns().to_vec();
    if let Some(slot) = columns.get_mut(column) {
        *slot = Arc::new(StringArray::from(operations));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(rows.schema(), columns, &options).map_err(failed)
}

fn failed(error: ArrowError) -> Error {
    Error::invalid_table("base rows and log rows do not fit together").caused_by(error)
}
