//! The beginning of a write.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::recorded_store::DataStore;
use super::{Target, Transaction};
use crate::commit::{Clock, Concurrency, Heartbeat, TimelineWriter, WriteOperation, delete_heartbeat};
use crate::metadata_upkeep::MetadataUpkeep;
use crate::services::{InlineServices, MetadataServices, check_no_restore, remove_leftovers, roll_back_failed_writes};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::TableConfig;
use mortice_storage::{FileStore, PutOutcome, StorageOptions, open_file_store};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::metadata::{HoodieRequestedReplaceMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, Timeline};

/// Attempts to find a requested time that no other writer has.
const ATTEMPTS: usize = 10;
const HEARTBEAT_BETWEEN_PROCESSES: &str = "several writers (hoodie.write.concurrency.mode) in a write whose driver is several \
                                           processes, none of which keeps the heartbeat alive; use mortice.spark.write";

impl Transaction {
    /// Begins a write: opens the table as it is now, rolls back writes that failed, creates the metadata table of a table that is to have
    /// one, and puts the requested instant on the timeline.
    ///
    /// Args:
    ///     uri: The table's base path.
    ///     storage: Options of its storage.
    ///     options: Options of the write, by Hudi's names.
    ///     operation: What the write does.
    ///
    /// # Errors
    /// `Unsupported` and `InvalidArgument`, by name, for tables and options that cannot be written with; `Io` if the lock of the table is
    /// not free in time; those of the storage. The table is as it was then, except for failed writes that were rolled back.
    pub fn begin(
        uri: &str,
        storage: &StorageOptions,
        options: &BTreeMap<String, String>,
        operation: WriteOperation,
    ) -> Result<Self> {
        let store = open_file_store(uri, storage)?;
        Self::begin_at(store, uri, storage, options, operation)
    }

    /// The same, writing to a store that is open already.
    ///
    /// # Errors
    /// As for [`Transaction::begin`].
    pub(super) fn begin_at(
        store: Arc<dyn FileStore>,
        uri: &str,
        storage: &StorageOptions,
        options: &BTreeMap<String, String>,
        operation: WriteOperation,
    ) -> Result<Self> {
        InlineServices::from_options(options)?;
        let target = Target { uri: uri.to_owned(), storage: storage.clone(), options: options.clone(), store };
        let table = target.open()?;
        check_version(&table.config).map_err(|error| error.in_file(uri))?;
        let concurrency = Concurrency::from_options(&target.store, storage, options)?;
        // A partition of the metadata table that cannot be maintained is refused before anything is changed.
        target.metadata(&table)?;
        let concurrency = Arc::new(concurrency);
        concurrency.locked(|_| Self::begin_locked(target, Arc::clone(&concurrency), operation))
    }

    /// Goes on with a write that another process has begun.
    ///
    /// Args:
    ///     table: The table as it was when the write began.
    ///     options: Options of the write, those it began with.
    ///     operation: What the write does.
    ///     instant: Its requested time.
    ///
    /// # Errors
    /// `Unsupported` for a write with a heartbeat: nothing keeps it alive between the processes. Those of opening the storage.
    pub(crate) fn resume(
        table: Arc<OpenTable>,
        options: &BTreeMap<String, String>,
        operation: WriteOperation,
        instant: RequestedTime,
    ) -> Result<Self> {
        let (uri, storage) = (table.uri.clone(), table.storage_options.clone());
        let store = open_file_store(&uri, &storage)?;
        let concurrency = Concurrency::from_options(&store, &storage, options)?;
        if concurrency.has_heartbeats() {
            return Err(Error::unsupported(HEARTBEAT_BETWEEN_PROCESSES).in_file(uri));
        }
        let files = TimelineWriter::new(Arc::clone(&store), &table.config);
        let clock = Clock::new(&table.config);
        let action = operation.action(&table.config);
        let target = Target { uri, storage, options: options.clone(), store };
        let data = DataStore::new(&target.store);
        let concurrency = Arc::new(concurrency);
        Ok(Self {
            target,
            data,
            concurrency,
            clock,
            files,
            table,
            operation,
            action,
            instant,
            heartbeat: None,
            validator: None,
        })
    }

    /// Makes sure that a write can be begun and ended by different processes.
    ///
    /// # Errors
    /// As for [`Transaction::resume`].
    pub(crate) fn check_resumable(table: &OpenTable, options: &BTreeMap<String, String>) -> Result<()> {
        let store = open_file_store(&table.uri, &table.storage_options)?;
        match Concurrency::from_options(&store, &table.storage_options, options)?.has_heartbeats() {
            true => Err(Error::unsupported(HEARTBEAT_BETWEEN_PROCESSES).in_file(&table.uri)),
            false => Ok(()),
        }
    }

    fn begin_locked(target: Target, concurrency: Arc<Concurrency>, operation: WriteOperation) -> Result<Self> {
        let Repaired { mut table, mut metadata } = repaired(&target, &concurrency)?;
        let action = operation.action(&table.config);
        let files = TimelineWriter::new(Arc::clone(&target.store), &table.config);
        let clock = Clock::new(&table.config);
        for _ in 0..ATTEMPTS {
            let instant = clock.requested_time(&timelines(&table, metadata.as_ref()))?;
            if let Some(heartbeat) = request(&target, &concurrency, &files, (&instant, action))? {
                let heartbeat = concurrency.has_heartbeats().then_some(heartbeat).flatten();
                let data = DataStore::new(&target.store);
                return Ok(Self {
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
                });
            }
            table = target.open()?;
            metadata = target.metadata(&table)?;
        }
        let message =
            "other writers keep creating instants at the same times: the table has several writers without a lock";
        Err(Error::new(ErrorKind::AlreadyExists, message).in_file(target.uri))
    }
}

/// Puts the requested instant on the timeline, after its heartbeat, which is in the outer option if the instant is new.
fn request(
    target: &Target,
    concurrency: &Concurrency,
    files: &TimelineWriter,
    (instant, action): (&RequestedTime, Action),
) -> Result<Option<Option<Heartbeat>>> {
    let start = || Heartbeat::start(Arc::clone(&target.store), instant, concurrency.heartbeat);
    let heartbeat = concurrency.has_heartbeats().then(start).transpose()?;
    let content = match action {
        Action::ReplaceCommit => Bytes::from(HoodieRequestedReplaceMetadata::default().to_avro()?),
        _ => Bytes::new(),
    };
    match files.request(instant, action, &content)? {
        PutOutcome::Written(_) => Ok(Some(heartbeat)),
        PutOutcome::Refused => {
            if let Some(heartbeat) = heartbeat {
                heartbeat.stop()?;
                delete_heartbeat(&*target.store, instant)?;
            }
            Ok(None)
        }
    }
}

/// A table that can be written to.
pub(super) struct Repaired {
    pub(super) table: Arc<OpenTable>,
    /// The metadata table, as it is since its own services ran.
    pub(super) metadata: Option<MetadataUpkeep>,
}

/// The timelines that new instants must be later than. The metadata table's services may have used a time that the table does not have,
/// which is not in the past if the clock was set back.
pub(super) fn timelines<'a>(table: &'a OpenTable, metadata: Option<&'a MetadataUpkeep>) -> Vec<&'a Timeline> {
    std::iter::once(&table.timeline).chain(metadata.map(MetadataUpkeep::timeline)).collect()
}

/// The table after failed writes were rolled back and what they left was removed, and with a metadata table if it is to have one.
pub(super) fn repaired(target: &Target, concurrency: &Concurrency) -> Result<Repaired> {
    let table = target.open()?;
    check_no_restore(&table.timeline).map_err(|error| error.in_file(&target.uri))?;
    let metadata = target.metadata(&table)?;
    let clock = Clock::new(&table.config);
    let rollbacks = target.rollbacks(&table.config, &clock, metadata.as_ref());
    roll_back_failed_writes(&rollbacks, concurrency.failed_writes, concurrency.heartbeat)?;
    remove_leftovers(&rollbacks, concurrency.heartbeat)?;
    let table = target.open()?;
    let (timeline, config, options) = (&table.timeline, &table.config, &target.options);
    let services = MetadataServices { store: &target.store, config, timeline, clock: &clock, options };
    let is_changed = match MetadataUpkeep::initialize(&target.store, &table, options)? {
        true => true,
        false => metadata.as_ref().map_or(Ok(false), |metadata| services.run(metadata.timeline()))?,
    };
    if !is_changed {
        return Ok(Repaired { table, metadata });
    }
    let table = target.open()?;
    let metadata = target.metadata(&table)?;
    Ok(Repaired { table, metadata })
}

/// Tables of other versions have other timelines, markers or metadata tables; Hudi upgrades them when it writes.
///
/// # Errors
/// `Unsupported`, with what to do.
pub(crate) fn check_version(config: &TableConfig) -> Result<()> {
    match config.version.number() {
        6 | 8 | 9 => Ok(()),
        other => Err(Error::unsupported(format!(
            "writing to a table of version {other} (supported: 6, 8, 9); upgrade it with Hudi (`upgrade table` of its CLI)"
        ))),
    }
}
