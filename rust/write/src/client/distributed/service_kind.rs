//! The services whose plans are executed in other processes, and what differs between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::specs::ServiceParts;
use crate::maintenance::compaction::{self, Compaction, log_slices_of, open_log_compaction, slices_of};
use crate::transaction::Transaction;
use crate::writable_table::{TableLocation, WritableTable};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_table::file_group::FileSlice;
use mortice_table::timeline::WriteOperation;

/// A service that is planned first, and executed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedService {
    /// Logs are merged into base files.
    Compaction,
    /// Logs are merged into log files.
    LogCompaction,
}

/// What a plan that has begun consists of.
pub(super) struct PlanParts {
    pub(super) parts: ServiceParts,
    /// The bytes that each part reads.
    pub(super) costs: Vec<u64>,
    /// The file groups that are replaced, by partition.
    pub(super) replaced: BTreeMap<String, Vec<String>>,
}

impl PlannedService {
    /// The service that users and messages call so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Compaction, Self::LogCompaction].into_iter().find(|service| service.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Compaction => "compact",
            Self::LogCompaction => "log_compact",
        }
    }

    const fn compaction(self) -> Compaction {
        match self {
            Self::Compaction => Compaction::REQUESTED,
            Self::LogCompaction => Compaction::IntoLogs,
        }
    }

    pub(super) fn operation(self) -> WriteOperation {
        self.compaction().operation()
    }

    pub(super) fn open(
        self,
        location: &TableLocation,
        options: &BTreeMap<String, String>,
    ) -> Result<Arc<WritableTable>> {
        match self {
            Self::Compaction => compaction::open_table(location, options, self.name()),
            Self::LogCompaction => open_log_compaction(location, options),
        }
    }

    pub(super) fn schedule(self, target: &WritableTable) -> Result<Option<RequestedTime>> {
        compaction::schedule(target, self.compaction())
    }

    /// The pending plans, oldest first.
    pub(super) fn pending(self, target: &WritableTable) -> Result<Vec<RequestedTime>> {
        compaction::pending(target, self.compaction())
    }

    /// The parts of a plan that has begun.
    pub(super) fn parts(self, transaction: &Transaction) -> Result<PlanParts> {
        let replaced = BTreeMap::new();
        match self {
            Self::Compaction => {
                let slices = slices_of(transaction)?;
                let costs = slices.iter().map(FileSlice::total_len).collect();
                Ok(PlanParts { parts: ServiceParts::Compact(slices), costs, replaced })
            }
            Self::LogCompaction => {
                let slices = log_slices_of(transaction)?;
                let costs = slices.iter().map(|(slice, _)| slice.total_len()).collect();
                Ok(PlanParts { parts: ServiceParts::LogCompact(slices), costs, replaced })
            }
        }
    }
}
