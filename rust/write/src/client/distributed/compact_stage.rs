//! File slices that are compacted in other processes.

use std::sync::Arc;

use super::closing_store::ClosingStore;
use super::reports::{CompactedReport, ReadReport};
use super::specs::CompactSpec;
use super::stage::{Input, Output, StageStep, TaskAttempt};
use super::state::OpenWrite;
use super::task_numbers::AssignedSlices;
use crate::write::{AppendOptions, BaseFileOptions, CompactHandle, CompactTarget, WriteToken};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_storage::{FileStore, open_file_store};

/// Writes the base files of slices.
pub(super) struct CompactStage {
    write: OpenWrite,
    spec: CompactSpec,
    store: Arc<dyn FileStore>,
    options: BaseFileOptions,
    change_block_bytes: usize,
    slices: AssignedSlices,
    attempt: TaskAttempt,
}

impl CompactStage {
    /// Prepares to write.
    ///
    /// # Errors
    /// Those of opening the storage; `InvalidArgument` for options of files.
    pub(super) fn new(write: OpenWrite, spec: CompactSpec, attempt: TaskAttempt, input: Input) -> Result<Self> {
        let store = open_file_store(&write.table.uri, &write.table.storage_options)?;
        let store = Arc::new(ClosingStore::new(store, write.instant()?));
        let options = BaseFileOptions::from_hudi_options(&write.options, write.table.config.layout())?;
        let change_block_bytes =
            AppendOptions::from_hudi_options(&write.options, write.table.config.layout())?.max_block_bytes;
        Ok(Self { write, spec, store, options, change_block_bytes, slices: AssignedSlices::new(input), attempt })
    }

    fn compact(&self, number: u32, output: &mut Output) -> Result<()> {
        let slice = self.spec.slices.get(at(number));
        let slice = slice.ok_or_else(|| Error::internal("a file slice that is not there"))?.clone();
        let handle = CompactHandle {
            store: &self.store,
            table: &self.write.table,
            schema: &self.write.schema.stored,
            options: &self.options,
            change_block_bytes: self.change_block_bytes,
            memory: self.write.table.options.memory_limit,
        };
        let token = WriteToken { task: number, stage: self.attempt.stage, attempt: self.attempt.attempt };
        let target = CompactTarget { slice, instant: self.write.instant()?.clone(), token };
        let mut status = handle.compact(&target)?;
        if !self.spec.keeps_blooms {
            status.drop_bloom();
        }
        let report = Box::new(CompactedReport { slice: number, statuses: vec![status] });
        output.report(number, &ReadReport::CompactionResult(report))
    }
}

impl StageStep for CompactStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(number) = self.slices.next(&self.spec.tasks)? else { return Ok(false) };
        self.compact(number, output)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.attempt.partition
    }
}
