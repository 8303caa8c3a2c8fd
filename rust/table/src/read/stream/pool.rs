//! Reads several splits concurrently and returns their batches in the order of the splits.
//!
//! Threads are started with the first batch, belong to the stream, and are joined when it is dropped, so that none is
//! left in a process that may fork. Each split has a queue of a few batches, and the bytes of all batches are counted,
//! so that memory is bounded; if the consumer stops early, the readers stop. A stream that was started before a fork
//! returns an error in the child.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::ahead::WaitingBytes;
use super::split_reader::SplitReader;
use crate::read::reader_threads::{self, ReaderThreads};
use crate::read::report::{DamagedFile, ReadReport, SharedReport};
use crate::split::Split;
use mortice_base::error::{Error, ErrorKind, Result};

/// The number of batches that a split's reader may be ahead of the consumer.
const AHEAD: usize = 2;

/// Record batches of splits. Ends after an error.
pub struct Stream {
    schema: SchemaRef,
    report: SharedReport,
    splits: VecDeque<Split>,
    threads: usize,
    /// Rows to skip, for a reader that continues where another one stopped.
    skip: u64,
    /// The number of damaged files that the consumer knows.
    reported: usize,
    state: State,
}

enum State {
    Idle,
    /// The reader of a split, and that of the next one, which is already fetching.
    Inline(Box<SplitReader>, Option<Box<SplitReader>>),
    Pooled(ReaderPool),
    Done,
}

impl Stream {
    /// Batches of `schema` from all splits, read by up to `threads` threads; with one, in the caller's own. Where there
    /// are more threads than splits, several share one. Rows and their order are the same by any number of threads. So
    /// are the batches, unless rows are so large that the readers' shares of the memory limit bound them.
    #[must_use]
    pub fn new(schema: SchemaRef, splits: Vec<Split>, threads: usize) -> Self {
        let threads = threads.max(1);
        let report = SharedReport::default();
        if let Some(split) = splits.first() {
            report.limit_fetched(split.query.options.memory_limit, threads.min(splits.len()));
        }
        Self { schema, report, splits: splits.into(), threads, skip: 0, reported: 0, state: State::Idle }
    }

    /// Returns the batches of one split, without its first `start_row` rows. It is read in the caller's thread.
    pub fn from_split(split: Split, start_row: u64) -> Result<Self> {
        let schema = SplitReader::new(split.clone(), SharedReport::default())?.schema();
        let mut stream = Self::new(schema, vec![split], 1);
        stream.skip = start_row;
        Ok(stream)
    }

    /// Sets the number of file slices that planning has pruned.
    #[must_use]
    pub fn after_pruning(self, slices: usize) -> Self {
        self.report.edit().slices_pruned += slices as u64;
        self
    }

    /// Returns the schema of all batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns the statistics so far.
    #[must_use]
    pub fn report(&self) -> ReadReport {
        self.report.snapshot()
    }

    /// Returns the next batch, and the damaged files that were found since the last call.
    ///
    /// # Errors
    /// Those of reading the splits.
    pub fn next_with_damage(&mut self) -> Result<(Option<RecordBatch>, Vec<DamagedFile>)> {
        let batch = self.next().transpose()?;
        let damaged = self.report.edit().damaged.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = self.reported.saturating_add(damaged.len());
        Ok((batch, damaged))
    }

    /// Stops reading and joins the threads.
    pub fn close(&mut self) {
        self.splits.clear();
        self.state = State::Done;
    }

    /// Reads a split, and sends the first requests of the next one meanwhile.
    fn inline(&mut self, mut reader: Box<SplitReader>) -> State {
        reader.begin();
        // An error of the next split is returned when it is read.
        let next = self.splits.front().and_then(|split| SplitReader::new(split.clone(), self.report.clone()).ok());
        let next = next.map(|mut next| {
            self.splits.pop_front();
            next.begin();
            Box::new(next)
        });
        State::Inline(reader, next)
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match &mut self.state {
                State::Idle if self.threads > 1 && !self.splits.is_empty() => {
                    let splits = std::mem::take(&mut self.splits);
                    self.state = State::Pooled(ReaderPool::start(splits, self.threads, &self.report)?);
                }
                State::Idle => match self.splits.pop_front() {
                    Some(split) => {
                        let reader = SplitReader::new(split, self.report.clone())?;
                        self.state = self.inline(Box::new(reader));
                    }
                    None => return Ok(None),
                },
                State::Inline(reader, next) => match reader.next() {
                    Some(batch) => return batch.map(Some),
                    None => match next.take() {
                        Some(reader) => self.state = self.inline(reader),
                        None => self.state = State::Idle,
                    },
                },
                State::Pooled(pool) => return pool.next_batch(),
                State::Done => return Ok(None),
            }
        }
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let step = self.step().transpose();
            let Some(Ok(batch)) = &step else {
                self.close();
                return step;
            };
            if self.skip == 0 {
                return step;
            }
            let rows = batch.num_rows();
            let left_out = usize::try_from(self.skip).unwrap_or(usize::MAX).min(rows);
            self.skip -= left_out as u64;
            if left_out < rows {
                return Some(Ok(batch.slice(left_out, rows - left_out)));
            }
        }
    }
}

/// A message of a reader. The end is sent explicitly, so that a reader that panicked is not mistaken for one that is
/// done.
enum Message {
    /// A batch, and the bytes that it was counted with.
    Batch(RecordBatch, u64),
    Failed(Error),
    End,
}

/// A split to read.
struct SplitTask {
    ordinal: usize,
    split: Split,
    /// Its reader, if it is already fetching.
    reader: Option<SplitReader>,
    /// The queue of its batches.
    queue: SyncSender<Message>,
}

/// The state that readers share.
struct SharedWork {
    tasks: Mutex<VecDeque<SplitTask>>,
    ahead: WaitingBytes,
    /// The memory limit in bytes for each split that is read.
    share: u64,
    /// The number of threads for all splits.
    threads: usize,
    /// The number of splits that are not completely read.
    unfinished: AtomicUsize,
    report: SharedReport,
}

struct ReaderPool {
    queues: VecDeque<Receiver<Message>>,
    work: Arc<SharedWork>,
    threads: ReaderThreads,
}

impl ReaderPool {
    fn start(splits: VecDeque<Split>, threads: usize, report: &SharedReport) -> Result<Self> {
        let limit = splits.front().map_or(0, |split| split.query.options.memory_limit);
        let (mut queues, mut tasks) = (VecDeque::new(), VecDeque::new());
        for (ordinal, split) in splits.into_iter().enumerate() {
            let (sender, receiver) = sync_channel(AHEAD);
            queues.push_back(receiver);
            tasks.push_back(SplitTask { ordinal, split, reader: None, queue: sender });
        }
        let readers = threads.min(tasks.len()).max(1);
        let share = limit / u64::try_from(readers).unwrap_or(1);
        let unfinished = AtomicUsize::new(tasks.len());
        let (tasks, ahead) = (Mutex::new(tasks), WaitingBytes::new(limit / 4));
        let work = Arc::new(SharedWork { tasks, ahead, share, threads, unfinished, report: report.clone() });
        let mut pool = Self { queues, work, threads: ReaderThreads::default() };
        for ordinal in 0..readers {
            let work = Arc::clone(&pool.work);
            match pool.threads.start(format!("mortice-read-{ordinal}"), move || read_splits(&work)) {
                Ok(()) => {}
                // Fewer threads than requested are sufficient, but without any thread nothing would be sent.
                Err(_) if ordinal > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(pool)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.threads.check_here()?;
        while let Some(queue) = self.queues.front() {
            match reader_threads::received(queue)? {
                Ok(Message::Batch(batch, bytes)) => {
                    self.work.ahead.taken(bytes);
                    return Ok(Some(batch));
                }
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::End) => {
                    self.queues.pop_front();
                    self.work.ahead.next_split();
                }
                Err(_) => return Err(Error::new(ErrorKind::Io, "a reader thread ended before its split did")),
            }
        }
        Ok(None)
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        // Readers that wait for space in a queue see that it is closed, and end. In a forked child there are none, and
        // a lock that one of them held would stay locked.
        self.queues.clear();
        if self.threads.are_here() {
            self.work.ahead.close();
        }
    }
}

fn read_splits(work: &SharedWork) {
    loop {
        let next = work.tasks.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(task) = next else { return };
        if !read_split(work, task) {
            return;
        }
    }
}

impl SharedWork {
    fn reader(&self, split: Split) -> Result<SplitReader> {
        Ok(SplitReader::new(split, self.report.clone())?.within(self.share))
    }

    /// Sends the first requests of the split that is read next.
    fn begin_next(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(task) = tasks.front_mut().filter(|task| task.reader.is_none()) else { return };
        // An error here occurs again when the split is read.
        let Ok(mut reader) = self.reader(task.split.clone()) else { return };
        reader.begin();
        task.reader = Some(reader);
    }

    /// Returns the number of additional threads for the reader of the next split: those without a split.
    fn spare(&self) -> usize {
        let unfinished = self.unfinished.load(Ordering::Relaxed).max(1);
        if unfinished < self.threads { self.threads / unfinished } else { 0 }
    }
}

/// Returns true if the consumer still exists.
fn read_split(work: &SharedWork, task: SplitTask) -> bool {
    let SplitTask { ordinal, split, reader, queue } = task;
    let mut reader = match reader.map_or_else(|| work.reader(split), Ok) {
        Ok(reader) => reader.with_threads(work.spare()),
        Err(error) => return queue.send(Message::Failed(error)).is_ok(),
    };
    reader.begin();
    work.begin_next();
    for batch in reader {
        let message = match batch {
            Ok(batch) => {
                let bytes = batch.get_array_memory_size() as u64;
                if !work.ahead.admit(ordinal, bytes) {
                    return false;
                }
                Message::Batch(batch, bytes)
            }
            Err(error) => Message::Failed(error),
        };
        if queue.send(message).is_err() {
            return false;
        }
    }
    work.unfinished.fetch_sub(1, Ordering::Relaxed);
    queue.send(Message::End).is_ok()
}
