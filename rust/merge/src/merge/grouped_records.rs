//! A build side that keeps all log records of each key, in commit order, deletes included.
//!
//! Cost of a record: 16 bytes and its ordering value; of a distinct key, its entry in the key index.

use bytes::Bytes;

use super::base_rows::BaseRows;
use super::hash_range::HashRange;
use super::input::{LogBatch, LogSink, RowRef};
use super::key_index::{AHEAD, KeyHash, KeyIndex};
use super::orderings::{OrderingFlags, OrderingValues};
use super::record_groups::{GroupRecord, RecordGroups};
use super::rules::{DeleteState, MergeSide};
use mortice_base::error::{Error, Result};
use mortice_formats::filter::KeyFilter;

/// No record before this one.
const NONE: u32 = u32::MAX;

/// All log records of each key.
#[derive(Default)]
pub struct GroupedRecords {
    index: KeyIndex,
    /// Of each entry of the index its newest record.
    newest: Vec<u32>,
    links: Vec<RecordLink>,
    orderings: OrderingValues,
    wanted: KeyFilter,
}

/// A record, and the one of its key before it.
#[derive(Debug, Clone, Copy)]
struct RecordLink {
    row: RowRef,
    older: u32,
    deleted: DeleteState,
    kept: OrderingFlags,
}

impl GroupedRecords {
    /// An empty index that skips data records whose keys are not wanted. Deletes are never filtered, as in Hudi.
    #[must_use]
    pub fn only(wanted: KeyFilter) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Restricts the index to the keys of a hash range, and to as many of them as fit in the budget, in bytes.
    #[must_use]
    pub fn within(mut self, range: HashRange, budget: usize) -> Self {
        self.index = KeyIndex::new(range, budget);
        self
    }

    /// The hash range that is indexed: all keys of it in the logs are known.
    #[must_use]
    pub const fn hash_range(&self) -> HashRange {
        self.index.hash_range()
    }

    /// Has each base row of a key match, not the first alone.
    #[must_use]
    pub const fn matching_every_row(mut self) -> Self {
        self.index.match_every_row();
        self
    }

    /// The keys that several base rows have matched, once for each row after the first.
    pub fn keys_matched_again(&self) -> impl Iterator<Item = &[u8]> {
        self.index.keys_matched_again()
    }

    /// Returns true if a further base row may match.
    #[must_use]
    pub const fn may_match(&self) -> bool {
        self.index.may_match()
    }

    /// The base rows that have log records, in ascending order, each with the entry of its key. Only the first base row
    /// of a key matches, unless [`Self::matching_every_row`] says otherwise.
    ///
    /// # Errors
    /// `Internal` if the base rows are given by position and the log records are not.
    pub fn probe(&mut self, rows: &BaseRows) -> Result<Vec<(usize, u32)>> {
        let mut matched = Vec::new();
        self.index.probe(rows, |row, entry, _| matched.push((row, entry)))?;
        Ok(matched)
    }

    /// Marks what these base rows match as matched. Another part of the slice merges them.
    ///
    /// # Errors
    /// As [`GroupedRecords::probe`].
    pub fn skip_base(&mut self, rows: &BaseRows) -> Result<()> {
        self.index.probe(rows, |_, _, _| ())
    }

    /// Leaves unmatched keys outside a hash range to other parts of the slice: they are not inserted here.
    pub fn restrict_inserts(&mut self, share: HashRange) {
        self.index.restrict_inserts(share);
    }

    /// The entries of keys that no base row has matched, in order of their first appearance: at most `limit`, from
    /// entry `from` on. Returns also the entry to continue at (`None` at the end).
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
            if !stored.is_matched {
                entries.push(entry);
            }
            at += 1;
        }
        (entries, Some(at))
    }

    /// Copies the records of entries to `groups`, under the numbers given with them.
    ///
    /// # Errors
    /// `Internal` if an entry has no records.
    pub fn copy_to(&self, groups: &mut RecordGroups, entries: impl IntoIterator<Item = (u64, u32)>) -> Result<()> {
        let mut newest_first = Vec::new();
        for (number, entry) in entries {
            let newest = self.newest.get(entry as usize).copied().ok_or_else(|| no_records(entry))?;
            newest_first.clear();
            let mut at = newest;
            while let Some(link) = self.links.get(at as usize) {
                newest_first.push((at, link));
                at = link.older;
            }
            groups.add(number, newest_first.iter().rev().map(|(at, link)| self.record(*at, link)))?;
        }
        Ok(())
    }

    fn record(&self, at: u32, link: &RecordLink) -> GroupRecord<'_> {
        let ordering = self.orderings.get(at as usize, link.kept);
        let side = MergeSide { ordering, is_foreign: link.kept.is_foreign, deleted: link.deleted };
        GroupRecord { row: link.row, side }
    }

    /// Bytes of all but the index.
    fn memory(&self) -> usize {
        self.links.capacity() * size_of::<RecordLink>()
            + self.newest.capacity() * 4
            + self.orderings.memory(self.links.len())
    }

    /// Makes room for one more record within the budget. Returns true if entries have moved.
    fn make_room(&mut self) -> Result<bool> {
        let mut moved = false;
        loop {
            let is_full = self.links.len() == self.links.capacity();
            // While a vector grows there are two of it, the new one twice as large.
            let others = self.memory() + if is_full { self.links.len() * 2 * size_of::<RecordLink>() } else { 0 };
            if self.index.has_room(|| others) && !(is_full && self.index.is_tight(others)) {
                return Ok(moved);
            }
            self.narrow()?;
            moved = true;
        }
    }

    /// Drops half of the keys, with their records.
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

impl LogSink for GroupedRecords {
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
            // Another pass or part has its key.
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
            let kept = OrderingFlags::from_side(record.side);
            self.orderings.set(link as usize, record.side.ordering)?;
            self.links.push(RecordLink { row: record.row, older, deleted: record.side.deleted, kept });
        }
        Ok(())
    }

    fn wanted(&self) -> &KeyFilter {
        &self.wanted
    }
}
