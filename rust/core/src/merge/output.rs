//! Base rows and log rows woven into one batch: base order kept, replaced rows in place.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave;

use super::input::{Fetched, RowRef, Winners};
use super::merger::Fate;
use super::patch::{Patch, patched};
use crate::error::{Error, Result};
use crate::names::meta_columns;

/// What is done about deleted rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedRows {
    /// They are left out.
    LeftOut,
    /// They are delivered, `D` in their `_hoodie_operation`.
    Delivered,
}

/// What a `_hoodie_operation` says of a delete (`HoodieOperation.DELETE`).
const DELETE: &str = "D";

/// The batch that comes of rows of a base file and of the fates of those that do not stay, by ascending rows. `base` has the
/// schema that `winners` gives.
pub fn weave(
    base: &RecordBatch,
    fates: &[(usize, Fate)],
    winners: &mut dyn Winners,
    deleted_rows: DeletedRows,
) -> Result<RecordBatch> {
    let placed = Placed::of(base, fates, deleted_rows)?;
    let rows: Vec<RowRef> = placed.rows.iter().map(|(_, row)| *row).collect();
    let Fetched { batches, picks } = fetched(&rows, winners)?;
    let patches = placed.rows.iter().zip(picks).map(|((row, _), (batch, from))| Patch { row: *row, batch, from });
    let rows = patched(&winners.schema(), &placed.base, &batches, &patches.collect::<Vec<_>>()).map_err(failed)?;
    marked(rows, &placed.deleted)
}

/// Base rows without those that are left out, and which of them log rows replace.
pub(super) struct Placed {
    pub(super) base: RecordBatch,
    /// By ascending rows of `base`, what replaces it.
    pub(super) rows: Vec<(usize, RowRef)>,
    /// The rows among these that are deletes.
    deleted: Vec<usize>,
}

impl Placed {
    /// By the fates of base rows that do not stay, by ascending rows.
    pub(super) fn of(base: &RecordBatch, fates: &[(usize, Fate)], deleted_rows: DeletedRows) -> Result<Self> {
        let mut rows = Vec::with_capacity(fates.len());
        let (mut left_out, mut deleted) = (Vec::new(), Vec::new());
        for (row, fate) in fates {
            let Some(by) = of_log(*fate, deleted_rows) else {
                left_out.push(*row);
                continue;
            };
            let row = row.saturating_sub(left_out.len());
            if let Fate::Delete(_) = fate {
                deleted.push(row);
            }
            rows.push((row, by));
        }
        if !fates.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Err(Error::internal("merge outcomes of base rows that are not in order"));
        }
        if let Some(row) = fates.last().map(|(row, _)| *row).filter(|row| *row >= base.num_rows()) {
            let message = format_args!("a merge outcome for row {row} of a batch of {} rows", base.num_rows());
            return Err(Error::internal(message));
        }
        Ok(Self { base: without(base, &left_out).map_err(failed)?, rows, deleted })
    }

    /// The base rows with these columns in place of theirs.
    pub(super) fn batch(&self, schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.base.num_rows()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(failed)?;
        marked(rows, &self.deleted)
    }
}

/// The rows that logs give where there is no base row, by their fates.
pub fn log_rows(fates: &[Fate], winners: &mut dyn Winners, deleted_rows: DeletedRows) -> Result<RecordBatch> {
    let given = || fates.iter().filter_map(|fate| Some((fate, of_log(*fate, deleted_rows)?)));
    let rows: Vec<RowRef> = given().map(|(_, row)| row).collect();
    let deleted = given().enumerate().filter(|(_, (fate, _))| matches!(fate, Fate::Delete(_))).map(|(row, _)| row);
    let fetched = fetched(&rows, winners)?;
    let rows = pick(&winners.schema(), &fetched.batches, &fetched.picks).map_err(failed)?;
    marked(rows, &deleted.collect::<Vec<_>>())
}

/// The rows, as many as were asked for.
fn fetched(rows: &[RowRef], winners: &mut dyn Winners) -> Result<Fetched> {
    let fetched = winners.fetch(rows)?;
    if fetched.picks.len() == rows.len() {
        return Ok(fetched);
    }
    Err(Error::internal(format_args!("{} rows where {} were asked for", fetched.picks.len(), rows.len())))
}

/// The log record that is delivered.
const fn of_log(fate: Fate, deleted_rows: DeletedRows) -> Option<RowRef> {
    match (fate, deleted_rows) {
        (Fate::Replace(row), _) | (Fate::Delete(row), DeletedRows::Delivered) => Some(row),
        (Fate::Keep, _) | (Fate::Delete(_), DeletedRows::LeftOut) => None,
    }
}

/// All rows but some.
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

/// The same rows, those that are deletes saying so.
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
