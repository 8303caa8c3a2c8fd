//! The keys of rows by hash: the build side of the join with the keys of base files.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use arrow_array::{Array, StringArray};
use foldhash::fast::FixedState;

use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_merge::merge::KeyTable;

/// No further row of the key.
const NONE: u32 = u32::MAX;
/// Keys whose places in the table are fetched before they are looked up.
const AHEAD: usize = 32;

/// Rows by key, and by partition unless the index is global.
pub struct IncomingKeys<'a> {
    keys: &'a RowKeys,
    partitions: HashMap<&'a str, u32, foldhash::fast::RandomState>,
    /// The partition of each row; empty if all rows count as of one.
    partition_ids: Vec<u32>,
    hasher: FixedState,
    /// The first row of each key.
    table: KeyTable,
    /// The next row of the same key; empty as long as no key is there twice.
    next: Vec<u32>,
    /// For keys that are there several times, the first row and the last.
    last: HashMap<u32, u32, foldhash::fast::RandomState>,
    is_global: bool,
}

impl<'a> IncomingKeys<'a> {
    /// Builds the table.
    ///
    /// # Errors
    /// `Internal` for more rows than have numbers.
    pub fn new(keys: &'a RowKeys, is_global: bool) -> Result<Self> {
        let len = keys.record_keys.len();
        let rows = u32::try_from(len).ok().filter(|rows| *rows != NONE && keys.partitions.len() == len);
        let rows = rows.ok_or_else(|| {
            Error::internal(format_args!("{len} record keys of {} rows of one write", keys.partitions.len()))
        })?;
        let (partitions, partition_ids) = if is_global { Default::default() } else { ids_of(&keys.partitions) };
        let mut table = Self {
            keys,
            partitions,
            partition_ids,
            hasher: FixedState::default(),
            table: KeyTable::with_room(len.max(1)),
            next: Vec::new(),
            last: HashMap::default(),
            is_global,
        };
        let mut hashes = [0_u32; AHEAD];
        for start in (0..rows).step_by(AHEAD) {
            for (row, hash) in (start..rows).zip(&mut hashes) {
                *hash = table.hash(table.partition_of(row), keys.record_keys.value(row as usize));
                table.table.prefetch(*hash);
            }
            for (row, hash) in (start..rows).zip(hashes) {
                table.add(row, hash)?;
            }
        }
        Ok(table)
    }

    fn add(&mut self, row: u32, hash: u32) -> Result<()> {
        let (partition, key) = (self.partition_of(row), self.keys.record_keys.value(row as usize));
        let Some(first) = self.table.find(hash, |other| self.is(other, partition, key)) else {
            self.table.insert(hash, row);
            return Ok(());
        };
        self.next.resize(self.keys.record_keys.len(), NONE);
        let last = self.last.insert(first, row).unwrap_or(first);
        let lost = || Error::internal(format_args!("row {last} is followed by row {row} of its key and is not there"));
        *self.next.get_mut(last as usize).ok_or_else(lost)? = row;
        Ok(())
    }

    fn partition_of(&self, row: u32) -> u32 {
        // Empty: all rows are of the partition that is numbered 0.
        self.partition_ids.get(row as usize).copied().unwrap_or(0)
    }

    fn is(&self, row: u32, partition: u32, key: &str) -> bool {
        self.keys.record_keys.value(row as usize) == key && self.partition_of(row) == partition
    }

    fn hash(&self, partition: u32, key: &str) -> u32 {
        let hash = self.hasher.hash_one(key.as_bytes());
        (hash ^ u64::from(partition).wrapping_mul(0x9e37_79b9_7f4a_7c15)) as u32
    }

    /// What keys of a partition's files are looked up by; none if no row is of that partition.
    #[must_use]
    pub fn partition(&self, partition: &str) -> Option<u32> {
        if self.is_global { Some(0) } else { self.partitions.get(partition).copied() }
    }

    /// The rows of a key, in order.
    pub fn rows(&self, partition: u32, key: &str) -> impl Iterator<Item = u32> {
        self.rows_of(partition, key, self.hash(partition, key))
    }

    fn rows_of(&self, partition: u32, key: &str, hash: u32) -> impl Iterator<Item = u32> {
        let first = self.table.may_hold(hash).then(|| self.table.find(hash, |row| self.is(row, partition, key)));
        let next = |row: &u32| self.next.get(*row as usize).copied().filter(|row| *row != NONE);
        std::iter::successors(first.flatten(), next)
    }

    /// Calls `each` with the rows of each of some keys that has rows: the number of the key, and the row.
    pub(super) fn probe<'k>(
        &self,
        partition: u32,
        keys: impl ExactSizeIterator<Item = &'k str> + Clone,
        mut each: impl FnMut(usize, u32),
    ) {
        let mut hashes = [0_u32; AHEAD];
        let mut ahead = keys.clone();
        let mut keys = keys.enumerate();
        while keys.len() > 0 {
            let count = AHEAD.min(keys.len());
            for (hash, key) in hashes.iter_mut().zip(ahead.by_ref().take(count)) {
                *hash = self.hash(partition, key);
                self.table.prefetch_filter(*hash);
                self.table.prefetch(*hash);
            }
            for (hash, (number, key)) in hashes.iter().zip(keys.by_ref().take(count)) {
                self.rows_of(partition, key, *hash).for_each(|row| each(number, row));
            }
        }
    }

    /// The distinct keys of a partition, in no order.
    pub(super) fn keys(&self, partition: u32) -> impl Iterator<Item = &'a str> {
        let is_first = move |row: &u32| self.partition_of(*row) == partition && !self.is_repeated(*row);
        // There are fewer rows: `new` refuses more.
        let rows = 0..u32::try_from(self.keys.record_keys.len()).unwrap_or(NONE);
        rows.filter(is_first).map(|row| self.keys.record_keys.value(row as usize))
    }

    fn is_repeated(&self, row: u32) -> bool {
        if self.next.is_empty() {
            return false;
        }
        let (partition, key) = (self.partition_of(row), self.keys.record_keys.value(row as usize));
        self.rows(partition, key).next() != Some(row)
    }

    /// Whether no key is there twice.
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.last.is_empty()
    }

    /// The first row of each key that is there several times, ascending.
    #[must_use]
    pub fn repeated(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.last.keys().copied().collect();
        rows.sort_unstable();
        rows
    }

    /// The rows of the key of a row that is the key's first, in order.
    pub fn rows_from(&self, first: u32) -> impl Iterator<Item = u32> {
        let next = |row: &u32| self.next.get(*row as usize).copied().filter(|row| *row != NONE);
        std::iter::successors(Some(first), next)
    }

    /// How many rows there are.
    pub(super) fn rows_len(&self) -> usize {
        self.keys.record_keys.len()
    }
}

/// The partitions of rows, numbered, and the number of each row; none if all are of one partition.
fn ids_of(partitions: &StringArray) -> (HashMap<&str, u32, foldhash::fast::RandomState>, Vec<u32>) {
    let mut numbers: HashMap<&str, u32, foldhash::fast::RandomState> = HashMap::default();
    let mut ids = Vec::new();
    let mut last: Option<(&str, u32)> = None;
    for row in 0..partitions.len() {
        let partition = partitions.value(row);
        // Rows of one partition mostly follow each other.
        let id = match last {
            Some((path, id)) if path == partition => id,
            _ => {
                // There are no more partitions than rows, which have numbers.
                let next = u32::try_from(numbers.len()).unwrap_or(NONE);
                *numbers.entry(partition).or_insert(next)
            }
        };
        last = Some((partition, id));
        if id > 0 || !ids.is_empty() {
            ids.resize(row, 0);
            ids.push(id);
        }
    }
    (numbers, ids)
}

/// The distinct partitions of rows.
#[must_use]
pub fn partitions_of(keys: &RowKeys) -> BTreeSet<String> {
    let mut partitions = BTreeSet::new();
    let mut last = None;
    for partition in &keys.partitions {
        // Rows of one partition mostly follow each other.
        if partition != last {
            partitions.extend(partition.map(str::to_owned));
            last = partition;
        }
    }
    partitions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(rows: &[(&str, &str)]) -> RowKeys {
        let column = |value: fn(&(&str, &str)) -> String| rows.iter().map(value).map(Some).collect::<StringArray>();
        RowKeys { record_keys: column(|row| row.0.to_owned()), partitions: column(|row| row.1.to_owned()) }
    }

    fn rows(table: &IncomingKeys<'_>, partition: &str, key: &str) -> Vec<u32> {
        table.partition(partition).map(|partition| table.rows(partition, key).collect()).unwrap_or_default()
    }

    #[test]
    fn rows_of_a_key_are_found_in_order() {
        let keys = keys(&[("a", "p"), ("b", "p"), ("a", "q"), ("a", "p"), ("", "p"), ("a", "p")]);
        let table = IncomingKeys::new(&keys, false).unwrap();
        assert_eq!(rows(&table, "p", "a"), [0, 3, 5]);
        assert_eq!((rows(&table, "q", "a"), rows(&table, "p", "")), (vec![2], vec![4]));
        assert_eq!((rows(&table, "q", "b"), rows(&table, "r", "a")), (vec![], vec![]));
        assert_eq!((table.repeated(), table.rows_from(0).collect::<Vec<_>>()), (vec![0], vec![0, 3, 5]));
        let mut distinct: Vec<_> = table.keys(0).collect();
        distinct.sort_unstable();
        assert_eq!(distinct, ["", "a", "b"]);
        let global = IncomingKeys::new(&keys, true).unwrap();
        assert_eq!(rows(&global, "anywhere", "a"), [0, 2, 3, 5]);
        assert_eq!(global.keys(0).count(), 3);
    }

    #[test]
    fn many_keys_are_looked_up_at_a_time() {
        let pairs: Vec<(String, String)> =
            (0..2000).map(|row| (format!("key {}", row % 1800), format!("p{}", row % 2))).collect();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, path)| (key.as_str(), path.as_str())).collect();
        let keys = keys(&pairs);
        let table = IncomingKeys::new(&keys, false).unwrap();
        assert!(!table.is_distinct());
        assert_eq!(table.repeated(), (0..200).collect::<Vec<_>>());
        for (partition, path) in [(0, "p0"), (1, "p1")] {
            let stored: Vec<String> = (0..4000).rev().map(|number| format!("key {number}")).collect();
            let mut found = Vec::new();
            table.probe(partition, stored.iter().map(String::as_str), |number, row| found.push((number, row)));
            let mut expected = Vec::new();
            for (number, key) in stored.iter().enumerate() {
                expected.extend(
                    (0_u32..).zip(&pairs).filter(|(_, pair)| **pair == (key, path)).map(|(row, _)| (number, row)),
                );
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn without_rows_there_are_no_keys() {
        let keys = keys(&[]);
        let table = IncomingKeys::new(&keys, true).unwrap();
        assert!(table.is_distinct() && rows(&table, "p", "a").is_empty());
    }

    proptest! {
        /// A row is found by its key and, unless keys are unique in the table, its partition.
        #[test]
        fn rows_are_found_as_by_comparing_all_of_them(
            pairs in proptest::collection::vec(("[ab]{0,3}", "[pq]?"), 0..120),
            stored in proptest::collection::vec("[abc]{0,3}", 0..80),
            is_global in any::<bool>(),
        ) {
            let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, path)| (key.as_str(), path.as_str())).collect();
            let keys = keys(&pairs);
            let table = IncomingKeys::new(&keys, is_global).unwrap();
            let naive = |key: &str, path: &str| -> Vec<u32> {
                let numbered = (0_u32..).zip(&pairs);
                numbered.filter(|(_, row)| row.0 == key && (is_global || row.1 == path)).map(|(row, _)| row).collect()
            };
            for path in ["", "p", "q"] {
                let has_rows = is_global || pairs.iter().any(|row| row.1 == path);
                let partition = table.partition(path);
                prop_assert_eq!(partition.is_some(), has_rows);
                let Some(partition) = partition else { continue };
                let mut found = Vec::new();
                table.probe(partition, stored.iter().map(String::as_str), |number, row| found.push((number, row)));
                let each = |(number, key): (usize, &String)| naive(key, path).into_iter().map(move |row| (number, row)).collect::<Vec<_>>();
                prop_assert_eq!(found, stored.iter().enumerate().flat_map(each).collect::<Vec<_>>());
                let distinct: BTreeSet<&str> = pairs.iter().filter(|row| is_global || row.1 == path).map(|row| row.0).collect();
                let mut all: Vec<&str> = table.keys(partition).collect();
                all.sort_unstable();
                prop_assert_eq!(all, distinct.into_iter().collect::<Vec<_>>());
            }
            let same = |row: u32| naive(pairs[row as usize].0, pairs[row as usize].1);
            let rows = 0..u32::try_from(pairs.len()).unwrap();
            let repeated: Vec<u32> = rows.filter(|row| same(*row).len() > 1 && same(*row)[0] == *row).collect();
            prop_assert_eq!(table.is_distinct(), repeated.is_empty());
            for first in &repeated {
                prop_assert_eq!(table.rows_from(*first).collect::<Vec<_>>(), same(*first));
            }
            prop_assert_eq!(table.repeated(), repeated);
        }
    }
}
