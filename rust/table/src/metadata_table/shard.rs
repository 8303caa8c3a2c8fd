//! The file groups of a metadata table partition that contain given keys
//! (`HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex`): selected by a hash of the key, from groups numbered from
//! 0.
//!
//! ```text
//! record-index-0003-0                    the group with number 3
//! record-index-oslo-0003-0               a group of the table's partition `oslo`: a partitioned index
//! ```
//! If groups are not numbered like this, all of them are read.

use std::borrow::Borrow;
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
    pub fn selected<S: Borrow<FileSlice>>(self, mut slices: Vec<S>) -> Vec<S> {
        slices.sort_by(|one, other| one.borrow().file_id.cmp(&other.borrow().file_id));
        slices.into_iter().skip(self.number).step_by(self.count.max(1)).collect()
    }
}

/// Assigns keys to the file groups that can have records of them, which are given by their ids. Returns `None` if each
/// of the groups can have any of the keys.
#[must_use]
pub fn keys_of_groups<'a>(ids: &[&str], keys: &'a BTreeSet<String>) -> Option<Vec<Vec<&'a str>>> {
    let count = u32::try_from(ids.len()).ok().filter(|count| *count > 1)?;
    let mut places: Vec<(&str, usize)> = ids.iter().copied().zip(0..).collect();
    places.sort_unstable();
    let prefix = places.first().and_then(|(id, _)| id.strip_suffix("0000-0"))?;
    let is_numbered = |(number, (id, _)): (usize, &(&str, usize))| *id == format!("{prefix}{number:0DIGITS$}-0");
    if !places.iter().enumerate().all(is_numbered) {
        return None;
    }
    let mut found = vec![Vec::new(); ids.len()];
    for key in keys {
        let place = places.get(number_of(key, count) as usize).map(|(_, place)| *place);
        place.and_then(|place| found.get_mut(place))?.push(key.as_str());
    }
    Some(found)
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

    #[test]
    fn keys_are_assigned_by_their_hash() {
        // "a" is 97, "b" 98; the hash of "polygenelubricants" is the smallest int.
        assert_eq!([number_of("a", 10), number_of("b", 10), number_of("", 10)], [7, 8, 0]);
        assert_eq!(number_of("polygenelubricants", 10), 8);
        let ids = ["record-index-0001-0", "record-index-0000-0", "record-index-0002-0"];
        let keys = BTreeSet::from(["a", "b", "d"].map(str::to_owned));
        assert_eq!(keys_of_groups(&ids, &keys).unwrap(), [vec!["a", "d"], vec![], vec!["b"]]);
        assert_eq!(keys_of_groups(&ids, &BTreeSet::new()).unwrap(), [vec![""; 0], vec![], vec![]]);
    }

    #[test]
    fn groups_that_are_numbered_otherwise_can_have_any_key() {
        for ids in [
            &["record-index-oslo-0000-0", "record-index-rome-0000-0"][..],
            &["record-index-0000-0", "record-index-0002-0"],
            &["files-0000-0"],
            &["a", "b"],
        ] {
            assert_eq!(keys_of_groups(ids, &BTreeSet::from(["a".to_owned()])), None, "{ids:?}");
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
