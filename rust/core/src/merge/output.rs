//! Base rows and log rows woven into one batch: base order kept, replaced rows in place.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave;

use super::input::{Fetched, RowRef, Winners};
use super::merger::Fate;
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

/// The batch that comes of rows of a base file, or of none, and of their fates. `base` has the schema that `winners` gives.
pub fn weave(
    base: Option<&RecordBatch>,
    fates: &[Fate],
    winners: &mut dyn Winners,
    deleted_rows: DeletedRows,
) -> Result<RecordBatch> {
    let delivers = deleted_rows == DeletedRows::Delivered;
    let of_log: Vec<RowRef> = fates
        .iter()
        .filter_map(|fate| match fate {
            Fate::Replace(row) => Some(*row),
            Fate::Delete(row) if delivers => Some(*row),
            Fate::Keep | Fate::Delete(_) => None,
        })
        .collect();
    let Fetched { mut batches, picks } = winners.fetch(&of_log)?;
    let shift = base.iter().len();
    batches.splice(0..0, base.cloned());
    let mut log_rows = picks.into_iter().map(|(batch, row)| (batch + shift, row));
    let mut picks: Vec<(usize, usize)> = Vec::with_capacity(fates.len());
    let mut deleted = Vec::new();
    for (row, fate) in fates.iter().enumerate() {
        match fate {
            Fate::Keep if base.is_some() => picks.push((0, row)),
            Fate::Replace(_) => picks.extend(log_rows.next()),
            Fate::Delete(_) if delivers => {
                deleted.push(picks.len());
                picks.extend(log_rows.next());
            }
            Fate::Keep | Fate::Delete(_) => {}
        }
    }
    marked(pick(&winners.schema(), &batches, &picks)?, &deleted)
}

/// Rows of several batches of one schema, in the order of `picks` (batch, row).
fn pick(schema: &SchemaRef, batches: &[RecordBatch], picks: &[(usize, usize)]) -> Result<RecordBatch> {
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
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    let options = RecordBatchOptions::new().with_row_count(Some(picks.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(failed)
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
        if let Some(slot) = operations.get_mut(*row) {
            *slot = Some(DELETE);
        }
    }
    let mut columns = rows.columns().to_vec();
    if let Some(slot) = columns.get_mut(column) {
        *slot = Arc::new(StringArray::from(operations));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(rows.schema(), columns, &options).map_err(failed)
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("base rows and log rows do not fit together").caused_by(error)
}
