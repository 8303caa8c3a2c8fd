//! An instant: one action on a table, and its state (`HoodieInstant`, `HoodieTimeline`).

use std::cmp::Ordering;
use std::fmt;

use mortice_base::names::{CompletionTime, RequestedTime};

/// The action of an instant. A pending and a completed action can have two names: a compaction completes as a commit, a
/// log compaction as a delta commit, clustering as a replace commit.
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
    /// `replacecommit`: writes file groups that replace others.
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

    /// Returns the name on the timeline.
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

    /// Parses the name of an action.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    /// Returns the action that this one completes as.
    #[must_use]
    pub fn completes_as(self) -> Self {
        match self {
            Self::Compaction => Self::Commit,
            Self::LogCompaction => Self::DeltaCommit,
            Self::Clustering => Self::ReplaceCommit,
            other => other,
        }
    }

    /// Returns true if the action writes data, under its pending or its completed name.
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

/// The state of an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstantState {
    /// Requested. The file may contain a plan.
    Requested,
    /// Started.
    Inflight,
    /// Completed.
    Completed,
}

impl InstantState {
    /// Parses the name of a state.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Requested, Self::Inflight, Self::Completed].into_iter().find(|state| state.name() == name)
    }

    /// Returns Hudi's name of the state.
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
    /// When the action was requested: the identity of the instant, and part of the names of data files.
    pub requested_time: RequestedTime,
    /// When the action was completed. `None` while it is pending, and in layout 1, which does not store it.
    pub completion_time: Option<CompletionTime>,
    /// The action.
    pub action: Action,
    /// The state.
    pub state: InstantState,
    /// The name of its file in the timeline folder. Empty for an archived instant.
    pub file_name: String,
}

impl Instant {
    /// Returns true if the instant is completed.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.state == InstantState::Completed
    }

    /// Returns true if the instant is a completed write.
    #[must_use]
    pub fn is_completed_write(&self) -> bool {
        self.is_completed() && self.action.is_write()
    }

    /// Returns true if both are the same action, in any state.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.requested_time == other.requested_time && self.action.completes_as() == other.action.completes_as()
    }

    /// Compares instants in the order of a timeline: requested time as a string, action, state.
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
