//! All records of each key, in log order, deletes included.
//!
//! Cost of a record: 16 bytes and its ordering value; of a distinct key what the key index takes.

use arrow_array::StringArray;
use bytes::Bytes;

use super::super::input::{LogBatch, LogSink, RowRef};
use super::super::key_index::KeyIndex;
use super::super::orderings::{Kept, Orderings};
use super::super::rules::{Deleted, Side};
use crate::error::{Error, Result};
use crate::filter::KeyFilter;

/// No record before this one.
const NONE: u32 = u32::MAX;

/// Records by key.
#[derive(Default)]
pub struct Chains {
    index: KeyIndex,
    /// The newest record of each entry of the index.
    newest: Vec<u32>,
    links: Vec<Link>,
    orderings: Orderings,
    taken: usize,
    wanted: KeyFilter,
}

/// One record, and the one before it.
#[derive(Debug, Clone, Copy)]
struct Link {
    row: RowRef,
    older: u32,
    deleted: Deleted,
    kept: Kept,
}

/// A record of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) row: RowRef,
    pub(super) side: Side<'a>,
}

impl Chains {
    /// Nothing yet; only the records of wanted keys will be kept.
    #[must_use]
    pub fn only(wanted: KeyFilter) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Whether there is a key that no base row has met.
    #[must_use]
    pub fn has_open_keys(&self) -> bool {
        self.taken < self.newest.len()
    }

    /// Base rows that have records in the log: (row, entry). The first base row of a key uses its records up.
    pub fn meet_base(&mut self, keys: &StringArray) -> Vec<(usize, u32)> {
        let mut met = Vec::new();
        for (row, key) in keys.iter().enumerate() {
            let found = key.map(str::as_bytes).and_then(|key| self.index.find(self.index.hash(key), key));
            let Some(entry) = found else { continue };
            if self.index.stored(entry).is_some_and(|stored| !stored.taken) {
                self.index.take(entry);
                self.taken += 1;
                met.push((row, entry));
            }
        }
        met
    }

    /// Entries that no base row has met, in order of their keys' first appearance: at most `limit`, from entry `from` on, and
    /// the entry to go on from (none at the end).
    #[must_use]
    pub fn inserts(&self, from: usize, limit: usize) -> (Vec<u32>, Option<usize>) {
        let mut entries = Vec::new();
        let mut at = from;
        while entries.len() < limit {
            let Some((entry, stored)) =
                u32::try_from(at).ok().and_then(|entry| Some((entry, self.index.stored(entry)?)))
            else {
                return (entries, None);
            };
            if !stored.taken {
                entries.push(entry);
            }
            at += 1;
        }
        (entries, Some(at))
    }

    /// The records of an entry, oldest first.
    pub(super) fn records(&self, entry: u32) -> Vec<Record<'_>> {
        let mut records = Vec::new();
        let mut at = self.newest.get(entry as usize).copied().unwrap_or(NONE);
        while let Some(link) = self.links.get(at as usize) {
            let ordering = self.orderings.get(at as usize, link.kept);
            records.push(Record {
                row: link.row,
                side: Side { ordering, is_foreign: link.kept.is_foreign, deleted: link.deleted },
            });
            at = link.older;
        }
        records.reverse();
        records
    }
}

impl LogSink for Chains {
    fn add_source(&mut self, bytes: Bytes) -> Result<u32> {
        self.index.add_source(bytes)
    }

    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()> {
        for row in 0..batch.places.len() {
            let Some(record) = batch.incoming(source, row, &self.index, &self.wanted)? else { continue };
            let Ok(link) = u32::try_from(self.links.len()) else {
                return Err(Error::unsupported("more than 4 billion records in the logs of one file slice"));
            };
            let older = match record.found {
                Some(entry) => self.newest.get_mut(entry as usize).map(|newest| std::mem::replace(newest, link)),
                None => {
                    self.index.store(None, record.hash, record.row, record.place, record.side)?;
                    self.newest.push(link);
                    None
                }
            };
            let kept = Kept::of(record.side);
            self.orderings.set(link as usize, record.side.ordering);
            let older = older.unwrap_or(NONE);
            self.links.push(Link { row: record.row, older, deleted: record.side.deleted, kept });
        }
        Ok(())
    }

    fn wanted(&self) -> &KeyFilter {
        &self.wanted
    }
}
