//! Commits in the order of their completion: a sequence of incremental queries that returns every commit once.
//!
//! | layout | order and positions | may miss |
//! |---|---|---|
//! | 1 (table version 7 and below) | requested times; stops at the first pending write | a writer that chooses its instant long before it is on the timeline |
//! | 2 | completion times; a write that was pending at a position and is completed before it is returned late | nothing |
//!
//! Table services write no new rows: they advance the position and are not returned. If nothing has changed, polling
//! the table takes one listing of its timeline. The archive is read if the start is old, or if commits may have been
//! archived between two polls.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::written_files::{SkippedWrites, WrittenFiles};
use crate::plan::open_table::OpenTable;
use crate::plan::query_kind::{FullScanFallback, IncrementalRange, IncrementalRows};
use crate::plan::query_options::QueryOptions;
use crate::plan::scan::Scan;
use crate::timeline::{self, MetadataPart, ReadPosition, Timeline, TimelineRange};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::TimelinePosition;
use mortice_merge::config::TimelineLayout;

/// The number of commits whose metadata is in memory at once.
const AT_ONCE: usize = 256;

/// How long writing the file of a completed commit may take.
const PATIENCE: Duration = Duration::from_secs(30);

const SERVICES: SkippedWrites = SkippedWrites { compaction: true, clustering: true, log_compaction: true };

/// The start position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartPosition {
    /// Before the first commit of the table.
    Earliest,
    /// After the latest commit.
    Latest,
    /// After an instant, in any format that Hudi accepts.
    After(String),
}

/// The position in a table's commits, and the commits after it that are known.
pub struct Follower {
    table: Arc<OpenTable>,
    position: Option<ReadPosition>,
    waiting: VecDeque<Increment>,
    /// Whether all commits on the table's timeline, as it was read, have been returned.
    is_exhausted: bool,
    /// Whether the next commits may have been archived.
    may_be_archived: bool,
    /// A commit whose file seems to be incomplete, and the time at which that was first seen.
    unready: Option<(TimelinePosition, Instant)>,
}

/// One commit, or several that completed at the same time.
struct Increment {
    timeline_range: TimelineRange,
    written: WrittenFiles,
    /// The position after it.
    after: ReadPosition,
}

/// Information about a commit that has not been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadCommit {
    /// The position after the commit.
    pub position: ReadPosition,
    /// The size of the files that it wrote or appended to, as far as it is reported.
    pub bytes: u64,
    /// Whether it is of a table service, which writes no new rows.
    pub is_service: bool,
}

impl Increment {
    fn step(&self) -> UnreadCommit {
        let (bytes, is_service) = (self.written.bytes(), self.written.is_skipped());
        UnreadCommit { position: self.after.clone(), bytes, is_service }
    }
}

impl Follower {
    /// Follows a table. `Unsupported` for tables without meta columns; `InvalidArgument` for a start that is not an
    /// instant.
    pub fn new(table: Arc<OpenTable>, start: &StartPosition) -> Result<Self> {
        table.check_rows_tell_commits()?;
        let position = match start {
            StartPosition::Earliest => None,
            StartPosition::Latest => table.timeline.newest_bound()?.map(|bound| table.timeline.position_after(bound)),
            StartPosition::After(instant) => {
                Some(ReadPosition::from_query("start", instant, table.config.timeline_zone)?)
            }
        };
        Ok(Self {
            table,
            position,
            waiting: VecDeque::new(),
            is_exhausted: false,
            may_be_archived: true,
            unready: None,
        })
    }

    /// Returns the position from which a new follower continues; `None` if no commit has been returned or skipped.
    #[must_use]
    pub fn position(&self) -> Option<&ReadPosition> {
        self.position.as_ref()
    }

    /// Returns the layout, 1 or 2, of the timeline of the position. An upgrade of the table changes both.
    #[must_use]
    pub fn layout(&self) -> u8 {
        match self.table.config.layout() {
            TimelineLayout::V1 => 1,
            TimelineLayout::V2 => 2,
        }
    }

    /// Returns the instant and the rows of the next commit, as [`OpenTable::incremental`] does; `None` if there is no
    /// new commit. After an error the same commit is returned again.
    pub fn next(&mut self, options: &QueryOptions, rows: IncrementalRows) -> Result<Option<(TimelinePosition, Scan)>> {
        self.looking(|follower| follower.known(options, rows))
    }

    /// Returns the next commit, including table services, for callers that combine commits to ranges and plan them;
    /// `None` if there is no new commit. The same commit is returned until [`Self::pass`] is called.
    pub fn peek(&mut self) -> Result<Option<UnreadCommit>> {
        self.looking(|follower| Ok(follower.fill()?.then(|| follower.waiting.front().map(Increment::step)).flatten()))
    }

    /// Advances the position beyond the commit that [`Self::peek`] returned.
    pub fn pass(&mut self) {
        if let Some(passed) = self.waiting.pop_front() {
            self.position = Some(passed.after);
        }
    }

    /// Searches the table's timeline as it was read; if nothing is found, reads the timeline again and repeats the
    /// search.
    fn looking<T>(&mut self, mut find: impl FnMut(&mut Self) -> Result<Option<T>>) -> Result<Option<T>> {
        loop {
            match find(self) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) if self.look()? => {}
                Ok(None) => return Ok(None),
                // A file of the timeline may be removed while it is read; reading the timeline again shows the reason.
                Err(error) if error.kind() != ErrorKind::FileCleaned || !self.look()? => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Returns the next commit on the table's timeline as it was read.
    fn known(&mut self, options: &QueryOptions, rows: IncrementalRows) -> Result<Option<(TimelinePosition, Scan)>> {
        let range = IncrementalRange { rows, full_scan: FullScanFallback::Disabled, ..IncrementalRange::default() };
        while self.fill()? {
            while let Some(increment) = self.waiting.front() {
                let Increment { timeline_range, written, .. } = increment;
                let instant = timeline_range.end.clone().unwrap_or_default();
                let scan = || self.table.scan_written(options, &range, timeline_range.clone(), written);
                let scan = match (!written.is_skipped()).then(scan).transpose() {
                    // The schema of the table is that of its newest commit.
                    Err(error) if is_of_half_a_file(&error) && self.is_waiting_for_a_file() => return Ok(None),
                    scan => scan?,
                };
                self.pass();
                if let Some(scan) = scan {
                    return Ok(Some((instant, scan)));
                }
            }
        }
        Ok(None)
    }

    /// Returns true if there are commits to return, on the timeline as it was read.
    fn fill(&mut self) -> Result<bool> {
        if self.waiting.is_empty() && !self.is_exhausted {
            let is_patient = self.unready.is_none() || self.is_waiting_for_a_file();
            let (waiting, unready) =
                self.table.increments_after(self.position.as_ref(), self.may_be_archived, is_patient)?;
            self.waiting = waiting;
            let known = self.unready.take();
            self.unready = unready.map(|bound| match known {
                Some(known) if known.0 == bound => known,
                _ => (bound, Instant::now()),
            });
            self.is_exhausted = self.waiting.is_empty();
        }
        Ok(!self.waiting.is_empty())
    }

    fn is_waiting_for_a_file(&self) -> bool {
        self.unready.as_ref().is_some_and(|(_, since)| since.elapsed() < PATIENCE)
    }

    /// Lists the timeline. Returns true if it has changed.
    fn look(&mut self) -> Result<bool> {
        let Some(table) = self.table.refreshed()? else {
            // The listing is unchanged, but the file must be read again; at the next call.
            self.is_exhausted = self.unready.is_none();
            return Ok(false);
        };
        let (old, new) = (&self.table.timeline, &table.timeline);
        if self.table.config.layout() == table.config.layout() {
            // If the last commit that was returned is still active, and so are all writes that were pending then, no
            // unread commit has been archived.
            let passed = self.position.as_ref().map(|position| &position.bound);
            let is_there = new.completed_writes().any(|write| Some(&new.bound_of(write)) == passed);
            let still_active =
                |write: &timeline::Instant| new.instants_at(&write.requested_time).iter().any(|one| one.is_same(write));
            self.may_be_archived = !is_there || !old.pending_writes().all(still_active);
        } else {
            let (is_upgrade, timeline) = match table.config.layout() {
                TimelineLayout::V2 => (true, new),
                TimelineLayout::V1 => (false, old),
            };
            let passed = self.position.as_ref();
            let here = passed.map_or(Ok(None), |passed| timeline.translated(&passed.bound, is_upgrade))?;
            self.position = here.map(ReadPosition::from);
            self.may_be_archived = true;
        }
        (self.table, self.is_exhausted) = (Arc::new(table), false);
        self.waiting.clear();
        Ok(true)
    }
}

impl OpenTable {
    /// Converts a position that was returned when the table's timeline had the given layout, 1 or 2. Returns it
    /// unchanged if the layout is the same, and its completion time if the table was upgraded. `None` is a position
    /// before all commits.
    ///
    /// # Errors
    /// `Unsupported` if the table was downgraded, because its timeline no longer has completion times.
    pub fn position_here(&self, position: &ReadPosition, layout: u8) -> Result<Option<ReadPosition>> {
        match (layout, self.config.layout()) {
            (1, TimelineLayout::V1) | (2, TimelineLayout::V2) => Ok(Some(position.clone())),
            (1, TimelineLayout::V2) => Ok(self.timeline.translated(&position.bound, true)?.map(ReadPosition::from)),
            _ => Err(Error::unsupported(format!(
                "{position} is a position on a timeline of layout {layout}; this table's, of table version {}, has no completion times to compare it with",
                self.config.version.number()
            ))
            .in_file(&self.uri)),
        }
    }

    /// Returns the table in its current state; `None` if its timeline has not changed, which takes one listing to
    /// check.
    pub fn refreshed(&self) -> Result<Option<Self>> {
        let now = Timeline::load(&self.storage, &self.config);
        if now.is_ok_and(|now| now.instants() == self.timeline.instants()) {
            return Ok(None);
        }
        Self::at(Arc::clone(&self.storage), &self.uri, &self.storage_options, self.options.clone()).map(Some)
    }

    /// Returns the first commits after a position, and the position of the first commit that cannot be read yet. On a
    /// local disk, releases before 1.0.1 create the file of a completed commit before they write its contents: if
    /// `is_patient` is set, an empty or truncated file is treated as such a file.
    fn increments_after(
        &self,
        position: Option<&ReadPosition>,
        may_be_archived: bool,
        is_patient: bool,
    ) -> Result<(VecDeque<Increment>, Option<TimelinePosition>)> {
        let timeline = &self.timeline;
        let mut increments = self.late_increments(position, may_be_archived)?;
        let mut timeline_range =
            TimelineRange { begin: position.map(|position| position.bound.clone()), ..TimelineRange::default() };
        let with_archive = may_be_archived && timeline.may_reach_archive(&timeline_range);
        let times = timeline.bounds_in(&timeline_range, with_archive)?;
        let mut written: BTreeMap<TimelinePosition, WrittenFiles> =
            times.into_iter().take(AT_ONCE).map(|time| (time, WrittenFiles::default())).collect();
        let Some((last, _)) = written.last_key_value() else { return Ok((increments, None)) };
        timeline_range.end = Some(last.clone());
        if with_archive {
            timeline.visit_archived_writes_in(&timeline_range, &mut |write, metadata| {
                if let Some(written) = written.get_mut(&timeline.bound_of(write)) {
                    written.add(write, metadata, SERVICES);
                }
                Ok(())
            })?;
        }
        let mut unready = None;
        for write in timeline.completed_writes().filter(|write| timeline_range.contains(&timeline.bound_of(write))) {
            let bound = timeline.bound_of(write);
            match timeline.commit_metadata(write, MetadataPart::All) {
                Ok(Some(metadata)) => written.entry(bound).or_default().add(write, metadata, SERVICES),
                Err(error) if !is_of_half_a_file(&error) => return Err(error),
                _ if is_patient => unready = unready.into_iter().chain([bound]).min(),
                half => written.entry(bound).or_default().add(write, half?.unwrap_or_default(), SERVICES),
            }
        }
        if let Some(unready) = &unready {
            written.retain(|bound, _| bound < unready);
        }
        let mut begin = timeline_range.begin;
        increments.extend(written.into_iter().map(|(time, written)| {
            let (begin, end) = (begin.replace(time.clone()), Some(time.clone()));
            let timeline_range = TimelineRange { begin, end, ..TimelineRange::default() };
            Increment { timeline_range, written, after: timeline.position_after(time) }
        }));
        Ok((increments, unready))
    }

    /// Returns the commits that were pending at a position and were completed before it. Their metadata is complete: by
    /// then others had overtaken them.
    fn late_increments(&self, position: Option<&ReadPosition>, may_be_archived: bool) -> Result<VecDeque<Increment>> {
        let mut increments = VecDeque::new();
        let Some(mut after) = position.cloned() else { return Ok(increments) };
        for write in self.timeline.late_writes(&after, may_be_archived)? {
            let metadata = self.timeline.commit_metadata(&write, MetadataPart::All)?.unwrap_or_default();
            let mut written = WrittenFiles::default();
            written.add(&write, metadata, SERVICES);
            after.open.remove(&write.requested_time);
            let end = Some(self.timeline.bound_of(&write));
            let timeline_range = TimelineRange { end, ..TimelineRange::default() };
            increments.push_back(Increment { timeline_range, written, after: after.clone() });
        }
        Ok(increments)
    }
}

/// Returns true if an error may be that of a file that is still being written.
fn is_of_half_a_file(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidTable | ErrorKind::CorruptLog)
}
