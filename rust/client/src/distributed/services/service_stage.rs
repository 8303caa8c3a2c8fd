//! Parts of a service's plan that are executed in other processes.

use std::sync::Arc;

use crate::distributed::exchange::{
    AssignedSlices, ClosingStore, Input, OpenWrite, Output, PartReport, ReadReport, ServiceParts, ServiceSpec,
    StageStep, TaskAttempt,
};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_services::clustering::{ClusteringOptions, ClusteringRun, buckets_of_plan};
use mortice_storage::{FileStore, open_file_store};
use mortice_table::file_group::FileSlice;
use mortice_write::write::{
    CompactHandle, CompactTarget, LogCompactHandle, LogCompactTarget, LogNaming, WriteStatus, WriteToken,
};

/// Writes the files of parts.
pub(crate) struct ServiceStage {
    write: OpenWrite,
    spec: ServiceSpec,
    store: Arc<dyn FileStore>,
    parts: AssignedSlices,
    attempt: TaskAttempt,
}

impl ServiceStage {
    /// Prepares to write.
    pub(crate) fn new(write: OpenWrite, spec: ServiceSpec, attempt: TaskAttempt, input: Input) -> Result<Self> {
        let store = open_file_store(&write.table.uri, &write.table.storage_options)?;
        let store = Arc::new(ClosingStore::new(store, write.instant()?));
        Ok(Self { write, spec, store, parts: AssignedSlices::new(input), attempt })
    }

    /// Executes a part with all the memory that the table's options give a process.
    fn execute(&self, number: u32) -> Result<Vec<WriteStatus>> {
        let missing = || Error::internal("a part of a plan that is not there");
        let token = WriteToken { task: number, stage: self.attempt.stage, attempt: self.attempt.attempt };
        match &self.spec.parts {
            ServiceParts::Compact(slices) => self.compact(slices.get(at(number)).ok_or_else(missing)?, token),
            ServiceParts::LogCompact(slices) => self.log_compact(slices.get(at(number)).ok_or_else(missing)?, token),
            ServiceParts::Cluster(plan) => {
                let (write, instant) = (&self.write, self.write.instant()?);
                let run = ClusteringRun::new(
                    &self.store,
                    &write.table,
                    &write.schema,
                    instant,
                    &ClusteringOptions::resolve(&write.options)?,
                    &write.settings.base_files,
                )
                .with_buckets(buckets_of_plan(&write.table, plan, &write.settings.index)?);
                run.write_alone(plan.groups.get(at(number)).ok_or_else(missing)?, &plan.sort_columns, token)
            }
        }
    }

    fn compact(&self, slice: &FileSlice, token: WriteToken) -> Result<Vec<WriteStatus>> {
        let handle = CompactHandle {
            store: &self.store,
            table: &self.write.table,
            schema: &self.write.schema.stored,
            options: &self.write.settings.base_files,
            change_block_bytes: self.write.settings.log_files.max_block_bytes,
            memory: self.write.table.options.memory_limit,
        };
        let target = CompactTarget { slice: slice.clone(), instant: self.write.instant()?.clone(), token };
        Ok(vec![handle.compact(&target)?])
    }

    fn log_compact(&self, (slice, naming): &(FileSlice, LogNaming), token: WriteToken) -> Result<Vec<WriteStatus>> {
        let handle = LogCompactHandle {
            store: &self.store,
            table: &self.write.table,
            schema: &self.write.schema.stored,
            options: &self.write.settings.log_files,
            memory: self.write.table.options.memory_limit,
        };
        let (slice, naming, instant) = (slice.clone(), naming.clone(), self.write.instant()?.clone());
        handle.compact(&LogCompactTarget { slice, instant, token, naming })
    }
}

impl StageStep for ServiceStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(number) = self.parts.next(&self.spec.tasks)? else { return Ok(false) };
        let mut statuses = self.execute(number)?;
        if !self.spec.keeps_blooms {
            statuses.iter_mut().for_each(WriteStatus::drop_bloom);
        }
        output.report(number, &ReadReport::PartResult(Box::new(PartReport { part: number, statuses })))?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.attempt.partition
    }
}
