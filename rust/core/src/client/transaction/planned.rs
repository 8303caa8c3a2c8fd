//! Table services whose plan is on the timeline: planned by one, executed by this or another writer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::begin::{check_version, clock, repaired};
use super::{Target, Transaction};
use crate::commit::{Concurrency, Heartbeat, Heartbeats, TimelineWriter, WriteOperation};
use crate::error::{Error, ErrorKind, Result};
use crate::names::RequestedTime;
use crate::plan::OpenTable;
use crate::services::{MetadataRollback, Rollbacks};
use crate::storage::{PutOutcome, StorageOptions, open_file_store};
use crate::timeline::{Action, Instant, InstantState};

/// Attempts to find a requested time that no other writer has.
const ATTEMPTS: usize = 10;

/// Makes the plan of a service from the table as it is: the content of the requested file; none if there is nothing to do.
pub(in crate::client) type MakePlan<'a> = &'a dyn Fn(&OpenTable) -> Result<Option<Bytes>>;

impl Transaction {
    /// Plans a service: puts its requested instant with the plan on the timeline, after failed writes were rolled back. Returns its
    /// time; none if there is nothing to do.
    ///
    /// # Errors
    /// As for [`Transaction::begin`].
    pub(in crate::client) fn schedule(
        uri: &str,
        storage: &StorageOptions,
        options: &BTreeMap<String, String>,
        operation: WriteOperation,
        make_plan: MakePlan<'_>,
    ) -> Result<Option<RequestedTime>> {
        let (target, concurrency) = opened(uri, storage, options)?;
        let lock = concurrency.lock()?;
        let table = repaired(&target, &concurrency)?;
        let scheduled = request(&target, &concurrency, table, operation, make_plan)?;
        if let Some(lock) = lock {
            clock(&target.open()?.config, &concurrency).wait_for_skew()?;
            lock.release()?;
        }
        Ok(scheduled)
    }

    /// Begins to execute a plan that is pending, after failed writes were rolled back. What an execution that was stopped has written
    /// is undone first. The instant is inflight then.
    ///
    /// # Errors
    /// `NotFound` if no such plan is pending; `WriteConflict` if another writer is executing it, as its heartbeat says; as for
    /// [`Transaction::begin`].
    pub(in crate::client) fn execute(
        uri: &str,
        storage: &StorageOptions,
        options: &BTreeMap<String, String>,
        operation: WriteOperation,
        instant: &RequestedTime,
    ) -> Result<Self> {
        let (target, concurrency) = opened(uri, storage, options)?;
        let lock = concurrency.lock()?;
        repaired(&target, &concurrency)?;
        let mut table = target.open()?;
        let action = operation.action(&table.config);
        let pending = pending_plan(&table, action, instant)?;
        if concurrency.has_heartbeats() {
            check_not_executed(&target, &concurrency, instant)?;
        }
        if pending.state == InstantState::Inflight {
            roll_back_execution(&target, &concurrency, instant)?;
            table = target.open()?;
        }
        let files = TimelineWriter::new(Arc::clone(&target.store), &table.config);
        let clock = clock(&table.config, &concurrency);
        let start = || Heartbeat::start(Arc::clone(&target.store), instant, concurrency.heartbeat);
        let heartbeat = concurrency.has_heartbeats().then(start).transpose()?;
        let instant = instant.clone();
        let mut begun = Self { target, concurrency, clock, files, table, operation, action, instant, heartbeat };
        begun.inflight_without_profile()?;
        lock.map_or(Ok(()), |lock| lock.release())?;
        Ok(begun)
    }

    /// Rolls back plans of services, and what executions of them have written, under the lock.
    ///
    /// # Errors
    /// Those of the storage.
    pub(in crate::client) fn roll_back_plans(&self, instants: &BTreeSet<RequestedTime>) -> Result<()> {
        let lock = self.concurrency.lock()?;
        let rolled_back = with_rollbacks(&self.target, &self.concurrency, |rollbacks| {
            instants.iter().try_for_each(|instant| rollbacks.roll_back(instant).map(|_| ()))
        });
        let released = lock.map_or(Ok(()), |lock| lock.release());
        rolled_back.and(released)
    }

    /// Undoes what the execution of a plan has written. The plan stays, for the next one.
    ///
    /// # Errors
    /// `reason` if the storage failed as well, with a note of that.
    pub(in crate::client) fn abort_execution(mut self, reason: &Error) -> Result<()> {
        let undone = (|| {
            if let Some(heartbeat) = self.heartbeat.take() {
                heartbeat.stop()?;
            }
            let lock = self.concurrency.lock()?;
            let undone = roll_back_execution(&self.target, &self.concurrency, &self.instant);
            let released = lock.map_or(Ok(()), |lock| lock.release());
            undone.and(released)
        })();
        undone.map_err(|failed| super::undo::with_note(reason, &failed))
    }
}

fn opened(uri: &str, storage: &StorageOptions, options: &BTreeMap<String, String>) -> Result<(Target, Concurrency)> {
    let store = open_file_store(uri, storage)?;
    let target = Target { uri: uri.to_owned(), storage: storage.clone(), options: options.clone(), store };
    let table = target.open()?;
    check_version(&table.config).map_err(|error| error.in_file(uri))?;
    let concurrency = Concurrency::from_options(&target.store, storage, options)?;
    target.metadata(&table)?;
    Ok((target, concurrency))
}

fn request(
    target: &Target,
    concurrency: &Concurrency,
    mut table: Arc<OpenTable>,
    operation: WriteOperation,
    make_plan: MakePlan<'_>,
) -> Result<Option<RequestedTime>> {
    let files = TimelineWriter::new(Arc::clone(&target.store), &table.config);
    let (clock, action) = (clock(&table.config, concurrency), operation.action(&table.config));
    for _ in 0..ATTEMPTS {
        let Some(plan) = make_plan(&table)? else { return Ok(None) };
        let instant = clock.requested_time(&[&table.timeline])?;
        if let PutOutcome::Written(_) = files.request(&instant, action, &plan)? {
            return Ok(Some(instant));
        }
        table = target.open()?;
    }
    let message =
        "other writers keep creating instants at the same times: the table has several writers without a lock";
    Err(Error::new(ErrorKind::AlreadyExists, message).in_file(&target.uri))
}

fn pending_plan(table: &OpenTable, action: Action, instant: &RequestedTime) -> Result<Instant> {
    let mut at = table.timeline.writes_at(instant);
    let found = at.find(|found| found.action == action && !found.is_completed());
    found.cloned().ok_or_else(|| {
        let message = format!("no {action} {instant} is pending: it was executed or rolled back");
        Error::not_found(message).in_file(&table.uri).at_instant(instant)
    })
}

fn check_not_executed(target: &Target, concurrency: &Concurrency, instant: &RequestedTime) -> Result<()> {
    let heartbeats = Heartbeats::list(&*target.store)?;
    let has_one = heartbeats.instants().any(|beating| beating == instant);
    if !has_one || heartbeats.is_expired(instant, concurrency.heartbeat) {
        return Ok(());
    }
    let message = "another writer is executing this plan: its heartbeat is alive; try again when it has ended";
    Err(Error::new(ErrorKind::WriteConflict, message).in_file(&target.uri).at_instant(instant))
}

fn roll_back_execution(target: &Target, concurrency: &Concurrency, instant: &RequestedTime) -> Result<()> {
    with_rollbacks(target, concurrency, |rollbacks| rollbacks.roll_back_execution(instant).map(|_| ()))
}

/// Rolls back instants of the table as it is now.
fn with_rollbacks(
    target: &Target,
    concurrency: &Concurrency,
    roll_back: impl FnOnce(&Rollbacks<'_>) -> Result<()>,
) -> Result<()> {
    let now = target.open()?;
    let metadata = target.metadata(&now)?;
    let clock = clock(&now.config, concurrency);
    roll_back(&Rollbacks {
        store: &target.store,
        config: &now.config,
        clock: &clock,
        metadata: metadata.as_ref().map(|metadata| metadata as &dyn MetadataRollback),
    })
}
