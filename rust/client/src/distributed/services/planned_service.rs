//! Services that are planned by a driver, and executed by the tasks of an engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::running_plan::execute_by_tasks;
use super::service_kind::PlannedService;
use crate::distributed::exchange::TaskRunner;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_services::ServiceRequest;
use mortice_services::transaction::{Committed, begin_service};

/// What a service did.
#[derive(Debug)]
pub struct ServiceRun {
    /// The requested time of the plan that was made.
    pub scheduled: Option<RequestedTime>,
    /// The plans that were executed.
    pub committed: Vec<Committed>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// Plans a service, if it is due, and executes what is pending, oldest first, in the order of the function of
/// [`mortice_services`] that runs the service in one process. A plan that fails stays pending.
///
/// # Errors
/// As for that function; those of the engine, and what tasks have reported as errors.
pub fn run_service_by_tasks(
    location: &TableLocation,
    service: PlannedService,
    ServiceRequest { schedule, run }: ServiceRequest,
    options: &BTreeMap<String, String>,
    runner: &dyn TaskRunner,
) -> Result<ServiceRun> {
    let target = service.open(location, options)?;
    let (mut scheduled, mut committed) = (None, Vec::new());
    // Clustering changes nothing that a pending plan of it reads.
    let is_planned_first = service == PlannedService::Clustering;
    if schedule && is_planned_first {
        scheduled = service.schedule(&target)?;
    }
    if run {
        execute_pending(&target, service, runner, &mut committed)?;
    }
    if schedule && !is_planned_first {
        scheduled = service.schedule(&target)?;
        if run && scheduled.is_some() {
            execute_pending(&target, service, runner, &mut committed)?;
        }
    }
    Ok(ServiceRun { scheduled, committed, warnings: target.warnings() })
}

/// Executes the pending plans that no other process executes.
fn execute_pending(
    target: &Arc<WritableTable>,
    service: PlannedService,
    runner: &dyn TaskRunner,
    committed: &mut Vec<Committed>,
) -> Result<()> {
    for instant in service.pending(target)? {
        if let Some(transaction) = begin_service(target, service.operation(), &instant)? {
            committed.push(execute_by_tasks(transaction, runner)?);
        }
    }
    Ok(())
}
