//! An open file of an object store: its length is known, and ranges are fetched when they are read, or before.
//!
//! | length | requests |
//! |---|---|
//! | up to 8 MiB | one for the whole file |
//! | larger | the last 512 KiB at the first read there; announced ranges in pieces of up to 8 MiB, some ahead of the reader |
//!
//! Every request names the etag that the listing or the first answer gave (`If-Match`), and the length of each answer is
//! compared: a file that was written again, or removed, is an error that says so.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};

use super::fetch::{Fetched, Outcome, RangeFetcher};
use super::object_error::{CHANGED, Failure};
use super::object_handle::ObjectHandle;
use super::object_ranges::{self, GROUP, PIECE, Piece, TAIL, WHOLE};
use super::object_runtime::{Pending, locked};
use super::source::check_range;
use super::{KnownFile, ReadFrom, Requests, Source};
use crate::error::{Error, Kind, Result};

/// Bytes of one file that are held: those of a group of ranges, and as many again that were fetched ahead.
const HELD: u64 = 2 * GROUP;

/// A file of an object store, or of HDFS.
pub(super) struct ObjectSource {
    fetcher: Box<dyn RangeFetcher>,
    requests: Arc<Requests>,
    path: String,
    file: KnownFile,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the listing, or of the first answer.
    etag: Option<String>,
    /// Pieces in the order in which they are read.
    plan: Vec<Piece>,
    chunks: Vec<Chunk>,
    clock: u64,
}

/// A range that was fetched, or is on its way.
struct Chunk {
    range: Range<u64>,
    fetch: Arc<Fetch>,
    used: u64,
}

type Fetch = Pending<Outcome<Fetched>>;

impl ObjectSource {
    /// The file at `path`, whose ranges `fetcher` fetches. Nothing is fetched yet.
    pub(super) fn new(
        fetcher: Box<dyn RangeFetcher>,
        requests: &Arc<Requests>,
        path: String,
        file: KnownFile,
    ) -> Arc<Self> {
        let state = Mutex::new(State { etag: file.etag.clone(), ..State::default() });
        Arc::new(Self { fetcher, requests: Arc::clone(requests), path, file, state })
    }

    /// The chunks that cover `range`, in order; those that are missing are started.
    fn chunks(&self, range: &Range<u64>) -> Result<Vec<(Range<u64>, Arc<Fetch>)>> {
        let mut state = locked(&self.state);
        // What the process that this one was forked from has asked for is not answered here.
        state.chunks.retain(|chunk| chunk.fetch.is_here());
        let (mut found, mut at) = (Vec::new(), range.start);
        while at < range.end {
            let position = match state.chunks.iter().position(|chunk| chunk.range.contains(&at)) {
                Some(position) => position,
                None => {
                    let wanted = self.range_to_fetch(&state, at, range.end);
                    self.start(&mut state, wanted)?;
                    state.chunks.len().saturating_sub(1)
                }
            };
            state.clock += 1;
            let clock = state.clock;
            let Some(chunk) = state.chunks.get_mut(position).filter(|chunk| chunk.range.contains(&at)) else {
                return Err(Error::internal(format_args!("byte {at} is in no request of {range:?}")));
            };
            chunk.used = clock;
            at = chunk.range.end;
            found.push((chunk.range.clone(), Arc::clone(&chunk.fetch)));
        }
        self.start_ahead(&mut state, range.end)?;
        forget_oldest(&mut state, found.len());
        Ok(found)
    }

    /// What one request fetches, of what is read from `at` to `end`.
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
        // Up to what is fetched anyway.
        let next = state.chunks.iter().map(|chunk| chunk.range.start).filter(|start| *start > at).min();
        let end = next.map_or(end, |next| next.min(end));
        object_ranges::cut(&(at..end), 2 * PIECE).next().unwrap_or(at..end)
    }

    /// Starts the pieces that follow the one in which a read has ended.
    fn start_ahead(&self, state: &mut State, end: u64) -> Result<()> {
        let last = end.saturating_sub(1);
        let Some(at) = state.plan.iter().position(|piece| piece.range.contains(&last)) else { return Ok(()) };
        let ahead = state.plan.get(at).map_or(0, |piece| piece.ahead);
        let next: Vec<Range<u64>> =
            state.plan.iter().skip(at + 1).take(ahead).map(|piece| piece.range.clone()).collect();
        for range in next {
            if !state.chunks.iter().any(|chunk| chunk.range.start <= range.start && range.end <= chunk.range.end) {
                self.start(state, range)?;
            }
        }
        Ok(())
    }

    fn start(&self, state: &mut State, range: Range<u64>) -> Result<()> {
        // The whole file needs no range: an object without bytes has none.
        let wanted = (range.start > 0 || range.end < self.file.len || self.file.may_have_grown).then(|| range.clone());
        let fetch = self.fetcher.start(&self.requests, wanted, state.etag.clone())?;
        state.clock += 1;
        state.chunks.push(Chunk { range, fetch: Arc::new(fetch), used: state.clock });
        Ok(())
    }

    /// The bytes of a chunk, checked.
    fn bytes_of(&self, range: &Range<u64>, fetch: &Fetch) -> Result<Bytes> {
        let checked = fetch.wait().map_err(|error| error.in_file(&self.path)).and_then(|outcome| {
            let fetched = outcome.map_err(|failure| self.failed(&failure))?;
            self.check(range, &fetched)?;
            Ok(fetched.bytes)
        });
        checked.inspect_err(|_| {
            // A later read asks again.
            locked(&self.state).chunks.retain(|chunk| !std::ptr::eq(chunk.fetch.as_ref(), fetch));
        })
    }

    /// Whether an answer is of the file that was planned.
    fn check(&self, range: &Range<u64>, fetched: &Fetched) -> Result<()> {
        let len = self.file.len;
        if fetched.size < len || (fetched.size > len && !self.file.may_have_grown) {
            let message = format!("{CHANGED} (it had {len} bytes, now {})", fetched.size);
            return Err(Error::new(Kind::FileChanged, message).in_file(&self.path));
        }
        if fetched.bytes.len() as u64 != object_ranges::len(range) {
            let message = format!("the storage answered with {} bytes for {range:?}", fetched.bytes.len());
            return Err(Error::new(Kind::Io, message).in_file(&self.path));
        }
        let mut state = locked(&self.state);
        let is_other = |etag: &str| fetched.etag.as_deref().is_some_and(|other| bare(other) != bare(etag));
        if state.etag.as_deref().is_some_and(is_other) {
            return Err(Error::new(Kind::FileChanged, CHANGED).in_file(&self.path));
        }
        if state.etag.is_none() {
            state.etag.clone_from(&fetched.etag);
        }
        Ok(())
    }

    fn failed(&self, failure: &Failure) -> Error {
        if failure.kind != Kind::NotFound {
            return failure.at(&self.path);
        }
        let message = "the file has gone since the query was planned (a cleaner, or a rollback); plan the query again";
        Error::new(Kind::FileCleaned, message).in_file(&self.path)
    }
}

impl Source for ObjectSource {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.file.len
    }

    fn window(&self) -> Option<u64> {
        Some(PIECE)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        check_range(self, &range)?;
        let chunks = self.chunks(&range)?;
        let mut parts = Vec::new();
        for (held, fetch) in chunks {
            let bytes = self.bytes_of(&held, &fetch)?;
            let (from, to) = (range.start.max(held.start), range.end.min(held.end));
            // Both lie within the chunk, whose bytes are in memory.
            #[allow(clippy::cast_possible_truncation)]
            parts.push(bytes.slice((from - held.start) as usize..(to - held.start) as usize));
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
        parts.iter().for_each(|part| all.extend_from_slice(part));
        Ok(all.freeze())
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.plan_reads(&[ranges.to_vec()])?;
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    fn begin(&self, from: ReadFrom) -> Result<()> {
        if self.file.len == 0 {
            return Ok(());
        }
        let range = match from {
            _ if self.file.len <= WHOLE => 0..1,
            ReadFrom::End => self.file.len - 1..self.file.len,
            ReadFrom::Start => {
                self.plan_reads(&[std::iter::once(0..self.file.len).collect()])?;
                return Ok(());
            }
        };
        self.chunks(&range).map(|_| ())
    }

    fn plan_reads(&self, groups: &[Vec<Range<u64>>]) -> Result<()> {
        if self.file.len <= WHOLE {
            return Ok(());
        }
        let mut state = locked(&self.state);
        let mut first = None;
        for group in groups {
            for piece in object_ranges::pieces(group) {
                let is_in = |range: &Range<u64>| range.start <= piece.range.start && piece.range.end <= range.end;
                let is_known = state.plan.iter().any(|known| is_in(&known.range))
                    || state.chunks.iter().any(|chunk| is_in(&chunk.range));
                if !is_known && piece.range.end <= self.file.len {
                    first.get_or_insert(piece.range.start);
                    state.plan.push(piece);
                }
            }
        }
        drop(state);
        first.map_or(Ok(()), |first| self.chunks(&(first..first + 1)).map(|_| ()))
    }
}

/// Drops chunks that were not used for longest, until the rest is few enough; not the newest `kept`.
fn forget_oldest(state: &mut State, kept: usize) {
    let held = |state: &State| state.chunks.iter().map(|chunk| object_ranges::len(&chunk.range)).sum::<u64>();
    while held(state) > HELD && state.chunks.len() > kept {
        let oldest = state.chunks.iter().enumerate().min_by_key(|(_, chunk)| chunk.used).map(|(at, _)| at);
        let Some(oldest) = oldest else { return };
        state.chunks.swap_remove(oldest);
    }
}

/// An etag without quotes: listings of Azure leave them out.
fn bare(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}

/// An object, as what its ranges are fetched from.
pub(super) struct ObjectFile {
    handle: Arc<ObjectHandle>,
    location: Path,
}

impl ObjectFile {
    /// The object at `location`.
    pub(super) fn new(handle: &Arc<ObjectHandle>, location: Path) -> Self {
        Self { handle: Arc::clone(handle), location }
    }
}

impl RangeFetcher for ObjectFile {
    fn start(
        &self,
        requests: &Arc<Requests>,
        range: Option<Range<u64>>,
        etag: Option<String>,
    ) -> Result<Pending<Outcome<Fetched>>> {
        let location = self.location.clone();
        self.handle.start(requests, move |store| get(store, location, range, etag))
    }
}

/// Fetches a range of an object, or all of it.
async fn get(
    store: Arc<dyn ObjectStore>,
    location: Path,
    range: Option<Range<u64>>,
    etag: Option<String>,
) -> object_store::Result<Fetched> {
    // A weak etag never matches.
    let if_match = etag.filter(|etag| !etag.starts_with("W/")).map(|etag| match etag.starts_with('"') {
        true => etag,
        false => format!("\"{etag}\""),
    });
    let options = GetOptions { range: range.map(GetRange::Bounded), if_match, ..GetOptions::default() };
    let answer = store.get_opts(&location, options).await?;
    let (size, etag) = (answer.meta.size, answer.meta.e_tag.clone());
    Ok(Fetched { bytes: answer.bytes().await?, size, etag })
}
