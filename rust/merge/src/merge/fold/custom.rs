//! Folds record groups by a merger of whole rows, a user-defined one or the metadata table's, many keys at a time.
//!
//! The merger gets two batches with the same number of rows: the older records of some keys, and the newer ones, with
//! all columns of the table in its order. It returns the merged rows, and which of them are kept. The records of a key
//! are merged from the oldest of the log to the newest, and the result over the base row: round by round, the first two
//! records of every key, then the third, and so on. A delete removes what was before it, without a call of the merger;
//! so does a row that is not kept. Rows that follow a delete in the log are merged over the base row nevertheless,
//! unless the merger says otherwise ([`RowMerger::deletes_base`]).

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave;

use super::super::input::{FetchedRows, RecordFetcher, RowRef};
use super::super::outcome::MergeOutcome;
use super::super::output::DeletedRows;
use super::super::record_groups::{GroupRecord, RecordGroups};
use super::super::rules::DeleteState;
use super::folded_rows::FoldedRows;
use super::folder::{Fold, FoldBase, FoldResult};
use mortice_base::error::{Error, Result};

/// Merges records of one key (`HoodieRecordMerger`), many keys at once.
pub trait RowMerger: Send + Sync {
    /// Merges pairs of records. Returns as many rows, of the same schema, and which of them are kept.
    fn merge(&self, older: &RecordBatch, newer: &RecordBatch) -> Result<(RecordBatch, BooleanArray)>;

    /// Whether a delete in the log removes the base row, so that rows that follow it are not merged over that.
    fn deletes_base(&self) -> bool {
        false
    }
}

/// A fold by a merger of whole rows.
pub struct CustomFold {
    /// The merger.
    pub merger: Arc<dyn RowMerger>,
    /// The table's columns, in its order, as ordinals among the projected columns.
    pub columns: Vec<usize>,
    /// Whether deleted keys become rows, too.
    pub deleted_rows: DeletedRows,
}

/// The position of a row: the batch of the pool, and the row in it.
type RowPosition = (usize, usize);

/// The merged records of a key so far.
#[derive(Debug, Clone, Copy)]
enum MergedRow {
    Row(RowPosition),
    /// Deleted, with the row of the delete if it has one.
    Deleted(Option<RowPosition>),
}

/// All rows: those that were fetched, and those that the merger made.
struct RowPool {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Fold for CustomFold {
    fn fold(
        &self,
        groups: &RecordGroups,
        base: Option<FoldBase<'_>>,
        fetcher: &mut dyn RecordFetcher,
    ) -> Result<FoldResult> {
        let wanted = groups.records().filter(|record| self.has_row(record)).map(|record| record.row);
        let FetchedRows { batches, picks } = fetcher.fetch(&wanted.collect::<Vec<_>>())?;
        let mut pool = RowPool { schema: fetcher.schema(), batches };
        let mut picks = picks.into_iter();
        let records = groups.records().map(|record| self.state_of(&record, &mut picks));
        let records = records.collect::<Result<Vec<MergedRow>>>()?;
        let mut states = vec![None; groups.len()];
        for round in 0..groups.ranges().map(|records| records.len()).max().unwrap_or_default() {
            let newer = groups.ranges().map(|of_key| records.get(of_key)?.get(round).copied());
            states = self.merged(states, newer.collect(), &mut pool)?;
        }
        if let Some(base) = base {
            base.check(groups.len())?;
            pool.batches.push(base.batch.clone());
            let batch = pool.batches.len() - 1;
            let rows = base.rows.iter().zip(groups.ranges());
            let older = rows.map(|(row, of_key)| {
                let is_deleted = records.get(of_key).is_some_and(|records| self.is_base_deleted(records));
                (!is_deleted).then_some(MergedRow::Row((batch, *row)))
            });
            states = self.merged(older.collect(), states, &mut pool)?;
        }
        self.folded(&states, &pool)
    }
}

impl CustomFold {
    fn has_row(&self, record: &GroupRecord<'_>) -> bool {
        record.side.deleted == DeleteState::No || self.deleted_rows == DeletedRows::Delivered
    }

    fn state_of(&self, record: &GroupRecord<'_>, picks: &mut impl Iterator<Item = RowPosition>) -> Result<MergedRow> {
        if !self.has_row(record) {
            return Ok(MergedRow::Deleted(None));
        }
        let place = picks.next().ok_or_else(|| Error::internal("fewer rows were fetched than asked for"))?;
        Ok(if record.side.deleted == DeleteState::No { MergedRow::Row(place) } else { MergedRow::Deleted(Some(place)) })
    }

    /// Whether the log records of a key, as they were before they were merged, remove its base row.
    fn is_base_deleted(&self, records: &[MergedRow]) -> bool {
        self.merger.deletes_base() && records.iter().any(|record| matches!(record, MergedRow::Deleted(_)))
    }

    /// Merges the states of each key. If both are rows, the merger is called.
    fn merged(
        &self,
        older: Vec<Option<MergedRow>>,
        newer: Vec<Option<MergedRow>>,
        pool: &mut RowPool,
    ) -> Result<Vec<Option<MergedRow>>> {
        let pairs: Vec<(RowPosition, RowPosition)> = older
            .iter()
            .zip(&newer)
            .filter_map(|pair| match pair {
                (Some(MergedRow::Row(older)), Some(MergedRow::Row(newer))) => Some((*older, *newer)),
                _ => None,
            })
            .collect();
        let kept = if pairs.is_empty() { Vec::new() } else { self.call_merger(&pairs, pool)? };
        let batch = pool.batches.len().saturating_sub(1);
        let mut made = kept.into_iter().enumerate().map(|(row, is_kept)| {
            let place = (batch, row);
            if is_kept { MergedRow::Row(place) } else { MergedRow::Deleted(Some(place)) }
        });
        let states = older.into_iter().zip(newer).map(|pair| match pair {
            (Some(MergedRow::Row(_)), Some(MergedRow::Row(_))) => made.next(),
            (older, None) => older,
            (_, newer) => newer,
        });
        Ok(states.collect())
    }

    /// Calls the merger and adds its rows to the pool. Returns which of them are kept.
    fn call_merger(&self, pairs: &[(RowPosition, RowPosition)], pool: &mut RowPool) -> Result<Vec<bool>> {
        let in_table_order = |rows: RecordBatch| rows.project(&self.columns).map_err(failed);
        let older = in_table_order(pool.rows(pairs.iter().map(|pair| pair.0).collect())?)?;
        let newer = in_table_order(pool.rows(pairs.iter().map(|pair| pair.1).collect())?)?;
        let (rows, keep) = self.merger.merge(&older, &newer)?;
        if rows.num_rows() != pairs.len() || keep.len() != pairs.len() || keep.null_count() > 0 {
            return Err(Error::invalid_argument(format!(
                "the registered merger returned {} rows and a mask of {} values ({} nulls) for {} pairs of rows",
                rows.num_rows(),
                keep.len(),
                keep.null_count(),
                pairs.len()
            )));
        }
        pool.batches.push(self.projected(&rows, &pool.schema)?);
        Ok(keep.values().iter().collect())
    }

    /// The merger's rows, with the projected columns in their order.
    fn projected(&self, rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        let columns = schema.fields().iter().enumerate().map(|(projected, field)| {
            let column = self.columns.iter().position(|at| *at == projected).and_then(|at| rows.columns().get(at));
            match column {
                Some(column) if column.data_type() == field.data_type() => Ok(Arc::clone(column)),
                Some(column) => Err(Error::invalid_argument(format!(
                    "the registered merger returned column {:?} as {}, expected {}",
                    field.name(),
                    column.data_type(),
                    field.data_type()
                ))),
                None => Err(Error::invalid_argument(format!(
                    "the registered merger did not return column {:?}",
                    field.name()
                ))),
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_>>()?, &options).map_err(failed)
    }

    fn folded(&self, states: &[Option<MergedRow>], pool: &RowPool) -> Result<FoldResult> {
        let (mut places, mut outcomes) = (Vec::new(), Vec::with_capacity(states.len()));
        for state in states {
            let at = u32::try_from(places.len()).map_err(|_| Error::unsupported("4 billion rows in a batch"))?;
            let row = RowRef { source: 0, at };
            outcomes.push(match state {
                Some(MergedRow::Row(_)) => MergeOutcome::Replace(row),
                Some(MergedRow::Deleted(_)) => MergeOutcome::Delete(row),
                None => return Err(Error::internal("a key without a record")),
            });
            if let Some(MergedRow::Row(place) | MergedRow::Deleted(Some(place))) = state {
                places.push(*place);
            }
        }
        Ok(FoldResult { rows: FoldedRows::Whole(pool.rows(places)?), outcomes })
    }
}

impl RowPool {
    fn rows(&self, places: Vec<RowPosition>) -> Result<RecordBatch> {
        if places.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let columns = (0..self.schema.fields().len()).map(|column| {
            let arrays: Vec<_> = self.batches.iter().map(|batch| batch.column(column).as_ref()).collect();
            interleave(&arrays, &places)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(failed)
    }
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_argument("the rows that the registered merger returned do not fit the table").caused_by(error)
}
