//! The merge of one slice: its logs are indexed, base rows merged batch by batch, then the log rows that no base row
//! matched are inserted. The merge itself is [`mortice_merge::merge::engine`]; this module reads its input.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::log_index::{LogRows, read_logs};
use super::merge_columns::MergeColumns;
use super::merge_input::MergeInput;
use crate::read::base::base_bounds::beats_base;
use crate::read::base::base_segments::BaseSegment;
use crate::read::base::merge_base::MergeBase;
use crate::read::columns::projection::Projection;
use crate::read::logs::log_records::{LogRecords, RowFetcher};
use crate::read::memory::SliceMemory;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::Result;
use mortice_merge::keys::{KeyColumns, RecordKey};
use mortice_merge::merge::engine::{BaseBatch, MergeCounts, RowChanges};
use mortice_merge::merge::{BaseRows, DeletedRows, HashRange, fetch_rows};

/// A slice whose logs are indexed.
pub(in crate::read) struct SliceMerge {
    keys: KeyColumns,
    records: LogRecords,
    memory: SliceMemory,
    rows: LogRows,
    base: Arc<dyn MergeBase>,
    /// The columns of base rows that other parts of the slice merge.
    key_columns: SchemaRef,
    /// Whether base rows are merged with log rows; if not, both are returned (skip merge).
    merges_base: bool,
    deleted_rows: DeletedRows,
    /// Whether each value of a merged row is that of a record of its key.
    keeps_values: bool,
    /// Whether the next insert is the first.
    is_before_inserts: bool,
    /// Whether records are merged by row number, and no row of the base file is filtered.
    has_all_numbers: bool,
    /// Whether records are merged by row number, and base rows have row numbers because some rows are filtered.
    carries_numbers: bool,
}

impl SliceMerge {
    /// Reads the keys of all blocks. Returns also the projection for the merge.
    pub(in crate::read) fn load(from: MergeInput<'_>) -> Result<(Projection, Self)> {
        let (query, types, base) = (from.query, from.types, Arc::clone(from.base));
        let (keys, plan) = from.plan()?;
        let mut columns = MergeColumns::new(&from, keys, plan.as_ref())?;
        let mut memory = SliceMemory::new(&query.options, from.memory_limit, from.report.requests().budget());
        let (records, mut rows) = read_logs(from, &columns, plan, &mut memory)?;
        if let LogRows::Merged(engine) = &mut rows
            && let Some(winning) = engine.winning_records()
            && query.over_base
            && query.options.prune
            && beats_base(winning, &columns.projection, &columns.keys, &*base)?
        {
            columns = columns.without_ordering(types)?;
        }
        let key_columns = columns.key_columns(types, query)?;
        let mut merge = Self {
            keys: columns.keys,
            records,
            memory,
            rows,
            base,
            key_columns,
            merges_base: query.over_base,
            deleted_rows: columns.deleted_rows,
            keeps_values: columns.keeps_values,
            is_before_inserts: true,
            has_all_numbers: columns.by_number && query.range.is_none(),
            carries_numbers: columns.carries_numbers,
        };
        merge.skip_segment(BaseSegment::Before)?;
        Ok((columns.projection, merge))
    }

    /// Returns true if one of the following base rows may match log records.
    pub(in crate::read) fn may_match(&self) -> bool {
        self.merges_base && matches!(&self.rows, LogRows::Merged(engine) if engine.may_match())
    }

    /// Returns true if base rows may be filtered before they are merged. They may not if they are matched by row number
    /// but have no row numbers, or if a custom merger creates new values of their columns.
    pub(in crate::read) fn may_filter_base_rows(&self) -> bool {
        let has_numbers = self.keys.key != RecordKey::Number || self.carries_numbers;
        let is_spilled = matches!(&self.rows, LogRows::Merged(engine) if engine.is_spilled());
        self.keeps_values && has_numbers && !is_spilled
    }

    /// Returns how many base rows may be merged at once: as many as fit a batch when log rows have replaced them.
    pub(in crate::read) fn rows_at_once(&self, limit: BatchLimit) -> usize {
        if self.may_match() { self.records.rows_at_once(limit) } else { usize::MAX }
    }

    /// Returns the only column with the whole record key, if there is one.
    pub(in crate::read) fn key_column(&self) -> Option<&str> {
        self.keys.key_column()
    }

    /// What was merged so far; nothing if records are returned without merging.
    pub(in crate::read) fn counts(&self) -> MergeCounts {
        match &self.rows {
            LogRows::Merged(engine) => engine.counts(),
            LogRows::Unmerged(_) => MergeCounts::default(),
        }
    }

    /// Merges a batch of base rows. `projected` are its projected columns.
    pub(in crate::read) fn merge_base(&mut self, rows: &RecordBatch, projected: RecordBatch) -> Result<RecordBatch> {
        let LogRows::Merged(engine) = &mut self.rows else { return Ok(projected) };
        if !self.merges_base {
            return Ok(projected);
        }
        let base = BaseBatch { rows, projected: &projected, keys: &self.keys };
        let mut fetcher = RowFetcher { records: &mut self.records, memory: &mut self.memory };
        let merged = engine.merge(&base, &mut fetcher)?;
        Ok(merged.unwrap_or(projected))
    }

    /// Returns the rows of a batch that the logs change, before and after; `None` if they change none. `projected` are
    /// the projected columns of the batch.
    pub(in crate::read) fn changes(
        &mut self,
        rows: &RecordBatch,
        projected: &RecordBatch,
    ) -> Result<Option<RowChanges>> {
        let LogRows::Merged(engine) = &mut self.rows else { return Ok(None) };
        if !self.merges_base {
            return Ok(None);
        }
        let base = BaseBatch { rows, projected, keys: &self.keys };
        engine.changes(&base, &mut RowFetcher { records: &mut self.records, memory: &mut self.memory })
    }

    /// Skips the base rows of a segment that another part merges, and the log records that they match.
    fn skip_segment(&mut self, segment: BaseSegment) -> Result<()> {
        let segments = self.base.segments();
        let LogRows::Merged(engine) = &mut self.rows else { return Ok(()) };
        if engine.is_spilled() || !self.merges_base || !engine.may_match() || !segments.has(segment) {
            return Ok(());
        }
        if self.has_all_numbers {
            return engine.skip_base(&BaseRows::Numbers(segments.row_numbers(segment)));
        }
        for batch in self.base.rows(segment, &self.key_columns)? {
            engine.skip_base(&self.keys.key.base_rows(&batch?, 0)?)?;
        }
        Ok(())
    }

    /// Before the first insert, removes the records that belong to other parts of the slice.
    fn begin_inserts(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.is_before_inserts, false) {
            return Ok(());
        }
        self.skip_segment(BaseSegment::After)?;
        let share = self.base.segments().share();
        match &mut self.rows {
            LogRows::Merged(engine) if share != HashRange::ALL => engine.restrict_inserts(share),
            // Unmerged rows are divided by blocks.
            LogRows::Merged(_) | LogRows::Unmerged(_) => {}
        }
        Ok(())
    }

    /// Returns rows of keys that no base row has, as many as fit a batch; `None` after the last.
    pub(in crate::read) fn inserts(&mut self, limit: BatchLimit) -> Result<Option<RecordBatch>> {
        self.begin_inserts()?;
        let rows = self.records.rows_at_once(limit);
        let mut fetcher = RowFetcher { records: &mut self.records, memory: &mut self.memory };
        match &mut self.rows {
            LogRows::Merged(engine) => engine.inserts(rows, &mut fetcher),
            LogRows::Unmerged(rows) => {
                let Some(outcomes) = rows.next(limit, fetcher.records, fetcher.memory)? else { return Ok(None) };
                fetch_rows(&outcomes, &mut fetcher, self.deleted_rows).map(Some)
            }
        }
    }
}
