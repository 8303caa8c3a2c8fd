//! The input of the merge of a slice, and the merge mode in the table's configuration.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use crate::read::base::merge_base::MergeBase;
use crate::read::base::row_numbers;
use crate::read::columns::constant_columns::RowQuery;
use crate::read::logs::deleted_rows::DeletedKeyRows;
use crate::read::logs::log_blocks::LogBlocks;
use crate::read::logs::unmerged::UnmergedRows;
use crate::read::report::SharedReport;
use crate::split::{DeleteOutput, MergerHandle, Query};
use mortice_avro as avro;
use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_merge::config::MergeSemantics;
use mortice_merge::keys::KeyColumns;
use mortice_merge::merge::EveryRow;
use mortice_merge::merge_plan::MergePlan;

/// The input of the merge of one slice.
pub(in crate::read) struct MergeInput<'a> {
    pub(in crate::read) query: &'a Query,
    /// The columns and the filter of the rows, instead of those of the query.
    pub(in crate::read) rows: &'a RowQuery,
    pub(in crate::read) table: &'a avro::Schema,
    pub(in crate::read) types: &'a Schema,
    pub(in crate::read) blocks: LogBlocks,
    pub(in crate::read) base: &'a Arc<dyn MergeBase>,
    /// A user-defined merger, for tables whose configuration names one.
    pub(in crate::read) merger: Option<&'a MergerHandle>,
    pub(in crate::read) memory_limit: u64,
    /// Whether a delete in the logs wins over the base row that it matches, for any ordering values.
    pub(in crate::read) deletes_win: bool,
    pub(in crate::read) report: &'a SharedReport,
}

impl MergeInput<'_> {
    /// Returns the key columns and the merge plan: `None` if records are returned without merging.
    pub(super) fn plan(&self) -> Result<(KeyColumns, Option<MergePlan>)> {
        let Self { query, table, types, blocks, .. } = self;
        let virtual_key = query.virtual_key.as_deref();
        // With skip merge, Hudi 1.x merges nothing; 0.x merges the logs among themselves.
        if !query.over_base && !query.changelog && query.options.semantics == MergeSemantics::V1x {
            return Ok((KeyColumns::unordered(virtual_key)?, None));
        }
        let keys = KeyColumns::new(table, types, &query.merge, virtual_key, query.options.semantics)?;
        let keys = if query.deletes == DeleteOutput::InAddedColumn { keys.without_operation() } else { keys };
        if query.changelog {
            return Ok((keys, None));
        }
        let partial = blocks.has_partial();
        let merger = self.merger.map(|handle| &handle.0);
        let plan = MergePlan::new(&query.merge, query.options.semantics, &keys, partial, merger)?;
        Ok((keys, Some(plan)))
    }

    /// Returns true if all log blocks record the positions of their records in the base file.
    pub(super) fn has_positions(&self) -> Result<bool> {
        if !self.query.over_base || !self.query.options.record_positions {
            return Ok(false);
        }
        row_numbers::are_known(&self.blocks, self.base.as_ref())
    }

    /// Returns true if rows of the base file are filtered out before they are merged: those of other commits, or those
    /// that a filter excludes by columns that are equal in all records of a key (see `base_filter`).
    pub(super) fn filters_base_rows(&self, key_column: Option<&str>) -> bool {
        let query = self.query;
        let agreed = [key_column, query.key_field.as_deref(), Some(meta_columns::PARTITION_PATH)];
        query.range.is_some() || self.rows.filter.columns().iter().any(|column| agreed.contains(&Some(*column)))
    }

    /// Returns the log rows, without merging.
    pub(super) fn unmerged(
        self,
        keys: KeyColumns,
        projected: &SchemaRef,
        deleted: Option<DeletedKeyRows>,
    ) -> UnmergedRows {
        UnmergedRows {
            table: self.table.clone(),
            types: self.types.clone(),
            evolution: self.query.evolution.clone(),
            keys,
            projected: Arc::clone(projected),
            deleted,
            report: self.report.clone(),
            left: self.base.segments().range(self.blocks.blocks.len()),
            blocks: self.blocks,
            with_deletes: self.query.changelog,
            rows: EveryRow::default(),
            next_row: None,
        }
    }
}
