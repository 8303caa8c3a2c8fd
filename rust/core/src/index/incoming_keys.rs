//! The keys of rows by hash: the build side of the join with the keys of base files.

use std::collections::{BTreeSet, HashMap};

use arrow_array::Array;

use crate::error::{Error, Result};
use crate::keys::RowKeys;

/// No further row of the key.
const NONE: u32 = u32::MAX;

/// Rows by key, and by partition unless the index is global.
pub(super) struct IncomingKeys<'a> {
    keys: &'a RowKeys,
    partitions: HashMap<&'a str, u32, foldhash::fast::RandomState>,
    first: HashMap<(u32, &'a str), u32, foldhash::fast::RandomState>,
    /// The next row of the same key.
    next: Vec<u32>,
    is_global: bool,
}

impl<'a> IncomingKeys<'a> {
    /// Builds the table.
    pub(super) fn new(keys: &'a RowKeys, is_global: bool) -> Result<Self> {
        let rows = keys.record_keys.len();
        if u32::try_from(rows).map_or(true, |rows| rows == NONE) || keys.partitions.len() != rows {
            return Err(Error::internal(format_args!("{rows} record keys of {} rows", keys.partitions.len())));
        }
        let mut table = Self {
            keys,
            partitions: HashMap::default(),
            first: HashMap::with_capacity_and_hasher(rows, foldhash::fast::RandomState::default()),
            next: vec![NONE; rows],
            is_global,
        };
        for row in (0..rows).rev() {
            let partition = if is_global { 0 } else { table.add_partition(keys.partitions.value(row)) };
            let number = u32::try_from(row).unwrap_or(NONE);
            if let Some(later) = table.first.insert((partition, keys.record_keys.value(row)), number)
                && let Some(next) = table.next.get_mut(row)
            {
                *next = later;
            }
        }
        Ok(table)
    }

    fn add_partition(&mut self, partition: &'a str) -> u32 {
        let next = u32::try_from(self.partitions.len()).unwrap_or(NONE);
        *self.partitions.entry(partition).or_insert(next)
    }

    /// What keys of a partition's files are looked up by; none if no row is of that partition.
    pub(super) fn partition(&self, partition: &str) -> Option<u32> {
        if self.is_global { Some(0) } else { self.partitions.get(partition).copied() }
    }

    /// The rows of a key, in order.
    pub(super) fn rows(&self, partition: u32, key: &str) -> impl Iterator<Item = u32> {
        let first = self.first.get(&(partition, key)).copied();
        let next = |row: &u32| self.next.get(usize::try_from(*row).ok()?).copied().filter(|row| *row != NONE);
        std::iter::successors(first, next)
    }

    /// The distinct keys of a partition, in no order.
    pub(super) fn keys(&self, partition: u32) -> impl Iterator<Item = &'a str> {
        self.first.keys().filter(move |(of, _)| *of == partition).map(|(_, key)| *key)
    }

    /// How many rows there are.
    pub(super) fn rows_len(&self) -> usize {
        self.keys.record_keys.len()
    }
}

/// The distinct partitions of rows.
pub(super) fn partitions_of(keys: &RowKeys) -> BTreeSet<String> {
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
