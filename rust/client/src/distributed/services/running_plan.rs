//! One plan of a service whose parts tasks execute.

use std::collections::BTreeMap;

use super::service_kind::{PlanParts, PlannedService};
use crate::distributed::exchange::{
    ReadReport, ServiceSpec, StageSpec, TaskRunner, WriteState, mark_of, tasks_by_cost,
};
use mortice_base::error::{Error, Result};
use mortice_commit::metadata_upkeep::keeps_blooms;
use mortice_services::transaction::{CommitExtra, Committed, Transaction};
use mortice_table::plan::PinnedTable;
use mortice_write::index::Provenance;
use mortice_write::rows::WriteSchema;
use mortice_write::write::WriteStatus;

/// Bytes that one task reads, if there are enough parts.
const TASK_BYTES: u64 = 256 << 20;

/// What tasks do: the stage, and the number of tasks.
struct ServiceStep {
    /// The stage, for all tasks.
    stage: Vec<u8>,
    /// Tasks.
    tasks: u32,
}

/// Executes a plan that has begun, by tasks of an engine.
///
/// # Errors
/// Those of reading the plan and of running the tasks; what tasks have reported as errors; those of
/// [`Transaction::commit`]. The plan stays pending then, without its files, unless the message says otherwise.
pub(crate) fn execute_by_tasks(transaction: Transaction, runner: &dyn TaskRunner) -> Result<Committed> {
    let service = PlannedService::of_operation(transaction.operation());
    let step = step_of(&transaction, service, runner.parallelism());
    let (transaction, (step, parts, extra)) = transaction.or_abort(step)?;
    let reports = runner.run(&step.stage, step.tasks);
    let statuses = reports.and_then(|reports| statuses(&reports, parts)).and_then(|statuses| {
        mark_of(&transaction).close()?;
        service.finish(&transaction)?;
        Ok(statuses)
    });
    let (transaction, statuses) = transaction.or_abort(statuses)?;
    transaction.commit(statuses, &extra)
}

/// Returns true if a plan that has begun reads at most so many bytes of files; false for 0. A job of an engine takes
/// longer to start than a small plan to execute. A plan that cannot be read is not small: its execution says why.
pub(crate) fn reads_at_most(plan: &Transaction, bytes: u64) -> bool {
    let read = |parts: PlanParts| parts.costs.into_iter().fold(0, u64::saturating_add);
    bytes > 0 && PlannedService::of_operation(plan.operation()).parts(plan).is_ok_and(|parts| read(parts) <= bytes)
}

fn step_of(
    transaction: &Transaction,
    service: PlannedService,
    parallelism: u32,
) -> Result<(ServiceStep, usize, CommitExtra)> {
    let table = transaction.table();
    let PlanParts { parts, costs, replaced } = service.parts(transaction)?;
    let schema = WriteSchema::of_table(table)?.columns.json().to_owned();
    let tasks = tasks_by_cost(&costs, TASK_BYTES, parallelism);
    let number = u32::try_from(tasks.len()).map_err(|_| Error::internal("4 billion tasks"))?;
    let spec = ServiceSpec { parts, tasks, keeps_blooms: keeps_blooms(&table.config) };
    mark_of(transaction).open()?;
    let state = WriteState {
        table: PinnedTable::new(table),
        operation: service.operation(),
        options: transaction.target().options().clone(),
        instant: Some(transaction.instant().clone()),
        schema: schema.clone(),
        updated: Vec::new(),
        provenance: Provenance::Given,
    };
    let stage = state.to_bytes(StageSpec::Service(spec))?;
    let extra = CommitExtra { schema, replaced, ..CommitExtra::default() };
    Ok((ServiceStep { stage, tasks: number }, costs.len(), extra))
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
    use crate::distributed::exchange::PartReport;

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
