//! The handle.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::key_encoding::stored_encoding;
use super::location::TableLocation;
use super::state::TableState;
use crate::commit::{
    Clock, CommitValidator, Concurrency, FencedStore, HeldLock, LockedTable, TimelineWriter, UndoneWrite, check_format,
    check_version,
};
use crate::metadata_upkeep::{FoundMetadata, IndexBuilder, LocalIndexBuilder, MetadataOptions, MetadataUpkeep};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::progress::Progress;
use mortice_base::time::Time;
use mortice_merge::config::option_names::{ON_DAMAGE, WRITE_COMPLEX_KEYGEN_NEW_ENCODING};
use mortice_merge::config::{OnDamage, ParsedOptions, ReadOptions, TableConfig, WriteOptions};
use mortice_merge::keys::KeyOptions;
use mortice_storage::FileStore;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Instant;
use mortice_write::settings::WriteSettings;

/// The options by which writes and services read a table. Rows that a damaged log has lost would be lost for good where
/// files are merged and rewritten, so such a log is an error unless an option says otherwise.
///
/// # Errors
/// `InvalidArgument` for a value that the option does not have.
pub fn read_options(given: &BTreeMap<String, String>) -> Result<ReadOptions> {
    on_damage(given.get(ON_DAMAGE.name()).map(String::as_str))
}

fn on_damage(given: Option<&str>) -> Result<ReadOptions> {
    let parse = |value: &str| {
        OnDamage::parse(value.trim().to_ascii_lowercase().as_str())
            .map_err(|error| Error::invalid_argument(format!("option {ON_DAMAGE}: {}", error.text())))
    };
    let given = given.map(parse).transpose()?;
    Ok(ReadOptions { on_damage: given.unwrap_or(OnDamage::Raise), ..ReadOptions::default() })
}

/// What checks whether a table is changed.
type VersionCheck = fn(&TableConfig) -> Result<()>;

fn check_writes(location: &TableLocation, table: &OpenTable, check: VersionCheck) -> Result<()> {
    check(&table.config).map_err(|error| error.in_file(location.uri()))?;
    table.check_writes_register_nothing()
}

/// A table that is being changed. A write, and the services after it, work on one.
///
/// What must not be out of date is read under the table's lock: [`Self::locked`] opens the table once it has the lock.
/// Everything else can be decided by the state in which the table was last seen, [`Self::latest`], which costs nothing.
#[derive(Clone)]
pub struct WritableTable {
    location: TableLocation,
    store: Arc<dyn FileStore>,
    /// By their newest names.
    options: WriteOptions,
    /// What they say of rows and files.
    settings: Arc<WriteSettings>,
    /// What they say of the metadata table.
    metadata_options: MetadataOptions,
    warnings: Vec<String>,
    /// What has failed beside changes that succeeded.
    failed_reports: Arc<Mutex<Vec<String>>>,
    concurrency: Arc<Concurrency>,
    /// Checks the table before a write of rows is completed. Services after it are commits of their own.
    validator: Option<Arc<dyn CommitValidator>>,
    index_builder: Arc<dyn IndexBuilder>,
    /// The options as they were given; none if another process has checked them.
    checked: Option<Arc<CheckedOptions>>,
    /// The properties that they were checked against.
    config: Arc<TableConfig>,
    version_check: VersionCheck,
    latest: Arc<Mutex<LatestState>>,
}

/// Refuses a table that was upgraded or downgraded since it was opened: what was prepared is of the old version.
fn check_same_version(opened: &TableConfig, now: &TableConfig) -> Result<()> {
    if opened.version == now.version {
        return Ok(());
    }
    let message = format!(
        "the table had version {} when this write or service began, and has version {} now: it was upgraded or downgraded meanwhile; \
         run it again",
        opened.version, now.version
    );
    Err(Error::new(ErrorKind::WriteConflict, message))
}

/// Options that agreed with the properties of the table.
struct CheckedOptions {
    given: BTreeMap<String, String>,
    operation: String,
}

/// The table as a handle has last seen it.
struct LatestState {
    table: Arc<OpenTable>,
    /// Whether the handle has changed nothing since.
    is_current: bool,
}

impl WritableTable {
    /// Opens a table to be changed.
    ///
    /// Args:
    ///     location: Where it is.
    ///     options: Options of the write or service, by Hudi's names.
    ///     operation: What messages call it.
    ///
    /// # Errors
    /// `Unsupported` for versions of tables that are not written to; `InvalidArgument` and `Unsupported` for options,
    /// by name; those of the storage.
    pub fn open(location: &TableLocation, options: &BTreeMap<String, String>, operation: &str) -> Result<Self> {
        Self::of_table(location, location.open_timeline(read_options(options)?)?, options, operation)
    }

    /// The same, of a table that was opened before. Others may have changed it since.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn of_table(
        location: &TableLocation,
        table: Arc<OpenTable>,
        options: &BTreeMap<String, String>,
        operation: &str,
    ) -> Result<Self> {
        Self::of_version(location, table, options, operation, check_version)
    }

    /// The same, of any version: an upgrade brings it to one that is written to.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn of_table_to_upgrade(
        location: &TableLocation,
        table: Arc<OpenTable>,
        options: &BTreeMap<String, String>,
        operation: &str,
    ) -> Result<Self> {
        Self::of_version(location, table, options, operation, check_format)
    }

    fn of_version(
        location: &TableLocation,
        table: Arc<OpenTable>,
        options: &BTreeMap<String, String>,
        operation: &str,
        version_check: VersionCheck,
    ) -> Result<Self> {
        check_writes(location, &table, version_check)?;
        let mut parsed = ParsedOptions::new(options, operation, &table.config)?;
        if let Some(names_field) = stored_encoding(&table, &KeyOptions::resolve(&parsed.options)?)? {
            parsed.options.set(WRITE_COMPLEX_KEYGEN_NEW_ENCODING, !names_field);
        }
        let checked = CheckedOptions { given: options.clone(), operation: operation.to_owned() };
        Ok(Self { checked: Some(Arc::new(checked)), version_check, ..Self::of_checked(location, table, parsed)? })
    }

    /// The same, with options that were checked when the write began, in this process or another.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn of_options(location: &TableLocation, table: Arc<OpenTable>, options: WriteOptions) -> Result<Self> {
        check_writes(location, &table, check_version)?;
        Self::of_checked(location, table, ParsedOptions { options, warnings: Vec::new() })
    }

    fn of_checked(location: &TableLocation, table: Arc<OpenTable>, parsed: ParsedOptions) -> Result<Self> {
        let ParsedOptions { options, warnings } = parsed;
        location.set_left_table(None);
        let store = location.open_store()?;
        let locked = LockedTable { name: &table.config.name, uri: location.uri() };
        let concurrency = Concurrency::resolve(&store, locked, location.storage_options(), &options)?;
        let store: Arc<dyn FileStore> = Arc::new(FencedStore::new(store, Arc::clone(concurrency.fence())));
        Ok(Self {
            location: location.clone(),
            store,
            settings: Arc::new(WriteSettings::resolve(&options, &table.config)?),
            metadata_options: MetadataOptions::resolve(&options)?,
            options,
            warnings,
            failed_reports: Arc::default(),
            concurrency: Arc::new(concurrency),
            validator: None,
            index_builder: Arc::new(LocalIndexBuilder::new(location.progress())),
            checked: None,
            config: Arc::new(table.config.clone()),
            version_check: check_version,
            latest: Arc::new(Mutex::new(LatestState { table, is_current: true })),
        })
    }

    /// The table with a check of what writes leave.
    #[must_use]
    pub fn with_validator(self, validator: Option<Arc<dyn CommitValidator>>) -> Self {
        Self { validator, ..self }
    }

    /// The table with another builder of indexes of the metadata table than this process.
    #[must_use]
    pub fn with_index_builder(self, index_builder: Arc<dyn IndexBuilder>) -> Self {
        Self { index_builder, ..self }
    }

    /// The table with other options of the metadata table.
    #[must_use]
    pub fn with_metadata_options(self, metadata_options: MetadataOptions) -> Self {
        Self { metadata_options, ..self }
    }

    /// Where the table is.
    #[must_use]
    pub fn location(&self) -> &TableLocation {
        &self.location
    }

    /// The base path.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.location.uri()
    }

    /// The table's root, for writing.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    /// What gets the progress of its services.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        self.location.progress()
    }

    /// The time by which it is written.
    #[must_use]
    pub fn time(&self) -> Arc<dyn Time> {
        self.store.time()
    }

    /// The options, checked, by their newest names.
    #[must_use]
    pub fn options(&self) -> &WriteOptions {
        &self.options
    }

    /// What options say of rows and files.
    #[must_use]
    pub fn settings(&self) -> &WriteSettings {
        &self.settings
    }

    /// What options say of the metadata table.
    #[must_use]
    pub fn metadata_options(&self) -> &MetadataOptions {
        &self.metadata_options
    }

    /// Sentences on options that have no effect, and on reports that have failed.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(self.failed_reports()).collect()
    }

    /// Sentences on reports that have failed: of metrics, and callbacks of commits.
    #[must_use]
    pub fn failed_reports(&self) -> Vec<String> {
        self.failed_reports.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a sentence on a report that has failed, of a change that succeeded.
    pub fn add_failed_report(&self, warning: String) {
        self.failed_reports.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    /// How its writers keep out of each other's way.
    #[must_use]
    pub fn concurrency(&self) -> &Concurrency {
        &self.concurrency
    }

    /// Checks the table before a write is completed.
    #[must_use]
    pub fn validator(&self) -> Option<&Arc<dyn CommitValidator>> {
        self.validator.as_ref()
    }

    /// Builds indexes of the metadata table.
    #[must_use]
    pub fn index_builder(&self) -> &dyn IndexBuilder {
        self.index_builder.as_ref()
    }

    /// The table as this handle has last seen it. Other writers may have changed it since.
    #[must_use]
    pub fn latest(&self) -> Arc<OpenTable> {
        Arc::clone(&self.latest_state().table)
    }

    /// Opens the table as it is now.
    ///
    /// # Errors
    /// `WriteConflict` if it was upgraded or downgraded since it was opened; as for [`OpenTable::open`].
    pub fn reopen(&self) -> Result<Arc<OpenTable>> {
        let table = self.location.open_table(on_damage(self.options.given_text(ON_DAMAGE))?)?;
        check_same_version(&self.config, &table.config).map_err(|error| error.in_file(self.uri()))?;
        Ok(self.remember(table))
    }

    /// Records that an instant has reached a state, so that the table need not be opened again to see it. Returns the
    /// table.
    ///
    /// # Errors
    /// None in practice: those of reading properties that were read before.
    pub fn advance(&self, table: &OpenTable, reached: Instant) -> Result<Arc<OpenTable>> {
        Ok(self.remember(Arc::new(table.with_instant(reached)?)))
    }

    fn remember(&self, table: Arc<OpenTable>) -> Arc<OpenTable> {
        *self.latest_state() = LatestState { table: Arc::clone(&table), is_current: true };
        table
    }

    fn latest_state(&self) -> MutexGuard<'_, LatestState> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the table was changed in a way that [`Self::latest`] does not have.
    pub fn mark_changed(&self) {
        self.latest_state().is_current = false;
    }

    /// Ends a write or service that has succeeded: who has its location gets the table as this handle has last seen it,
    /// unless it has changed more since.
    pub fn leave(&self) {
        let latest = self.latest_state();
        self.location.set_left_table(latest.is_current.then(|| Arc::clone(&latest.table)));
    }

    /// The metadata table of the table; none if it has none.
    ///
    /// # Errors
    /// `Unsupported` for partitions of it that are not maintained; those of reading it.
    pub fn metadata(&self, table: &Arc<OpenTable>) -> Result<Option<MetadataUpkeep>> {
        MetadataUpkeep::open(Arc::clone(&self.store), table, &self.metadata_options)
    }

    /// The table with its metadata table.
    ///
    /// # Errors
    /// As for [`Self::metadata`].
    pub fn state_of(&self, table: Arc<OpenTable>) -> Result<TableState> {
        let metadata = self.metadata(&table)?;
        Ok(self.state_with(table, metadata, None))
    }

    fn state_with(
        &self,
        table: Arc<OpenTable>,
        metadata: Option<MetadataUpkeep>,
        defect: Option<String>,
    ) -> TableState {
        let clock = Clock::new(&table.config, self.store.time());
        TableState { store: Arc::clone(&self.store), table, metadata, defect, clock }
    }

    /// Returns the table with its metadata table. A metadata table that cannot be maintained is deleted, and the state
    /// has none: the next write builds it again. If all it lacks are instants that had been rolled back before they
    /// were completed, it is sound, and these instants are deleted from the timeline. Call it under the table's lock.
    ///
    /// # Errors
    /// As for [`MetadataUpkeep::find`] and [`MetadataUpkeep::drop_unusable`].
    pub fn sound_state(&self, table: Arc<OpenTable>) -> Result<TableState> {
        let mut state = self.examined_state(table)?;
        if state.defect.is_some() && self.remove_undone(&state.table)? {
            state = self.examined_state(self.reopen()?)?;
        }
        match state.defect {
            None => Ok(state),
            Some(defect) => self.without_metadata(&state.table, defect),
        }
    }

    /// Deletes a metadata table that cannot be maintained, and returns the table without it. The next write builds it
    /// again. Call it under the table's lock.
    ///
    /// # Errors
    /// As for [`MetadataUpkeep::drop_unusable`].
    pub fn without_metadata(&self, table: &OpenTable, defect: String) -> Result<TableState> {
        MetadataUpkeep::drop_unusable(&self.store, table, &self.metadata_options, Some(&defect))?;
        Ok(self.state_with(self.reopen()?, None, Some(defect)))
    }

    /// Takes completed writes off the timeline that had been rolled back before: the metadata table does not have them.
    /// Returns whether there were any. Call it under the table's lock.
    ///
    /// # Errors
    /// As for [`UndoneWrite::find`].
    pub fn remove_undone(&self, table: &OpenTable) -> Result<bool> {
        let files = self.timeline_writer(table);
        let undone = UndoneWrite::find(&files, &table.timeline)?;
        undone.iter().try_for_each(|undone| undone.remove(&files))?;
        Ok(!undone.is_empty())
    }

    /// The table with its metadata table, of which nothing is deleted.
    ///
    /// # Errors
    /// As for [`MetadataUpkeep::find`].
    pub fn examined_state(&self, table: Arc<OpenTable>) -> Result<TableState> {
        match MetadataUpkeep::find(&self.store, &table, &self.metadata_options)? {
            FoundMetadata::Sound(metadata) => Ok(self.state_with(table, metadata.map(|metadata| *metadata), None)),
            FoundMetadata::Unusable(defect) => Ok(self.state_with(table, None, Some(defect.to_string()))),
        }
    }

    /// Both as they are now.
    ///
    /// # Errors
    /// As for [`Self::reopen`] and [`Self::metadata`].
    pub fn state(&self) -> Result<TableState> {
        self.state_of(self.reopen()?)
    }

    /// Writes files of instants.
    #[must_use]
    pub fn timeline_writer(&self, table: &OpenTable) -> TimelineWriter {
        TimelineWriter::new(Arc::clone(&self.store), &table.config)
    }

    /// Does something under the table's lock, with the table as it is then. The lock is released also if that fails.
    ///
    /// # Errors
    /// As for [`Concurrency::locked`], [`Self::reopen`] and [`Self::open`]; that of `work`.
    pub fn locked<T>(&self, work: impl FnOnce(Arc<OpenTable>, &mut Box<dyn HeldLock>) -> Result<T>) -> Result<T> {
        self.concurrency.locked(|lock| {
            let table = self.reopen()?;
            self.check_again(&table)?;
            work(table, lock)
        })
    }

    /// Makes sure that options agree with properties that were changed since they were checked.
    fn check_again(&self, table: &OpenTable) -> Result<()> {
        if table.config == *self.config {
            return Ok(());
        }
        check_writes(&self.location, table, self.version_check)?;
        self.checked
            .as_ref()
            .map_or(Ok(()), |checked| ParsedOptions::new(&checked.given, &checked.operation, &table.config).map(drop))
    }

    /// The same, with the metadata table. One that cannot be maintained is deleted before, and built again afterwards.
    ///
    /// # Errors
    /// As for [`Self::locked`], [`Self::sound_state`] and [`MetadataUpkeep::rebuild_dropped`].
    pub fn locked_state<T>(&self, work: impl FnOnce(&TableState) -> Result<T>) -> Result<T> {
        self.locked(|table, _| {
            let state = self.sound_state(table)?;
            let done = work(&state)?;
            if state.defect.is_some() {
                MetadataUpkeep::rebuild_dropped(&self.store, &self.reopen()?, &self.metadata_options)?;
            }
            Ok(done)
        })
    }

    /// As [`Self::locked_state`]; or, to find out what would be done, without the lock and with the table as it was
    /// last seen.
    ///
    /// # Errors
    /// As for [`Self::locked_state`].
    pub fn examined<T>(&self, is_dry_run: bool, work: impl FnOnce(&TableState) -> Result<T>) -> Result<T> {
        match is_dry_run {
            true => work(&self.examined_state(self.latest())?),
            false => self.locked_state(work),
        }
    }
}
