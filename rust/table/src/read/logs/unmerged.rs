//! Log rows without merging: they are streamed, some blocks at a time, and no block is kept once its rows are returned.

use std::ops::Range;

use arrow_schema::{Schema, SchemaRef};

use super::deleted_rows::DeletedKeyRows;
use super::log_blocks::LogBlocks;
use super::log_loader::LogLoader;
use super::log_records::LogRecords;
use crate::read::memory::SliceMemory;
use crate::read::report::SharedReport;
use crate::schema::SchemaEvolution;
use mortice_avro as avro;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::Result;
use mortice_merge::keys::KeyColumns;
use mortice_merge::merge::{EveryRow, MergeOutcome};

/// The size of contents that are loaded at a time, unless a block is larger.
const AT_ONCE: u64 = 8 << 20;

/// The remaining log rows of a slice.
pub(in crate::read) struct UnmergedRows {
    pub(in crate::read) table: avro::Schema,
    pub(in crate::read) types: Schema,
    pub(in crate::read) evolution: Option<SchemaEvolution>,
    pub(in crate::read) keys: KeyColumns,
    pub(in crate::read) projected: SchemaRef,
    pub(in crate::read) deleted: Option<DeletedKeyRows>,
    pub(in crate::read) report: SharedReport,
    pub(in crate::read) blocks: LogBlocks,
    /// Whether deletes are returned as rows, as in a change log.
    pub(in crate::read) with_deletes: bool,
    /// The blocks that are still to be loaded.
    pub(in crate::read) left: Range<usize>,
    /// The rows of the loaded blocks, and the next of them.
    pub(in crate::read) rows: EveryRow,
    pub(in crate::read) next_row: Option<usize>,
}

impl UnmergedRows {
    /// Returns the next rows, as many as fit a batch, which are in `records`; `None` after the last.
    pub(in crate::read) fn next(
        &mut self,
        limit: BatchLimit,
        records: &mut LogRecords,
        memory: &mut SliceMemory,
    ) -> Result<Option<Vec<MergeOutcome>>> {
        loop {
            if let Some(from) = self.next_row {
                let (outcomes, next) = self.rows.rows(from, records.rows_at_once(limit));
                self.next_row = next;
                if !outcomes.is_empty() {
                    return Ok(Some(outcomes));
                }
                continue;
            }
            let some = self.some_blocks();
            if some.is_empty() {
                return Ok(None);
            }
            self.left.start = some.end;
            *records = self.load(some, memory)?;
            self.next_row = Some(0);
        }
    }

    fn load(&mut self, some: Range<usize>, memory: &mut SliceMemory) -> Result<LogRecords> {
        memory.forget();
        self.rows = if self.with_deletes { EveryRow::with_deletes() } else { EveryRow::default() };
        let loader = LogLoader {
            table: &self.table,
            types: &self.types,
            evolution: self.evolution.as_ref(),
            keys: &self.keys,
            projected: &self.projected,
            deleted: self.deleted.clone(),
            report: self.report.clone(),
        };
        loader.load(&self.blocks, some, &mut self.rows, memory)
    }

    /// Returns the blocks to load next: at least one, if there is one.
    fn some_blocks(&self) -> Range<usize> {
        let mut bytes = 0_u64;
        let lens = self.blocks.blocks.iter().skip(self.left.start).take(self.left.len()).map(|found| {
            let content = &found.block.content;
            content.end.saturating_sub(content.start)
        });
        let some = lens.take_while(|len| {
            let takes = bytes == 0 || bytes.saturating_add(*len) <= AT_ONCE;
            bytes = bytes.saturating_add(*len).max(1);
            takes
        });
        self.left.start..self.left.start + some.count()
    }
}
