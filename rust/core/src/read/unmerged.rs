//! Log rows as they stand, unmerged: streamed, some blocks at a time, of which none is kept once its rows are delivered.

use std::ops::Range;

use arrow_schema::{Schema, SchemaRef};

use super::deleted_rows::DeletedKeys;
use super::log_blocks::LogBlocks;
use super::log_loader::LogLoader;
use super::log_records::LogRecords;
use super::memory::SliceMemory;
use super::report::SharedReport;
use crate::avro;
use crate::error::Result;
use crate::keys::KeyColumns;
use crate::merge::{EveryRow, Fate};
use crate::schema::Evolution;

/// Bytes of contents that are loaded at a time, if a block is not longer.
const AT_ONCE: u64 = 8 << 20;

/// The log rows of a slice, still to come.
pub(super) struct Unmerged {
    pub(super) table: avro::Schema,
    pub(super) types: Schema,
    pub(super) evolution: Option<Evolution>,
    pub(super) keys: KeyColumns,
    pub(super) carried: SchemaRef,
    pub(super) deleted: Option<DeletedKeys>,
    pub(super) report: SharedReport,
    pub(super) blocks: LogBlocks,
    /// Whether deletes are told from rows, as in a change log.
    pub(super) with_deletes: bool,
    /// Which of them are still to be loaded.
    pub(super) left: Range<usize>,
    /// The rows of the blocks that are loaded, and the next of them.
    pub(super) rows: EveryRow,
    pub(super) next_row: Option<usize>,
}

impl Unmerged {
    /// The next rows, at most `limit`, which lie in `records`; none after the last.
    pub(super) fn next(
        &mut self,
        limit: usize,
        records: &mut LogRecords,
        memory: &mut SliceMemory,
    ) -> Result<Option<Vec<Fate>>> {
        loop {
            if let Some(from) = self.next_row {
                let (fates, next) = self.rows.rows(from, limit);
                self.next_row = next;
                if !fates.is_empty() {
                    return Ok(Some(fates));
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
