//! The two kinds of compactions.

use crate::compaction::planning::TableCompactions;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_table::file_group::FileSlice;
use mortice_table::timeline::{Action, WriteOperation};

/// What logs are merged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compaction {
    /// Base files.
    IntoBaseFiles {
        /// After so many delta commits one is due if options do not say it, in place of the option's default.
        commits: Option<u64>,
    },
    /// Other logs.
    IntoLogs,
}

impl Compaction {
    /// A compaction that was asked for is due at once, unless options say after how many delta commits.
    pub const REQUESTED: Self = Self::IntoBaseFiles { commits: Some(0) };

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

    /// The pending plans that would be executed.
    pub(super) fn executable(self, compactions: &TableCompactions) -> Vec<RequestedTime> {
        match self {
            Self::IntoBaseFiles { .. } => compactions.pending(),
            Self::IntoLogs => {
                let pending = compactions.pending_log_compactions().into_iter();
                pending.filter(|instant| compactions.compaction_after(instant).is_none()).collect()
            }
        }
    }

    /// What a pending plan merges.
    pub(super) fn planned_slices(
        self,
        compactions: &TableCompactions,
        instant: &RequestedTime,
    ) -> Result<Vec<FileSlice>> {
        match self {
            Self::IntoBaseFiles { .. } => compactions.slices(instant),
            Self::IntoLogs => compactions.log_slices(instant),
        }
    }
}
