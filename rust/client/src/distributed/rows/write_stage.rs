//! The rows of one task, written to its file group.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, UInt64Array};

use super::placer::{IS_REPEATED, POSITION};
use super::route_stage::IS_NEW;
use super::tag_stage::read_rows;
use crate::distributed::exchange::{
    Chunks, ClosingStore, Input, OpenWrite, Output, ReadReport, StageStep, TaskAttempt, TaskSpec, WriteSpec,
    WrittenReport,
};
use crate::tasks::{TaskOptions, TaskRunner};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_merge::keys::RowKeys;
use mortice_storage::{FileStore, open_file_store};
use mortice_write::assign::{GroupTask, TaskKind, check_takes};
use mortice_write::row_set::WriteRows;
use mortice_write::rows::partial_schema;
use mortice_write::write::{WriteStatus, WriteToken};

/// Writes the rows of tasks.
pub(crate) struct WriteStage {
    write: OpenWrite,
    spec: WriteSpec,
    store: Arc<dyn FileStore>,
    options: TaskOptions,
    input: Chunks,
    attempt: TaskAttempt,
}

impl WriteStage {
    /// Prepares to write.
    pub(crate) fn new(write: OpenWrite, spec: WriteSpec, attempt: TaskAttempt, input: Input) -> Result<Self> {
        let store = open_file_store(&write.table.uri, &write.table.storage_options)?;
        let store = Arc::new(ClosingStore::new(store, write.instant()?));
        let partial = partial_schema(
            &write.table,
            write.index.as_ref(),
            &write.schema,
            write.operation,
            &write.updated,
            &write.settings.rows,
        )?;
        let options = TaskOptions::new(&write.table, write.operation, &write.settings)
            .with_partial(partial)
            .of_buckets(write.buckets.is_some());
        Ok(Self { write, spec, store, options, input: Chunks::new(input), attempt })
    }

    fn write_task(&mut self, number: u32, output: &mut Output) -> Result<()> {
        let (sent, sum) = read_rows(&mut self.input, &self.write, number)?;
        let task = self.spec.tasks.get(at(number));
        let (Some(sent), Some(TaskSpec { partition, kind })) = (sent, task) else {
            return Err(Error::internal("a task that is not there"));
        };
        let (is_repeated, is_new): (BooleanArray, BooleanArray) = (sent.column(IS_REPEATED)?, sent.column(IS_NEW)?);
        let positions: UInt64Array = sent.column(POSITION)?;
        self.check_new_rows(partition, kind, &sent.rows.keys, &is_new)?;
        // A file that is rewritten takes a row once, though it may have its key several times.
        let takes_once = matches!(kind, TaskKind::Merge { .. });
        let rows: Vec<u32> = (0_u32..)
            .zip(&is_repeated)
            .filter(|(_, is_repeated)| !(takes_once && *is_repeated == Some(true)))
            .map(|(row, _)| row)
            .collect();
        let position_of = |row: &u32| {
            let at = at(*row);
            positions.is_valid(at).then(|| positions.value(at))
        };
        let known: Vec<Option<u64>> = rows.iter().map(position_of).collect();
        let positions = if known.iter().any(Option::is_some) { known } else { Vec::new() };
        let group = GroupTask { partition: partition.clone(), kind: kind.clone(), rows, positions };
        let statuses = self.run(number, &group, &sent.rows, &is_new)?;
        let report = WrittenReport { task: number, rows: sum, statuses };
        output.report(number, &ReadReport::Written(report))
    }

    /// Makes sure that new rows came to a task of their partition and bucket. Those of a file group have its number as
    /// their tag.
    fn check_new_rows(&self, own: &str, kind: &TaskKind, keys: &RowKeys, is_new: &BooleanArray) -> Result<()> {
        let buckets = self.write.buckets.as_deref();
        for ((key, partition), is_new) in keys.record_keys.iter().zip(&keys.partitions).zip(is_new) {
            let (Some(key), Some(partition)) = (key, partition) else {
                return Err(Error::internal("a row without a key"));
            };
            if is_new == Some(true) {
                let bucket = buckets.map(|layout| layout.bucket_of(key, partition).map(|bucket| (layout, bucket)));
                check_takes(own, kind, partition, bucket.transpose()?)?;
            }
        }
        Ok(())
    }

    fn run(&self, number: u32, task: &GroupTask, rows: &WriteRows, is_new: &BooleanArray) -> Result<Vec<WriteStatus>> {
        let runner = TaskRunner {
            store: &self.store,
            table: &self.write.table,
            schema: &self.write.schema,
            instant: self.write.instant()?,
            rows,
            is_new,
            options: &self.options,
            attempt: 0,
        };
        let token = WriteToken { task: number, stage: self.attempt.stage, attempt: self.attempt.attempt };
        let mut statuses = runner.run_one(task, token)?;
        if !self.spec.keeps_blooms {
            statuses.iter_mut().for_each(WriteStatus::drop_bloom);
        }
        Ok(statuses)
    }
}

impl StageStep for WriteStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(task) = self.input.next_target()? else { return Ok(false) };
        self.write_task(task, output)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.attempt.partition
    }
}
