//! A new metadata table (`HoodieBackedTableMetadataWriter.initializeFromFilesystem`). The order of the file operations
//! is described in `docs/write-protocol.md`: the table's properties name a partition once it is complete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::base_hfile::create_once;
use super::drop_metadata_table::delete_below;
use super::index_builder::IndexBuilder;
use super::listing_records::TableListing;
use super::new_partition::{NewContents, NewPartition};
use super::record_index_files::indexed_slices;
use super::wanted_partitions::wanted_partitions;
use crate::commit::{Clock, update_properties};
use crate::metadata_upkeep::metadata_folder::{MetadataFolder, ROOT};
use crate::metadata_upkeep::options::MetadataOptions;
use crate::metadata_upkeep::partition_kind::{COMPLETED, INFLIGHT, PartitionKind, TO_REBUILD};
use crate::metadata_upkeep::records::indexed_columns::{
    ColumnChoice, IndexDefinitions, column_stats_definition, define_index, new_columns, record_index_definition,
    secondary_index_definition,
};
use crate::metadata_upkeep::records::partition_records::Records;
use crate::metadata_upkeep::records::record_schema::RecordSchema;
use crate::metadata_upkeep::records::secondary_index::{SecondaryIndex, values_of_table};
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{PropertiesFile, TableConfig, TimelineLayout};
use mortice_storage::FileStore;
use mortice_table::metadata_table::{DEFINITIONS, SecondaryIndexVersion, is_init_instant};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Action;

/// File groups of the index of column statistics, and of that of Bloom filters.
const COLUMN_STATS_GROUPS: u32 = 2;
const BLOOM_GROUPS: u32 = 4;
/// File groups of the record index: by twice the number of its records, of which each is taken to have 48 bytes.
const RECORD_INDEX_GROUPS: (u32, u32) = (10, 10_000);
const RECORDS_OF_GROUP: u64 = (1 << 30) / 48;
const RECORD_GROWTH: u64 = 2;

/// Creates the metadata table of a table that has none, from a listing. Returns false if that has to wait: up to table
/// version 7 while an instant is pending, whose files could be taken for complete.
pub(in crate::metadata_upkeep) fn create_metadata_table(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    options: &MetadataOptions,
    builder: &dyn IndexBuilder,
) -> Result<bool> {
    let wanted = new_partitions(table, options)?;
    if wanted.is_empty() {
        return Ok(false);
    }
    // What cannot be built is refused before anything is changed.
    secondary_indexes(store.as_ref(), table, &wanted, options)?;
    delete_below(store.as_ref(), ROOT)?;
    create_folders(store.as_ref(), &table.config)?;
    add_partitions(store, table, &wanted, options, builder)?;
    Ok(true)
}

/// The partitions of the metadata table of a table that has none. None if it has to wait.
pub(in crate::metadata_upkeep) fn new_partitions(
    table: &OpenTable,
    options: &MetadataOptions,
) -> Result<Vec<PartitionKind>> {
    let mut wanted = wanted_partitions(&table.config, options)?;
    if table.timeline.latest_visible().is_some() && table.has_column_ids(None)? {
        // Files have columns under names of their own: statistics by name would be those of other columns.
        wanted.retain(|kind| !matches!(kind, PartitionKind::ColumnStats | PartitionKind::PartitionStats));
    }
    let has_to_wait = table.config.layout() == TimelineLayout::V1 && table.timeline.pending_writes().next().is_some();
    Ok(if has_to_wait { Vec::new() } else { wanted })
}

/// Adds partitions to a metadata table that has none of them, from a listing of the table.
pub(in crate::metadata_upkeep) fn add_partitions(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    wanted: &[PartitionKind],
    options: &MetadataOptions,
    builder: &dyn IndexBuilder,
) -> Result<()> {
    let (config, choice) = (&table.config, &options.columns);
    let secondary = secondary_indexes(store.as_ref(), table, wanted, options)?;
    let schema = RecordSchema::of_version(config.version);
    let mut records = records_of_table(table, schema, builder, wanted, choice)?;
    let has_keys = |kind: &PartitionKind| matches!(kind, PartitionKind::RecordIndex | PartitionKind::SecondaryIndex(_));
    let slices = if wanted.iter().any(has_keys) { indexed_slices(table)? } else { Vec::new() };
    let keys = if slices.is_empty() { 0 } else { builder.count_keys(table, &slices)? };
    let clock = Clock::new(config, store.time());
    remove_stopped_inits(&MetadataFolder::open(store)?, config)?;
    let mut instants = init_instants(table, &MetadataFolder::open(store)?)?;
    for kind in wanted {
        let folder = MetadataFolder::open(store)?;
        // A table without rows has no statistics.
        let records = records.remove(kind).unwrap_or_default();
        let instant = instants.next().ok_or_else(|| Error::internal("no more init instants"))??;
        let (file_groups, contents) = match kind {
            PartitionKind::RecordIndex => (record_index_groups(keys), NewContents::Keys(builder, table, &slices)),
            PartitionKind::SecondaryIndex(name) => {
                let definition = secondary.get(&**name);
                let (column, version) = definition.ok_or_else(|| Error::internal("an index without a definition"))?;
                let index = SecondaryIndex { name, column, version: *version };
                (record_index_groups(keys), NewContents::SecondaryKeys(index, table, &slices))
            }
            kind => (file_groups(kind), NewContents::Records(records)),
        };
        let new = NewPartition { kind: kind.clone(), file_groups, contents, instant };
        new.write(&folder, &clock, &table.timeline)?;
    }
    if config.layout() == TimelineLayout::V2 || choice.is_given() {
        define_indexes(store.as_ref(), table, wanted, choice)?;
    }
    for (name, (column, version)) in &secondary {
        define_index(store.as_ref(), name, &secondary_index_definition(name, column, *version))?;
    }
    update_properties(store.as_ref(), |properties| {
        let mut names = properties.properties().list(&[COMPLETED]);
        let new = wanted.iter().map(|kind| kind.folder()).filter(|new| !names.iter().any(|name| name == new));
        names.extend(new.map(str::to_owned).collect::<Vec<_>>());
        properties.set(COMPLETED, &names.join(","));
        properties.remove(TO_REBUILD);
        if config.layout() == TimelineLayout::V2 {
            properties.set("hoodie.table.index.defs.path", DEFINITIONS);
        }
        Ok(())
    })?;
    Ok(())
}

/// The columns and versions of the secondary indexes that are to be built, by name: as options say of new ones, and as
/// they are defined of others.
fn secondary_indexes(
    store: &dyn FileStore,
    table: &OpenTable,
    wanted: &[PartitionKind],
    options: &MetadataOptions,
) -> Result<BTreeMap<String, (String, SecondaryIndexVersion)>> {
    let names = wanted.iter().filter_map(|kind| match kind {
        PartitionKind::SecondaryIndex(name) => Some(&**name),
        _ => None,
    });
    let mut found = BTreeMap::new();
    let mut definitions = None;
    for name in names {
        let (column, version) = match options.created_column(name) {
            Some(column) => {
                let is_v2 = table.config.version.number() >= 9;
                (column, if is_v2 { SecondaryIndexVersion::V2 } else { SecondaryIndexVersion::V1 })
            }
            None => {
                let definitions = match &mut definitions {
                    Some(definitions) => definitions,
                    none => none.insert(IndexDefinitions::load(store)?),
                };
                definitions.secondary_index(name)?
            }
        };
        if table.timeline.latest_visible().is_some() {
            values_of_table(table, &SecondaryIndex { name, column, version })?;
        }
        found.insert(name.to_owned(), (column.to_owned(), version));
    }
    Ok(found)
}

/// The records of what the table has now.
fn records_of_table(
    table: &OpenTable,
    schema: &RecordSchema,
    builder: &dyn IndexBuilder,
    wanted: &[PartitionKind],
    choice: &ColumnChoice,
) -> Result<Records> {
    let listing = TableListing::load(table)?;
    let is_wanted = |kind| wanted.contains(&kind);
    let mut records = Records::new();
    if is_wanted(PartitionKind::Files) {
        records.insert(PartitionKind::Files, listing.files(schema));
    }
    if table.timeline.latest_visible().is_none() {
        return Ok(records);
    }
    if is_wanted(PartitionKind::ColumnStats) || is_wanted(PartitionKind::PartitionStats) {
        let (found, _) = table.schema_at(None)?;
        let columns = new_columns(&table.config, &found.files, choice);
        let [of_files, of_partitions] = listing.statistics(table, schema, builder, &columns)?;
        records.insert(PartitionKind::ColumnStats, of_files);
        records.insert(PartitionKind::PartitionStats, of_partitions);
    }
    if is_wanted(PartitionKind::BloomFilters) {
        records.insert(PartitionKind::BloomFilters, listing.bloom_filters(table, schema, builder)?);
    }
    Ok(records)
}

/// The file groups of a partition; of the record index at least.
fn file_groups(kind: &PartitionKind) -> u32 {
    match kind {
        PartitionKind::Files | PartitionKind::PartitionStats => 1,
        PartitionKind::ColumnStats => COLUMN_STATS_GROUPS,
        PartitionKind::BloomFilters => BLOOM_GROUPS,
        PartitionKind::RecordIndex | PartitionKind::SecondaryIndex(_) => RECORD_INDEX_GROUPS.0,
    }
}

/// The file groups of a record index of so many keys.
fn record_index_groups(keys: u64) -> u32 {
    let expected = keys.saturating_mul(RECORD_GROWTH);
    // Beyond the largest number, which is the limit below.
    let groups = u32::try_from(expected / RECORDS_OF_GROUP).unwrap_or(u32::MAX);
    groups.clamp(RECORD_INDEX_GROUPS.0, RECORD_INDEX_GROUPS.1)
}

/// The instants of the partitions: from table version 8 on milliseconds from zero, before that the last completed
/// instant with a suffix. Those that the metadata table has are left out.
fn init_instants(
    table: &OpenTable,
    folder: &MetadataFolder,
) -> Result<impl Iterator<Item = Result<RequestedTime>> + use<>> {
    let last = table.timeline.instants().iter().filter(|instant| instant.is_completed());
    let last = last.map(|instant| instant.requested_time.as_str()).max().unwrap_or("00000000000000").to_owned();
    let layout = table.config.layout();
    let text = move |number: u32| match layout {
        TimelineLayout::V2 => format!("{number:017}"),
        TimelineLayout::V1 => format!("{last}{:03}", number.saturating_add(10)),
    };
    let known = folder.timeline.instants().iter().chain(folder.timeline.archived()?);
    let known: BTreeSet<String> = known.map(|instant| instant.requested_time.to_string()).collect();
    let unused = (0_u32..).map(text).filter(move |text| !known.contains(text));
    Ok(unused.map(|text| RequestedTime::from_metadata("init instant", &text)))
}

/// Takes initialisations that were stopped off the timeline of the metadata table: nobody goes on with them, and they
/// would keep it from being archived. One of an indexer that runs beside writers has its partition in the table's
/// properties.
fn remove_stopped_inits(folder: &MetadataFolder, config: &TableConfig) -> Result<()> {
    if !config.properties.list(&[INFLIGHT]).is_empty() {
        return Ok(());
    }
    let writer = folder.timeline_writer();
    let mut stopped = folder.timeline.instants().iter().filter(|instant| {
        instant.action == Action::DeltaCommit && !instant.is_completed() && is_init_instant(&instant.requested_time)
    });
    stopped.try_for_each(|instant| writer.delete_instant(&instant.requested_time, Action::DeltaCommit))
}

/// Folders and properties.
fn create_folders(store: &dyn FileStore, config: &TableConfig) -> Result<()> {
    let timeline = match config.layout() {
        TimelineLayout::V1 => "archived",
        TimelineLayout::V2 => "timeline/history",
    };
    for folder in [timeline, ".temp", ".aux/.bootstrap/.partitions", ".aux/.bootstrap/.fileids", ".schema"] {
        store.create_folder(&format!("{ROOT}/.hoodie/{folder}"))?;
    }
    let content = properties(config).to_hudi_bytes(store.time().now())?;
    create_once(store, &format!("{ROOT}/.hoodie/hoodie.properties"), &Bytes::from(content))
}

/// The properties of a metadata table.
fn properties(config: &TableConfig) -> PropertiesFile {
    let (name, version) = (format!("{}_metadata", config.name), config.version.to_string());
    let entries = [
        ("hoodie.table.name", name.as_str()),
        ("hoodie.table.type", "MERGE_ON_READ"),
        ("hoodie.table.version", &version),
        ("hoodie.table.base.file.format", "HFILE"),
        ("hoodie.table.recordkey.fields", "key"),
        ("hoodie.populate.meta.fields", "false"),
        ("hoodie.compaction.payload.class", "org.apache.hudi.metadata.HoodieMetadataPayload"),
        ("hoodie.datasource.write.drop.partition.columns", "false"),
    ];
    let by_layout: &[(&str, &str)] = match config.layout() {
        TimelineLayout::V1 => &[
            ("hoodie.timeline.layout.version", "1"),
            ("hoodie.archivelog.folder", "archived"),
            ("hoodie.table.keygenerator.class", "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator"),
            ("hoodie.compaction.record.merger.strategy", "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"),
        ],
        TimelineLayout::V2 => &[
            ("hoodie.table.initial.version", &version),
            ("hoodie.timeline.layout.version", "2"),
            ("hoodie.timeline.path", "timeline"),
            ("hoodie.timeline.history.path", "history"),
            ("hoodie.archivelog.folder", "history"),
            ("hoodie.record.merge.mode", "CUSTOM"),
            ("hoodie.record.merge.strategy.id", "00000000-0000-0000-0000-000000000000"),
            ("hoodie.table.keygenerator.type", "HOODIE_TABLE_METADATA"),
        ],
    };
    entries.iter().chain(by_layout).copied().collect()
}

fn define_indexes(
    store: &dyn FileStore,
    table: &OpenTable,
    wanted: &[PartitionKind],
    choice: &ColumnChoice,
) -> Result<()> {
    if wanted.contains(&PartitionKind::ColumnStats) {
        let columns = new_columns(&table.config, &current_schema(table)?, choice);
        define_index(store, "column_stats", &column_stats_definition(&columns))?;
    }
    if wanted.contains(&PartitionKind::RecordIndex) {
        define_index(store, "record_index", &record_index_definition())?;
    }
    Ok(())
}

/// The schema of a table; of one without commits that which it was created with.
pub(in crate::metadata_upkeep) fn current_schema(table: &OpenTable) -> Result<Schema> {
    match (&table.config.create_schema, table.timeline.latest_visible()) {
        (Some(created), None) => Schema::parse(created),
        _ => Ok(table.schema_at(None)?.0.files),
    }
}
