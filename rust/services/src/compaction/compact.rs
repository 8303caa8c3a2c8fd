//! Compactions that a user asks for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::execute::{execute_pending, execute_plan};
use super::kind::Compaction;
use super::schedule::{PlanOptions, schedule, with_plan};
use crate::compaction::planning::TableCompactions;
use crate::open::open_for_service;
use crate::request::ServiceRequest;
use crate::transaction::{Committed, ExecutePlan, schedule_and_begin};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::Clock;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::TableType;
use mortice_table::file_group::FileSlice;

impl ServiceRequest {
    /// Executes what is pending, makes a plan, and executes it.
    pub(crate) fn run_compactions(
        self,
        target: &Arc<WritableTable>,
        kind: Compaction,
        execute: ExecutePlan<'_>,
    ) -> Result<CompactionResult> {
        let mut done = CompactionResult::default();
        if self.run {
            done.committed = execute_pending(target, kind, execute)?;
        }
        match (self.schedule, self.run) {
            (false, _) => {}
            (true, false) => done.scheduled = schedule(target, kind)?,
            (true, true) => {
                let begun = with_plan(target, kind, |plan| schedule_and_begin(target, kind.operation(), plan))?;
                if let Some(transaction) = begun {
                    done.scheduled = Some(transaction.instant().clone());
                    done.committed.push(execute(transaction)?);
                }
            }
        }
        done.warnings = target.warnings();
        Ok(done)
    }

    /// What [`Self::run_compactions`] would do.
    pub(crate) fn plan_compactions(self, target: &WritableTable, kind: Compaction) -> Result<Vec<PlannedCompaction>> {
        let (compactions, table) = (TableCompactions::for_preview(target)?, target.latest());
        let mut planned = Vec::new();
        if self.run {
            for instant in kind.executable(&compactions) {
                let slices = kind.planned_slices(&compactions, &instant)?;
                planned.push(PlannedCompaction { instant: Some(instant), slices });
            }
        }
        if self.schedule {
            let options = PlanOptions::from_target(target, kind)?;
            let instant = Clock::new(&table.config, target.time()).requested_time(&[&table.timeline])?;
            if let Some(plan) = options.plan_if_due(&compactions, &table, &instant)? {
                planned.push(PlannedCompaction { instant: None, slices: compactions.slices_of_plan(&plan)? });
            }
        }
        Ok(planned)
    }
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct CompactionResult {
    /// The compaction that was planned.
    pub scheduled: Option<RequestedTime>,
    /// The compactions that were completed, in this order.
    pub committed: Vec<Committed>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// A compaction that would be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCompaction {
    /// Its requested time; none if it is not planned yet.
    pub instant: Option<RequestedTime>,
    /// What it merges, in the order of its plan.
    pub slices: Vec<FileSlice>,
}

/// Compacts a table: executes compactions that are pending, then plans another one, if it is due, and executes it.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, by name, for tables and options that cannot be compacted with; those of reading
/// the files and of the storage: a compaction that was planned is pending then, and the next call executes it.
pub fn run_compaction(
    location: &TableLocation,
    request: ServiceRequest,
    options: &BTreeMap<String, String>,
) -> Result<CompactionResult> {
    let target = open_table(location, options, "compact")?;
    let done = request.run_compactions(&target, Compaction::REQUESTED, &execute_plan)?;
    target.leave();
    Ok(done)
}

/// What [`run_compaction`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_compaction`].
pub fn plan_compaction(
    location: &TableLocation,
    request: ServiceRequest,
    options: &BTreeMap<String, String>,
) -> Result<Vec<PlannedCompaction>> {
    request.plan_compactions(&*open_table(location, options, "compact")?, Compaction::REQUESTED)
}

/// Opens a table that is to be compacted, and checks the options.
///
/// # Errors
/// `InvalidArgument` for a copy-on-write table; as for [`open_for_service`].
pub fn open_table(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    service: &str,
) -> Result<Arc<WritableTable>> {
    let target = open_for_service(location, options, service)?;
    if target.latest().config.table_type != TableType::MergeOnRead {
        let message = "a copy-on-write table has no logs to compact";
        return Err(Error::invalid_argument(message).in_file(location.uri()));
    }
    Ok(Arc::new(target))
}
