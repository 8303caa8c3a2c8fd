//! The two kinds of compactions.

use crate::commit::WriteOperation;
use mortice_table::timeline::Action;

/// What logs are merged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// Base files. `commits` is the number of delta commits after which one is due if options do not say it, in place of the option's
    /// default.
    IntoBaseFiles { commits: Option<u64> },
    /// Other logs.
    IntoLogs,
}

impl Compaction {
    /// The operation of its commits.
    pub(crate) fn operation(self) -> WriteOperation {
        match self {
            Self::IntoBaseFiles { .. } => WriteOperation::Compact,
            Self::IntoLogs => WriteOperation::LogCompact,
        }
    }

    /// The action of its plans.
    pub(crate) fn action(self) -> Action {
        match self {
            Self::IntoBaseFiles { .. } => Action::Compaction,
            Self::IntoLogs => Action::LogCompaction,
        }
    }
}
