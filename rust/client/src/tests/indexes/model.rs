//! The rows that a table has after writes, by the rules that users read: without file groups, logs or merging.

use std::collections::BTreeSet;

use super::super::stopped_services::Row;

/// Keys of random rows: the last two are not ASCII, which footers of base files order in another way.
pub(super) const KEYS: [&str; 9] = ["a", "b", "c", "k", "kk", "z", "z,k:v", "ü", "🦀"];
/// Their partitions.
pub(super) const CITIES: [&str; 3] = ["x", "y", "z"];

/// A stored row: its key, the partition that it is in, and its ordering value.
pub(super) type StoredRow = (&'static str, &'static str, i64);

/// The rows of a table with an index.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) is_global: bool,
    pub(super) moves: bool,
    pub(super) rows: Vec<StoredRow>,
    /// Keys that were deleted: what a later row of a lower ordering value becomes depends on when logs were compacted.
    pub(super) deleted: BTreeSet<&'static str>,
}

impl Model {
    pub(super) fn new(is_global: bool, moves: bool) -> Self {
        Self { is_global, moves, rows: Vec::new(), deleted: BTreeSet::new() }
    }

    /// Whether a row is one that a write of this key and partition updates.
    fn is_same(&self, (stored, path, _): StoredRow, (key, city): (&str, &str)) -> bool {
        stored == key && (self.is_global || path == city)
    }

    pub(super) fn has(&self, key: &str, city: &str) -> bool {
        self.rows.iter().any(|stored| self.is_same(*stored, (key, city)))
    }

    pub(super) fn upsert(&mut self, rows: &[Row]) {
        for (key, city, ts) in rows.iter().copied() {
            if !self.has(key, city) {
                self.rows.push((key, city, ts));
                continue;
            }
            let same: Vec<bool> = self.rows.iter().map(|stored| self.is_same(*stored, (key, city))).collect();
            for (stored, _) in self.rows.iter_mut().zip(same).filter(|(stored, is_same)| *is_same && ts >= stored.2) {
                stored.2 = ts;
                if self.moves {
                    stored.1 = city;
                }
            }
        }
    }

    pub(super) fn insert(&mut self, rows: &[Row]) {
        self.rows.extend(rows);
    }

    pub(super) fn delete(&mut self, rows: &[Row]) {
        for (key, city, _) in rows.iter().copied() {
            let before = self.rows.len();
            let kept: Vec<StoredRow> =
                self.rows.iter().copied().filter(|stored| !self.is_same(*stored, (key, city))).collect();
            self.rows = kept;
            if self.rows.len() < before {
                self.deleted.insert(key);
            }
        }
    }

    pub(super) fn overwrite(&mut self, rows: &[Row]) {
        let cities: BTreeSet<&str> = rows.iter().map(|row| row.1).collect();
        self.rows.retain(|stored| !cities.contains(stored.1));
        self.rows.extend(rows);
    }

    /// The rows in the order of keys and partitions.
    pub(super) fn sorted(&self) -> Vec<StoredRow> {
        let mut rows = self.rows.clone();
        rows.sort_unstable();
        rows
    }
}
