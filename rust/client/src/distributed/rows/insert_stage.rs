//! A user's rows, written to new file groups by the task that has them: no row is sent to another one.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::bulk_insert::{BulkTarget, KeyedRows, PartitionWriters, outputs_of};
use crate::distributed::exchange::{
    ClosingStore, Input, OpenWrite, Output, ReadReport, RowSum, StageStep, TaskAttempt, WrittenReport,
};
use mortice_base::error::{Error, Result};
use mortice_storage::{FileStore, open_file_store};
use mortice_write::rows::{DeleteMarks, FullRows, ReadRows, check_inserts};
use mortice_write::write::{BaseFileOptions, WriteStatus};

/// Bytes of rows in open row groups of a task.
const OPEN_BYTES: usize = 64 << 20;
/// Series of file groups of a task, in the sequence numbers of rows; those of more ones are also another task's.
const SERIES_OF_TASK: u32 = 1 << 12;

/// Writes the rows of one partition of the user's data frame.
pub(crate) struct InsertStage {
    write: OpenWrite,
    store: Arc<dyn FileStore>,
    base: BaseFileOptions,
    input: Input,
    attempt: TaskAttempt,
}

impl InsertStage {
    /// Prepares to write.
    pub(crate) fn new(write: OpenWrite, attempt: TaskAttempt, input: Input) -> Result<Self> {
        let store = open_file_store(&write.table.uri, &write.table.storage_options)?;
        let store = Arc::new(ClosingStore::new(store, write.instant()?));
        let base = write.settings.base_files.clone();
        Ok(Self { write, store, base, input, attempt })
    }

    /// Writes all rows. Returns their number and the files.
    fn write_rows(&mut self) -> Result<(u64, Vec<WriteStatus>)> {
        let instant = self.write.instant()?.clone();
        let target = BulkTarget {
            store: &self.store,
            table: &self.write.table,
            schema: &self.write.schema,
            instant: &instant,
            base: self.base.clone(),
            stage: self.attempt.stage,
            attempt: self.attempt.attempt,
            next_task: AtomicU32::new(self.attempt.partition.wrapping_mul(SERIES_OF_TASK)),
            memory: OPEN_BYTES,
        };
        let source = self.write.preparation().source;
        let marks = DeleteMarks::new(&source)?;
        let mut reader = FullRows::new(source, &instant, self.attempt.partition, false)?;
        let mut writers = PartitionWriters::new(&target, false);
        let (mut rows, mut deleted) = (0_u64, 0_u64);
        for batch in self.input.by_ref() {
            let batch = batch?;
            let outputs = outputs_of(&batch)?;
            let (read, keys) = reader.read(&batch, rows)?;
            check_inserts(self.write.operation, &read, rows)?;
            rows = rows.saturating_add(read.num_rows() as u64);
            let deletes = marks.of_rows(&read)?;
            deleted = deleted.saturating_add(deletes.true_count() as u64);
            writers.insert(KeyedRows { rows: read, keys, outputs }.without(&deletes)?)?;
        }
        let statuses = writers.finish()?;
        let results = statuses.iter().fold(deleted, |sum, status| sum.saturating_add(status.writes));
        if results != rows {
            return Err(Error::internal(format!("a task that inserts {rows} rows has {results} results")));
        }
        Ok((rows, statuses))
    }
}

impl StageStep for InsertStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let (rows, statuses) = self.write_rows()?;
        // The rows do not go to another process, so that none can be lost on the way.
        let rows = RowSum { rows, hash: 0 };
        let report = WrittenReport { task: self.attempt.partition, rows, statuses };
        output.report(self.attempt.partition, &ReadReport::Written(report))?;
        Ok(false)
    }

    fn source(&self) -> u32 {
        self.attempt.partition
    }
}
