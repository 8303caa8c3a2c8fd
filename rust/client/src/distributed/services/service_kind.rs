//! The services whose plans are executed in other processes, and what differs between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::distributed::exchange::ServiceParts;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_services::compaction::{self, Compaction, log_slices_of, open_log_compaction, slices_of};
use mortice_services::transaction::Transaction;
use mortice_services::{PlannedGroup, clustering};
use mortice_table::file_group::FileSlice;
use mortice_table::timeline::WriteOperation;

/// A service that is planned first, and executed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedService {
    /// Logs are merged into base files.
    Compaction,
    /// Logs are merged into log files.
    LogCompaction,
    /// Rows of file groups are written to new file groups.
    Clustering,
}

/// What a plan that has begun consists of.
pub(crate) struct PlanParts {
    pub(crate) parts: ServiceParts,
    /// The bytes that each part reads.
    pub(crate) costs: Vec<u64>,
    /// The file groups that are replaced, by partition.
    pub(crate) replaced: BTreeMap<String, Vec<String>>,
}

impl PlannedService {
    /// The service that users call so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "compact" => Some(Self::Compaction),
            "log_compact" => Some(Self::LogCompaction),
            "cluster" => Some(Self::Clustering),
            _ => None,
        }
    }

    /// The service whose plans are executed as this operation.
    pub(crate) const fn of_operation(operation: WriteOperation) -> Self {
        match operation {
            WriteOperation::Cluster => Self::Clustering,
            WriteOperation::LogCompact => Self::LogCompaction,
            _ => Self::Compaction,
        }
    }

    pub(crate) const fn operation(self) -> WriteOperation {
        match self {
            Self::Compaction => WriteOperation::Compact,
            Self::LogCompaction => WriteOperation::LogCompact,
            Self::Clustering => WriteOperation::Cluster,
        }
    }

    pub(crate) fn open(
        self,
        location: &TableLocation,
        options: &BTreeMap<String, String>,
    ) -> Result<Arc<WritableTable>> {
        match self {
            Self::Compaction => compaction::open_table(location, options, "compact"),
            Self::LogCompaction => open_log_compaction(location, options),
            Self::Clustering => clustering::open_table(location, options),
        }
    }

    pub(crate) fn schedule(self, target: &WritableTable) -> Result<Option<RequestedTime>> {
        match self {
            Self::Compaction => compaction::schedule(target, Compaction::REQUESTED),
            Self::LogCompaction => compaction::schedule(target, Compaction::IntoLogs),
            Self::Clustering => clustering::schedule(target),
        }
    }

    /// The pending plans, oldest first.
    pub(crate) fn pending(self, target: &WritableTable) -> Result<Vec<RequestedTime>> {
        match self {
            Self::Compaction => compaction::pending(target, Compaction::REQUESTED),
            Self::LogCompaction => compaction::pending(target, Compaction::IntoLogs),
            Self::Clustering => clustering::pending(target),
        }
    }

    /// Stores what a plan leaves besides its files, which are written.
    pub(crate) fn finish(self, transaction: &Transaction) -> Result<()> {
        match self {
            Self::Compaction | Self::LogCompaction => Ok(()),
            Self::Clustering => clustering::store_rings(transaction, &clustering::plan_of(transaction)?),
        }
    }

    /// The parts of a plan that has begun.
    pub(crate) fn parts(self, transaction: &Transaction) -> Result<PlanParts> {
        let mut replaced = BTreeMap::new();
        let (parts, costs) = match self {
            Self::Compaction => {
                let slices = slices_of(transaction)?;
                let costs = slices.iter().map(FileSlice::total_len).collect();
                (ServiceParts::Compact(slices), costs)
            }
            Self::LogCompaction => {
                let slices = log_slices_of(transaction)?;
                let costs = slices.iter().map(|(slice, _)| slice.total_len()).collect();
                (ServiceParts::LogCompact(slices), costs)
            }
            Self::Clustering => {
                let plan = clustering::plan_of(transaction)?;
                let costs = plan.groups.iter().map(PlannedGroup::bytes).collect();
                replaced = plan.replaced_groups();
                (ServiceParts::Cluster(plan), costs)
            }
        };
        Ok(PlanParts { parts, costs, replaced })
    }
}
