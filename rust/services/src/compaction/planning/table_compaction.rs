//! Compactions of a table: when one is due, its plan, and the slices of a plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::Local;

use super::options::CompactionOptions;
use super::plan::{operation_of, plan_of, planned_slices, slices_of_plan};
use super::slices::{planned_groups, slices_to_compact};
use crate::recovery::failed_writes;
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::WritableTable;
use mortice_storage::FileStore;
use mortice_table::file_group::{FileSlice, PartitionFiles};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Action;
use mortice_table::timeline::metadata::HoodieCompactionPlan;

/// The compactions of a table, as it was opened.
pub(crate) struct TableCompactions {
    pub(super) table: ServiceTable,
    /// Pending writes that a new plan need not wait for.
    failed: BTreeSet<RequestedTime>,
}

impl TableCompactions {
    /// Those of a table whose root is the store's.
    #[must_use]
    pub(crate) fn new(store: &Arc<dyn FileStore>, table: &OpenTable) -> Self {
        Self { table: ServiceTable::new(store, table), failed: BTreeSet::new() }
    }

    /// Those of the table as it was last seen, for a preview: as if failed writes were rolled back, which is done
    /// before a plan is made.
    pub(crate) fn for_preview(target: &WritableTable) -> Result<Self> {
        let opened = Self::new(target.store(), &target.latest());
        let (policy, heartbeat) = (target.concurrency().failed_writes, target.concurrency().heartbeat);
        let failed = failed_writes(&**target.store(), &opened.table.timeline, policy, heartbeat)?;
        Ok(Self { failed: failed.into_iter().collect(), ..opened })
    }

    /// Pending compactions, oldest first.
    #[must_use]
    pub(crate) fn pending(&self) -> Vec<RequestedTime> {
        self.table.timeline.pending(Action::Compaction).map(|instant| instant.requested_time.clone()).collect()
    }

    /// Whether a new compaction at `instant` is due. Up to table version 7, while writes are pending none is: they may
    /// be writing to the slices that it would take.
    #[must_use]
    pub(crate) fn is_due(&self, options: &CompactionOptions, instant: &RequestedTime) -> bool {
        let timeline = &self.table.timeline;
        !self.has_to_wait() && options.trigger.is_due(timeline, instant, self.table.config.timeline_zone, 0)
    }

    /// Whether pending writes may be writing to the slices of a new plan.
    pub(super) fn has_to_wait(&self) -> bool {
        let is_service = |action| matches!(action, Action::Compaction | Action::LogCompaction | Action::Clustering);
        let mut pending = self.table.timeline.pending_writes();
        self.table.is_v1()
            && pending.any(|instant| !is_service(instant.action) && !self.failed.contains(&instant.requested_time))
    }

    /// The plan of a new compaction at `instant`; none if there is nothing to compact. `partitions` are the files of
    /// the table.
    pub(crate) fn plan(
        &self,
        options: &CompactionOptions,
        partitions: &[PartitionFiles],
        instant: &RequestedTime,
    ) -> Result<Option<HoodieCompactionPlan>> {
        let planned = planned_groups(&self.table.timeline)?;
        let chosen = partitions.iter().map(|files| files.partition.as_str()).collect();
        let today = self.table.store.time().now().with_timezone(&Local).date_naive();
        let chosen: BTreeSet<&str> = options.strategy.chosen_partitions(chosen, today)?.into_iter().collect();
        let partitions = partitions.iter().filter(|files| chosen.contains(files.partition.as_str()));
        let slices = slices_to_compact(&self.table, partitions, &planned, instant)?;
        let operations = slices.iter().map(|slice| operation_of(slice, options.base_bytes)).collect();
        let operations = options.strategy.chosen(operations)?;
        Ok((!operations.is_empty())
            .then(|| HoodieCompactionPlan { preserve_hoodie_metadata: Some(true), ..plan_of(operations) }))
    }

    /// The slices of a plan that is not on the timeline, in its order.
    pub(crate) fn slices_of_plan(&self, plan: &HoodieCompactionPlan) -> Result<Vec<FileSlice>> {
        slices_of_plan(&self.table, plan)
    }

    /// The slices of a pending compaction, in the order of its plan.
    pub(crate) fn slices(&self, instant: &RequestedTime) -> Result<Vec<FileSlice>> {
        planned_slices(&self.table, instant, Action::Compaction)
    }
}
