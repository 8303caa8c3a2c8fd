//! The rows of one slot, merged with the stored rows of their keys, and placed.

use super::deleted_rows::NewRows;
use super::tag_stage::{place, read_rows};
use super::tags::SlotTags;
use crate::distributed::exchange::{ChunkKind, Chunks, Input, OpenWrite, Output, StageStep, TaskAttempt};
use mortice_base::error::{Error, Result};
use mortice_write::index::merge_with_stored_rows;

/// Merges the rows of slots with stored ones.
pub(crate) struct MoveStage {
    write: OpenWrite,
    input: Chunks,
    partition: u32,
}

impl MoveStage {
    pub(crate) fn new(write: OpenWrite, task: TaskAttempt, input: Input) -> Self {
        Self { write, input: Chunks::new(input), partition: task.partition }
    }
}

impl StageStep for MoveStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(slot) = self.input.next_target()? else { return Ok(false) };
        let (sent, sum) = read_rows(&mut self.input, &self.write, slot)?;
        let tags = self.input.next_of(slot, ChunkKind::SlotTags)?;
        let (Some(sent), Some(tags)) = (sent, tags) else {
            return Err(Error::internal("stored rows of keys that no row has"));
        };
        let (tagged, looked_up) = SlotTags::of_chunk(&tags)?.with_rows(sent)?;
        let new = NewRows::from_rows(&self.write, &tagged.rows)?;
        let OpenWrite { table, index, settings, .. } = &self.write;
        let input = &mut self.input;
        let stored = std::iter::from_fn(|| input.next_of(slot, ChunkKind::StoredRows).transpose());
        let stored = stored.map(|chunk| chunk?.batch());
        let merged = merge_with_stored_rows(table, index.as_ref(), tagged, &looked_up, stored, &settings.keys)?;
        while let Some(deleted) = self.input.next_of(slot, ChunkKind::DeletedRows)? {
            new.as_ref().map_or(Ok(()), |new| new.check(&deleted))?;
        }
        place(&self.write, slot, &merged, sum, output)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
