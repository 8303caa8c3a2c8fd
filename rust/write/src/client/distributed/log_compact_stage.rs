//! Logs of file slices that are compacted into logs in other processes.

use std::sync::Arc;

use super::closing_store::ClosingStore;
use super::reports::{CompactedReport, ReadReport};
use super::specs::LogCompactSpec;
use super::stage::{Input, Output, StageStep, TaskAttempt};
use super::state::OpenWrite;
use super::task_numbers::AssignedSlices;
use crate::write::{AppendOptions, LogCompactHandle, LogCompactTarget, WriteToken};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_storage::{FileStore, open_file_store};

/// Writes the log files of slices.
pub(super) struct LogCompactStage {
    write: OpenWrite,
    spec: LogCompactSpec,
    store: Arc<dyn FileStore>,
    options: AppendOptions,
    slices: AssignedSlices,
    attempt: TaskAttempt,
}

impl LogCompactStage {
    /// Prepares to write.
    ///
    /// # Errors
    /// Those of opening the storage; `InvalidArgument` for options of files.
    pub(super) fn new(write: OpenWrite, spec: LogCompactSpec, attempt: TaskAttempt, input: Input) -> Result<Self> {
        let store = open_file_store(&write.table.uri, &write.table.storage_options)?;
        let store = Arc::new(ClosingStore::new(store, write.instant()?));
        let options = AppendOptions::from_hudi_options(&write.options, write.table.config.layout())?;
        Ok(Self { write, spec, store, options, slices: AssignedSlices::new(input), attempt })
    }

    fn compact(&self, number: u32, output: &mut Output) -> Result<()> {
        let slice = self.spec.slices.get(at(number));
        let (slice, naming) = slice.ok_or_else(|| Error::internal("a file slice that is not there"))?.clone();
        let handle = LogCompactHandle {
            store: &self.store,
            table: &self.write.table,
            schema: &self.write.schema.stored,
            options: &self.options,
            memory: self.write.table.options.memory_limit,
        };
        let token = WriteToken { task: number, stage: self.attempt.stage, attempt: self.attempt.attempt };
        let target = LogCompactTarget { slice, instant: self.write.instant()?.clone(), token, naming };
        let statuses = handle.compact(&target)?;
        output.report(number, &ReadReport::CompactionResult(Box::new(CompactedReport { slice: number, statuses })))
    }
}

impl StageStep for LogCompactStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(number) = self.slices.next(&self.spec.tasks)? else { return Ok(false) };
        self.compact(number, output)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.attempt.partition
    }
}
