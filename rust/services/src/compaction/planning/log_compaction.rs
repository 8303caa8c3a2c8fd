//! Log compactions of a table: when one is due, its plan, and the slices of a plan (`HoodieLogCompactionPlanGenerator`,
//! `ScheduleCompactionActionExecutor.needLogCompact`).

use super::options::LogCompactionOptions;
use super::plan::{operation_of, plan_of, planned_slices};
use super::slices::{planned_groups_and_logs, slices_to_compact};
use super::table_compaction::TableCompactions;
use super::trigger::{Since, delta_commits};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_table::file_group::{FileSlice, PartitionFiles};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::metadata::{HoodieCompactionPlan, HoodieCompactionStrategy, OrderedMap};
use mortice_table::timeline::{Action, Instant, MetadataPart};

/// How Hudi executes the plan.
const EXECUTOR: &str = "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper";

impl TableCompactions {
    /// Pending log compactions, oldest first.
    #[must_use]
    pub(crate) fn pending_log_compactions(&self) -> Vec<RequestedTime> {
        let pending = self.table.timeline.pending(Action::LogCompaction);
        pending.map(|instant| instant.requested_time.clone()).collect()
    }

    /// Whether a new log compaction is due: so many delta commits were completed since the last compaction and the last
    /// log compaction, and none of the latter is pending. Hudi 1.2 counts the last log compaction itself as one of
    /// them.
    pub(crate) fn is_log_compaction_due(&self, options: &LogCompactionOptions) -> Result<bool> {
        let timeline = &self.table.timeline;
        let since = Since::last_compaction(timeline).map_or(0, |since| since.delta_commits);
        let is_pending = timeline.pending(Action::LogCompaction).next().is_some();
        if since < options.threshold || is_pending || self.has_to_wait() {
            return Ok(false);
        }
        for (count, instant) in (0..options.threshold).zip(delta_commits(timeline).rev()) {
            let metadata = timeline.commit_metadata(instant, MetadataPart::All)?;
            if metadata.is_some_and(|metadata| metadata.is_log_compaction()) {
                return Ok(count >= options.threshold);
            }
        }
        Ok(true)
    }

    /// The plan of a new log compaction at `instant`; none if there is nothing to compact. `partitions` are the files
    /// of the table.
    pub(crate) fn log_plan(
        &self,
        table: &OpenTable,
        options: &LogCompactionOptions,
        partitions: &[PartitionFiles],
        instant: &RequestedTime,
    ) -> Result<Option<HoodieCompactionPlan>> {
        let planned = planned_groups_and_logs(&self.table.timeline)?;
        let slices = slices_to_compact(&self.table, partitions, &planned, instant)?;
        let mut operations = Vec::new();
        for slice in slices {
            let contents = table.log_contents(&slice, instant)?;
            let is_large = (slice.log_files.len() as u64).max(contents.blocks) >= options.threshold;
            // Logs of partial updates are merged with base files only.
            if is_large && contents.blocks > 0 && !contents.is_partial {
                operations.push(operation_of(&slice, options.base_bytes));
            }
        }
        let strategy = HoodieCompactionStrategy {
            compactor_class_name: Some(EXECUTOR.to_owned()),
            strategy_params: Some(OrderedMap::new()),
            version: Some(1),
            ..HoodieCompactionStrategy::default()
        };
        Ok((!operations.is_empty()).then(|| HoodieCompactionPlan {
            strategy: Some(strategy),
            preserve_hoodie_metadata: Some(true),
            ..plan_of(operations)
        }))
    }

    /// A compaction that is later than a log compaction, pending or completed: the log compaction can no longer be
    /// executed, as its logs may belong to an earlier slice (`BaseHoodieTableServiceClient.logCompact`).
    #[must_use]
    pub(crate) fn compaction_after(&self, log_compaction: &RequestedTime) -> Option<&Instant> {
        let is_compaction = |instant: &&Instant| matches!(instant.action, Action::Commit | Action::Compaction);
        let instants = self.table.timeline.instants().iter();
        instants.filter(is_compaction).find(|instant| instant.requested_time > *log_compaction)
    }

    /// The slices of a pending log compaction, in the order of its plan.
    pub(crate) fn log_slices(&self, instant: &RequestedTime) -> Result<Vec<FileSlice>> {
        planned_slices(&self.table, instant, Action::LogCompaction)
    }
}
