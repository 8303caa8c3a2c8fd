//! The entry point: the upkeep of the metadata table by one write.

use std::sync::Arc;

use super::build::change_partitions::{change_partitions, check_defined, decided_changes};
use super::build::drop_metadata_table::{delete_unlisted, drop_metadata_table, drop_partitions, forget_rebuilt};
use super::build::index_builder::{IndexBuilder, LocalIndexBuilder};
use super::build::new_metadata_table::{create_metadata_table, new_partitions};
use super::build::wanted_partitions::{options_for, options_with};
use super::delta_commit::{heartbeat, write_checked_delta_commit};
use super::metadata_folder::{MetadataFolder, is_defect};
use super::options::MetadataOptions;
use super::partition_kind::{ListedPartitions, PartitionKind};
use super::records::commit_update::CommitUpdate;
use super::records::indexed_columns::{ColumnChoice, IndexDefinitions};
use super::records::partition_records::{PartitionRecords, Records};
use super::records::secondary_index::SecondaryIndex;
use super::records::{bloom_filters, column_stats, files, partition_stats, record_index};
use crate::commit::Clock;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;
use mortice_storage::FileStore;
use mortice_table::metadata_table::{MetadataTable, check_complete};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;

const PROPERTIES: &str = ".hoodie/hoodie.properties";
const UNREADABLE: &str = "the metadata table cannot be read, and so not be maintained: build it again, with \
                          Table.build_metadata(rebuild=True) or `mortice metadata build --rebuild`";

/// The metadata table, as one write maintains it.
pub struct MetadataUpkeep {
    pub(super) table: Arc<OpenTable>,
    pub(super) folder: MetadataFolder,
    pub(super) clock: Clock,
    pub(super) listed: ListedPartitions,
    pub(super) definitions: IndexDefinitions,
    pub(super) columns: ColumnChoice,
}

/// How the partitions of a metadata table would be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedPartitions {
    /// Those that the table has.
    pub before: Vec<String>,
    /// Those that would be built; also those that would be built again.
    pub added: Vec<String>,
    /// Those that would be deleted.
    pub dropped: Vec<String>,
    /// Those that the table could have and does not: what is in their folders was left by something that was stopped.
    pub unlisted: Vec<String>,
}

/// Options by which partitions are built again that were deleted for that.
fn options_to_rebuild(
    options: &MetadataOptions,
    listed: &ListedPartitions,
    to_rebuild: &ListedPartitions,
) -> MetadataOptions {
    match (to_rebuild.is_empty(), listed.is_empty()) {
        (true, _) => options.clone(),
        (false, true) => options_for(options, to_rebuild),
        (false, false) => options_with(options, to_rebuild),
    }
}

impl MetadataUpkeep {
    /// Opens the metadata table of a table that has just been opened, under the table's lock if it has one: Hudi drops
    /// partitions whose index its own options do not enable. None if the table has no metadata table.
    ///
    /// # Errors
    /// `Unsupported`, by name, if a partition cannot be maintained and is not to be dropped; `InvalidTable` if the
    /// metadata table cannot be read.
    pub fn open(store: Arc<dyn FileStore>, table: &Arc<OpenTable>, options: &MetadataOptions) -> Result<Option<Self>> {
        let Some(listed) = Self::listed(store.as_ref(), table, options)? else { return Ok(None) };
        let folder = MetadataFolder::open(&store).map_err(|error| match is_defect(&error) {
            true => Error::invalid_table(UNREADABLE).caused_by(error),
            false => error,
        })?;
        Self::of_folder(folder, table, options, listed).map(Some)
    }

    /// The partitions that the table's properties name; none if they name none.
    pub(super) fn listed(
        store: &dyn FileStore,
        table: &OpenTable,
        options: &MetadataOptions,
    ) -> Result<Option<ListedPartitions>> {
        let listed = ListedPartitions::of_properties(&table.config.properties);
        if options.is_enabled() && !options.drops_unsupported {
            listed.check_known().map_err(|error| error.in_file(store.full_path(PROPERTIES)))?;
        }
        Ok((!listed.is_empty()).then_some(listed))
    }

    /// The metadata table in a folder that is open.
    pub(super) fn of_folder(
        folder: MetadataFolder,
        table: &Arc<OpenTable>,
        options: &MetadataOptions,
        listed: ListedPartitions,
    ) -> Result<Self> {
        let definitions = IndexDefinitions::load(folder.store().as_ref())?;
        if listed.known.contains(&PartitionKind::RecordIndex) {
            definitions.check_record_index()?;
        }
        listed.secondary_indexes().try_for_each(|name| definitions.secondary_index(name).map(drop))?;
        let (table, clock) = (Arc::clone(table), Clock::new(&table.config, folder.store().time()));
        let columns = options.columns.clone();
        Ok(Self { table, folder, clock, listed, definitions, columns })
    }

    /// The timeline of the metadata table, as it was when it was opened.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.folder.timeline
    }

    /// Brings the metadata table into being, or off, as options say: creates the metadata table of a table that has
    /// none and is to have one, and deletes the metadata table of a table that is to have none, as Hudi does. Returns
    /// true if the table's properties were changed, so that it must be opened again. Call it under the table's lock,
    /// after failed writes were rolled back.
    ///
    /// # Errors
    /// `InvalidArgument` for options that cannot be read; those of the storage, after which it can be repeated.
    pub fn initialize(store: &Arc<dyn FileStore>, table: &Arc<OpenTable>, options: &MetadataOptions) -> Result<bool> {
        Self::initialize_with(store, table, options, &LocalIndexBuilder::default())
    }

    /// The same, with indexes that a builder builds.
    ///
    /// # Errors
    /// As for [`Self::initialize`]; those of the builder.
    pub fn initialize_with(
        store: &Arc<dyn FileStore>,
        table: &Arc<OpenTable>,
        options: &MetadataOptions,
        builder: &dyn IndexBuilder,
    ) -> Result<bool> {
        let listed = ListedPartitions::of_properties(&table.config.properties);
        if !options.is_enabled() {
            return drop_metadata_table(store, &table.config.properties, false);
        }
        if options.drops_unsupported && !listed.unknown.is_empty() {
            drop_partitions(store, &listed.unknown, &[])?;
            return Ok(true);
        }
        let to_rebuild = ListedPartitions::to_rebuild(&table.config.properties);
        let options = options_to_rebuild(options, &listed, &to_rebuild);
        if listed.is_empty() {
            return create_metadata_table(store, table, &options, builder);
        }
        if !to_rebuild.is_empty() && to_rebuild.known.is_subset(&listed.known) {
            forget_rebuilt(store)?;
        }
        change_partitions(store, table, &options, &listed, builder)
    }

    /// What [`Self::initialize`] would do.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported` for options; those of reading the table.
    pub fn planned(
        store: &Arc<dyn FileStore>,
        table: &OpenTable,
        options: &MetadataOptions,
    ) -> Result<PlannedPartitions> {
        check_defined(store.as_ref(), options, options.secondary_indexes())?;
        let listed = ListedPartitions::of_properties(&table.config.properties);
        let names = |kinds: &[PartitionKind]| kinds.iter().map(|kind| kind.folder().to_owned()).collect::<Vec<_>>();
        let to_rebuild = ListedPartitions::to_rebuild(&table.config.properties);
        let unlisted = listed.unlisted();
        let mut planned = PlannedPartitions { before: listed.names(), unlisted, ..PlannedPartitions::default() };
        if !options.is_enabled() {
            planned.dropped.clone_from(&planned.before);
        } else if options.drops_unsupported && !listed.unknown.is_empty() {
            planned.dropped.clone_from(&listed.unknown);
        } else if listed.is_empty() {
            planned.added = names(&new_partitions(table, &options_to_rebuild(options, &listed, &to_rebuild))?);
        } else {
            let options = options_to_rebuild(options, &listed, &to_rebuild);
            let changes = decided_changes(store, table, &options, &listed)?;
            (planned.added, planned.dropped) = (names(&changes.added), names(&changes.dropped));
        }
        Ok(planned)
    }

    /// Makes sure that a metadata table can be built from a listing now.
    ///
    /// # Errors
    /// `Unsupported`, by name, for a partition that cannot be maintained and is not to be dropped; up to table version
    /// 7 while an instant is pending, whose files could be taken for complete.
    pub fn check_can_build(table: &OpenTable, options: &MetadataOptions) -> Result<()> {
        let listed = ListedPartitions::of_properties(&table.config.properties);
        if !options.drops_unsupported {
            listed.check_known()?;
        }
        let pending = table.timeline.pending_writes().next();
        match pending.filter(|_| table.config.layout() == TimelineLayout::V1) {
            None => Ok(()),
            Some(pending) => {
                let message = "the metadata table cannot be built up to table version 7 while a write is pending: complete it or \
                               roll it back first";
                Err(Error::unsupported(message).at_instant(&pending.requested_time))
            }
        }
    }

    /// Deletes the metadata table of a table that is about to be restored or rolled back, or that it is to be built
    /// again for: it may have been compacted since, or be damaged. Returns the options by which [`Self::initialize`]
    /// creates the same partitions. Until it has, the table's properties name them, for the next writer if this one is
    /// stopped.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn drop_to_rebuild(
        store: &Arc<dyn FileStore>,
        table: &OpenTable,
        options: &MetadataOptions,
    ) -> Result<MetadataOptions> {
        let properties = &table.config.properties;
        let listed = ListedPartitions::of_properties(properties);
        let before = if listed.is_empty() { ListedPartitions::to_rebuild(properties) } else { listed };
        let again = options_for(options, &before);
        drop_metadata_table(store, properties, true)?;
        Ok(again)
    }

    /// Creates the metadata table that a table had before [`Self::drop_to_rebuild`]. Nothing is done for another table.
    ///
    /// # Errors
    /// As for [`Self::initialize`].
    pub fn rebuild_dropped(
        store: &Arc<dyn FileStore>,
        table: &Arc<OpenTable>,
        options: &MetadataOptions,
    ) -> Result<()> {
        let properties = &table.config.properties;
        let is_dropped = ListedPartitions::of_properties(properties).is_empty()
            && !ListedPartitions::to_rebuild(properties).is_empty();
        if is_dropped { Self::initialize(store, table, options).map(drop) } else { Ok(()) }
    }

    /// Deletes what is left of a metadata table, or of partitions, whose deletion was stopped, or which were being
    /// built. Call it under the table's lock.
    ///
    /// # Errors
    /// `InvalidTable` if a link leads out of the table; those of the storage.
    pub fn delete_unlisted(store: &Arc<dyn FileStore>, table: &OpenTable) -> Result<()> {
        delete_unlisted(store, &ListedPartitions::of_properties(&table.config.properties))
    }

    /// Writes and completes the metadata table's delta commit of `instant`, before the instant is completed in the
    /// table. `check` makes sure that the instant is still this writer's, just before the delta commit is completed.
    ///
    /// # Errors
    /// `AlreadyExists` if the metadata table has the instant; `InvalidTable` if the metadata table lacks a completed
    /// write of the table: with this one it would look complete; those of the check, and of the storage.
    pub fn write_commit(
        &self,
        instant: &RequestedTime,
        update: &CommitUpdate<'_>,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        check_complete(&self.table.timeline, &self.folder.timeline)?;
        let records = self.records_of(instant, update)?;
        let records: Records = records.into_iter().filter(|(_, records)| !records.is_empty()).collect();
        write_checked_delta_commit(&self.folder, instant, records, &self.clock, &self.table.timeline, check)
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
        self.columns.check(update.schema)?;
        let columns = self.definitions.columns(&self.table.config, update.schema, &self.columns);
        let records = |kind: &PartitionKind| {
            let records = match kind {
                PartitionKind::Files => files::of_commit(schema, update, || self.metadata_table())?,
                PartitionKind::ColumnStats => column_stats::of_commit(schema, &columns, update)?,
                PartitionKind::PartitionStats => {
                    partition_stats::of_commit(schema, &columns, update, || self.metadata_table())?
                }
                PartitionKind::BloomFilters => bloom_filters::of_commit(&self.folder, instant, update)?,
                PartitionKind::RecordIndex => record_index::of_commit(&self.folder, &self.table, instant, update)?,
                PartitionKind::SecondaryIndex(name) => {
                    let (column, version) = self.definitions.secondary_index(name)?;
                    SecondaryIndex { name, column, version }.of_commit(schema, &self.table, instant, update)?
                }
            };
            Ok((kind.clone(), records))
        };
        self.listed.check_known()?;
        self.listed.known.iter().map(records).collect()
    }

    /// The metadata table as it is before the commit.
    pub(super) fn metadata_table(&self) -> Result<&MetadataTable> {
        self.table.metadata_table().map_err(|error| Error::new(error.kind(), UNREADABLE).caused_by(error))
    }
}
