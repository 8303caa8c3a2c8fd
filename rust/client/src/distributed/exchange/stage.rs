//! A stage in one process: chunks or rows in, chunks out. Memory holds one step's input and the chunks that it made.

use std::collections::VecDeque;
use std::iter::Peekable;

use arrow_array::RecordBatch;

use super::chunk::{self, Chunk, ChunkKind};
use super::reports::{FailureReport, ReadReport};
use mortice_base::error::Result;

/// Batches from another process.
pub type Input = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Bytes of chunks in a batch that is handed on.
const BATCH_BYTES: usize = 4 << 20;

/// The attempt of a task, as the engine counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskAttempt {
    /// The partition of the data frame.
    pub partition: u32,
    /// The stage of the engine.
    pub stage: u32,
    /// A number that no other attempt of the job has.
    pub attempt: u64,
}

/// What the tasks of a stage do.
pub(crate) trait StageStep: Send {
    /// Does a part of the work: as much as one batch of rows, or one target, needs. Returns false when nothing is left.
    fn step(&mut self, output: &mut Output) -> Result<bool>;

    /// Where reports of the task come from.
    fn source(&self) -> u32;
}

/// Chunks that are handed on.
#[derive(Default)]
pub(crate) struct Output {
    chunks: Vec<Chunk>,
    bytes: usize,
    ready: VecDeque<RecordBatch>,
}

impl Output {
    /// Adds a chunk.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        if self.bytes.saturating_add(chunk.bytes()) > BATCH_BYTES {
            self.flush()?;
        }
        self.bytes = self.bytes.saturating_add(chunk.bytes());
        self.chunks.push(chunk);
        Ok(())
    }

    /// Adds what a task reports.
    pub(crate) fn report(&mut self, source: u32, report: &ReadReport) -> Result<()> {
        self.push(Chunk::of_report(source, report.to_bytes()?))
    }

    fn flush(&mut self) -> Result<()> {
        if !self.chunks.is_empty() {
            self.ready.push_back(chunk::to_batch(&self.chunks)?);
            self.chunks.clear();
            self.bytes = 0;
        }
        Ok(())
    }

    /// All that is handed on.
    #[cfg(test)]
    pub(crate) fn into_chunks(mut self) -> Result<Vec<Chunk>> {
        self.flush()?;
        Ok(self.ready.iter().map(chunk::of_batch).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

/// The batches that a task hands on.
pub struct StageBatches {
    step: Box<dyn StageStep>,
    output: Output,
    is_done: bool,
}

impl StageBatches {
    pub(crate) fn new(step: impl StageStep + 'static) -> Self {
        Self { step: Box::new(step), output: Output::default(), is_done: false }
    }

    fn advance(&mut self) -> Result<()> {
        self.is_done = match self.step.step(&mut self.output) {
            Ok(goes_on) => !goes_on,
            Err(error) => {
                // The engine would try again, in vain, and lose the type of the error.
                let Some(failure) = FailureReport::of_lasting(&error) else { return Err(error) };
                self.output = Output::default();
                self.output.report(self.step.source(), &ReadReport::Failed(failure))?;
                true
            }
        };
        if self.is_done { self.output.flush() } else { Ok(()) }
    }
}

impl Iterator for StageBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.output.ready.pop_front() {
                return Some(Ok(batch));
            }
            if self.is_done {
                return None;
            }
            if let Err(error) = self.advance() {
                self.is_done = true;
                return Some(Err(error));
            }
        }
    }
}

/// A chunk of data; none if it is a report for the driver. Fails with the error of a task before this one: its rows are
/// missing, and its report does not come to the driver.
fn data_of(chunk: Chunk) -> Result<Option<Chunk>> {
    if chunk.kind != ChunkKind::ReadReport {
        return Ok(Some(chunk));
    }
    let report = chunk.report.map(|report| report.to_vec()).unwrap_or_default();
    ReadReport::read_all(&[report]).map(|_| None)
}

/// The chunks of a task's input, in order.
pub(crate) struct Chunks {
    chunks: Peekable<Box<dyn Iterator<Item = Result<Chunk>> + Send>>,
}

impl Chunks {
    pub(crate) fn new(input: Input) -> Self {
        let chunks = input.flat_map(|batch| match batch.and_then(|batch| chunk::of_batch(&batch)) {
            Ok(chunks) => chunks.into_iter().filter_map(|chunk| data_of(chunk).transpose()).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        let chunks: Box<dyn Iterator<Item = Result<Chunk>> + Send> = Box::new(chunks);
        Self { chunks: chunks.peekable() }
    }

    /// The next chunk.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>> {
        self.chunks.next().transpose()
    }

    /// The target of the next chunk.
    pub(crate) fn next_target(&mut self) -> Result<Option<u32>> {
        if matches!(self.chunks.peek(), Some(Err(_))) {
            return self.next().map(|_| None);
        }
        Ok(self.chunks.peek().and_then(|chunk| chunk.as_ref().ok()).map(|chunk| chunk.target))
    }

    /// The next chunk, if it is for this target and of this kind.
    pub(crate) fn next_of(&mut self, target: u32, kind: ChunkKind) -> Result<Option<Chunk>> {
        let is_wanted =
            |chunk: &Result<Chunk>| chunk.as_ref().map_or(true, |chunk| chunk.target == target && chunk.kind == kind);
        self.chunks.next_if(is_wanted).transpose()
    }
}
