//! When a table is compacted (`CompactionTriggerStrategy`, `ScheduleCompactionActionExecutor.needCompact`).

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::epoch_millis;
use mortice_merge::config::TimelineZone;
use mortice_table::timeline::{Action, Instant, Timeline};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TriggerStrategy {
    NumCommits,
    NumCommitsAfterLastRequest,
    TimeElapsed,
    NumAndTime,
    NumOrTime,
}

const STRATEGIES: [(&str, TriggerStrategy); 5] = [
    ("NUM_COMMITS", TriggerStrategy::NumCommits),
    ("NUM_COMMITS_AFTER_LAST_REQUEST", TriggerStrategy::NumCommitsAfterLastRequest),
    ("TIME_ELAPSED", TriggerStrategy::TimeElapsed),
    ("NUM_AND_TIME", TriggerStrategy::NumAndTime),
    ("NUM_OR_TIME", TriggerStrategy::NumOrTime),
];

impl TriggerStrategy {
    /// The strategy of a name that an option has.
    pub(super) fn parse(given: &str, option: &str) -> Result<Self> {
        let known = STRATEGIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(given));
        known.map(|(_, strategy)| *strategy).ok_or_else(|| {
            let all: Vec<&str> = STRATEGIES.iter().map(|(name, _)| *name).collect();
            Error::invalid_argument(format!("option {option} must be one of {}, got {given:?}", all.join(", ")))
        })
    }
}

/// When a compaction is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trigger {
    pub(super) strategy: TriggerStrategy,
    pub(super) commits: u64,
    pub(super) seconds: u64,
}

impl Trigger {
    /// Delta commits after which a compaction is due.
    pub(crate) const fn commits(&self) -> u64 {
        self.commits
    }

    /// Whether a compaction at `now` is due, if the table is about to have `ahead` more delta commits than its
    /// timeline.
    pub(crate) fn is_due(&self, timeline: &Timeline, now: &RequestedTime, zone: TimelineZone, ahead: u64) -> bool {
        let since = match self.strategy {
            TriggerStrategy::NumCommitsAfterLastRequest => Since::last_request(timeline),
            _ => Since::last_compaction(timeline),
        };
        let Some(since) = since else { return false };
        let is_many = since.delta_commits.saturating_add(ahead) >= self.commits;
        let is_long = || seconds_of(now, zone).saturating_sub(seconds_of(since.from, zone)) >= self.seconds;
        match self.strategy {
            TriggerStrategy::NumCommits | TriggerStrategy::NumCommitsAfterLastRequest => is_many,
            TriggerStrategy::TimeElapsed => is_long(),
            TriggerStrategy::NumAndTime => is_many && is_long(),
            TriggerStrategy::NumOrTime => is_many || is_long(),
        }
    }
}

/// A time that is not one of the calendar is that of an initialisation: long ago.
fn seconds_of(time: &RequestedTime, zone: TimelineZone) -> u64 {
    let millis = epoch_millis(time.as_str(), zone).unwrap_or_default();
    u64::try_from(millis).unwrap_or_default() / 1000
}

/// What was written since the last compaction (`CompactionUtils.getCompletedDeltaCommitsSinceLatestCompaction`).
pub(super) struct Since<'a> {
    pub(super) delta_commits: u64,
    /// The compaction, or the first delta commit.
    from: &'a RequestedTime,
}

impl<'a> Since<'a> {
    /// None for a table without delta commits and compactions.
    pub(super) fn last_compaction(timeline: &'a Timeline) -> Option<Self> {
        match last_completed_compaction(timeline) {
            Some(last) => Some(Self::after(timeline, &last.requested_time)),
            None => Self::all(timeline),
        }
    }

    fn last_request(timeline: &'a Timeline) -> Option<Self> {
        let requested = timeline.pending(Action::Compaction).map(|instant| &instant.requested_time).max();
        let completed = last_completed_compaction(timeline).map(|instant| &instant.requested_time);
        match requested.max(completed) {
            Some(last) => {
                let later = delta_commits(timeline).filter(|instant| instant.requested_time > *last).count();
                Some(Self { delta_commits: later as u64, from: last })
            }
            None => Self::all(timeline),
        }
    }

    fn all(timeline: &'a Timeline) -> Option<Self> {
        let first = timeline.instants().iter().find(|instant| instant.action == Action::DeltaCommit)?;
        let count = delta_commits(timeline).count();
        Some(Self { delta_commits: count as u64, from: &first.requested_time })
    }

    fn after(timeline: &'a Timeline, last: &'a RequestedTime) -> Self {
        // From table version 8 on a delta commit that was completed later is not in the compaction.
        let is_later = |instant: &&Instant| match &instant.completion_time {
            Some(completed) => last.compare_to_completion(completed).is_some_and(std::cmp::Ordering::is_lt),
            None => instant.requested_time > *last,
        };
        Self { delta_commits: delta_commits(timeline).filter(is_later).count() as u64, from: last }
    }
}

/// Completed delta commits, oldest first.
pub(super) fn delta_commits(timeline: &Timeline) -> impl DoubleEndedIterator<Item = &Instant> {
    timeline.completed_writes().filter(|instant| instant.action == Action::DeltaCommit)
}

/// The last completed commit, by which Hudi means the last compaction of a merge-on-read table.
pub(crate) fn last_completed_compaction(timeline: &Timeline) -> Option<&Instant> {
    timeline.completed_writes().rfind(|instant| instant.action == Action::Commit)
}
