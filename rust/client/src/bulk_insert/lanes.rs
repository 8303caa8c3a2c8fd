//! Threads of a bulk insert. Any of them prepares the next chunk of rows. What is prepared is routed to lanes, in the
//! order of the chunks; a lane has one thread at a time, so that its rows keep their order. No thread belongs to a lane
//! or to a stage.
//!
//! ```text
//! feeder ─> chunks ─> prepare (any thread) ─> route (in order) ─> lanes ─> write, finish (one thread for each lane at a time)
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::chunks::CHUNK_ROWS;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::panics::caught;
use mortice_storage::{CancelToken, POLL, check_cancelled};

/// What the threads do.
pub(super) trait Work: Sized + Sync {
    /// Rows as they are fed.
    type Chunk: Send;
    /// A chunk that is prepared.
    type Prepared: Send;
    /// Distributes what is prepared.
    type Router: Send;
    /// What rows are written to.
    type Lane: Send;
    /// Rows of one lane.
    type Item: Send;
    /// What a lane leaves.
    type Done: Send;

    /// Prepares a chunk.
    fn prepare(&self, chunk: Self::Chunk) -> Result<Self::Prepared>;

    /// Passes the rows of a chunk to lanes. Called for one chunk after the other; others wait, so it has to be quick.
    fn route(&self, router: &mut Self::Router, chunk: Self::Prepared, lanes: &mut Lanes<'_, Self>) -> Result<()>;

    /// Writes rows to a lane.
    fn write(&self, lane: &mut Self::Lane, item: Self::Item) -> Result<()>;

    /// Bytes that a lane has in memory, of which [`Self::relieve`] frees most.
    fn held_bytes(&self, lane: &Self::Lane) -> usize;

    /// Writes what a lane has in memory.
    fn relieve(&self, lane: &mut Self::Lane) -> Result<()>;

    /// Completes a lane.
    fn finish(&self, lane: Self::Lane) -> Result<Self::Done>;
}

/// How much is in memory at the same time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) threads: usize,
    /// Bytes that all lanes hold.
    pub(super) held_bytes: usize,
}

/// Rows that wait for their lanes before the feeder waits for them, for each thread.
const WAITING_ROWS: usize = 2 * CHUNK_ROWS;

/// Calls `feed`, and processes what it passes with so many threads. Returns the router and what the lanes leave, in the
/// order of the lanes.
///
/// # Errors
/// The first one of `feed` or a thread. Nothing more is written after it.
pub(super) fn run<W: Work>(
    work: &W,
    router: W::Router,
    limits: Limits,
    feed: impl FnOnce(&Feeder<'_, W>) -> Result<()>,
) -> Result<(W::Router, Vec<W::Done>)> {
    let limits = Limits { threads: limits.threads.max(1), ..limits };
    let pool = Pool { work, limits, state: Mutex::new(State::new(router)), changed: Condvar::new() };
    let cancel = CancelToken::child();
    std::thread::scope(|scope| {
        for number in 0..limits.threads {
            let worker = || cancel.scope(|| pool.work());
            let named = std::thread::Builder::new().name(format!("bulk-insert-{number}"));
            if let Err(error) = named.spawn_scoped(scope, worker) {
                pool.fail(Error::io("starting a thread", error));
                break;
            }
        }
        let fed = caught("the reader of a bulk insert", || feed(&Feeder(&pool)));
        if let Err(error) = fed.and_then(|()| pool.wait()) {
            if error.kind() == ErrorKind::Interrupted {
                cancel.cancel();
            }
            pool.fail(error);
        }
    });
    let State { router, mut done, failed, .. } = pool.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = failed {
        return Err(error);
    }
    done.sort_by_key(|(lane, _)| *lane);
    Ok((
        router.ok_or_else(|| Error::internal("a bulk insert without its router"))?,
        done.into_iter().map(|(_, done)| done).collect(),
    ))
}

/// Passes chunks to the threads.
pub(super) struct Feeder<'a, W: Work>(&'a Pool<'a, W>);

impl<W: Work> Feeder<'_, W> {
    /// Passes a chunk on, once there is room for it.
    pub(super) fn pass(&self, chunk: W::Chunk) -> Result<()> {
        let pool = self.0;
        let mut state = pool.lock();
        while state.failed.is_none() && !state.has_room(pool.limits.threads) {
            state = pool.paused(state)?;
        }
        if state.failed.is_some() {
            // The caller gets the error of the thread.
            return Err(Error::internal("a thread of a bulk insert has failed"));
        }
        let number = state.fed;
        state.fed += 1;
        state.chunks.push_back((number, chunk));
        pool.changed.notify_all();
        Ok(())
    }
}

/// The lanes, as a router sees them.
pub(super) struct Lanes<'a, W: Work> {
    slots: &'a mut Vec<Slot<W>>,
    ready: &'a mut VecDeque<usize>,
    queued_rows: &'a mut usize,
}

impl<W: Work> Lanes<'_, W> {
    /// The number of the lane that is added next.
    pub(super) fn next_number(&self) -> usize {
        self.slots.len()
    }

    /// Adds a lane. Returns its number.
    pub(super) fn open(&mut self, lane: W::Lane) -> usize {
        self.slots.push(Slot {
            lane: Some(lane),
            queue: VecDeque::new(),
            is_ready: false,
            held: 0,
            relieve: false,
            finish: false,
        });
        self.slots.len() - 1
    }

    /// Passes rows, so many, to a lane.
    pub(super) fn pass(&mut self, lane: usize, item: W::Item, rows: usize) -> Result<()> {
        let slot = self.slots.get_mut(lane).filter(|slot| !slot.finish);
        let slot = slot.ok_or_else(no_lane)?;
        slot.queue.push_back((item, rows));
        *self.queued_rows += rows;
        slot.make_ready(lane, self.ready);
        Ok(())
    }

    /// Finishes a lane once it has written what waits for it: it gets no more rows.
    pub(super) fn close(&mut self, lane: usize) -> Result<()> {
        let slot = self.slots.get_mut(lane).ok_or_else(no_lane)?;
        slot.finish = true;
        slot.make_ready(lane, self.ready);
        Ok(())
    }
}

/// A lane, unless a thread has it or it is finished.
struct Slot<W: Work> {
    lane: Option<W::Lane>,
    /// Items and their rows.
    queue: VecDeque<(W::Item, usize)>,
    is_ready: bool,
    held: usize,
    /// Whether it is to be relieved of what it holds.
    relieve: bool,
    /// Whether no rows come after those that wait.
    finish: bool,
}

impl<W: Work> Slot<W> {
    fn make_ready(&mut self, number: usize, ready: &mut VecDeque<usize>) {
        if self.lane.is_some() && !self.is_ready {
            self.is_ready = true;
            ready.push_back(number);
        }
    }
}

struct State<W: Work> {
    chunks: VecDeque<(u64, W::Chunk)>,
    /// Chunks so far.
    fed: u64,
    /// Whether there are no more.
    is_fed: bool,
    prepared: BTreeMap<u64, W::Prepared>,
    /// The chunk that is routed next.
    next: u64,
    /// None while it routes.
    router: Option<W::Router>,
    slots: Vec<Slot<W>>,
    ready: VecDeque<usize>,
    queued_rows: usize,
    held: usize,
    /// Whether lanes are finished once they have written what waits.
    is_ending: bool,
    done: Vec<(usize, W::Done)>,
    failed: Option<Error>,
}

impl<W: Work> State<W> {
    fn new(router: W::Router) -> Self {
        Self {
            chunks: VecDeque::new(),
            fed: 0,
            is_fed: false,
            prepared: BTreeMap::new(),
            next: 0,
            router: Some(router),
            slots: Vec::new(),
            ready: VecDeque::new(),
            queued_rows: 0,
            held: 0,
            is_ending: false,
            done: Vec::new(),
            failed: None,
        }
    }

    fn has_room(&self, threads: usize) -> bool {
        let unrouted = self.fed.saturating_sub(self.next);
        unrouted <= threads as u64 && self.queued_rows <= threads.saturating_mul(WAITING_ROWS)
    }

    fn is_done(&self) -> bool {
        self.is_ending && self.done.len() == self.slots.len()
    }

    /// Routes the chunks whose turn it is. After the last, all lanes are to be finished.
    fn route(&mut self, work: &W) -> Result<()> {
        let Some(mut router) = self.router.take() else { return Err(Error::internal("a router routes twice")) };
        let mut lanes = Lanes { slots: &mut self.slots, ready: &mut self.ready, queued_rows: &mut self.queued_rows };
        while let Some(chunk) = self.prepared.remove(&self.next) {
            self.next += 1;
            work.route(&mut router, chunk, &mut lanes)?;
        }
        if self.is_fed && self.next == self.fed && !self.is_ending {
            self.is_ending = true;
            for (number, slot) in self.slots.iter_mut().enumerate() {
                slot.finish = true;
                slot.make_ready(number, &mut self.ready);
            }
        }
        self.router = Some(router);
        Ok(())
    }

    /// Marks the lanes that hold most, until the others hold less than the limit.
    fn limit_held(&mut self, limit: usize) {
        let marked: usize = self.slots.iter().filter(|slot| slot.relieve).map(|slot| slot.held).sum();
        let mut left = self.held.saturating_sub(marked);
        while left > limit {
            let unmarked = self.slots.iter_mut().enumerate().filter(|(_, slot)| !slot.relieve && slot.held > 0);
            let Some((number, largest)) = unmarked.max_by_key(|(_, slot)| slot.held) else { return };
            left = left.saturating_sub(largest.held);
            largest.relieve = true;
            largest.make_ready(number, &mut self.ready);
        }
    }
}

struct Pool<'a, W: Work> {
    work: &'a W,
    limits: Limits,
    state: Mutex<State<W>>,
    changed: Condvar,
}

fn no_lane() -> Error {
    Error::internal("a lane of a bulk insert that there is not, or that is finished")
}

/// What a thread does next.
enum Job<W: Work> {
    Prepare(u64, W::Chunk),
    Lane(usize, W::Lane),
}

impl<W: Work> Pool<'_, W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an error, which ends all threads. The first one counts.
    fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.failed = state.failed.take().or(Some(error));
        self.changed.notify_all();
    }

    /// Waits for a change, or some time.
    fn paused<'s>(&'s self, state: MutexGuard<'s, State<W>>) -> Result<MutexGuard<'s, State<W>>> {
        let (state, timeout) = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner);
        if !timeout.timed_out() {
            return Ok(state);
        }
        drop(state);
        check_cancelled()?;
        Ok(self.lock())
    }

    /// Waits until all chunks are written. Signals reach the caller alone.
    fn wait(&self) -> Result<()> {
        let mut state = self.lock();
        state.is_fed = true;
        state.route(self.work)?;
        self.changed.notify_all();
        while state.failed.is_none() && !state.is_done() {
            state = self.paused(state)?;
        }
        Ok(())
    }

    /// Works until all is done or something fails.
    fn work(&self) {
        let worked = caught("a thread of a bulk insert", || {
            while let Some(job) = self.next_job()? {
                match job {
                    Job::Prepare(number, chunk) => self.prepare(number, chunk)?,
                    Job::Lane(number, lane) => self.write(number, lane)?,
                }
            }
            Ok(())
        });
        if let Err(error) = worked {
            self.fail(error);
        }
    }

    /// What is in memory is written before more is prepared.
    fn next_job(&self) -> Result<Option<Job<W>>> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() || state.is_done() {
                return Ok(None);
            }
            if let Some(number) = state.ready.pop_front() {
                let slot = state.slots.get_mut(number).ok_or_else(no_lane)?;
                slot.is_ready = false;
                let lane = slot.lane.take().ok_or_else(no_lane)?;
                return Ok(Some(Job::Lane(number, lane)));
            }
            if let Some((number, chunk)) = state.chunks.pop_front() {
                return Ok(Some(Job::Prepare(number, chunk)));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn prepare(&self, number: u64, chunk: W::Chunk) -> Result<()> {
        let prepared = self.work.prepare(chunk)?;
        let mut state = self.lock();
        state.prepared.insert(number, prepared);
        state.route(self.work)?;
        self.changed.notify_all();
        Ok(())
    }

    /// Writes what waits for a lane.
    fn write(&self, number: usize, mut lane: W::Lane) -> Result<()> {
        loop {
            let mut state = self.lock();
            if state.failed.is_some() {
                return Ok(());
            }
            let slot = state.slots.get_mut(number).ok_or_else(no_lane)?;
            let relieve = std::mem::take(&mut slot.relieve);
            let item = if relieve { None } else { slot.queue.pop_front() };
            if !relieve && item.is_none() {
                if slot.finish {
                    break;
                }
                slot.lane = Some(lane);
                return Ok(());
            }
            drop(state);
            let rows = match item {
                Some((item, rows)) => {
                    self.work.write(&mut lane, item)?;
                    rows
                }
                None => {
                    self.work.relieve(&mut lane)?;
                    0
                }
            };
            self.account(number, rows, self.work.held_bytes(&lane))?;
        }
        let done = self.work.finish(lane)?;
        self.account(number, 0, 0)?;
        self.lock().done.push((number, done));
        self.changed.notify_all();
        Ok(())
    }

    /// Notes that so many rows of a lane are written, which holds so many bytes now.
    fn account(&self, number: usize, rows: usize, held: usize) -> Result<()> {
        let mut state = self.lock();
        state.queued_rows = state.queued_rows.saturating_sub(rows);
        let slot = state.slots.get_mut(number).ok_or_else(no_lane)?;
        let before = std::mem::replace(&mut slot.held, held);
        state.held = state.held.saturating_sub(before).saturating_add(held);
        state.limit_held(self.limits.held_bytes);
        self.changed.notify_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Passes numbers to the lanes of their remainders. A lane leaves its numbers.
    #[derive(Default)]
    struct Numbers {
        lanes: usize,
        /// A number that cannot be prepared, and one that cannot be written.
        unprepared: Option<usize>,
        unwritten: Option<usize>,
        relieved: AtomicUsize,
        most_held: AtomicUsize,
    }

    impl Work for Numbers {
        type Chunk = usize;
        type Prepared = usize;
        type Router = usize;
        type Lane = (Vec<usize>, usize);
        type Item = usize;
        type Done = Vec<usize>;

        fn prepare(&self, chunk: usize) -> Result<usize> {
            // Later chunks are prepared before earlier ones.
            if chunk.is_multiple_of(3) {
                (0..100).for_each(|_| std::thread::yield_now());
            }
            match self.unprepared {
                Some(number) if number == chunk => panic!("number {chunk}"),
                _ => Ok(chunk),
            }
        }

        fn route(&self, routed: &mut usize, chunk: usize, lanes: &mut Lanes<'_, Self>) -> Result<()> {
            if *routed < self.lanes {
                lanes.open((Vec::new(), 0));
            }
            *routed += 1;
            lanes.pass(chunk % self.lanes, chunk, 1)
        }

        fn write(&self, lane: &mut Self::Lane, item: usize) -> Result<()> {
            if self.unwritten == Some(item) {
                return Err(Error::invalid_argument(format!("number {item}")));
            }
            lane.0.push(item);
            lane.1 += 1;
            self.most_held.fetch_max(lane.1, Ordering::Relaxed);
            Ok(())
        }

        fn held_bytes(&self, lane: &Self::Lane) -> usize {
            lane.1
        }

        fn relieve(&self, lane: &mut Self::Lane) -> Result<()> {
            lane.1 = 0;
            self.relieved.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn finish(&self, lane: Self::Lane) -> Result<Vec<usize>> {
            Ok(lane.0)
        }
    }

    fn numbers(work: &Numbers, threads: usize, held_bytes: usize, count: usize) -> Result<Vec<Vec<usize>>> {
        let feed = |feeder: &Feeder<'_, Numbers>| (0..count).try_for_each(|number| feeder.pass(number));
        let (routed, done) = run(work, 0, Limits { threads, held_bytes }, feed)?;
        assert_eq!(routed, count);
        Ok(done)
    }

    #[test]
    fn rows_of_a_lane_keep_their_order() {
        for threads in [1, 2, 7] {
            let work = Numbers { lanes: 3, ..Numbers::default() };
            let done = numbers(&work, threads, usize::MAX, 100).unwrap();
            for (lane, found) in done.iter().enumerate() {
                assert!(found.iter().copied().eq((lane..100).step_by(3)), "{threads} threads: {found:?}");
            }
            assert_eq!((done.len(), work.relieved.into_inner()), (3, 0));
        }
        assert!(numbers(&Numbers { lanes: 1, ..Numbers::default() }, 2, usize::MAX, 0).unwrap().is_empty());
    }

    #[test]
    fn lanes_hold_no_more_than_the_limit() {
        for threads in [1, 3] {
            let work = Numbers { lanes: 2, ..Numbers::default() };
            let done = numbers(&work, threads, 10, 200).unwrap();
            assert_eq!(done.iter().map(Vec::len).sum::<usize>(), 200);
            assert!(work.relieved.into_inner() >= 200 / 20, "what is held is written");
            // Another item may be written before a thread has accounted for the last one.
            assert!(work.most_held.into_inner() <= 12);
        }
    }

    #[test]
    fn the_first_error_ends_all() {
        for threads in [1, 4] {
            let work = Numbers { lanes: 2, unwritten: Some(50), ..Numbers::default() };
            let error = numbers(&work, threads, usize::MAX, 10_000).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("number 50"), "{error}");
            let work = Numbers { lanes: 2, unprepared: Some(50), ..Numbers::default() };
            let error = numbers(&work, threads, usize::MAX, 10_000).unwrap_err();
            assert!(error.kind() == ErrorKind::Internal && error.to_string().contains("number 50"), "{error}");
            let work = Numbers { lanes: 2, ..Numbers::default() };
            let feed = |feeder: &Feeder<'_, Numbers>| feeder.pass(0).and(Err(Error::not_found("feed")));
            let error = run(&work, 0, Limits { threads, held_bytes: 1 }, feed).unwrap_err();
            assert!(error.to_string().contains("feed"), "{error}");
            let error = run(&work, 0, Limits { threads, held_bytes: 1 }, |_| panic!("reader")).unwrap_err();
            assert!(error.kind() == ErrorKind::Internal && error.to_string().contains("reader"), "{error}");
        }
    }
}
