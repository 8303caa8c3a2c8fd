//! The beginning of a write.

use std::sync::Arc;

use bytes::Bytes;

use super::Transaction;
use super::recorded_store::DataStore;
use crate::inline_options::InlineServices;
use crate::metadata_services::{MetadataServiceOptions, MetadataServices};
use crate::recovery::{Rollbacks, check_no_restore, refused_by_metadata, remove_leftovers, roll_back_failed_writes};
use crate::reports::ReportOptions;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_base::names::instant_time::METADATA_BOOTSTRAP;
use mortice_commit::commit::{Clock, Heartbeat, TimelineWriter, delete_heartbeat, request_instant};
use mortice_commit::metadata_upkeep::{MetadataUpkeep, is_defect};
use mortice_commit::writable_table::{TableState, WritableTable};
use mortice_storage::PutOutcome;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::metadata::{HoodieRequestedReplaceMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, WriteOperation};

const HEARTBEAT_BETWEEN_PROCESSES: &str = "several writers (hoodie.write.concurrency.mode) in a write whose driver is several \
                                           processes, none of which keeps the heartbeat alive; use mortice.spark.write";

impl Transaction {
    /// Begins a write: opens the table as it is now, rolls back writes that failed, creates the metadata table of a
    /// table that is to have one, and puts the requested instant on the timeline.
    ///
    /// # Errors
    /// `Unsupported` and `InvalidArgument`, by name, for tables and options that cannot be written with; `Io` if the
    /// lock of the table is not free in time; those of the storage. The table is as it was then, except for failed
    /// writes that were rolled back.
    pub fn begin(target: &Arc<WritableTable>, operation: WriteOperation) -> Result<Self> {
        InlineServices::resolve(target.options())?;
        ReportOptions::resolve(target.options(), &target.latest().config.name)?;
        target.locked(|table, _| Self::begin_locked(target, table, operation))
    }

    /// Begins a metadata-only bootstrap, whose instant is always the same: one that was stopped is rolled back.
    ///
    /// # Errors
    /// As for [`Transaction::begin`]; `AlreadyExists` if the table was bootstrapped.
    pub fn begin_bootstrap(target: &Arc<WritableTable>) -> Result<Self> {
        target.locked(|table, _| {
            let state = repaired(target, table)?;
            let operation = WriteOperation::Bootstrap;
            let instant = RequestedTime::from_metadata("instant of a bootstrap", METADATA_BOOTSTRAP)?;
            let action = operation.action(&state.table.config);
            match request(target, &target.timeline_writer(&state.table), &instant, action)? {
                (PutOutcome::Written(_), heartbeat) => Ok(Self::at(target, state.table, operation, instant, heartbeat)),
                (PutOutcome::Refused, _) => {
                    let message = "the table was bootstrapped already, or another process bootstraps it";
                    Err(Error::new(ErrorKind::AlreadyExists, message).in_file(target.uri()).at_instant(&instant))
                }
            }
        })
    }

    /// Goes on with a write that another process has begun.
    ///
    /// Args:
    ///     target: The table that the write began with.
    ///     table: It, as it was then.
    ///     operation: What the write does.
    ///     instant: Its requested time.
    ///
    /// # Errors
    /// `Unsupported` for a write with a heartbeat: nothing keeps it alive between the processes.
    pub fn resume(
        target: &Arc<WritableTable>,
        table: Arc<OpenTable>,
        operation: WriteOperation,
        instant: RequestedTime,
    ) -> Result<Self> {
        Self::check_resumable(target)?;
        Ok(Self::at(target, table, operation, instant, None))
    }

    /// Makes sure that a write can be begun and ended by different processes.
    ///
    /// # Errors
    /// As for [`Transaction::resume`].
    pub fn check_resumable(target: &WritableTable) -> Result<()> {
        match target.concurrency().has_heartbeats() {
            true => Err(Error::unsupported(HEARTBEAT_BETWEEN_PROCESSES).in_file(target.uri())),
            false => Ok(()),
        }
    }

    fn begin_locked(target: &Arc<WritableTable>, table: Arc<OpenTable>, operation: WriteOperation) -> Result<Self> {
        let state = repaired(target, table)?;
        let action = operation.action(&state.table.config);
        let (clock, files) = (state.clock.clone(), target.timeline_writer(&state.table));
        let mut heartbeat = None;
        let requested = request_instant(
            &clock,
            state,
            || target.state(),
            |_, instant| {
                let (outcome, started) = request(target, &files, instant, action)?;
                heartbeat = started;
                Ok(Some(outcome))
            },
        );
        let requested = requested.map_err(|error| error.in_file(target.uri()))?;
        let (instant, state) = requested.ok_or_else(|| Error::internal("a write without a requested instant"))?;
        Ok(Self::at(target, state.table, operation, instant, heartbeat))
    }

    /// A write whose instant is on the timeline.
    pub(super) fn at(
        target: &Arc<WritableTable>,
        table: Arc<OpenTable>,
        operation: WriteOperation,
        instant: RequestedTime,
        heartbeat: Option<Heartbeat>,
    ) -> Self {
        let data = DataStore::new(target.store(), heartbeat.as_ref().map(Heartbeat::watch));
        let files = target.timeline_writer(&table);
        let (clock, action) = (Clock::new(&table.config, target.time()), operation.action(&table.config));
        Self {
            target: Arc::clone(target),
            data,
            clock,
            files,
            table,
            operation,
            action,
            instant,
            heartbeat,
            is_in_metadata: false,
        }
    }
}

/// Puts the requested instant on the timeline, after its heartbeat, which ends if another writer has the instant.
fn request(
    target: &WritableTable,
    files: &TimelineWriter,
    instant: &RequestedTime,
    action: Action,
) -> Result<(PutOutcome, Option<Heartbeat>)> {
    let heartbeat = start_heartbeat(target, instant)?;
    let content = match action {
        Action::ReplaceCommit => Bytes::from(HoodieRequestedReplaceMetadata::default().to_avro()?),
        _ => Bytes::new(),
    };
    let put = files.request(instant, action, &content);
    // With a conflict the lock was lost, and the instant is not on the timeline.
    let is_given_up =
        put.as_ref().map_or_else(|error| error.kind() == ErrorKind::WriteConflict, |put| *put == PutOutcome::Refused);
    if !is_given_up {
        return put.map(|put| (put, heartbeat));
    }
    if let Some(heartbeat) = heartbeat {
        heartbeat.stop()?;
        delete_heartbeat(&**target.store(), instant)?;
    }
    put.map(|put| (put, None))
}

/// Starts the heartbeat of an instant, if writes have them.
pub(super) fn start_heartbeat(target: &WritableTable, instant: &RequestedTime) -> Result<Option<Heartbeat>> {
    let concurrency = target.concurrency();
    let start = || Heartbeat::start(Arc::clone(target.store()), instant, concurrency.heartbeat);
    concurrency.has_heartbeats().then(start).transpose()
}

/// The table after failed writes were rolled back and what they left was removed, and with a metadata table if it is to
/// have one. `table` was opened under the lock.
pub(super) fn repaired(target: &WritableTable, table: Arc<OpenTable>) -> Result<TableState> {
    check_no_restore(&table.timeline).map_err(|error| error.in_file(target.uri()))?;
    let mut state = target.sound_state(table)?;
    let concurrency = target.concurrency();
    let (policy, heartbeat) = (concurrency.failed_writes, concurrency.heartbeat);
    if let Some(refused) = refused_by_metadata(&Rollbacks::new(&state), &state.table.timeline, policy, heartbeat)? {
        state = target.without_metadata(&state.table, refused.to_string())?;
    }
    let rollbacks = Rollbacks::new(&state);
    let failed = roll_back_failed_writes(&rollbacks, &state.table.timeline, policy, heartbeat)?;
    remove_leftovers(&rollbacks, concurrency.heartbeat)?;
    if failed.is_changed() {
        state.table = target.reopen()?;
    }
    let is_changed = MetadataUpkeep::initialize_with(
        target.store(),
        &state.table,
        target.metadata_options(),
        target.index_builder(),
    )?;
    if is_changed || serve_metadata(target, &state)? { target.state() } else { Ok(state) }
}

/// Runs the services of the metadata table. One that they find damaged is built again. Returns true if it was changed.
fn serve_metadata(target: &WritableTable, state: &TableState) -> Result<bool> {
    let Some(metadata) = &state.metadata else { return Ok(false) };
    let (store, table, options) = (target.store(), &state.table, target.metadata_options());
    let (config, timeline) = (&table.config, &table.timeline);
    match (MetadataServices {
        store,
        config,
        timeline,
        clock: &state.clock,
        options: &MetadataServiceOptions::resolve(target.options())?,
    })
    .run(metadata.timeline())
    {
        Err(error) if is_defect(&error) => {
            MetadataUpkeep::drop_unusable(store, table, options, Some(&error.to_string()))?;
            MetadataUpkeep::initialize_with(store, &target.reopen()?, options, target.index_builder())?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = "another writer has completed a service of the metadata table that this one was running; nothing was written, \
                           write again";
            Err(Error::new(ErrorKind::WriteConflict, message).caused_by(error))
        }
        done => done,
    }
}
