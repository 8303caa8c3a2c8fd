//! Base rows and what becomes of them: folded with the records that they meet, and the rows that a fold made.

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;

use super::log_keys::KeyColumns;
use super::projection::Projection;
use crate::error::{Error, Result};
use crate::merge::fold::Fold;
use crate::merge::{Fate, Fetched, Histories, RowRef, Winners};

/// What becomes of base rows that do not stay.
pub(super) struct Fates {
    /// By ascending rows.
    pub(super) fates: Vec<(usize, Fate)>,
    /// The rows that take their places, where they were made and are not those of log records.
    pub(super) made: Option<RecordBatch>,
}

impl Fates {
    /// Of rows in any order: what was set aside comes part by part of the keys. None where all rows stay.
    pub(super) fn of(mut fates: Vec<(usize, Fate)>, made: Option<RecordBatch>) -> Option<Self> {
        fates.sort_by_key(|(row, _)| *row);
        (!fates.is_empty()).then_some(Self { fates, made })
    }
}

/// A batch of base rows.
pub(super) struct Base<'a> {
    pub(super) rows: &'a RecordBatch,
    /// The number of the first row.
    pub(super) first: u64,
    pub(super) projection: &'a Projection,
    pub(super) keys: &'a KeyColumns,
}

impl Base<'_> {
    /// What becomes of the rows, folded with the log records that are noted under their numbers.
    pub(super) fn folded(
        self,
        folder: &dyn Fold,
        histories: &Histories,
        winners: &mut dyn Winners,
    ) -> Result<Option<Fates>> {
        if histories.is_empty() {
            return Ok(None);
        }
        let row = |number: u64| {
            let message =
                || format_args!("base row {number} is before row {}, the first of its batch", self.first).to_string();
            number.checked_sub(self.first).ok_or_else(|| Error::internal(message()))
        };
        let rows: Vec<u64> = histories.numbers().map(row).collect::<Result<_>>()?;
        let met = take_rows(self.rows, &rows)?;
        let (ordering, met) = (self.keys.base_ordering(&met)?, self.projection.carried_of(&met)?);
        let folded = folder.fold(histories, Some((&met, &ordering)), winners)?;
        if folded.fates.len() != rows.len() {
            let message = format_args!("{} merge outcomes for {} keys", folded.fates.len(), rows.len());
            return Err(Error::internal(message));
        }
        let fates = rows.into_iter().zip(folded.fates).filter(|(_, fate)| *fate != Fate::Keep);
        let row = |row: u64| usize::try_from(row).map_err(|_| Error::internal("a row number beyond what memory holds"));
        let fates = fates.map(|(at, fate)| Ok((row(at)?, fate))).collect::<Result<_>>()?;
        Ok(Fates::of(fates, Some(folded.rows)))
    }
}

/// Rows that a fold made, by ordinal.
pub(super) struct Made(pub(super) RecordBatch);

impl Winners for Made {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn fetch(&mut self, rows: &[RowRef]) -> Result<Fetched> {
        let picks = rows.iter().map(|row| (0, row.at as usize)).collect();
        Ok(Fetched { batches: vec![self.0.clone()], picks })
    }
}

pub(super) fn take_rows(batch: &RecordBatch, rows: &[u64]) -> Result<RecordBatch> {
    take_record_batch(batch, &UInt64Array::from(rows.to_vec()))
        .map_err(|error| Error::invalid_table("rows of a base file could not be taken").caused_by(error))
}
