//! The stages of a write of few rows after the first, run by threads of the driver's process: a job of an engine would
//! take longer to plan than the rows to write. What the engine distributes is sorted here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::{Int64Array, RecordBatch};

use crate::distributed::exchange::{Chunk, ChunkKind, Input, TaskAttempt, chunks_of_batch, chunks_to_batch};
use crate::distributed::rows::{DistributedWrite, MovePlan, NextStep, TagPlan, WritePlan};
use crate::distributed::run_stage::run_stage;
use mortice_base::error::{Error, Result};
use mortice_storage::parallel::{self, cores};

impl DistributedWrite {
    /// Runs all stages from a step on, given what the tasks of the first stage have handed on. Returns the reports with
    /// which the write is committed.
    ///
    /// # Errors
    /// As for [`Self::next`]; what tasks have reported as errors.
    pub fn run_here(&mut self, prepared: &[RecordBatch], step: NextStep) -> Result<Vec<Vec<u8>>> {
        let chunks = prepared.iter().map(chunks_of_batch).collect::<Result<Vec<_>>>()?;
        let mut stages =
            Stages { chunks: chunks.into_iter().flatten().filter(is_data).collect(), count: AtomicU32::new(1) };
        let mut step = step;
        loop {
            let reports = match step {
                NextStep::Tag(plan) => stages.tag(plan)?,
                NextStep::Move(plan) => stages.merge(&plan)?,
                NextStep::Write(plan) => return stages.write(&plan),
                NextStep::Commit => return Ok(Vec::new()),
                NextStep::Prepare { .. } | NextStep::Insert { .. } => {
                    return Err(Error::internal("a step that does not follow prepared rows"));
                }
            };
            step = self.next(&reports)?;
        }
    }
}

/// What the stages so far have handed on.
struct Stages {
    chunks: Vec<Chunk>,
    /// The number of the next stage.
    count: AtomicU32,
}

impl Stages {
    fn tag(&mut self, plan: TagPlan) -> Result<Vec<Vec<u8>>> {
        let (mut chunks, _) = self.run(&plan.split, self.parts()?)?;
        if let Some((stage, tasks)) = plan.read_keys {
            let number = |task: u32| {
                let numbers = Arc::new(Int64Array::from(vec![i64::from(task)])) as _;
                let unfit = |error| Error::internal("a number of a task").caused_by(error);
                RecordBatch::try_from_iter([("id", numbers)]).map_err(unfit)
            };
            chunks.extend(self.run(&stage, (0..tasks).map(number).collect::<Result<_>>()?)?.0);
        }
        self.kept(&plan.tag, chunks)
    }

    fn merge(&mut self, plan: &MovePlan) -> Result<Vec<Vec<u8>>> {
        let is_wanted = |chunk: &Chunk| chunk.kind == ChunkKind::Wanted;
        let (wanted, mut chunks): (Vec<_>, Vec<_>) = std::mem::take(&mut self.chunks).into_iter().partition(is_wanted);
        chunks.extend(self.run(&plan.read_rows, slots_of(wanted)?)?.0);
        self.kept(&plan.merge, chunks)
    }

    fn write(&self, plan: &WritePlan) -> Result<Vec<Vec<u8>>> {
        let (routed, _) = self.run(&plan.route, self.parts()?)?;
        Ok(self.run(&plan.write, slots_of(routed)?)?.1)
    }

    /// Runs a stage over chunks, and holds what it hands on. Returns what its tasks report.
    fn kept(&mut self, stage: &[u8], chunks: Vec<Chunk>) -> Result<Vec<Vec<u8>>> {
        let (chunks, reports) = self.run(stage, slots_of(chunks)?)?;
        self.chunks = chunks;
        Ok(reports)
    }

    /// The chunks in as many parts as there are threads, in order.
    fn parts(&self) -> Result<Vec<RecordBatch>> {
        let size = self.chunks.len().div_ceil(cores()).max(1);
        self.chunks.chunks(size).map(chunks_to_batch).collect()
    }

    /// Runs a task of a stage for each input. Returns the chunks that they hand on, in the order of the inputs, and
    /// what they report.
    fn run(&self, stage: &[u8], inputs: Vec<RecordBatch>) -> Result<(Vec<Chunk>, Vec<Vec<u8>>)> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let tasks: Vec<(u32, RecordBatch)> = (0_u32..).zip(inputs).collect();
        let handed_on = parallel::map(&tasks, cores(), |(partition, rows)| {
            let input: Input = Box::new(std::iter::once(Ok(rows.clone())));
            let task = TaskAttempt { partition: *partition, stage: number, attempt: 0 };
            run_stage(stage, task, input)?.map(|batch| chunks_of_batch(&batch?)).collect::<Result<Vec<_>>>()
        })?;
        let (chunks, reports): (Vec<_>, Vec<_>) = handed_on.into_iter().flatten().flatten().partition(is_data);
        let reports = reports.into_iter().filter_map(|chunk| chunk.report.map(|report| report.to_vec()));
        Ok((chunks, reports.collect()))
    }
}

fn is_data(chunk: &Chunk) -> bool {
    chunk.kind != ChunkKind::ReadReport
}

/// The chunks of each slot, in the order in which an engine hands them to a task.
fn slots_of(mut chunks: Vec<Chunk>) -> Result<Vec<RecordBatch>> {
    chunks.sort_by_key(|chunk| (chunk.slot, chunk.target, chunk.kind, chunk.source, chunk.number));
    chunks.chunk_by(|one, next| one.slot == next.slot).map(chunks_to_batch).collect()
}
