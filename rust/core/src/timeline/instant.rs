//! An instant: one action on a table, and how far it has come (`HoodieInstant`, `HoodieTimeline`).

use std::cmp::Ordering;
use std::fmt;

use crate::names::{CompletionTime, RequestedTime};

/// What an instant does. What is asked for and what is then completed can have two names: a compaction completes as a
/// commit, a log compaction as a delta commit, clustering as a replace commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// `clean`: deletes files of old slices.
    Clean,
    /// `clustering`: pending only, from table version 8.
    Clustering,
    /// `commit`: writes base files.
    Commit,
    /// `compaction`: pending only.
    Compaction,
    /// `deltacommit`: writes logs, and base files for inserts.
    DeltaCommit,
    /// `indexing`.
    Indexing,
    /// `logcompaction`: pending only.
    LogCompaction,
    /// `replacecommit`: writes file groups in place of others.
    ReplaceCommit,
    /// `restore`.
    Restore,
    /// `rollback`.
    Rollback,
    /// `savepoint`: protects the commit of the same requested time.
    Savepoint,
    /// `schemacommit`.
    SchemaCommit,
}

impl Action {
    pub(super) const ALL: [Self; 12] = [
        Self::Clean,
        Self::Clustering,
        Self::Commit,
        Self::Compaction,
        Self::DeltaCommit,
        Self::Indexing,
        Self::LogCompaction,
        Self::ReplaceCommit,
        Self::Restore,
        Self::Rollback,
        Self::Savepoint,
        Self::SchemaCommit,
    ];

    /// Its name on the timeline.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Clustering => "clustering",
            Self::Commit => "commit",
            Self::Compaction => "compaction",
            Self::DeltaCommit => "deltacommit",
            Self::Indexing => "indexing",
            Self::LogCompaction => "logcompaction",
            Self::ReplaceCommit => "replacecommit",
            Self::Restore => "restore",
            Self::Rollback => "rollback",
            Self::Savepoint => "savepoint",
            Self::SchemaCommit => "schemacommit",
        }
    }

    /// The action of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    /// The action that it completes as.
    #[must_use]
    pub fn completes_as(self) -> Self {
        match self {
            Self::Compaction => Self::Commit,
            Self::LogCompaction => Self::DeltaCommit,
            Self::Clustering => Self::ReplaceCommit,
            other => other,
        }
    }

    /// Whether it writes data, under either name.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(self.completes_as(), Self::Commit | Self::DeltaCommit | Self::ReplaceCommit)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far an instant has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Asked for; a plan may stand in its file.
    Requested,
    /// Under way.
    Inflight,
    /// Done.
    Completed,
}

impl State {
    /// The state of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Requested, Self::Inflight, Self::Completed].into_iter().find(|state| state.name() == name)
    }

    /// Hudi's name of the state.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Requested => "REQUESTED",
            Self::Inflight => "INFLIGHT",
            Self::Completed => "COMPLETED",
        }
    }
}

/// One action on a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Instant {
    /// When it was asked for: its identity, and what data files are named by.
    pub requested_time: RequestedTime,
    /// When it was completed; none while it is pending, and none in layout 1, which does not store it.
    pub completion_time: Option<CompletionTime>,
    /// What it does.
    pub action: Action,
    /// How far it has come.
    pub state: State,
    /// Its file in the timeline folder.
    pub file_name: String,
}

impl Instant {
    /// Whether it is done.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.state == State::Completed
    }

    /// Whether it is a completed write.
    #[must_use]
    pub fn is_completed_write(&self) -> bool {
        self.is_completed() && self.action.is_write()
    }

    /// Whether it is the same action, however far each has come.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.requested_time == other.requested_time && self.action.completes_as() == other.action.completes_as()
    }

    /// The order of a timeline: requested time as text, action, state.
    #[must_use]
    pub fn timeline_order(&self, other: &Self) -> Ordering {
        let key = |instant: &Self| (instant.action.completes_as().name(), instant.state);
        self.requested_time.cmp(&other.requested_time).then_with(|| key(self).cmp(&key(other)))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.requested_time, self.action)
    }
}
