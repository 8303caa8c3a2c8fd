//! The steps of an index for rows that are spread over processes: the keys of base files are read in one process and
//! matched with those of rows in another.

use std::sync::Arc;

use arrow_array::{StringArray, UInt64Array};

use super::bucket_layout::BucketLayout;
use super::incoming_keys::IncomingKeys;
use super::key_join::{Match, add, location_of};
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

/// Calls `each` with the keys of the base file of a slice, batch by batch, and the number of the first row of each;
/// then with those of its logs, without a number.
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

/// Finds the file groups of keys among those of base files, which come file by file, in the order of
/// [`WriteView::base_files`].
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
pub fn tag_by_buckets(slices: Vec<FileSlice>, keys: &RowKeys, layout: &BucketLayout) -> Result<Tagged> {
    bucket::tag(Arc::new(WriteView::of_slices(slices)), keys, layout)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::FurtherLocation;
    use mortice_base::error::ErrorKind;

    fn keys(rows: &[(&str, &str)]) -> RowKeys {
        RowKeys {
            record_keys: rows.iter().map(|(key, _)| Some(*key)).collect(),
            partitions: rows.iter().map(|(_, partition)| Some(*partition)).collect(),
        }
    }

    fn batch(partition: &str, file_id: &str, keys: &[Option<&str>], first: Option<u64>) -> Result<StoredKeyBatch> {
        let base_instant = "20260101000000000".into();
        let location = Location { partition: partition.to_owned(), file_id: file_id.to_owned(), base_instant };
        let positions = match first {
            Some(first) => (first..first + keys.len() as u64).collect(),
            None => UInt64Array::new_null(keys.len()),
        };
        Ok(StoredKeyBatch { location, keys: keys.iter().copied().collect(), positions })
    }

    /// The file group and the position of each row.
    fn places(tagged: &Tagged) -> Vec<Option<(&str, Option<u64>)>> {
        let place = |row| Some((tagged.location(row)?.file_id.as_str(), tagged.position(row).unwrap()));
        (0..tagged.locations.len()).map(place).collect()
    }

    #[test]
    fn keys_are_found_in_their_own_partition_or_in_all() {
        let rows = keys(&[("a", "p"), ("b", "p"), ("a", "q"), ("new", "p")]);
        let batches = || {
            [
                batch("p", "one", &[Some("x"), Some("a")], Some(0)),
                batch("p", "one", &[Some("b")], Some(2)),
                batch("elsewhere", "two", &[Some("new")], Some(0)),
            ]
        };
        let tagged = tag_by_stored_keys(&rows, false, batches().into_iter()).unwrap();
        assert_eq!(places(&tagged), [Some(("one", Some(1))), Some(("one", Some(2))), None, None]);
        assert_eq!(tagged.groups.len(), 1, "batches of one file follow each other");
        let global = tag_by_stored_keys(&keys(&[("new", "p")]), true, batches().into_iter()).unwrap();
        assert_eq!(places(&global), [Some(("two", Some(0)))]);
    }

    #[test]
    fn a_key_of_several_files_has_further_locations() {
        let batches = [
            batch("p", "one", &[Some("a")], Some(7)),
            batch("p", "one", &[Some("a")], None),
            batch("p", "two", &[Some("a"), Some("a")], Some(3)),
        ];
        let tagged = tag_by_stored_keys(&keys(&[("a", "p")]), false, batches.into_iter()).unwrap();
        // The log of the first file has the key of its base file once more, which is no other place.
        assert_eq!(places(&tagged), [Some(("one", Some(7)))]);
        let further = |position| FurtherLocation { row: 0, group: 1, position: Some(position) };
        assert_eq!(tagged.further, [further(3), further(4)]);
    }

    #[test]
    fn no_positions_are_known_without_a_match() {
        let none = tag_by_stored_keys(&keys(&[("a", "p")]), false, std::iter::empty()).unwrap();
        assert!(none.positions.is_empty() && places(&none) == [None]);
        let lost = tag_by_stored_keys(&keys(&[("a", "p")]), false, [batch("p", "one", &[None], Some(0))].into_iter());
        assert_eq!(lost.unwrap_err().kind(), ErrorKind::Internal);
        let failed = [Err(Error::internal("of a file"))].into_iter();
        assert!(tag_by_stored_keys(&keys(&[("a", "p")]), false, failed).is_err());
    }
}
