//! The file groups of a metadata table partition that contain given keys
//! (`HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex`): selected by a hash of the key, from groups numbered from
//! 0.
//!
//! ```text
//! record-index-0003-0                    the group with number 3
//! record-index-oslo-0003-0               a group of the table's partition `oslo`: a partitioned index
//! ```
//! If groups are not numbered like this, all of them are read.

use std::collections::BTreeSet;

use crate::file_group::FileSlice;

/// The number of digits of a group's number.
const DIGITS: usize = 4;

/// Some of the file groups of a partition: those whose place, in the order of their ids, is `number` modulo `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionPart {
    /// The number of the part, less than `count`.
    pub number: usize,
    /// Into how many parts the partition is divided.
    pub count: usize,
}

impl PartitionPart {
    /// All file groups.
    pub const ALL: Self = Self { number: 0, count: 1 };

    /// Returns the file groups of the part.
    #[must_use]
    pub fn selected(self, mut slices: Vec<FileSlice>) -> Vec<FileSlice> {
        slices.sort_by(|one, other| one.file_id.cmp(&other.file_id));
        slices.into_iter().skip(self.number).step_by(self.count.max(1)).collect()
    }
}

/// Returns the slices that can contain records of these keys.
#[must_use]
pub fn slices_of_keys(mut slices: Vec<FileSlice>, keys: &BTreeSet<String>) -> Vec<FileSlice> {
    slices.sort_by(|one, other| one.file_id.cmp(&other.file_id));
    let prefix = slices.first().and_then(|slice| slice.file_id.split('0').next()).unwrap_or_default().to_owned();
    let is_numbered = |(number, slice): (usize, &FileSlice)| slice.file_id == format!("{prefix}{number:0DIGITS$}-0");
    let Ok(count) = u32::try_from(slices.len()) else { return slices };
    if count < 2 || !slices.iter().enumerate().all(is_numbered) {
        return slices;
    }
    let wanted: BTreeSet<u32> = keys.iter().map(|key| number_of(key, count)).collect();
    (0..count).zip(slices).filter(|(number, _)| wanted.contains(number)).map(|(_, slice)| slice).collect()
}

/// The number of the group, of so many, that a key is in.
#[must_use]
pub fn number_of(key: &str, count: u32) -> u32 {
    let hash = key.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    // Java's absolute value of the smallest int is that int; so the absolute value of the remainder is taken again.
    // The remainder is less than `count`.
    (i64::from(hash.wrapping_abs()) % i64::from(count.max(1))).unsigned_abs() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(ids: &[&str]) -> Vec<FileSlice> {
        let slice = |id: &&str| FileSlice {
            partition: "record_index".into(),
            file_id: (*id).to_owned(),
            base_instant: "1".into(),
            base_file: None,
            log_files: Vec::new(),
        };
        ids.iter().map(slice).collect()
    }

    fn asked(ids: &[&str], keys: &[&str]) -> Vec<String> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        slices_of_keys(slices(ids), &keys).into_iter().map(|slice| slice.file_id).collect()
    }

    #[test]
    fn a_group_by_the_hash_of_the_key() {
        // "a" is 97, "b" 98; the hash of "polygenelubricants" is the smallest int.
        assert_eq!([number_of("a", 10), number_of("b", 10), number_of("", 10)], [7, 8, 0]);
        assert_eq!(number_of("polygenelubricants", 10), 8);
        let ids = ["record-index-0001-0", "record-index-0000-0", "record-index-0002-0"];
        assert_eq!(asked(&ids, &["a"]), ["record-index-0001-0"]);
        assert_eq!(asked(&ids, &["a", "b"]), ["record-index-0001-0", "record-index-0002-0"]);
        assert!(asked(&ids, &[]).is_empty());
    }

    #[test]
    fn groups_that_are_numbered_otherwise_are_all_asked() {
        for ids in [
            &["record-index-oslo-0000-0", "record-index-rome-0000-0"][..],
            &["record-index-0000-0", "record-index-0002-0"],
            &["files-0000-0"],
            &["a", "b"],
        ] {
            assert_eq!(asked(ids, &["a"]), ids);
        }
    }

    #[test]
    fn each_file_group_is_in_one_part() {
        let ids = ["g-4", "g-0", "g-2", "g-1", "g-3"];
        for count in [1, 2, 5, 7] {
            let parts = (0..count).map(|number| PartitionPart { number, count }.selected(slices(&ids)));
            let mut found: Vec<String> = parts.flatten().map(|slice| slice.file_id).collect();
            found.sort();
            assert_eq!(found, ["g-0", "g-1", "g-2", "g-3", "g-4"], "{count}");
        }
        assert_eq!(PartitionPart::ALL.selected(slices(&ids)).len(), 5);
    }
}
