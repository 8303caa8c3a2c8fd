//! The one door: a table, its queries, and their streams.

use std::sync::{Arc, Mutex, OnceLock};

use arrow_schema::SchemaRef;

use super::ask::Ask;
use super::path_columns::Rows;
use super::query::KnownSchema;
use super::scan::Scan;
use super::slices::SNAPSHOT;
use crate::config::{MergeConfig, ReadOptions, Semantics, TableConfig};
use crate::error::{Error, Result};
use crate::file_group::{FileSlice, View};
use crate::filter::Filter;
use crate::metadata_table::MetadataTable;
use crate::names::instant_time;
use crate::storage::{self, Place, RequestCounts, Requests, StorageOptions};
use crate::timeline::Timeline;

/// What opening a table reads, and its metadata table, by either layout of the timeline. Over a network all is fetched at
/// once: what is not there answers as quickly, and the layout would be known a round trip later.
const OPENED_FILES: [&str; 2] = [".hoodie/hoodie.properties", ".hoodie/metadata/.hoodie/hoodie.properties"];
const OPENED_FOLDERS: [&str; 3] = [".hoodie", ".hoodie/timeline", ".hoodie/metadata/.hoodie/timeline"];

/// One Hudi table. Its timeline is read once, when it is opened; open it again to see newer commits.
pub struct Table {
    pub(super) uri: String,
    pub(super) storage: StorageOptions,
    pub(super) place: Arc<dyn Place>,
    pub(super) config: TableConfig,
    pub(super) merge: MergeConfig,
    pub(super) timeline: Timeline,
    pub(super) options: ReadOptions,
    /// Opened when it is first asked for.
    pub(super) metadata: OnceLock<std::result::Result<MetadataTable, Arc<Error>>>,
    /// The schema that was last asked for.
    pub(super) known_schema: Mutex<Option<KnownSchema>>,
}

impl Table {
    /// Opens the table at a path or URI. [`crate::Kind::NotFound`] where there is none,
    /// [`crate::Kind::Unsupported`] for tables that this release cannot read.
    pub fn open(uri: &str, storage: &StorageOptions, options: ReadOptions) -> Result<Self> {
        Self::at(storage::open(uri, storage)?, uri, storage, options)
    }

    /// The same, planned in a place that is open already; splits are read at `uri`.
    ///
    /// # Errors
    /// As for [`Table::open`].
    pub fn at(place: Arc<dyn Place>, uri: &str, storage: &StorageOptions, options: ReadOptions) -> Result<Self> {
        let place = match place.requests() {
            Some(_) => place,
            None => storage::counted(place, &Arc::new(Requests::default())),
        };
        place.begin(&OPENED_FILES, &OPENED_FOLDERS)?;
        let config = TableConfig::load(place.as_ref())?;
        let merge = config.merge_by(options.semantics).map_err(|error| error.in_file(uri))?;
        let timeline = Timeline::load(&place, &config)?;
        let (uri, storage, metadata) = (uri.to_owned(), storage.clone(), OnceLock::new());
        let known_schema = Mutex::default();
        Ok(Self { uri, storage, place, config, merge, timeline, options, metadata, known_schema })
    }

    /// As it was given.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The storage requests made so far to open the table and to plan its queries. Reading is counted by
    /// [`crate::Report::requests`].
    #[must_use]
    pub fn requests(&self) -> RequestCounts {
        self.place.requests().map(|requests| requests.counts()).unwrap_or_default()
    }

    /// What `hoodie.properties` says.
    #[must_use]
    pub fn config(&self) -> &TableConfig {
        &self.config
    }

    /// How records of one key are merged.
    #[must_use]
    pub fn merge(&self) -> &MergeConfig {
        &self.merge
    }

    /// Whose rules of merging are followed.
    #[must_use]
    pub fn semantics(&self) -> Semantics {
        self.options.semantics
    }

    /// The timeline as it was when the table was opened.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The schema of the newest commit, meta columns first.
    pub fn schema(&self) -> Result<SchemaRef> {
        let (_, types) = self.schema_at(None)?;
        Ok(types)
    }

    /// The same as an Avro schema, in JSON: what fields default to stands there.
    pub fn avro_schema(&self) -> Result<String> {
        let (found, _) = self.schema_at(None)?;
        Ok(found.schema.json().to_owned())
    }

    /// Whether columns are told by ids at an instant, or now, and not by their names (schema on read).
    pub fn has_column_ids(&self, as_of: Option<&str>) -> Result<bool> {
        let as_of = as_of.map(instant_time::of_query).transpose()?;
        let (found, _) = self.schema_at(as_of.as_deref())?;
        Ok(found.internal.is_some())
    }

    /// The file slices that a snapshot reads, without those of partitions that hold no row of the filter.
    pub fn file_slices(&self, as_of: Option<&str>, filter: &Filter) -> Result<Vec<FileSlice>> {
        let as_of = as_of.map(instant_time::of_query).transpose()?;
        let wanted = if filter.is_empty() {
            None
        } else {
            let (_, types) = self.schema_at(as_of.as_deref())?;
            self.partition_filter(&types, filter)?
        };
        Ok(self.slices(as_of.as_deref(), View::slices, wanted.as_ref())?.slices)
    }

    /// The rows as of an instant, base files and logs merged.
    pub fn snapshot(&self, ask: &Ask) -> Result<Scan> {
        Self::check_deletes(ask)?;
        let as_of = ask.as_of.as_deref().map(instant_time::of_query).transpose()?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_deref(), View::slices, wanted);
        let scan = self.scan(SNAPSHOT, ask, as_of.clone(), self.path_columns(Rows::Merged), find)?;
        let merging = ask.merge || self.options.semantics == Semantics::V0x;
        if merging && ask.merger.is_none() && scan.splits.iter().any(|split| !split.slice.log_files.is_empty()) {
            self.merge().check_supported(self.options.semantics).map_err(|error| error.in_file(&self.uri))?;
        }
        Ok(scan)
    }

    pub(super) fn check_deletes(ask: &Ask) -> Result<()> {
        if ask.emit_deletes && !ask.merge {
            let message = "emit_deletes with merge=False: merging finds the deleted keys; leave one of the two out";
            return Err(Error::invalid_argument(message));
        }
        Ok(())
    }

    /// The rows of base files alone: what compactions have merged, and no log.
    pub fn read_optimized(&self, ask: &Ask) -> Result<Scan> {
        let as_of = ask.as_of.as_deref().map(instant_time::of_query).transpose()?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_deref(), View::base_files, wanted);
        self.scan("read_optimized", ask, as_of.clone(), self.path_columns(Rows::Base), find)
    }
}
