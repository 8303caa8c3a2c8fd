//! The driver's part of services whose plans are executed in other processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::running_plan::{RunningPlan, ServiceStep};
use super::service_kind::PlannedService;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_services::transaction::{Committed, begin_service};

/// Plans of one service of a table, executed one after the other.
pub struct DistributedService {
    target: Arc<WritableTable>,
    service: PlannedService,
    parallelism: u32,
    waiting: Vec<RequestedTime>,
    running: Option<RunningPlan>,
}

impl DistributedService {
    /// Checks the table and the options. Nothing is changed.
    ///
    /// # Errors
    /// As for the function of [`mortice_services`] that runs the service in one process.
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

    /// Looks for the plans that are pending. Returns how many there are. Log compactions that a later compaction has
    /// overtaken are rolled back.
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
            let (plan, step) = RunningPlan::new(transaction, self.service, self.parallelism)?;
            self.running = Some(plan);
            return Ok(Some(step));
        }
        Ok(None)
    }

    /// Completes the plan that was begun, given the reports of its tasks.
    ///
    /// # Errors
    /// What tasks have reported as errors; those of
    /// [`Transaction::commit`](mortice_services::transaction::Transaction::commit). The plan stays pending then,
    /// without its files, unless the message says otherwise.
    pub fn commit(&mut self, reports: &[Vec<u8>]) -> Result<Committed> {
        let plan = self.running.take().ok_or_else(|| Error::internal("a plan whose execution has not begun"))?;
        plan.commit(Ok(reports))
    }

    /// Undoes the execution that was begun; the plan stays pending.
    ///
    /// # Errors
    /// `reason` if the storage failed as well, with a note of that.
    pub fn abort(&mut self, reason: &Error) -> Result<()> {
        self.waiting.clear();
        self.running.take().map_or(Ok(()), |plan| plan.abort(reason))
    }
}
