//! All records of each key, in log order, deletes included.
//!
//! Cost of a record: 16 bytes and its ordering value; of a distinct key what the key index takes.

use bytes::Bytes;

use super::super::base_rows::BaseRows;
use super::super::histories::{Histories, Record};
use super::super::input::{LogBatch, LogSink, RowRef};
use super::super::key_index::{AHEAD, KeyHash, KeyIndex};
use super::super::key_part::KeyPart;
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

impl Chains {
    /// Nothing yet; only the records of wanted keys will be kept.
    #[must_use]
    pub fn only(wanted: KeyFilter) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// For the keys of a part, or as many of it as the budget, in bytes, has room for.
    #[must_use]
    pub fn within(mut self, part: KeyPart, budget: usize) -> Self {
        self.index = KeyIndex::of(part, budget);
        self
    }

    /// The keys that it knows of: all that the logs hold of this part.
    #[must_use]
    pub fn part(&self) -> KeyPart {
        self.index.part()
    }

    /// Whether there is a key that no base row has met.
    #[must_use]
    pub fn has_open_keys(&self) -> bool {
        self.index.open() > 0
    }

    /// Base rows that have records in the log: (row, entry). The first base row of a key uses its records up.
    pub fn meet_base(&mut self, rows: &BaseRows) -> Vec<(usize, u32)> {
        let mut met = Vec::new();
        self.index.meet(rows, |row, entry, _| met.push((row, entry)));
        met
    }

    /// Base rows that others read: what they meet is used up.
    pub fn pass_over(&mut self, rows: &BaseRows) {
        self.index.meet(rows, |_, _, _| ());
    }

    /// Of the keys that no base row has met, those that are not of a share of all keys are others'.
    pub fn leave_to_others(&mut self, share: KeyPart) {
        self.index.leave_to_others(share);
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

    /// Notes the records of entries, under the numbers given with them.
    pub fn note(&self, entries: impl IntoIterator<Item = (u64, u32)>, notes: &mut Histories) {
        for (number, entry) in entries {
            notes.add(number, self.records(entry));
        }
    }

    /// The records of an entry, oldest first.
    fn records(&self, entry: u32) -> Vec<Record<'_>> {
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

    /// Bytes of everything but the index.
    fn memory(&self) -> usize {
        self.links.capacity() * size_of::<Link>() + self.newest.capacity() * 4 + self.orderings.memory(self.links.len())
    }

    /// Sees to it that one more record has room within the budget; whether entries have moved for it.
    fn make_room(&mut self) -> bool {
        let mut moved = false;
        loop {
            let is_full = self.links.len() == self.links.capacity();
            // A vector that grows is there twice for a moment, the second time doubled.
            let others = self.memory() + if is_full { self.links.len() * 2 * size_of::<Link>() } else { 0 };
            if self.index.has_room(|| others) && !(is_full && self.index.is_tight(others)) {
                return moved;
            }
            self.narrow();
            moved = true;
        }
    }

    /// Forgets half of the keys, and their records.
    fn narrow(&mut self) {
        let newest = &mut self.newest;
        let mut kept = 0;
        self.index.narrow(|from, to| {
            newest.swap(from, to);
            kept = to + 1;
        });
        self.newest.truncate(kept);
        // Records of keys that stay keep their order; where each goes follows from that.
        let mut goes_to = vec![NONE; self.links.len()];
        for newest in &self.newest {
            let mut at = *newest;
            while let Some(link) = self.links.get(at as usize) {
                if let Some(slot) = goes_to.get_mut(at as usize) {
                    *slot = 0;
                }
                at = link.older;
            }
        }
        let mut next = 0;
        for at in 0..self.links.len() {
            let Some(slot) = goes_to.get_mut(at).filter(|slot| **slot != NONE) else { continue };
            *slot = next;
            if let Some(mut link) = self.links.get(at).copied() {
                link.older = goes_to.get(link.older as usize).copied().unwrap_or(NONE);
                if let Some(place) = self.links.get_mut(next as usize) {
                    *place = link;
                }
            }
            self.orderings.shift(at, next as usize);
            next += 1;
        }
        self.links.truncate(next as usize);
        self.links.shrink_to_fit();
        self.orderings.truncate(next as usize);
        for newest in &mut self.newest {
            *newest = goes_to.get(*newest as usize).copied().unwrap_or(NONE);
        }
    }
}

impl LogSink for Chains {
    fn add_source(&mut self, bytes: Bytes) -> Result<u32> {
        self.index.add_source(bytes)
    }

    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()> {
        let mut hashes = [KeyHash::default(); AHEAD];
        for row in 0..batch.places.len() {
            if row.is_multiple_of(AHEAD) {
                hashes = batch.look_ahead(source, row, &self.index);
            }
            let Some(hash) = hashes.get(row % AHEAD).copied() else { continue };
            let Some(record) = batch.incoming(source, row, hash, &self.index, &self.wanted)? else { continue };
            let mut found = record.found;
            if self.make_room() {
                if !self.index.holds(record.hash) {
                    continue;
                }
                found = self.index.find(record.hash, self.index.key(source, record.place)?);
            }
            let Ok(link) = u32::try_from(self.links.len()) else {
                return Err(Error::unsupported("more than 4 billion records in the logs of one file slice"));
            };
            let older = match found {
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
