//! Base rows and log rows woven into one batch, base order kept, replaced rows in place.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave;

use super::input::{Fetched, RowRef, Winners};
use super::merger::Fate;
use crate::error::{Error, Result};

/// The batch that comes of base rows and their fates. `base` has the schema that `winners` gives.
pub fn weave(base: &RecordBatch, fates: &[Fate], winners: &mut dyn Winners) -> Result<RecordBatch> {
    let replaced: Vec<RowRef> = fates
        .iter()
        .filter_map(|fate| match fate {
            Fate::Replace(row) => Some(*row),
            Fate::Keep | Fate::Drop => None,
        })
        .collect();
    let Fetched { mut batches, picks } = winners.fetch(&replaced)?;
    batches.insert(0, base.clone());
    let mut log_rows = picks.into_iter().map(|(batch, row)| (batch + 1, row));
    let picks: Vec<(usize, usize)> = fates
        .iter()
        .enumerate()
        .filter_map(|(row, fate)| match fate {
            Fate::Keep => Some((0, row)),
            Fate::Replace(_) => log_rows.next(),
            Fate::Drop => None,
        })
        .collect();
    pick(&base.schema(), &batches, &picks)
}

/// Fetched rows as one batch, in the order they were asked for.
pub fn pick_all(schema: &SchemaRef, fetched: Fetched) -> Result<RecordBatch> {
    let in_order = fetched.picks.iter().enumerate().all(|(row, pick)| *pick == (0, row));
    match fetched.batches.as_slice() {
        [only] if in_order && only.num_rows() == fetched.picks.len() => Ok(only.clone()),
        batches => pick(schema, batches, &fetched.picks),
    }
}

/// Rows of several batches of one schema, in the order of `picks` (batch, row).
fn pick(schema: &SchemaRef, batches: &[RecordBatch], picks: &[(usize, usize)]) -> Result<RecordBatch> {
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

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("base rows and log rows do not fit together").caused_by(error)
}
