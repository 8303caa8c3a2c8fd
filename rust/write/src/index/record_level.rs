//! The record index of the metadata table (`SparkMetadataTableGlobalRecordLevelIndex`,
//! `SparkMetadataTableRecordLevelIndex`).
//!
//! It knows one file group of a key. An insert of a key that is in the table leaves a row that it forgets. A change of
//! stored rows names such a row, too: then keys are also looked for in the base files of the rows' partitions.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::bloom::may_hold_any;
use super::incoming_keys::{IncomingKeys, partitions_of};
use super::index::Index;
use super::key_join::{join, location_of};
use super::options::IndexType;
use super::provenance::Provenance;
use super::simple::SimpleIndex;
use super::tagged::{FurtherLocation, Location, Tagged};
use super::task_look_up::TaskLookUp;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_base::row_number::{at, number_of};
use mortice_formats::base_file::BaseFile;
use mortice_formats::filter::{Filter, Literal, Operator, Term};
use mortice_merge::config::ReadOptions;
use mortice_merge::keys::RowKeys;
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::{MetadataTable, RECORD_INDEX};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows, WriteView};

/// More keys than these are not looked up one by one: the index is read through.
const MOST_LOOK_UPS: usize = 100_000;

/// A file group that the index names, and the rows whose keys are in it.
type Found = HashMap<(String, String), Vec<u32>>;

/// `RECORD_LEVEL_INDEX`, `GLOBAL_RECORD_LEVEL_INDEX`.
///
/// A table whose record index is not built yet is searched as Hudi does
/// (`SparkMetadataTableGlobalRecordLevelIndex.getFallbackIndexType`).
#[derive(Debug)]
pub(super) struct RecordIndex {
    /// Has the same type.
    fallback: SimpleIndex,
    provenance: Provenance,
}

impl RecordIndex {
    pub(super) const fn new(kind: IndexType, updates_partition: bool, provenance: Provenance) -> Self {
        Self { fallback: SimpleIndex::new(kind, updates_partition), provenance }
    }
}

impl Index for RecordIndex {
    fn kind(&self) -> IndexType {
        self.fallback.kind()
    }

    fn updates_partition(&self) -> bool {
        self.fallback.updates_partition()
    }

    fn tag(&self, table: &Arc<OpenTable>, keys: &RowKeys) -> Result<Tagged> {
        self.tag_rows_of(table, keys, BTreeSet::new())
    }

    fn tag_rows_of(&self, table: &Arc<OpenTable>, keys: &RowKeys, mut partitions: BTreeSet<String>) -> Result<Tagged> {
        let Some(metadata) = table.metadata_index(RECORD_INDEX)? else { return self.fallback.tag(table, keys) };
        partitions.extend(partitions_of(keys));
        let tagged = tag(table, metadata, keys, self.is_global(), partitions)?;
        // Writers with a bucket index leave the record index empty.
        self.check_view(table, &tagged.view)?;
        if self.provenance == Provenance::Given {
            return Ok(tagged);
        }
        let view = Arc::new(searched_view(table, &tagged.view, keys)?);
        let may_hold =
            |file: &dyn BaseFile, incoming: &IncomingKeys<'_>, partition| may_hold_any(file, incoming.keys(partition));
        let searched = join(table, view, keys, self.is_global(), may_hold)?.with_places_of(&tagged)?;
        Ok(Tagged { view: tagged.view, ..searched })
    }

    fn task_look_up(&self, table: &OpenTable) -> Result<TaskLookUp> {
        match table.metadata_index(RECORD_INDEX)? {
            Some(_) if self.provenance == Provenance::Stored => Ok(TaskLookUp::RecordIndexAndStoredKeys),
            Some(_) => Ok(TaskLookUp::RecordIndex),
            None => self.fallback.task_look_up(table),
        }
    }

    /// A write that deletes a key, or moves it, says so in the record index; base files do not.
    fn may_be_stale(&self, table: &OpenTable) -> Result<bool> {
        match self.provenance {
            Provenance::Given => self.may_be_stale_alone(table),
            Provenance::Stored => self.fallback.may_be_stale(table),
        }
    }

    /// The record index has the key of a stored row, if in another file group.
    fn may_be_stale_alone(&self, table: &OpenTable) -> Result<bool> {
        Ok(self.fallback.may_be_stale(table)? && table.metadata_index(RECORD_INDEX)?.is_none())
    }
}

/// The base files in which keys are looked for: those that a query of the keys reads.
fn searched_view(table: &OpenTable, view: &WriteView, keys: &RowKeys) -> Result<WriteView> {
    let distinct: BTreeSet<&str> = keys.record_keys.iter().flatten().collect();
    let is_needless = view.base_files.is_empty() || distinct.is_empty();
    if is_needless || !table.config.populate_meta_fields || distinct.len() > MOST_LOOK_UPS {
        return Ok(view.clone());
    }
    let is_one_of = |column: &str, values: BTreeSet<&str>| {
        let literals = values.into_iter().map(|value| Literal::Text(value.to_owned())).collect();
        Term::new(column, Operator::In, literals)
    };
    let partitions = view.base_files.iter().map(|slice| slice.partition.as_str()).collect();
    let terms =
        vec![is_one_of(meta_columns::RECORD_KEY, distinct)?, is_one_of(meta_columns::PARTITION_PATH, partitions)?];
    let columns = Some(vec![meta_columns::RECORD_KEY.to_owned()]);
    let query = QueryOptions { columns, filter: Filter::any_of(vec![terms]), merger: None };
    // It is not to be believed what the index says.
    let table = table.with_read_options(ReadOptions { record_index: false, ..table.options.clone() })?;
    let scan = table.snapshot(&query, None, SnapshotRows::Merged)?;
    let slices = scan.splits().iter().map(|split| (split.slice.partition.as_str(), split.slice.file_id.as_str()));
    let read: HashSet<(&str, &str)> = slices.collect();
    let mut searched = view.clone();
    searched.base_files.retain(|slice| read.contains(&(slice.partition.as_str(), slice.file_id.as_str())));
    Ok(searched)
}

/// Finds the file groups of keys, and makes sure that they are live. File slices are those of the partitions, and of
/// these groups.
fn tag(
    table: &OpenTable,
    metadata: &MetadataTable,
    keys: &RowKeys,
    is_global: bool,
    mut partitions: BTreeSet<String>,
) -> Result<Tagged> {
    let mut tagged = tag_unchecked(metadata, keys, is_global)?;
    partitions.extend(tagged.groups.iter().map(|group| group.partition.clone()));
    let view = Arc::new(table.write_view(Some(&partitions))?);
    let slices: HashMap<(&str, &str), &FileSlice> =
        view.slices.iter().map(|slice| ((slice.partition.as_str(), slice.file_id.as_str()), slice)).collect();
    for group in &mut tagged.groups {
        let slice = slices.get(&(group.partition.as_str(), group.file_id.as_str())).ok_or_else(|| {
            Error::invalid_table(format!(
                "the record index has keys in file group {:?} of partition {:?}, which is not a live file group: the index is damaged; build the metadata table again (mortice metadata build --rebuild, Table.build_metadata(rebuild=True))",
                group.file_id, group.partition
            ))
            .in_file(&table.uri)
        })?;
        *group = location_of(slice);
    }
    tagged.view = view;
    Ok(tagged)
}

/// Finds the file groups that the index names, without their instants.
pub(super) fn tag_unchecked(metadata: &MetadataTable, keys: &RowKeys, is_global: bool) -> Result<Tagged> {
    let incoming = IncomingKeys::new(keys, is_global)?;
    let (mut tagged, unknown) = (Tagged::untagged(incoming.rows_len(), Arc::default()), "0".parse::<RequestedTime>()?);
    let mut found: Vec<_> = look_up(metadata, &incoming, keys)?.into_iter().collect();
    found.sort_unstable();
    for ((partition, file_id), rows) in found {
        let group = number_of(tagged.groups.len())?;
        tagged.groups.push(Location { partition, file_id, base_instant: unknown.clone() });
        for row in rows {
            match tagged.locations.get_mut(at(row)) {
                Some(location @ None) => *location = Some(group),
                Some(Some(_)) => tagged.further.push(FurtherLocation { row, group, position: None }),
                None => return Err(Error::internal(format_args!("row {row} was tagged and is not there"))),
            }
        }
    }
    Ok(tagged)
}

fn look_up(metadata: &MetadataTable, incoming: &IncomingKeys<'_>, keys: &RowKeys) -> Result<Found> {
    let mut found = Found::new();
    let distinct: Option<BTreeSet<String>> =
        (incoming.rows_len() <= MOST_LOOK_UPS).then(|| keys.record_keys.iter().flatten().map(str::to_owned).collect());
    metadata.key_locations(distinct.as_ref(), &mut |location| {
        // Keys of a partition that no row is of.
        let Some(partition) = incoming.partition(location.partition) else { return Ok(()) };
        let mut rows = incoming.rows(partition, location.key).peekable();
        if rows.peek().is_some() {
            found.entry((location.partition.to_owned(), location.file_id)).or_default().extend(rows);
        }
        Ok(())
    })?;
    Ok(found)
}
