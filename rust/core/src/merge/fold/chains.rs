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
    ///
    /// # Errors
    /// `Internal` if the base rows come by position and the log records do not.
    pub fn meet_base(&mut self, rows: &BaseRows) -> Result<Vec<(usize, u32)>> {
        let mut met = Vec::new();
        self.index.meet(rows, |row, entry, _| met.push((row, entry)))?;
        Ok(met)
    }

    /// Base rows that others read: what they meet is used up.
    ///
    /// # Errors
    /// As [`Chains::meet_base`].
    pub fn pass_over(&mut self, rows: &BaseRows) -> Result<()> {
        self.index.meet(rows, |_, _, _| ())
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

    /// Adds the records of entries to `notes`, under the numbers given with them.
    ///
    /// # Errors
    /// `Internal` if an entry has no records.
    pub fn note(&self, entries: impl IntoIterator<Item = (u64, u32)>, notes: &mut Histories) -> Result<()> {
        let mut newest_first = Vec::new();
        for (number, entry) in entries {
            let newest = self.newest.get(entry as usize).copied().ok_or_else(|| no_records(entry))?;
            newest_first.clear();
            let mut at = newest;
            while let Some(link) = self.links.get(at as usize) {
                newest_first.push((at, link));
                at = link.older;
            }
            notes.add(number, newest_first.iter().rev().map(|(at, link)| self.record(*at, link)))?;
        }
        Ok(())
    }

    fn record(&self, at: u32, link: &Link) -> Record<'_> {
        let ordering = self.orderings.get(at as usize, link.kept);
        let side = Side { ordering, is_foreign: link.kept.is_foreign, deleted: link.deleted };
        Record { row: link.row, side }
    }

    /// Bytes of everything but the index.
    fn memory(&self) -> usize {
        self.links.capacity() * size_of::<Link>() + self.newest.capacity() * 4 + self.orderings.memory(self.links.len())
    }

    /// Sees to it that one more record has room within the budget; whether entries have moved for it.
    fn make_room(&mut self) -> Result<bool> {
        let mut moved = false;
        loop {
            let is_full = self.links.len() == self.links.capacity();
            // A vector that grows is there twice for a moment, the second time doubled.
            let others = self.memory() + if is_full { self.links.len() * 2 * size_of::<Link>() } else { 0 };
            if self.index.has_room(|| others) && !(is_full && self.index.is_tight(others)) {
                return Ok(moved);
            }
            self.narrow()?;
            moved = true;
        }
    }

    /// Forgets half of the keys, and their records.
    fn narrow(&mut self) -> Result<()> {
        let newest = &mut self.newest;
        let mut kept = 0;
        self.index.narrow(|from, to| {
            newest.swap(from, to);
            kept = to + 1;
        })?;
        self.newest.truncate(kept);
        let mut goes_to = vec![NONE; self.links.len()];
        for newest in &self.newest {
            let mut at = *newest;
            while let Some((slot, link)) = goes_to.get_mut(at as usize).zip(self.links.get(at as usize)) {
                *slot = 0;
                at = link.older;
            }
        }
        // Records of keys that stay keep their order, so their new ordinals are consecutive.
        for (slot, next) in goes_to.iter_mut().filter(|slot| **slot != NONE).zip(0..) {
            *slot = next;
        }
        let mut moves = goes_to.iter().enumerate();
        let orderings = &mut self.orderings;
        self.links.retain_mut(|link| {
            let Some((from, to)) = moves.next().filter(|(_, to)| **to != NONE) else { return false };
            link.older = goes_to.get(link.older as usize).copied().unwrap_or(NONE);
            orderings.shift(from, *to as usize);
            true
        });
        self.links.shrink_to_fit();
        self.orderings.truncate(self.links.len());
        for newest in &mut self.newest {
            let to = goes_to.get(*newest as usize).copied().filter(|to| *to != NONE);
            *newest = to.ok_or_else(|| Error::internal("a key lost its newest record when the index was narrowed"))?;
        }
        Ok(())
    }
}

#[cold]
fn no_records(entry: u32) -> Error {
    Error::internal(format_args!("entry {entry} of the key index has no records"))
}

impl LogSink for Chains {
    fn add_source(&mut self, bytes: Bytes) -> Result<u32> {
        self.index.add_source(bytes)
    }

    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()> {
        batch.check()?;
        let mut hashes = [KeyHash::default(); AHEAD];
        for (row, at) in batch.places.iter().enumerate() {
            if row.is_multiple_of(AHEAD) {
                hashes = batch.look_ahead(source, row, &self.index);
            }
            // The remainder is below the array's length: the compiler drops the check.
            #[allow(clippy::indexing_slicing)]
            let hash = hashes[row % AHEAD];
            let at = RowRef { source, at: *at };
            let Some(record) = batch.incoming(at, row, hash, &self.index, &self.wanted)? else { continue };
            let mut found = record.found;
            if self.make_room()? {
                if !self.index.holds(record.hash) {
                    continue;
                }
                found = self.index.find(record.hash, self.index.key(source, record.place)?);
            }
            let Ok(link) = u32::try_from(self.links.len()) else {
                return Err(Error::unsupported("more than 4 billion records in the logs of one file slice"));
            };
            let older = match found {
                Some(entry) => {
                    let newest = self.newest.get_mut(entry as usize).ok_or_else(|| no_records(entry))?;
                    std::mem::replace(newest, link)
                }
                None => {
                    self.index.store(None, record.hash, record.row, record.place, record.side)?;
                    self.newest.push(link);
                    NONE
                }
            };
            let kept = Kept::of(record.side);
            self.orderings.set(link as usize, record.side.ordering)?;
            self.links.push(Link { row: record.row, older, deleted: record.side.deleted, kept });
        }
        Ok(())
    }

    fn wanted(&self) -> &KeyFilter {
        &self.wanted
    }
}
