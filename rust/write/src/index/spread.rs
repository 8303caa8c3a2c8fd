//! The steps of an index for rows that are spread over processes: the keys of base files are read in one process and matched with
//! those of rows in another.

use std::sync::Arc;

use arrow_array::{StringArray, UInt64Array};

use super::incoming_keys::IncomingKeys;
use super::options::BucketOptions;
use super::simple::{Match, add, location_of};
use super::stored_keys::StoredKeys;
use super::tagged::{Location, Tagged};
use super::{bucket, record_level};
use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::RECORD_INDEX;
use mortice_table::plan::{OpenTable, WriteView};

/// Some keys of a file group.
#[derive(Debug, Clone)]
pub struct StoredKeyBatch {
    /// The file group.
    pub location: Location,
    /// Keys.
    pub keys: StringArray,
    /// The numbers of their rows in the base file; null for rows of logs.
    pub positions: UInt64Array,
}

/// Calls `each` with the keys of the base file of a slice, batch by batch, and the number of the first row of each; then with those of
/// its logs, without a number.
///
/// # Errors
/// Those of reading the files and of `each`; `InvalidTable` if a row has no key.
pub fn read_stored_keys(
    table: &OpenTable,
    slice: &FileSlice,
    mut each: impl FnMut(&StringArray, Option<u64>) -> Result<()>,
) -> Result<()> {
    let stored = StoredKeys::new(table)?;
    if let Some(file) = stored.open(slice)? {
        stored.read(file, &mut each)?;
    }
    stored.read_logs(slice, &mut each)
}

/// The file group of a slice.
#[must_use]
pub fn group_of(slice: &FileSlice) -> Location {
    location_of(slice)
}

/// Finds the file groups of keys among those of base files, which come file by file, in the order of [`WriteView::base_files`].
///
/// # Errors
/// Those of the batches.
pub fn tag_by_stored_keys(
    keys: &RowKeys,
    is_global: bool,
    batches: impl Iterator<Item = Result<StoredKeyBatch>>,
) -> Result<Tagged> {
    let incoming = IncomingKeys::new(keys, is_global)?;
    let rows = incoming.rows_len();
    let mut tagged = Tagged { positions: vec![None; rows], ..Tagged::untagged(rows, Arc::default()) };
    let mut current: Option<(Location, Vec<Match>)> = None;
    for batch in batches {
        let StoredKeyBatch { location, keys, positions } = batch?;
        // No row of this process is of the partition.
        let Some(partition) = incoming.partition(&location.partition) else { continue };
        if let Some((finished, matches)) = current.take_if(|(current, _)| *current != location) {
            add(&mut tagged, finished, matches)?;
        }
        let (_, matches) = current.get_or_insert_with(|| (location, Vec::new()));
        for (key, position) in keys.iter().zip(&positions) {
            let key = key.ok_or_else(|| Error::internal("a stored row without a key"))?;
            matches.extend(incoming.rows(partition, key).map(|row| Match { row, position }));
        }
    }
    if let Some((location, matches)) = current {
        add(&mut tagged, location, matches)?;
    }
    if tagged.groups.is_empty() {
        tagged.positions.clear();
    }
    Ok(tagged)
}

/// Finds the file groups of keys by their buckets, given the latest slices of the partitions.
///
/// # Errors
/// `InvalidArgument` and `InvalidTable` for file groups that are not those of buckets.
pub fn tag_by_buckets(slices: Vec<FileSlice>, keys: &RowKeys, options: &BucketOptions) -> Result<Tagged> {
    bucket::tag(Arc::new(WriteView::of_slices(slices)), keys, options)
}

/// Finds the file groups of keys in the record index. Whether they are live is not checked.
///
/// # Errors
/// `InvalidTable` if the table's record index cannot be read.
pub fn tag_by_record_index(table: &OpenTable, keys: &RowKeys, is_global: bool) -> Result<Tagged> {
    let metadata = table.metadata_index(RECORD_INDEX)?;
    let metadata = metadata.ok_or_else(|| Error::internal("a record index that is not there"))?;
    record_level::tag_unchecked(metadata, keys, is_global)
}
