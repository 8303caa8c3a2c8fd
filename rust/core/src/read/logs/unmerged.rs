//! Log rows as they stand, unmerged: streamed, some blocks at a time, of which none is kept once its rows are delivered.

use std::ops::Range;

use arrow_schema::{Schema, SchemaRef};

use super::deleted_rows::DeletedKeys;
use super::log_blocks::LogBlocks;
use super::log_loader::LogLoader;
use super::log_records::LogRecords;
use crate::avro;
use crate::error::Result;
use crate::keys::KeyColumns;
use crate::merge::{EveryRow, MergeOutcome};
use crate::read::memory::SliceMemory;
use crate::read::report::SharedReport;
use crate::schema::Evolution;

/// Bytes of contents that are loaded at a time, if a block is not longer.
const AT_ONCE: u64 = 8 << 20;

/// The log rows of a slice, still to come.
pub(in crate::read) struct Unmerged {
    pub(in crate::read) table: avro::Schema,
    pub(in crate::read) types: Schema,
    pub(in crate::read) evolution: Option<Evolution>,
    pub(in crate::read) keys: KeyColumns,
    pub(in crate::read) carried: SchemaRef,
    pub(in crate::read) deleted: Option<DeletedKeys>,
    pub(in crate::read) report: SharedReport,
    pub(in crate::read) blocks: LogBlocks,
    /// Whether deletes are told from rows, as in a change log.
    pub(in crate::read) with_deletes: bool,
    /// Which of them are still to be loaded.
    pub(in crate::read) left: Range<usize>,
    /// The rows of the blocks that are loaded, and the next of them.
    pub(in crate::read) rows: EveryRow,
    pub(in crate::read) next_row: Option<usize>,
}

impl Unmerged {
    /// The next rows, at most `limit`, which lie in `records`; none after the last.
    pub(in crate::read) fn next(
        &mut self,
        limit: usize,
        records: &mut LogRecords,
        memory: &mut SliceMemory,
    ) -> Result<Option<Vec<MergeOutcome>>> {
        loop {
            if let Some(from) = self.next_row {
                let (outcomes, next) = self.rows.rows(from, limit);
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
            carried: &self.carried,
            deleted: self.deleted.clone(),
            report: self.report.clone(),
        };
        loader.load(&self.blocks, some, &mut self.rows, memory)
    }

    /// The blocks that are loaded next: at least one, while there is one.
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
