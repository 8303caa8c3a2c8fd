//! The entry point: the upkeep of the metadata table by one write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::commit_update::CommitUpdate;
use super::delta_commit::{heartbeat, write_delta_commit};
use super::indexed_columns::IndexDefinitions;
use super::metadata_folder::MetadataFolder;
use super::partition_kind::{PartitionKind, listed_partitions};
use super::records::{PartitionRecords, Records};
use super::{bloom_filters, column_stats, files, partition_stats, record_index};
use crate::commit::Clock;
use crate::config::PropertiesFile;
use crate::error::{Error, Result};
use crate::metadata_table::MetadataTable;
use crate::names::RequestedTime;
use crate::plan::OpenTable;
use crate::storage::FileStore;

const PROPERTIES: &str = ".hoodie/hoodie.properties";

/// The metadata table, as one write maintains it.
pub struct MetadataUpkeep {
    pub(super) table: Arc<OpenTable>,
    pub(super) folder: MetadataFolder,
    pub(super) clock: Clock,
    partitions: BTreeSet<PartitionKind>,
    definitions: IndexDefinitions,
}

impl MetadataUpkeep {
    /// Opens the metadata table, after the table's properties and timeline were read again: Hudi drops partitions of a metadata table
    /// whose index its own options do not enable. None if the table has no metadata table. Call it under the table's lock.
    ///
    /// # Errors
    /// `Unsupported`, by name, if a partition cannot be maintained; `InvalidTable` if the metadata table cannot be read.
    pub fn open(
        store: Arc<dyn FileStore>,
        table: &Arc<OpenTable>,
        options: &BTreeMap<String, String>,
    ) -> Result<Option<Self>> {
        let _ = options;
        let (properties, _) = store.get(PROPERTIES)?;
        let properties = PropertiesFile::parse(&properties)?;
        let partitions = listed_partitions(&properties).map_err(|error| error.in_file(store.full_path(PROPERTIES)))?;
        if partitions.is_empty() {
            return Ok(None);
        }
        let definitions = IndexDefinitions::load(store.as_ref())?;
        if partitions.contains(&PartitionKind::RecordIndex) {
            definitions.check_record_index()?;
        }
        let folder = MetadataFolder::open(&store)?;
        let OpenTable { uri, storage, place, options, .. } = table.as_ref();
        let table = Arc::new(OpenTable::at(Arc::clone(place), uri, storage, options.clone())?);
        let clock = Clock::new(&table.config);
        Ok(Some(Self { table, folder, clock, partitions, definitions }))
    }

    /// Writes and completes the metadata table's delta commit of `instant`, before the instant is completed in the table.
    ///
    /// # Errors
    /// `AlreadyExists` if the metadata table has the instant; `InvalidTable` if the metadata table lacks the table's newest write;
    /// those of the storage.
    pub fn write_commit(&self, instant: &RequestedTime, update: &CommitUpdate<'_>) -> Result<()> {
        let records = self.records_of(instant, update)?;
        let records: Records = records.into_iter().filter(|(_, records)| !records.is_empty()).collect();
        write_delta_commit(&self.folder, instant, &records, (&self.clock, &self.table.timeline))
    }

    /// Removes the markers and the heartbeat of `instant`, after the instant was completed in the table.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn clean_up(&self, instant: &RequestedTime) -> Result<()> {
        self.folder.markers(instant).remove()?;
        self.folder.store().delete(&heartbeat(instant))
    }

    fn records_of(
        &self,
        instant: &RequestedTime,
        update: &CommitUpdate<'_>,
    ) -> Result<Vec<(PartitionKind, PartitionRecords)>> {
        let schema = self.folder.schema();
        let columns = self.definitions.columns(&self.table.config, update.schema);
        let records = |kind: &PartitionKind| {
            let records = match kind {
                PartitionKind::Files => files::of_commit(schema, update)?,
                PartitionKind::ColumnStats => column_stats::of_commit(schema, &columns, update)?,
                PartitionKind::PartitionStats => {
                    partition_stats::of_commit(schema, &columns, update, || self.metadata_table())?
                }
                PartitionKind::BloomFilters => bloom_filters::of_commit(&self.folder, instant, update)?,
                PartitionKind::RecordIndex => record_index::of_commit(&self.folder, &self.table, instant, update)?,
            };
            Ok((*kind, records))
        };
        self.partitions.iter().map(records).collect()
    }

    /// The metadata table as it is before the commit.
    fn metadata_table(&self) -> Result<&MetadataTable> {
        self.table.metadata_table().map_err(|error| {
            Error::new(error.kind(), "the metadata table cannot be read, and so not be maintained").caused_by(error)
        })
    }
}
