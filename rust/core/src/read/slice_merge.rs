//! The merge of one slice: its logs loaded, base rows merged batch by batch, then the log rows that no base row met.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use super::deleted_rows::DeletedKeys;
use super::log_blocks::LogBlocks;
use super::log_keys::KeyColumns;
use super::log_loader::LogLoader;
use super::log_records::LogRecords;
use super::merge_plan::{MergePlan, folder};
use super::projection::Projection;
use super::report::SharedReport;
use crate::avro;
use crate::config::Semantics;
use crate::error::{Error, Result};
use crate::filter::KeyFilter;
use crate::merge::fold::{Chains, Folder};
use crate::merge::{DeletedRows, EveryRow, Fate, Fetched, Merger, RowRef, Winners, weave};
use crate::plan::{Deletes, Query};

/// A slice whose logs are loaded.
pub(super) struct SliceMerge {
    keys: KeyColumns,
    records: LogRecords,
    by: By,
    /// Whether base rows and log rows meet; or else stand side by side.
    over_base: bool,
    deleted_rows: DeletedRows,
}

/// How it is merged.
enum By {
    Choosing(Merger),
    Folding(Chains, Box<Folder>),
    KeepingAll(EveryRow),
}

impl SliceMerge {
    /// Reads the keys of all blocks; and which columns the read carries.
    pub(super) fn load(
        query: &Query,
        table: &avro::Schema,
        types: &Schema,
        blocks: LogBlocks,
        report: &SharedReport,
    ) -> Result<(Projection, Self)> {
        // Hudi 1.x merges nothing where it is told not to; 0.x merges the logs among themselves.
        let keep_all = !query.over_base && query.options.semantics == Semantics::V1x;
        let virtual_key = query.virtual_key.as_deref();
        let (keys, plan) = if keep_all {
            (KeyColumns::unordered(virtual_key)?, MergePlan::KeepAll)
        } else {
            let keys = KeyColumns::of(table, types, &query.merge, virtual_key, query.options.semantics)?;
            let keys = if query.deletes == Deletes::InAddedColumn { keys.without_operation() } else { keys };
            let partial = blocks.blocks.iter().any(|found| found.block.is_partial());
            let plan = MergePlan::of(&query.merge, query.options.semantics, &keys, partial)?;
            (keys, plan)
        };
        let fold_columns: Vec<String> = match &plan {
            MergePlan::Choose(_) | MergePlan::KeepAll => Vec::new(),
            MergePlan::Fold(..) => keys.fold_columns(),
        };
        let projection = Projection::new(types, &query.columns, &query.filter, &keys.of_base(), &fold_columns)?;
        let wanted = keys.key.column().map_or(KeyFilter::All, |column| KeyFilter::of(&query.filter, column));
        let carried = &projection.carried;
        let deleted_rows =
            if query.deletes == Deletes::LeftOut { DeletedRows::LeftOut } else { DeletedRows::Delivered };
        let deleted = (deleted_rows == DeletedRows::Delivered)
            .then(|| DeletedKeys::new(Arc::clone(carried), keys.clone(), &query.key_fields));
        let loader = LogLoader { table, types, keys: &keys, carried, deleted, report: report.clone() };
        let (records, by) = match plan {
            MergePlan::Choose(rules) => {
                let mut merger = Merger::new(rules).only(wanted);
                let records = loader.load(blocks, &mut merger)?;
                (records, By::Choosing(merger))
            }
            MergePlan::Fold(rules, absence) => {
                let mut chains = Chains::only(wanted);
                let mut records = loader.load(blocks, &mut chains)?;
                let folder = folder(rules, &absence, table, carried, &keys, records.take_missing(), deleted_rows);
                (records, By::Folding(chains, Box::new(folder)))
            }
            MergePlan::KeepAll => {
                let mut rows = EveryRow::default();
                (loader.load(blocks, &mut rows)?, By::KeepingAll(rows))
            }
        };
        Ok((projection, Self { keys, records, by, over_base: query.over_base, deleted_rows }))
    }

    /// A batch of base rows, merged. `carried` are those of its columns that are carried on.
    pub(super) fn over_base(
        &mut self,
        base: &RecordBatch,
        carried: RecordBatch,
        projection: &Projection,
    ) -> Result<RecordBatch> {
        if !self.over_base {
            return Ok(carried);
        }
        match &mut self.by {
            By::KeepingAll(_) => Ok(carried),
            By::Choosing(merger) => {
                if !merger.has_open_keys() {
                    return Ok(carried);
                }
                match merger.merge_base(&self.keys.key.of_base(base)?, &self.keys.base_ordering(base)?) {
                    Some(fates) => weave(Some(&carried), &fates, &mut self.records, self.deleted_rows),
                    None => Ok(carried),
                }
            }
            By::Folding(chains, folder) => {
                if !chains.has_open_keys() {
                    return Ok(carried);
                }
                let (rows, entries): (Vec<usize>, Vec<u32>) =
                    chains.meet_base(&self.keys.key.of_base(base)?).into_iter().unzip();
                if rows.is_empty() {
                    return Ok(carried);
                }
                let met = take_rows(base, &rows)?;
                let (ordering, met) = (self.keys.base_ordering(&met)?, projection.carried_of(&met)?);
                let folded = folder.fold(chains, &entries, Some((&met, &ordering)), &mut self.records)?;
                let mut fates = vec![Fate::Keep; carried.num_rows()];
                for (row, fate) in rows.into_iter().zip(folded.fates) {
                    if let Some(slot) = fates.get_mut(row) {
                        *slot = fate;
                    }
                }
                weave(Some(&carried), &fates, &mut Made(folded.rows), self.deleted_rows)
            }
        }
    }

    /// Rows of keys that no base row had: at most `limit`, from entry `from` on, and the entry to go on from.
    pub(super) fn inserts(&mut self, from: usize, limit: usize) -> Result<(Option<RecordBatch>, Option<usize>)> {
        let (fates, next) = match &mut self.by {
            By::Choosing(merger) => merger.inserts(from, limit),
            By::KeepingAll(rows) => rows.rows(from, limit),
            By::Folding(chains, folder) => {
                let (entries, next) = chains.inserts(from, limit);
                if entries.is_empty() {
                    return Ok((None, next));
                }
                let folded = folder.fold(chains, &entries, None, &mut self.records)?;
                return Ok((Some(weave(None, &folded.fates, &mut Made(folded.rows), self.deleted_rows)?), next));
            }
        };
        if fates.is_empty() {
            return Ok((None, next));
        }
        Ok((Some(weave(None, &fates, &mut self.records, self.deleted_rows)?), next))
    }
}

/// Rows that a fold made, by ordinal.
struct Made(RecordBatch);

impl Winners for Made {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn fetch(&mut self, rows: &[RowRef]) -> Result<Fetched> {
        let picks = rows.iter().map(|row| (0, row.at as usize)).collect();
        Ok(Fetched { batches: vec![self.0.clone()], picks })
    }
}

fn take_rows(batch: &RecordBatch, rows: &[usize]) -> Result<RecordBatch> {
    let rows: UInt64Array = rows.iter().map(|row| *row as u64).collect();
    take_record_batch(batch, &rows)
        .map_err(|error| Error::invalid_table("rows of a base file could not be taken").caused_by(error))
}
