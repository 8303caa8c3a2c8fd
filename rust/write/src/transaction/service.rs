//! Table services: plans that are put on the timeline, and their execution. A plan whose execution is stopped stays on the timeline, and
//! is executed again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::begin::{Repaired, check_version, repaired, timelines};
use super::recorded_store::DataStore;
use super::{Target, Transaction};
use crate::commit::{Clock, Concurrency, Heartbeat, Heartbeats, TimelineWriter, WriteOperation};
use crate::metadata_upkeep::MetadataUpkeep;
use crate::services::check_no_restore;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::{PutOutcome, StorageOptions, open_file_store};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, Instant, InstantState};

/// Attempts to find a requested time that no other writer has.
const ATTEMPTS: usize = 10;

/// A table and the options of services on it.
#[derive(Clone, Copy)]
pub(crate) struct ServiceTarget<'a> {
    pub(crate) uri: &'a str,
    pub(crate) storage: &'a StorageOptions,
    /// By their newest names.
    pub(crate) options: &'a BTreeMap<String, String>,
}

/// Makes a plan at an instant; none if there is nothing to do.
pub(crate) type MakePlan<'a> = &'a dyn Fn(&OpenTable, &RequestedTime) -> Result<Option<Bytes>>;

impl ServiceTarget<'_> {
    /// Plans a service under the table's lock, after failed writes were rolled back, and returns its requested time.
    ///
    /// # Errors
    /// As for [`Transaction::begin`]; those of `plan`.
    pub(crate) fn schedule(&self, action: Action, plan: MakePlan<'_>) -> Result<Option<RequestedTime>> {
        let (target, concurrency) = self.opened()?;
        concurrency.locked(|_| {
            let repaired = repaired(&target, &concurrency)?;
            let clock = Clock::new(&repaired.table.config);
            self.request((&target, repaired), &clock, action, plan)
        })
    }

    fn request(
        &self,
        (target, Repaired { mut table, mut metadata }): (&Target, Repaired),
        clock: &Clock,
        action: Action,
        plan: MakePlan<'_>,
    ) -> Result<Option<RequestedTime>> {
        for _ in 0..ATTEMPTS {
            let instant = clock.requested_time(&timelines(&table, metadata.as_ref()))?;
            let Some(content) = plan(&table, &instant)? else { return Ok(None) };
            let files = TimelineWriter::new(Arc::clone(&target.store), &table.config);
            if let PutOutcome::Written(_) = files.request(&instant, action, &content)? {
                return Ok(Some(instant));
            }
            table = target.open()?;
            metadata = target.metadata(&table)?;
        }
        let message =
            "other writers keep creating instants at the same times: the table has several writers without a lock";
        Err(Error::new(ErrorKind::AlreadyExists, message).in_file(self.uri))
    }

    /// Begins to execute a plan that is on the timeline. An execution that was stopped is rolled back before, under the lock. None if
    /// the plan is not pending any more, or if another process executes it.
    ///
    /// # Errors
    /// As for [`Transaction::begin`] and [`Rollbacks::roll_back_execution`].
    pub(crate) fn begin(&self, operation: WriteOperation, instant: &RequestedTime) -> Result<Option<Transaction>> {
        let (target, concurrency) = self.opened()?;
        let concurrency = Arc::new(concurrency);
        concurrency.locked(|_| begin_locked(target, Arc::clone(&concurrency), operation, instant))
    }

    /// Brings the metadata table into the state that options ask for, under the lock, after failed writes were rolled back. With `rebuilds`
    /// it is deleted before, even if it is damaged, and gets the partitions that it had. What earlier attempts left that were stopped is
    /// deleted. Returns the table as it is then.
    ///
    /// # Errors
    /// As for [`Transaction::begin`]; `Unsupported`, before anything is changed, if it cannot be built now; those of building it, after
    /// which it can be repeated.
    pub(crate) fn change_metadata(&self, rebuilds: bool) -> Result<Arc<OpenTable>> {
        let (mut target, concurrency) = match rebuilds {
            true => self.target()?,
            false => self.opened()?,
        };
        concurrency.locked(|_| {
            if rebuilds {
                let table = target.open()?;
                check_no_restore(&table.timeline).map_err(|error| error.in_file(self.uri))?;
                MetadataUpkeep::check_can_build(&table, &target.options).map_err(|error| error.in_file(self.uri))?;
                if !table.config.metadata_partitions.is_empty() {
                    target.options = MetadataUpkeep::drop_to_rebuild(&target.store, &table, &target.options)?;
                }
            }
            let table = repaired(&target, &concurrency)?.table;
            MetadataUpkeep::delete_unlisted(&target.store, &table)?;
            Ok(table)
        })
    }

    /// Takes a plan that cannot be executed any more off the timeline, under the lock. Nothing is done if another process executes it.
    ///
    /// # Errors
    /// As for [`Transaction::begin`] and [`Rollbacks::roll_back`].
    ///
    /// [`Rollbacks::roll_back`]: crate::services::Rollbacks::roll_back
    pub(crate) fn give_up(&self, instant: &RequestedTime) -> Result<()> {
        let (target, concurrency) = self.opened()?;
        concurrency.locked(|_| {
            let table = target.open()?;
            check_no_restore(&table.timeline).map_err(|error| error.in_file(self.uri))?;
            let is_inflight = table.timeline.writes_at(instant).any(|one| one.state == InstantState::Inflight);
            if !is_inflight || Heartbeats::list(&*target.store)?.is_expired(instant, concurrency.heartbeat) {
                let clock = Clock::new(&table.config);
                let metadata = target.metadata(&table)?;
                target.rollbacks(&table.config, &clock, metadata.as_ref()).roll_back(instant)?;
            }
            Ok(())
        })
    }

    fn opened(&self) -> Result<(Target, Concurrency)> {
        let (target, concurrency) = self.target()?;
        target.metadata(&target.open()?)?;
        Ok((target, concurrency))
    }

    /// The table, whose metadata table may be damaged.
    fn target(&self) -> Result<(Target, Concurrency)> {
        let store = open_file_store(self.uri, self.storage)?;
        let (uri, storage, options) = (self.uri.to_owned(), self.storage.clone(), self.options.clone());
        let target = Target { uri, storage, options, store };
        let table = target.open()?;
        check_version(&table.config).map_err(|error| error.in_file(self.uri))?;
        let concurrency = Concurrency::from_options(&target.store, self.storage, self.options)?;
        Ok((target, concurrency))
    }
}

fn begin_locked(
    target: Target,
    concurrency: Arc<Concurrency>,
    operation: WriteOperation,
    instant: &RequestedTime,
) -> Result<Option<Transaction>> {
    let mut table = target.open()?;
    check_no_restore(&table.timeline).map_err(|error| error.in_file(&target.uri))?;
    let action = operation.action(&table.config);
    let is_pending = |one: &&Instant| one.action == action && !one.is_completed();
    let Some(pending) = table.timeline.writes_at(instant).find(is_pending).cloned() else { return Ok(None) };
    let clock = Clock::new(&table.config);
    if pending.state == InstantState::Inflight {
        if !Heartbeats::list(&*target.store)?.is_expired(instant, concurrency.heartbeat) {
            return Ok(None);
        }
        let metadata = target.metadata(&table)?;
        let rollbacks = target.rollbacks(&table.config, &clock, metadata.as_ref());
        rollbacks.roll_back_execution(instant)?;
        table = target.open()?;
    }
    let start = || Heartbeat::start(Arc::clone(&target.store), instant, concurrency.heartbeat);
    let heartbeat = concurrency.has_heartbeats().then(start).transpose()?;
    let files = TimelineWriter::new(Arc::clone(&target.store), &table.config);
    let instant = instant.clone();
    let data = DataStore::new(&target.store);
    let transaction = Transaction {
        target,
        data,
        concurrency,
        clock,
        files,
        table,
        operation,
        action,
        instant,
        heartbeat,
        validator: None,
    };
    transaction.start(&Bytes::new())?;
    Ok(Some(transaction))
}

impl Transaction {
    /// Rolls back plans of services, and what executions of them have written, under the lock.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn roll_back_plans(&self, plans: &BTreeSet<RequestedTime>) -> Result<()> {
        self.concurrency.locked(|_| {
            let now = self.target.open()?;
            let metadata = self.target.metadata(&now)?;
            let rollbacks = self.target.rollbacks(&now.config, &self.clock, metadata.as_ref());
            plans.iter().try_for_each(|plan| rollbacks.roll_back(plan).map(|_| ()))
        })
    }
}
