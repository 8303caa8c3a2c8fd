//! Writes the base files of a new record index, from the keys of their file groups.

use std::sync::Arc;

use super::key_check_stage::SORT_MEMORY;
use crate::distributed::exchange::{
    Chunks, ClosingStore, IndexFileReport, Input, Output, ReadReport, StageStep, TaskAttempt, WriteIndexSpec,
    receive_keys,
};
use mortice_base::error::{Error, Result};
use mortice_commit::commit::OpenMark;
use mortice_commit::metadata_upkeep::{IndexFiles, IndexTarget, METADATA_ROOT};
use mortice_merge::spill::{EntrySorter, SpillFolder};
use mortice_storage::{FileStore, open_file_store};
use mortice_table::plan::OpenTable;
use mortice_write::write::WriteToken;

/// Writes base files.
pub(crate) struct IndexFilesStage {
    table: OpenTable,
    store: Arc<dyn FileStore>,
    spec: WriteIndexSpec,
    input: Chunks,
    attempt: TaskAttempt,
}

impl IndexFilesStage {
    /// Prepares to write.
    pub(crate) fn new(table: OpenTable, spec: WriteIndexSpec, attempt: TaskAttempt, input: Input) -> Result<Self> {
        let store = open_file_store(&table.uri, &table.storage_options)?;
        let mark = OpenMark::below(Arc::clone(&store), METADATA_ROOT, &spec.instant, &spec.mark);
        let store = Arc::new(ClosingStore::with_mark(store, &spec.instant, mark));
        Ok(Self { table, store, spec, input: Chunks::new(input), attempt })
    }

    fn write(&mut self, file_group: u32) -> Result<IndexFileReport> {
        let folder = SpillFolder::new(self.table.options.spill_dir.as_deref());
        let sorter = EntrySorter::new(folder, SORT_MEMORY);
        let mut buffer = sorter.buffer();
        let received = receive_keys(&mut self.input, file_group, &mut |key, place| {
            let slice = u32::try_from(place.number).map_err(|_| other_slice())?;
            sorter.add(&mut buffer, key.as_bytes(), &slice.to_be_bytes())
        })?;
        sorter.give_back(buffer);
        let sorted = sorter.finish()?;
        // Of each attempt, so that attempts that run on beside each other write files of their own.
        let token = WriteToken { task: file_group, stage: self.attempt.stage, attempt: WriteToken::new_attempt() };
        let token = token.to_string();
        let (store, instant) = (self.store.as_ref(), &self.spec.instant);
        let mut files =
            IndexFiles::new(IndexTarget { store, table: &self.table, instant, token: &token }, &self.spec.groups);
        for entry in sorted.iter() {
            let entry = entry?;
            let slice = u32::from_be_bytes(entry.value.try_into().map_err(|_| other_slice())?);
            files.add(file_group, entry.key, slice)?;
        }
        Ok(IndexFileReport { file_group, received, statuses: files.finish()? })
    }
}

fn other_slice() -> Error {
    Error::internal("a record key of a slice that is not there")
}

impl StageStep for IndexFilesStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(file_group) = self.input.next_target()? else { return Ok(false) };
        let report = self.write(file_group)?;
        output.report(file_group, &ReadReport::IndexWritten(Box::new(report)))?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.attempt.partition
    }
}
