//! Commits one by one, as they complete: a sequence of incremental queries that leaves out none and repeats none.
//!
//! | layout | order, and what a position is | what it may overlook |
//! |---|---|---|
//! | 1 (table version 7 and below) | requested times; nothing from the first write on that is under way | a writer that takes its instant long before it shows it on the timeline |
//! | 2 | completion times, which Hudi hands out one after the other | nothing |
//!
//! Table services write no rows of their own: they move the position and are not delivered. Where nothing has happened, a look
//! at the table is one listing of its timeline. The archive is read where the start lies far back, or where so much has happened
//! between two looks that commits may have been archived meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::open_table::OpenTable;
use super::query_kind::{FullScanFallback, IncrementalRange, IncrementalRows};
use super::query_options::QueryOptions;
use super::scan::Scan;
use super::written_files::{Skip, Written};
use crate::config::TimelineLayout;
use crate::error::{Error, Kind, Result};
use crate::names::TimelinePosition;
use crate::timeline::{self, Part, Span, Timeline};

/// Commits whose metadata is held at once.
const AT_ONCE: usize = 256;

/// How long the file of a completed commit may take to be written.
const PATIENCE: Duration = Duration::from_secs(30);

const SERVICES: Skip = Skip { compaction: true, clustering: true, log_compaction: true };

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// With the first commit that there ever was.
    Earliest,
    /// With the next commit.
    Latest,
    /// After an instant, in any form that Hudi takes.
    After(String),
}

/// What has been delivered of a table, and what is to come.
pub struct Follower {
    table: Arc<OpenTable>,
    position: Option<TimelinePosition>,
    waiting: VecDeque<Increment>,
    /// Whether all that the table's timeline tells has been taken.
    is_exhausted: bool,
    /// Whether what comes next may have been archived.
    may_be_archived: bool,
    /// A commit whose file seems to be written still, and since when it has been waited for.
    unready: Option<(TimelinePosition, Instant)>,
}

/// One commit, or several that were completed at the same time.
struct Increment {
    span: Span,
    written: Written,
}

/// What is told of a commit before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Behind the commit.
    pub position: TimelinePosition,
    /// Of the files that it wrote or appended to, as far as it tells.
    pub bytes: u64,
    /// Whether it is of a table service, which wrote no rows of its own.
    pub is_service: bool,
}

impl Increment {
    fn position(&self) -> TimelinePosition {
        self.span.end.clone().unwrap_or_default()
    }

    fn step(&self) -> Step {
        let (bytes, is_service) = (self.written.bytes(), self.written.is_skipped());
        Step { position: self.position(), bytes, is_service }
    }
}

impl Follower {
    /// Follows a table. `Unsupported` for tables without meta columns; `InvalidArgument` for a start that is no instant.
    pub fn new(table: Arc<OpenTable>, start: &Start) -> Result<Self> {
        table.check_rows_tell_commits()?;
        let position = match start {
            Start::Earliest => None,
            Start::Latest => table.timeline.newest_bound()?,
            Start::After(instant) => Span::of_query(instant, None)?.begin,
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

    /// After which instant to begin in order to go on from here; none where nothing has been passed yet.
    #[must_use]
    pub fn position(&self) -> Option<&TimelinePosition> {
        self.position.as_ref()
    }

    /// The layout, 1 or 2, of the timeline that the position is on: an upgrade changes both.
    #[must_use]
    pub fn layout(&self) -> u8 {
        match self.table.config.layout() {
            TimelineLayout::V1 => 1,
            TimelineLayout::V2 => 2,
        }
    }

    /// The next commit's instant and rows, as [`OpenTable::incremental`] gives them; none where there is none yet. After an error the
    /// same commit comes again.
    pub fn next(&mut self, options: &QueryOptions, rows: IncrementalRows) -> Result<Option<(TimelinePosition, Scan)>> {
        self.looking(|follower| follower.known(options, rows))
    }

    /// What comes next, table services included, for those who put ranges together and plan them by themselves; none where there
    /// is nothing yet. It comes again until it is passed.
    pub fn peek(&mut self) -> Result<Option<Step>> {
        self.looking(|follower| Ok(follower.fill()?.then(|| follower.waiting.front().map(Increment::step)).flatten()))
    }

    /// Goes behind what [`Self::peek`] told of.
    pub fn pass(&mut self) {
        if let Some(passed) = self.waiting.pop_front() {
            self.position = Some(passed.position());
        }
    }

    /// What is found on the table's timeline as it was listed, or else as it is now.
    fn looking<T>(&mut self, mut find: impl FnMut(&mut Self) -> Result<Option<T>>) -> Result<Option<T>> {
        loop {
            match find(self) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) if self.look()? => {}
                Ok(None) => return Ok(None),
                // A file of the timeline may go while it is read; another look tells why.
                Err(error) if error.kind() != Kind::FileCleaned || !self.look()? => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// The next commit that the table's timeline, as it was listed, tells of.
    fn known(&mut self, options: &QueryOptions, rows: IncrementalRows) -> Result<Option<(TimelinePosition, Scan)>> {
        let range = IncrementalRange { rows, full_scan: FullScanFallback::Disabled, ..IncrementalRange::default() };
        while self.fill()? {
            while let Some(increment) = self.waiting.front() {
                let Increment { span, written } = increment;
                let instant = increment.position();
                let scan = || self.table.scan_written(options, &range, span.clone(), written);
                let scan = match (!written.is_skipped()).then(scan).transpose() {
                    // The table's schema is told by its newest commit.
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

    /// Whether anything waits, commits of the timeline as it was listed included.
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

    /// Lists the timeline; whether anything has happened.
    fn look(&mut self) -> Result<bool> {
        let Some(table) = self.table.refreshed()? else {
            // The file is to be read again, though the listing is the same; but at the next call.
            self.is_exhausted = self.unready.is_none();
            return Ok(false);
        };
        let (old, new) = (&self.table.timeline, &table.timeline);
        if self.table.config.layout() == table.config.layout() {
            // What was passed last is still active, and so is all that was under way then: nothing has been archived unseen.
            let passed = self.position.as_ref();
            let is_there = new.completed_writes().any(|write| Some(&new.bound_of(write)) == passed);
            let still_active =
                |write: &timeline::Instant| new.instants_at(&write.requested_time).iter().any(|one| one.is_same(write));
            self.may_be_archived = !is_there || !old.pending_writes().all(still_active);
        } else {
            let (is_upgrade, told) = match table.config.layout() {
                TimelineLayout::V2 => (true, new),
                TimelineLayout::V1 => (false, old),
            };
            self.position = self.position.as_ref().map_or(Ok(None), |passed| told.translated(passed, is_upgrade))?;
            self.may_be_archived = true;
        }
        (self.table, self.is_exhausted) = (Arc::new(table), false);
        self.waiting.clear();
        Ok(true)
    }
}

impl OpenTable {
    /// The position here of one that was told when the table had a timeline layout, 1 or 2: the same where it still has that; its
    /// completion time where the table was upgraded meanwhile. None lies before every commit.
    ///
    /// # Errors
    /// `Unsupported` where the table was downgraded, since its timeline no longer tells of completions.
    pub fn position_here(&self, position: &TimelinePosition, layout: u8) -> Result<Option<TimelinePosition>> {
        match (layout, self.config.layout()) {
            (1, TimelineLayout::V1) | (2, TimelineLayout::V2) => Ok(Some(position.clone())),
            (1, TimelineLayout::V2) => self.timeline.translated(position, true),
            _ => Err(Error::unsupported(format!(
                "{position} is a position on a timeline of layout {layout}; this table's, of table version {}, does not tell completion times that it could be compared with",
                self.config.version.number()
            ))
            .in_file(&self.uri)),
        }
    }

    /// The table as it is now; none where nothing has happened, which is told by one listing.
    pub fn refreshed(&self) -> Result<Option<Self>> {
        let now = Timeline::load(&self.place, &self.config);
        if now.is_ok_and(|now| now.instants() == self.timeline.instants()) {
            return Ok(None);
        }
        Self::at(Arc::clone(&self.place), &self.uri, &self.storage, self.options.clone()).map(Some)
    }

    /// The first of the commits after a position, and the first that is not told yet. Releases before 1.0.1 put the file of a
    /// completed commit on a local disk before they fill it: one that is patient takes a file that is empty or torn for such.
    fn increments_after(
        &self,
        position: Option<&TimelinePosition>,
        may_be_archived: bool,
        is_patient: bool,
    ) -> Result<(VecDeque<Increment>, Option<TimelinePosition>)> {
        let timeline = &self.timeline;
        let mut span = Span { begin: position.cloned(), end: None };
        let with_archive = may_be_archived && timeline.may_reach_archive(&span);
        let times = timeline.bounds_in(&span, with_archive)?;
        let mut written: BTreeMap<TimelinePosition, Written> =
            times.into_iter().take(AT_ONCE).map(|time| (time, Written::default())).collect();
        let Some((last, _)) = written.last_key_value() else { return Ok((VecDeque::new(), None)) };
        span.end = Some(last.clone());
        if with_archive {
            timeline.visit_archived_writes_in(&span, &mut |write, metadata| {
                if let Some(written) = written.get_mut(&timeline.bound_of(write)) {
                    written.add(write, metadata, SERVICES);
                }
                Ok(())
            })?;
        }
        let mut unready = None;
        for write in timeline.completed_writes().filter(|write| span.contains(&timeline.bound_of(write))) {
            let bound = timeline.bound_of(write);
            match timeline.commit_metadata(write, Part::All) {
                Ok(Some(metadata)) => written.entry(bound).or_default().add(write, metadata, SERVICES),
                Err(error) if !is_of_half_a_file(&error) => return Err(error),
                _ if is_patient => unready = unready.into_iter().chain([bound]).min(),
                half => written.entry(bound).or_default().add(write, half?.unwrap_or_default(), SERVICES),
            }
        }
        if let Some(unready) = &unready {
            written.retain(|bound, _| bound < unready);
        }
        let mut begin = span.begin;
        let increment = |(time, written): (TimelinePosition, Written)| {
            let span = Span { begin: begin.replace(time.clone()), end: Some(time) };
            Increment { span, written }
        };
        Ok((written.into_iter().map(increment).collect(), unready))
    }
}

/// Whether an error may be that of a file which is still being written.
fn is_of_half_a_file(error: &Error) -> bool {
    matches!(error.kind(), Kind::InvalidTable | Kind::CorruptLog)
}
