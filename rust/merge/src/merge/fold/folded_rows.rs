//! Rows that a fold has made, and how they replace base rows.
//!
//! Most values of such a row are those of its base row: a partial update sets some columns, and a fill some more. So a
//! column is patched with the values that are not those of the base row, and a column without such values is shared,
//! not copied.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::interleave::interleave;

use super::super::input::{FetchedRows, RecordFetcher, RowRef};
use super::super::outcome::MergeOutcome;
use super::super::output::{DeletedRows, PlacedRows, apply_outcomes};
use super::super::patch::{RowPatch, patched_column};
use mortice_base::error::{Error, Result};

/// Rows that a fold has made, by ordinal ([`RowRef::at`]).
pub enum FoldedRows {
    /// Rows as they are.
    Whole(RecordBatch),
    /// Rows whose values are picked from rows of several batches, column by column.
    ByColumn(PickedRows),
}

/// Where a value is: the batch, and the row there.
pub(super) type RowPick = (usize, usize);

/// Rows as references to the values that they are made of.
pub struct PickedRows {
    /// The columns of the rows and of all batches.
    pub(super) schema: SchemaRef,
    pub(super) batches: Vec<RecordBatch>,
    /// The batch of the base rows, if there are any. A row takes no values from the base row of another.
    pub(super) base: Option<usize>,
    /// Row by row, where the value of each column is.
    pub(super) picks: Vec<RowPick>,
}

impl FoldedRows {
    /// Replaces base rows. `outcomes` are those of base rows that do not stay, in ascending order; `base` has the
    /// projected columns of the batch from which the fold took its base rows.
    ///
    /// # Errors
    /// `Internal` if an outcome refers to a row that does not exist.
    pub fn overlay(
        self,
        base: &RecordBatch,
        outcomes: &[(usize, MergeOutcome)],
        deleted_rows: DeletedRows,
    ) -> Result<RecordBatch> {
        match self {
            Self::Whole(_) => apply_outcomes(base, outcomes, &mut { self }, deleted_rows),
            Self::ByColumn(made) => made.overlay(base, outcomes, deleted_rows),
        }
    }
}

impl PickedRows {
    fn overlay(
        &self,
        base: &RecordBatch,
        outcomes: &[(usize, MergeOutcome)],
        deleted_rows: DeletedRows,
    ) -> Result<RecordBatch> {
        let placed = PlacedRows::new(base, outcomes, deleted_rows)?;
        let mut patches = Vec::with_capacity(placed.rows.len());
        let columns = placed.base.columns().iter().enumerate().map(|(column, values)| {
            patches.clear();
            for (row, made) in &placed.rows {
                let (batch, from) = self.pick(made.at as usize, column)?;
                // Values of the base row are in place already.
                if self.base != Some(batch) {
                    patches.push(RowPatch { row: *row, batch, from });
                }
            }
            if patches.is_empty() {
                return Ok(Arc::clone(values));
            }
            patched_column(values, &self.column(column)?, &patches).map_err(failed)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        placed.batch(&self.schema, columns)
    }

    fn pick(&self, row: usize, column: usize) -> Result<RowPick> {
        let at = row.checked_mul(self.schema.fields().len()).and_then(|first| first.checked_add(column));
        let (batch, from) = at.and_then(|at| self.picks.get(at)).copied().ok_or_else(|| no_row(row))?;
        if self.batches.get(batch).is_none_or(|batch| from >= batch.num_rows()) {
            return Err(no_row(row));
        }
        Ok((batch, from))
    }

    /// A column of all batches.
    fn column(&self, column: usize) -> Result<Vec<&ArrayRef>> {
        let columns = self.batches.iter().map(|batch| batch.columns().get(column));
        let columns: Option<Vec<_>> = columns.collect();
        columns.ok_or_else(|| Error::internal("batches of other columns than the rows made of them"))
    }

    fn gathered(&self, rows: &[RowRef]) -> Result<RecordBatch> {
        if rows.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let mut picks = Vec::with_capacity(rows.len());
        let columns = (0..self.schema.fields().len()).map(|column| {
            picks.clear();
            for row in rows {
                picks.push(self.pick(row.at as usize, column)?);
            }
            let values: Vec<&dyn Array> = self.column(column)?.into_iter().map(AsRef::as_ref).collect();
            interleave(&values, &picks).map_err(failed)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(failed)
    }
}

impl RecordFetcher for FoldedRows {
    fn schema(&self) -> SchemaRef {
        match self {
            Self::Whole(rows) => rows.schema(),
            Self::ByColumn(rows) => Arc::clone(&rows.schema),
        }
    }

    fn fetch(&mut self, rows: &[RowRef]) -> Result<FetchedRows> {
        match self {
            Self::Whole(made) => {
                let picks = rows.iter().map(|row| (0, row.at as usize)).collect();
                Ok(FetchedRows { batches: vec![made.clone()], picks })
            }
            Self::ByColumn(made) => Ok(FetchedRows {
                batches: vec![made.gathered(rows)?],
                picks: (0..rows.len()).map(|row| (0, row)).collect(),
            }),
        }
    }
}

#[cold]
fn no_row(row: usize) -> Error {
    Error::internal(format_args!("a fold did not make row {row}"))
}

fn failed(error: ArrowError) -> Error {
    Error::invalid_table("records of one key do not fit together").caused_by(error)
}
