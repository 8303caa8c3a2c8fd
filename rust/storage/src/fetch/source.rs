//! An open file of an object store with a known size. Ranges are fetched when they are read, or prefetched.
//!
//! | length | requests |
//! |---|---|
//! | up to 8 MiB | one for the whole file |
//! | larger | the last 512 KiB at the first read there; announced ranges in pieces of up to 8 MiB, some ahead of the reader |
//!
//! Fetched bytes are counted in the [`FetchBudget`] of the reader. If that is used up, only required bytes are fetched.
//!
//! Every request has the etag of the listing or of the first response (`If-Match`), and the size in each response is
//! compared: a file that was replaced or removed is a specific error.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};

use super::failure::{CHANGED, StoreFailure};
use super::fetcher::{FetchedBytes, RangeFetcher, SharedResult};
use super::ranges::{self, FetchRange, MOST_HELD, PIECE, TAIL, WHOLE};
use super::runtime::{PendingResult, locked};
use crate::fetch_budget::{self, FetchBudget, FetchCache, LastUse, ReservedBytes};
use crate::source::check_range;
use crate::{FileSource, KnownFile, ReadFrom, RequestCounters};
use mortice_base::error::{Error, ErrorKind, Result};

/// The maximum number of cached bytes of one file: those of a group of ranges, and as many prefetched ones.
const HELD: u64 = 2 * MOST_HELD;
/// The minimum size of a request if memory is short, unless the file is smaller.
const LEAST: u64 = 256 << 10;

/// A file of an object store, or of HDFS.
pub(crate) struct ObjectSource {
    fetcher: Box<dyn RangeFetcher>,
    requests: Arc<RequestCounters>,
    path: String,
    file: KnownFile,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the listing, or of the first response.
    etag: Option<String>,
    /// Pieces in the order of reading.
    plan: Vec<FetchRange>,
    chunks: Vec<Chunk>,
}

/// A range that was fetched or is being fetched.
struct Chunk {
    range: Range<u64>,
    fetch: Arc<Fetch>,
    used: LastUse,
}

type Fetch = PendingResult<SharedResult<FetchedBytes>>;

impl ObjectSource {
    /// Returns the file at `path`, whose ranges `fetcher` fetches. No request is sent.
    pub(crate) fn new(
        fetcher: Box<dyn RangeFetcher>,
        requests: &Arc<RequestCounters>,
        path: String,
        file: KnownFile,
    ) -> Arc<Self> {
        let state = Mutex::new(State { etag: file.etag.clone(), ..State::default() });
        let source = Arc::new(Self { fetcher, requests: Arc::clone(requests), path, file, state });
        let cache: Arc<dyn FetchCache> = Arc::<Self>::clone(&source);
        source.budget().add_cache(Arc::downgrade(&cache));
        source
    }

    fn budget(&self) -> &Arc<FetchBudget> {
        self.requests.budget()
    }

    /// Returns the chunks that cover `range`, in order. Missing ones are requested.
    fn chunks(&self, range: &Range<u64>) -> Result<Vec<(Range<u64>, Arc<Fetch>)>> {
        // Requests of the parent process are not completed in this one.
        locked(&self.state).chunks.retain(|chunk| chunk.fetch.is_here());
        let (mut found, mut at) = (Vec::new(), range.start);
        while at < range.end {
            // The lock is released before a request is sent.
            let known = self.known(&mut locked(&self.state), at);
            let chunk = known.map_or_else(|| self.fetch_needed(at, range.end), Ok)?;
            at = chunk.0.end;
            found.push(chunk);
        }
        let mut state = locked(&self.state);
        self.start_ahead(&mut state, range.end)?;
        forget_oldest(&mut state, found.len());
        Ok(found)
    }

    /// Returns the chunk with a byte that is read now.
    fn known(&self, state: &mut State, at: u64) -> Option<(Range<u64>, Arc<Fetch>)> {
        let chunk = state.chunks.iter_mut().find(|chunk| chunk.range.contains(&at))?;
        chunk.used = LastUse { is_unread: false, at: self.budget().tick() };
        Some((chunk.range.clone(), Arc::clone(&chunk.fetch)))
    }

    /// Starts a request for a read from `at` to `end`. It is also sent without space in the budget: other bytes are
    /// dropped for it, and it is smaller if these do not suffice.
    fn fetch_needed(&self, at: u64, end: u64) -> Result<(Range<u64>, Arc<Fetch>)> {
        let wanted = self.range_to_fetch(&locked(&self.state), at, end);
        self.budget().make_room(ranges::len(&wanted));
        let mut state = locked(&self.state);
        // Another reader may have requested it meanwhile.
        if let Some(chunk) = self.known(&mut state, at) {
            return Ok(chunk);
        }
        let left = self.budget().left();
        let range = if ranges::len(&wanted) > left {
            let least = end.saturating_sub(at).clamp(LEAST, PIECE).max(left);
            let to = at.saturating_add(least).min(wanted.end);
            // A footer is read backwards from its last bytes.
            at.min(to.saturating_sub(LEAST).max(wanted.start))..to
        } else {
            wanted
        };
        let reserved = self.budget().reserve(ranges::len(&range));
        self.start(&mut state, range, reserved)?;
        self.known(&mut state, at).ok_or_else(|| Error::internal(format_args!("byte {at} is in no request for it")))
    }

    /// Returns the range to request for a read from `at` to `end`.
    fn range_to_fetch(&self, state: &State, at: u64, end: u64) -> Range<u64> {
        let len = self.file.len;
        if len <= WHOLE {
            return 0..len;
        }
        if let Some(piece) = state.plan.iter().find(|piece| piece.range.contains(&at)) {
            return piece.range.clone();
        }
        let tail = len.saturating_sub(TAIL);
        if at >= tail {
            return tail..len;
        }
        // Up to bytes that are already requested.
        let next = state.chunks.iter().map(|chunk| chunk.range.start).filter(|start| *start > at).min();
        let end = next.map_or(end, |next| next.min(end));
        ranges::cut(&(at..end), 2 * PIECE).next().unwrap_or(at..end)
    }

    /// Requests the pieces after the one in which a read has ended.
    fn start_ahead(&self, state: &mut State, end: u64) -> Result<()> {
        let last = end.saturating_sub(1);
        let Some(at) = state.plan.iter().position(|piece| piece.range.contains(&last)) else { return Ok(()) };
        let ahead = state.plan.get(at).map_or(0, |piece| piece.ahead);
        // As much as one group of ranges takes.
        let mut bytes = self.most_held();
        let next: Vec<Range<u64>> =
            state.plan.iter().skip(at + 1).take(ahead).map(|piece| piece.range.clone()).collect();
        for range in next {
            if state.chunks.iter().any(|chunk| chunk.range.start <= range.start && range.end <= chunk.range.end) {
                continue;
            }
            let len = ranges::len(&range);
            let Some(rest) = bytes.checked_sub(len) else { return Ok(()) };
            bytes = rest;
            let Some(reserved) = self.budget().try_reserve(len) else { return Ok(()) };
            self.start(state, range, reserved)?;
        }
        Ok(())
    }

    /// Requests bytes that will be read, if the budget has space for them.
    fn start_within_budget(&self, at: u64) -> Result<()> {
        let mut state = locked(&self.state);
        if state.chunks.iter().any(|chunk| chunk.range.contains(&at)) {
            return Ok(());
        }
        let range = self.range_to_fetch(&state, at, at.saturating_add(1));
        if let Some(reserved) = self.budget().try_reserve(ranges::len(&range)) {
            let end = range.end;
            self.start(&mut state, range, reserved)?;
            self.start_ahead(&mut state, end)?;
        }
        Ok(())
    }

    /// Returns the maximum number of bytes in memory for ranges that are read concurrently.
    fn most_held(&self) -> u64 {
        (self.budget().share() / 2).min(MOST_HELD)
    }

    fn start(&self, state: &mut State, range: Range<u64>, reserved: ReservedBytes) -> Result<()> {
        // The whole file needs no range: an empty object has none.
        let wanted = (range.start > 0 || range.end < self.file.len || self.file.may_have_grown).then(|| range.clone());
        let fetch = self.fetcher.start(&self.requests, wanted, state.etag.clone(), Arc::new(reserved))?;
        let used = LastUse { is_unread: true, at: self.budget().tick() };
        state.chunks.push(Chunk { range, fetch: Arc::new(fetch), used });
        Ok(())
    }

    /// Returns the bytes of a chunk after validation.
    fn bytes_of(&self, range: &Range<u64>, fetch: &Fetch) -> Result<Bytes> {
        let checked = fetch.wait().map_err(|error| error.in_file(&self.path)).and_then(|outcome| {
            let fetched = outcome.map_err(|failure| self.failed(&failure))?;
            self.check(range, &fetched)?;
            Ok(fetched.bytes)
        });
        checked.inspect_err(|_| {
            // A later read repeats the request.
            locked(&self.state).chunks.retain(|chunk| !std::ptr::eq(chunk.fetch.as_ref(), fetch));
        })
    }

    /// Checks that a response is of the planned file.
    fn check(&self, range: &Range<u64>, fetched: &FetchedBytes) -> Result<()> {
        let len = self.file.len;
        if fetched.size < len || (fetched.size > len && !self.file.may_have_grown) {
            let message = format!("{CHANGED} (it had {len} bytes, now {})", fetched.size);
            return Err(Error::new(ErrorKind::FileChanged, message).in_file(&self.path));
        }
        if fetched.bytes.len() as u64 != ranges::len(range) {
            let message = format!("the storage answered with {} bytes for {range:?}", fetched.bytes.len());
            return Err(Error::new(ErrorKind::Io, message).in_file(&self.path));
        }
        let mut state = locked(&self.state);
        let is_other = |etag: &str| fetched.etag.as_deref().is_some_and(|other| bare(other) != bare(etag));
        if state.etag.as_deref().is_some_and(is_other) {
            return Err(Error::new(ErrorKind::FileChanged, CHANGED).in_file(&self.path));
        }
        if state.etag.is_none() {
            state.etag.clone_from(&fetched.etag);
        }
        Ok(())
    }

    fn failed(&self, failure: &StoreFailure) -> Error {
        if failure.kind != ErrorKind::NotFound {
            return failure.at(&self.path);
        }
        let message =
            "the file was removed after the query was planned (by the cleaner, or a rollback); plan the query again";
        Error::new(ErrorKind::FileCleaned, message).in_file(&self.path)
    }
}

impl FileSource for ObjectSource {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.file.len
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn window(&self) -> Option<u64> {
        // A scan of a file uses only a part of the memory.
        Some((self.budget().share() / 8).clamp(LEAST, PIECE))
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        check_range(self, &range)?;
        let chunks = self.chunks(&range)?;
        let mut parts = Vec::new();
        for (held, fetch) in chunks {
            let bytes = self.bytes_of(&held, &fetch)?;
            let (from, to) = (range.start.max(held.start), range.end.min(held.end));
            // Both are within the chunk, whose bytes are in memory.
            #[allow(clippy::cast_possible_truncation)]
            parts.push(bytes.slice((from - held.start) as usize..(to - held.start) as usize));
            // A small slice would keep the whole chunk in memory.
            let is_small = ranges::len(&held) / 2 > to.saturating_sub(from);
            if parts.len() == 1 && to == range.end && !(is_small && self.budget().left() == 0) {
                return Ok(parts.remove(0));
            }
        }
        let reserved = self.budget().reserve(ranges::len(&range));
        let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
        parts.iter().for_each(|part| all.extend_from_slice(part));
        Ok(fetch_budget::counted(all.freeze(), Arc::new(reserved)))
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.plan_reads(&[ranges.to_vec()])?;
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    fn begin(&self, from: ReadFrom) -> Result<()> {
        if self.file.len == 0 {
            return Ok(());
        }
        match from {
            _ if self.file.len <= WHOLE => self.start_within_budget(0),
            ReadFrom::End => self.start_within_budget(self.file.len - 1),
            ReadFrom::Start => self.plan_reads(&[std::iter::once(0..self.file.len).collect()]),
        }
    }

    fn plan_reads(&self, groups: &[Vec<Range<u64>>]) -> Result<()> {
        if self.file.len <= WHOLE {
            return Ok(());
        }
        let mut state = locked(&self.state);
        let mut first = None;
        for piece in ranges::pieces(groups, self.most_held()) {
            let is_in = |range: &Range<u64>| range.start <= piece.range.start && piece.range.end <= range.end;
            let is_known = state.plan.iter().any(|known| is_in(&known.range))
                || state.chunks.iter().any(|chunk| is_in(&chunk.range));
            if !is_known && piece.range.end <= self.file.len {
                first.get_or_insert(piece.range.start);
                state.plan.push(piece);
            }
        }
        drop(state);
        first.map_or(Ok(()), |first| self.start_within_budget(first))
    }
}

impl std::fmt::Debug for ObjectSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectSource").field("path", &self.path).field("file", &self.file).finish_non_exhaustive()
    }
}

impl FetchCache for ObjectSource {
    fn oldest(&self) -> Option<LastUse> {
        oldest(&locked(&self.state)).map(|(_, used)| used)
    }

    fn drop_oldest(&self) {
        let mut state = locked(&self.state);
        if let Some((at, _)) = oldest(&state) {
            state.chunks.swap_remove(at);
        }
    }
}

/// Returns the chunk to drop first, of those that are complete and not waited for.
fn oldest(state: &State) -> Option<(usize, LastUse)> {
    let chunks = state.chunks.iter().enumerate();
    let idle = chunks.filter(|(_, chunk)| Arc::strong_count(&chunk.fetch) == 1 && chunk.fetch.is_done());
    idle.map(|(at, chunk)| (at, chunk.used)).min_by_key(|(_, used)| *used)
}

/// Drops the least recently used chunks until few enough are left, except for the newest `kept`.
fn forget_oldest(state: &mut State, kept: usize) {
    let held = |state: &State| state.chunks.iter().map(|chunk| ranges::len(&chunk.range)).sum::<u64>();
    while held(state) > HELD && state.chunks.len() > kept {
        let oldest = state.chunks.iter().enumerate().min_by_key(|(_, chunk)| chunk.used).map(|(at, _)| at);
        let Some(oldest) = oldest else { return };
        state.chunks.swap_remove(oldest);
    }
}

/// Returns an etag without quotes: listings of Azure omit them.
fn bare(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}
