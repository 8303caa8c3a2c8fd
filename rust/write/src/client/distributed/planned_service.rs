//! The driver's part of services whose plans are executed in other processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::driver::mark_of;
use super::packing::tasks_by_cost;
use super::reports::ReadReport;
use super::service_kind::{PlanParts, PlannedService};
use super::specs::{ServiceSpec, StageSpec};
use super::state::WriteState;
use crate::metadata_upkeep::keeps_blooms;
use crate::rows::WriteSchema;
use crate::transaction::{CommitExtra, Committed, Transaction, begin_service};
use crate::writable_table::{TableLocation, WritableTable};
use crate::write::WriteStatus;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_table::plan::PinnedTable;

/// Bytes that one task reads, if there are enough parts.
const TASK_BYTES: u64 = 256 << 20;

/// What tasks do: the stage, and the number of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStep {
    /// The stage, for all tasks.
    pub stage: Vec<u8>,
    /// Tasks.
    pub tasks: u32,
}

/// A plan whose execution is under way.
struct Running {
    transaction: Transaction,
    parts: usize,
    extra: CommitExtra,
}

/// Plans of one service of a table, executed one after the other.
pub struct DistributedService {
    target: Arc<WritableTable>,
    service: PlannedService,
    parallelism: u32,
    waiting: Vec<RequestedTime>,
    running: Option<Running>,
}

impl DistributedService {
    /// Checks the table and the options. Nothing is changed.
    ///
    /// # Errors
    /// As for the function of [`crate::maintenance`] that runs the service in one process.
    pub fn open(
        location: &TableLocation,
        options: &BTreeMap<String, String>,
        service: PlannedService,
        parallelism: u32,
    ) -> Result<Self> {
        let target = service.open(location, options)?;
        Ok(Self { target, service, parallelism, waiting: Vec::new(), running: None })
    }

    /// Sentences on options that have no effect.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.target.warnings()
    }

    /// Makes a plan, if the service is due, and returns its requested time.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn schedule(&self) -> Result<Option<RequestedTime>> {
        self.service.schedule(&self.target)
    }

    /// Looks for the plans that are pending. Returns how many there are. Log compactions that a later compaction has overtaken are rolled
    /// back.
    ///
    /// # Errors
    /// Those of reading the timeline, and of the rollbacks.
    pub fn find_pending(&mut self) -> Result<usize> {
        self.waiting = self.service.pending(&self.target)?;
        self.waiting.reverse();
        Ok(self.waiting.len())
    }

    /// Begins the next pending plan that no other process executes; none after the last.
    ///
    /// # Errors
    /// As for [`begin_service`]; those of reading the plan. It stays pending.
    pub fn begin_next(&mut self) -> Result<Option<ServiceStep>> {
        while let Some(instant) = self.waiting.pop() {
            let Some(transaction) = begin_service(&self.target, self.service.operation(), &instant)? else {
                continue;
            };
            let step = self.step_of(&transaction);
            let (transaction, (step, parts, extra)) = transaction.or_abort(step)?;
            self.running = Some(Running { transaction, parts, extra });
            return Ok(Some(step));
        }
        Ok(None)
    }

    fn step_of(&self, transaction: &Transaction) -> Result<(ServiceStep, usize, CommitExtra)> {
        let table = transaction.table();
        let PlanParts { parts, costs, replaced } = self.service.parts(transaction)?;
        let schema = WriteSchema::of_table(table)?.columns.json().to_owned();
        let tasks = tasks_by_cost(&costs, TASK_BYTES, self.parallelism);
        let number = u32::try_from(tasks.len()).map_err(|_| Error::internal("4 billion tasks"))?;
        let spec = ServiceSpec { parts, tasks, keeps_blooms: keeps_blooms(&table.config) };
        mark_of(transaction).open()?;
        let state = WriteState {
            table: PinnedTable::new(table),
            operation: self.service.operation(),
            options: self.target.options().clone(),
            instant: Some(transaction.instant().clone()),
            schema: schema.clone(),
            updated: Vec::new(),
        };
        let stage = state.to_bytes(StageSpec::Service(spec))?;
        let extra = CommitExtra { schema, replaced, ..CommitExtra::default() };
        Ok((ServiceStep { stage, tasks: number }, costs.len(), extra))
    }

    /// Completes the plan that was begun, given the reports of its tasks.
    ///
    /// # Errors
    /// What tasks have reported as errors; those of [`Transaction::commit`]. The plan stays pending then, without its files, unless the
    /// message says otherwise.
    pub fn commit(&mut self, reports: &[Vec<u8>]) -> Result<Committed> {
        let Running { transaction, parts, extra } =
            self.running.take().ok_or_else(|| Error::internal("a plan whose execution has not begun"))?;
        let statuses = statuses(reports, parts).and_then(|statuses| {
            mark_of(&transaction).close()?;
            Ok(statuses)
        });
        let (transaction, statuses) = transaction.or_abort(statuses)?;
        transaction.commit(statuses, &extra)
    }

    /// Undoes the execution that was begun; the plan stays pending.
    ///
    /// # Errors
    /// `reason` if the storage failed as well, with a note of that.
    pub fn abort(&mut self, reason: &Error) -> Result<()> {
        self.waiting.clear();
        self.running.take().map_or(Ok(()), |running| running.transaction.abort(reason))
    }
}

/// The statuses of so many parts, in their order: one report of each.
fn statuses(reports: &[Vec<u8>], parts: usize) -> Result<Vec<WriteStatus>> {
    let mut statuses: BTreeMap<u32, Vec<WriteStatus>> = BTreeMap::new();
    for report in ReadReport::read_all(reports)? {
        let ReadReport::PartResult(report) = report else {
            return Err(Error::internal("another report than that of a part of a plan"));
        };
        if statuses.insert(report.part, report.statuses).is_some() {
            return Err(Error::internal(format!("part {} of a plan was executed twice", report.part)));
        }
    }
    let is_last = statuses.keys().next_back().is_none_or(|last| usize::try_from(*last).is_ok_and(|last| last < parts));
    if statuses.len() != parts || !is_last {
        return Err(Error::internal(format!("{} of {parts} parts of a plan were executed", statuses.len())));
    }
    Ok(statuses.into_values().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::distributed::reports::PartReport;

    #[test]
    fn each_part_has_one_report() {
        let report = |part: &u32| {
            let report = PartReport { part: *part, statuses: Vec::new() };
            ReadReport::PartResult(Box::new(report)).to_bytes().unwrap()
        };
        let reported = |parts: &[u32]| statuses(&parts.iter().map(report).collect::<Vec<_>>(), 2);
        assert!(reported(&[1, 0]).is_ok());
        for wrong in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 1], &[0, 1, 2], &[]] {
            assert!(reported(wrong).is_err(), "{wrong:?}");
        }
    }
}
