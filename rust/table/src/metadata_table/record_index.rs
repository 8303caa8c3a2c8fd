//! The locations of given record keys, from the metadata table's partition `record_index` (`HoodieRecordIndexInfo`):
//!
//! | `fileIdEncoding` | the file group |
//! |---|---|
//! | 0 | the UUID of `fileIdHighBits` and `fileIdLowBits`, then `-` and `fileIndex` unless that is -1 |
//! | 1 | `fileId` |
//!
//! A key that is not in the index may still be in the table: writers that locate records in another way (by bucket, for
//! example) do not always update the index. So a missing key proves nothing. The index also has only one location of a
//! key; writers without a global index may have left another record of the key in another partition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch, StructArray};

use super::open::{KEY, MetadataTable, SelectedRows};
use super::shard::PartitionPart;
use mortice_base::error::{Error, Result};

/// The partition of the metadata table with the index.
pub const RECORD_INDEX: &str = "record_index";
const LOCATION: &str = "recordIndexMetadata";
const COLUMNS: [&str; 2] = [KEY, LOCATION];
/// The file index of an id without one.
const NO_INDEX: i32 = -1;

/// Where the index has a key.
pub struct KeyLocation<'a> {
    /// The record key.
    pub key: &'a str,
    /// The partition.
    pub partition: &'a str,
    /// The file group.
    pub file_id: String,
}

/// Where the index has some keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredGroups {
    /// The partitions of file groups, by their ids. A key has several groups if there is one index per partition (Hudi
    /// 1.1 and later).
    pub groups: BTreeMap<String, String>,
    /// The keys that the index does not have.
    pub missing: BTreeSet<String>,
}

/// Takes locations of keys.
pub type EachLocation<'a> = &'a mut (dyn FnMut(KeyLocation<'_>) -> Result<()> + Send);

impl MetadataTable {
    /// Calls `each` for every location of the keys; of all keys, if none are given. Keys that are not there have none.
    /// All keys are read batch by batch: there may be more than fit in memory.
    ///
    /// # Errors
    /// `InvalidTable` if other writers have committed to the index since the table was opened; what reading the
    /// metadata table may fail with.
    pub fn key_locations(&self, keys: Option<&BTreeSet<String>>, each: EachLocation<'_>) -> Result<()> {
        let Some(keys) = keys else { return self.key_locations_of_part(PartitionPart::ALL, each) };
        self.check_not_newer()?;
        self.rows_of_keys(RECORD_INDEX, &COLUMNS, keys)?.iter().try_for_each(|batch| for_each(batch, each))
    }

    /// Calls `each` for every location in a part of the index, batch by batch.
    ///
    /// # Errors
    /// As for [`Self::key_locations`].
    pub fn key_locations_of_part(&self, part: PartitionPart, each: EachLocation<'_>) -> Result<()> {
        self.check_not_newer()?;
        let each = Mutex::new(each);
        self.for_each_batch(RECORD_INDEX, SelectedRows::Part(part), &COLUMNS, &|batch| {
            for_each(batch, &mut **each.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn check_not_newer(&self) -> Result<()> {
        if self.is_newer() {
            return Err(Error::invalid_table(
                "the record index has commits that the table's timeline did not have when it was read: another writer has committed; write again",
            ));
        }
        Ok(())
    }

    /// Returns the file groups of keys. The index must have been checked ([`MetadataTable::check_index`]).
    ///
    /// # Errors
    /// Errors of reading the metadata table.
    pub fn groups_of_keys(&self, keys: &BTreeSet<String>) -> Result<StoredGroups> {
        let mut found = StoredGroups::default();
        let mut known = BTreeSet::new();
        for batch in self.rows_of_keys(RECORD_INDEX, &COLUMNS, keys)? {
            for_each(&batch, &mut |location| {
                known.insert(location.key.to_owned());
                found.groups.entry(location.file_id).or_insert_with(|| location.partition.to_owned());
                Ok(())
            })?;
        }
        found.missing = keys.difference(&known).cloned().collect();
        Ok(found)
    }
}

fn for_each(batch: &RecordBatch, each: EachLocation<'_>) -> Result<()> {
    let misfit = || Error::invalid_table("invalid record index: a record has no file group");
    let keys = batch.column_by_name(KEY).and_then(|keys| keys.as_string_opt::<i32>()).ok_or_else(misfit)?;
    let places = batch.column_by_name(LOCATION).and_then(|places| places.as_struct_opt()).ok_or_else(misfit)?;
    let partitions = places.column_by_name("partitionName").and_then(|names| names.as_string_opt::<i32>());
    for (row, key) in keys.iter().enumerate() {
        let group = if places.is_valid(row) { file_id(places, row) } else { None };
        let (Some(key), Some(file_id)) = (key, group) else { return Err(misfit()) };
        let partition = partitions.filter(|names| names.is_valid(row)).map_or("", |names| names.value(row));
        each(KeyLocation { key, partition, file_id })?;
    }
    Ok(())
}

fn file_id(places: &StructArray, row: usize) -> Option<String> {
    let long = |name| {
        let column = places.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
        column.is_valid(row).then(|| column.value(row).cast_unsigned())
    };
    let int = |name| {
        let column = places.column_by_name(name)?.as_primitive_opt::<Int32Type>()?;
        column.is_valid(row).then(|| column.value(row))
    };
    // Up to 0.13 there was only one encoding.
    match int("fileIdEncoding").unwrap_or_default() {
        0 => {
            let uuid = uuid(long("fileIdHighBits")?, long("fileIdLowBits")?);
            let index = int("fileIndex")?;
            Some(if index == NO_INDEX { uuid } else { format!("{uuid}-{index}") })
        }
        1 => {
            let id = places.column_by_name("fileId")?.as_string_opt::<i32>()?;
            id.is_valid(row).then(|| id.value(row).to_owned())
        }
        _ => None,
    }
}

/// Formats a UUID as Java does.
fn uuid(high: u64, low: u64) -> String {
    let bits = u128::from(high) << 64 | u128::from(low);
    let text = format!("{bits:032x}");
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn file_groups_by_either_encoding() {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("fileIdHighBits", Arc::new(Int64Array::from(vec![8_232_158_006_793_752_292, 0, 0, 0]))),
            ("fileIdLowBits", Arc::new(Int64Array::from(vec![-4_694_895_475_049_297_374, 1, 0, 0]))),
            ("fileIndex", Arc::new(Int32Array::from(vec![2, -1, 0, 0]))),
            ("fileId", Arc::new(StringArray::from(vec!["", "", "any-name", "?"]))),
            ("fileIdEncoding", Arc::new(Int32Array::from(vec![0, 0, 1, 2]))),
        ];
        let places = StructArray::from(RecordBatch::try_from_iter(columns).unwrap());
        let ids: Vec<Option<String>> = (0..4).map(|row| file_id(&places, row)).collect();
        let expected = ["723e8017-61d4-4ee4-bed8-6170a8190a22-2", "00000000-0000-0000-0000-000000000001", "any-name"];
        assert_eq!(ids, [Some(expected[0].into()), Some(expected[1].into()), Some(expected[2].into()), None]);
    }
}
