//! The record index of the metadata table (`SparkMetadataTableGlobalRecordLevelIndex`, `SparkMetadataTableRecordLevelIndex`).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::incoming_keys::{IncomingKeys, partitions_of};
use super::index::Index;
use super::key_join::location_of;
use super::options::IndexType;
use super::simple::SimpleIndex;
use super::tagged::{FurtherLocation, Location, Tagged};
use super::task_look_up::TaskLookUp;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::row_number::{at, number_of};
use mortice_merge::keys::RowKeys;
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::{MetadataTable, RECORD_INDEX};
use mortice_table::plan::OpenTable;

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
}

impl RecordIndex {
    pub(super) const fn new(kind: IndexType, updates_partition: bool) -> Self {
        Self { fallback: SimpleIndex::new(kind, updates_partition) }
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
        let Some(metadata) = table.metadata_index(RECORD_INDEX)? else { return self.fallback.tag(table, keys) };
        let tagged = tag(table, metadata, keys, self.is_global())?;
        // Writers with a bucket index leave the record index empty.
        self.check_view(table, &tagged.view)?;
        Ok(tagged)
    }

    fn task_look_up(&self, table: &OpenTable) -> Result<TaskLookUp> {
        match table.metadata_index(RECORD_INDEX)? {
            Some(_) => Ok(TaskLookUp::RecordIndex),
            None => self.fallback.task_look_up(table),
        }
    }

    /// A write that deletes a key, or moves it, says so in the record index.
    fn may_be_stale(&self, table: &OpenTable) -> Result<bool> {
        Ok(self.fallback.may_be_stale(table)? && table.metadata_index(RECORD_INDEX)?.is_none())
    }
}

/// Finds the file groups of keys, and makes sure that they are live.
fn tag(table: &OpenTable, metadata: &MetadataTable, keys: &RowKeys, is_global: bool) -> Result<Tagged> {
    let mut tagged = tag_unchecked(metadata, keys, is_global)?;
    let mut partitions = partitions_of(keys);
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
