//! An opened table as a value that is sent to other processes: all see the properties and the timeline that the first
//! one has read, and not what other writers commit meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::open_table::OpenTable;
use super::slices::metadata;
use crate::metadata_table;
use crate::timeline::{Instant, Timeline};
use mortice_base::error::{Error, Result};
use mortice_base::names::CompletionTime;
use mortice_merge::config::{Properties, ReadOptions, TableConfig};
use mortice_storage::{self as storage, Storage, StorageOptions};

/// Earlier than every write: how times of initialisations of the metadata table begin.
const BEFORE_ALL: &str = "00000000000000";

/// A table as it was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTable {
    uri: String,
    storage: StorageOptions,
    options: ReadOptions,
    state: PinnedState,
    /// The metadata table, if it is needed.
    metadata: Option<PinnedState>,
}

/// Properties and timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PinnedState {
    properties: BTreeMap<String, String>,
    /// Names of files, with the completion times.
    instants: Vec<(String, Option<CompletionTime>)>,
}

impl PinnedState {
    fn new(table: &OpenTable, keep: impl Fn(&&Instant) -> bool) -> Self {
        let properties = table.config.properties.iter();
        let instants = table.timeline.instants().iter().filter(keep);
        Self {
            properties: properties.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            instants: instants.map(|instant| (instant.file_name.clone(), instant.completion_time.clone())).collect(),
        }
    }

    fn open(
        &self,
        store: Arc<dyn Storage>,
        (uri, storage): (&str, &StorageOptions),
        options: ReadOptions,
    ) -> Result<OpenTable> {
        let config = TableConfig::from_properties(self.properties.clone().into_iter().collect::<Properties>())?;
        let timeline = Timeline::from_files(&store, &config, &self.instants)?;
        OpenTable::from_parts(store, (uri, storage), options, config, timeline)
    }
}

impl PinnedTable {
    /// The table as it was opened.
    #[must_use]
    pub fn new(table: &OpenTable) -> Self {
        Self {
            uri: table.uri.clone(),
            storage: table.storage_options.clone(),
            options: table.options.clone(),
            state: PinnedState::new(table, |_| true),
            metadata: None,
        }
    }

    /// The same, with its metadata table as of the table's timeline: without what other writers have committed since.
    ///
    /// # Errors
    /// Errors of opening the metadata table.
    pub fn with_metadata(table: &OpenTable) -> Result<Self> {
        let metadata = metadata::open_table((&table.uri, &table.storage), &table.storage_options, &table.options)?;
        // Times of initialisations count from zero; before table version 8, others have a suffix.
        let newest = table.timeline.instants().iter().map(|instant| instant.requested_time.as_str()).max();
        let newest = newest.unwrap_or(BEFORE_ALL);
        let is_known = |instant: &&Instant| {
            let time = instant.requested_time.as_str();
            time.get(..newest.len()).unwrap_or(time) <= newest
        };
        Ok(Self { metadata: Some(PinnedState::new(&metadata, is_known)), ..Self::new(table) })
    }

    /// Opens the table in this process. Properties and timeline are not read again.
    ///
    /// # Errors
    /// Those of opening the storage.
    pub fn open(&self) -> Result<OpenTable> {
        let store = storage::open(&self.uri, &self.storage, self.options.mmap)?;
        let table = self.state.open(Arc::clone(&store), (&self.uri, &self.storage), self.options.clone())?;
        let Some(state) = &self.metadata else { return Ok(table) };
        let uri = metadata_table::uri_of(&self.uri);
        let options = metadata::options_of(&self.options);
        let opened = state.open(metadata::storage_of(&store), (&uri, &self.storage), options)?;
        let metadata = OnceLock::from(metadata::from_table(opened, &table.timeline).map_err(Arc::<Error>::new));
        Ok(OpenTable { metadata, ..table })
    }
}
