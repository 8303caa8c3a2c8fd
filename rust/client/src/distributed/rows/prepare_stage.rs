//! A user's rows in the table's types, with their keys.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::placer::Placer;
use crate::distributed::exchange::{
    Address, ChunkKind, Distributor, Input, OpenWrite, Output, PrepareSpec, PreparedReport, ReadReport, RowSum,
    StageStep, TaskAttempt, sent_rows,
};
use mortice_base::error::{Error, Result};
use mortice_merge::spill::{RowBatches, row_bytes};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{IndexedRows, Tagged};
use mortice_write::row_set::WriteRows;
use mortice_write::rows::{RefusedRows, RowOrigin};

/// Prepares the rows of one partition of the user's data frame.
pub(crate) struct PrepareStage {
    write: OpenWrite,
    input: Input,
    partition: u32,
    first_row: u64,
    report: PreparedReport,
    /// Places rows at once, if no keys are looked up.
    placer: Option<Placer>,
    chunks: Distributor,
}

impl PrepareStage {
    pub(crate) fn new(write: OpenWrite, spec: &PrepareSpec, task: TaskAttempt, input: Input) -> Self {
        let report = PreparedReport { rows: RowSum::default(), bytes: 0, partitions: BTreeSet::new() };
        let placer = spec.is_direct.then(|| Placer::new(write.buckets.clone(), write.is_global()));
        let chunks = Distributor::new(ChunkKind::Rows, task.partition);
        Self { write, input, partition: task.partition, first_row: 0, report, placer, chunks }
    }

    fn prepare(&self, batch: &RecordBatch) -> Result<WriteRows> {
        let preparation = self.write.preparation();
        // The driver refuses writes that leave rows out.
        let mut refused = RefusedRows::default();
        let batches = RowBatches::from(batch.clone());
        let prepared = match self.write.operation {
            WriteOperation::Delete => preparation.uncombined_keys(&batches, self.first_row, &mut refused),
            _ => {
                // Generated keys have the instant; where there are none, it is not used.
                let before = "0".parse()?;
                let instant = self.write.instant.as_ref().unwrap_or(&before);
                let origin = RowOrigin { instant, task: self.partition, first_row: self.first_row };
                preparation.uncombined_rows(&batches, &origin, &mut refused)
            }
        };
        prepared.map_err(|error| self.located(error))
    }

    /// Rows are counted in each partition of the data frame.
    fn located(&self, error: Error) -> Error {
        let place = error.location().clone();
        let text = format!("{} (rows of partition {} of the data frame)", error.text(), self.partition);
        let located = Error::new(error.kind(), text);
        match place.path {
            Some(path) => located.in_file(path),
            None => located,
        }
    }

    fn add(&mut self, rows: WriteRows, output: &mut Output) -> Result<()> {
        self.first_row = self.first_row.saturating_add(rows.len() as u64);
        let sum = RowSum::of_keys(&rows.keys, self.write.is_global())?;
        self.report.rows.add(sum);
        let mut last = None;
        for partition in &rows.keys.partitions {
            // Rows of one partition mostly follow each other.
            if partition != last {
                self.report.partitions.extend(partition.map(str::to_owned));
                last = partition;
            }
        }
        let batch = match &mut self.placer {
            None => sent_rows::to_batch(&rows, Vec::new())?,
            Some(placer) => {
                let tagged = Tagged::untagged(rows.len(), Arc::default());
                placer.place(&IndexedRows { rows, tagged })?
            }
        };
        self.report.bytes = self.report.bytes.saturating_add(row_bytes(&batch) as u64);
        self.chunks.add(Address { target: 0, slot: 0, report: None }, batch, output)
    }
}

impl StageStep for PrepareStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        if let Some(batch) = self.input.next() {
            let rows = self.prepare(&batch?)?;
            self.add(rows, output)?;
            return Ok(true);
        }
        self.chunks.flush(output)?;
        let (source, bytes) = (self.partition, self.report.bytes);
        if let Some(placer) = self.placer.take() {
            let report = placer.report(source, self.report.rows, bytes);
            output.report(source, &ReadReport::Placed(report))?;
        }
        output.report(source, &ReadReport::Prepared(self.report.clone()))?;
        Ok(false)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
