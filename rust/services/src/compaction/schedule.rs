//! Plans of compactions.

use bytes::Bytes;

use super::kind::Compaction;
use crate::compaction::planning::{CompactionOptions, LogCompactionOptions, TableCompactions};
use crate::transaction::{self, MakePlan};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::WritableTable;
use mortice_table::plan::OpenTable;
use mortice_table::read::LogCheck;
use mortice_table::timeline::metadata::{HoodieCompactionPlan, TimelineMetadata};

/// Plans a compaction, if one is due, and returns its requested time.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, naming the option; as for [`transaction::schedule`].
pub fn schedule(target: &WritableTable, kind: Compaction) -> Result<Option<RequestedTime>> {
    with_plan(target, kind, |plan| transaction::schedule(target, kind.action(), plan))
}

/// Does something with what makes the plan of a compaction.
pub(super) fn with_plan<T>(
    target: &WritableTable,
    kind: Compaction,
    work: impl FnOnce(MakePlan<'_>) -> Result<T>,
) -> Result<T> {
    let content = |plan: Option<HoodieCompactionPlan>| plan.map(|plan| plan.to_avro().map(Bytes::from)).transpose();
    let options = PlanOptions::from_target(target, kind)?;
    work(&|table, instant| {
        content(options.plan_if_due(&TableCompactions::new(target.store(), table), table, instant)?)
    })
}

/// When a compaction is due, and what it merges.
pub(super) enum PlanOptions {
    IntoBaseFiles(CompactionOptions),
    IntoLogs(LogCompactionOptions),
}

impl PlanOptions {
    /// By the options of a table's user.
    pub(super) fn from_target(target: &WritableTable, kind: Compaction) -> Result<Self> {
        match kind {
            Compaction::IntoBaseFiles { commits } => {
                CompactionOptions::resolve(target.options(), commits).map(Self::IntoBaseFiles)
            }
            Compaction::IntoLogs => LogCompactionOptions::resolve(target.options()).map(Self::IntoLogs),
        }
    }

    /// The plan of a compaction at `instant`; none if none is due.
    pub(super) fn plan_if_due(
        &self,
        compactions: &TableCompactions,
        table: &OpenTable,
        instant: &RequestedTime,
    ) -> Result<Option<HoodieCompactionPlan>> {
        let is_due = match self {
            Self::IntoBaseFiles(options) => compactions.is_due(options, instant),
            Self::IntoLogs(options) => compactions.is_log_compaction_due(options)?,
        };
        if !is_due {
            return Ok(None);
        }
        check_merge(table)?;
        let files = table.files_of_partitions(None)?;
        let (plan, check) = match self {
            Self::IntoBaseFiles(options) => (compactions.plan(options, &files, instant)?, LogCheck::Blocks),
            // The plan has read the blocks.
            Self::IntoLogs(options) => (compactions.log_plan(table, options, &files, instant)?, LogCheck::Lengths),
        };
        check_planned_logs(compactions, table, plan.as_ref(), check)?;
        Ok(plan)
    }
}

/// Refuses a table whose logs cannot be merged: a plan that cannot be executed would stay on the timeline.
pub(crate) fn check_merge(table: &OpenTable) -> Result<()> {
    table.merge.check_supported(table.options.semantics).map_err(|error| error.in_file(&table.uri))
}

/// Refuses damaged logs before the plan is on the timeline, where it would stay.
fn check_planned_logs(
    compactions: &TableCompactions,
    table: &OpenTable,
    plan: Option<&HoodieCompactionPlan>,
    check: LogCheck,
) -> Result<()> {
    match plan.filter(|_| table.checks_logs()) {
        Some(plan) => table.check_logs(&compactions.slices_of_plan(plan)?, check),
        None => Ok(()),
    }
}
