//! The latest record of each key, in order of first appearance. Keys are not copied: they stay in the bytes of their
//! source.
//!
//! Cost of a distinct key: an entry of 16 bytes, its ordering value (8 or 16 bytes; strings are copied) and 8 bytes of
//! hash table, at most twice that while there is spare capacity. Hashes are not stored but computed again from the
//! keys, which is faster than reading them from memory. An index may have a budget: before it grows past it, it drops
//! the half of its keys with the higher hashes and takes no more of those; another pass over the logs indexes them.

use arrow_array::{Array, StringArray};
use bytes::Bytes;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::ops::Range;

use super::base_rows::{BaseRows, NUMBER_LEN};
use super::hash_range::HashRange;
use super::input::RowRef;
use super::key_table::KeyTable;
use super::orderings::{OrderingFlags, OrderingValues};
use super::rules::{DeleteState, MergeSide};
use mortice_base::error::{Error, Result};
use mortice_base::trusted::prefetch;

/// The record of one key.
#[derive(Debug, Clone, Copy)]
struct KeyEntry {
    row: RowRef,
    key_at: u32,
    /// The length of the key, above the bits of its state.
    key_len_and_state: u32,
}

impl KeyEntry {
    const fn place(&self) -> KeyRange {
        KeyRange { at: self.key_at, len: self.key_len_and_state >> STATE_BITS }
    }

    const fn is(&self, state: u32) -> bool {
        self.key_len_and_state & state != 0
    }
}

const STATE_BITS: u32 = 4;
const DELETED_BY_ROW: u32 = 1;
const DELETED_BY_BLOCK: u32 = 2;
/// By a block that orders the key by a value of another class than the column's. No row has one.
const DELETED_BY_FOREIGN: u32 = DELETED_BY_ROW | DELETED_BY_BLOCK;
const NO_ORDERING: u32 = 4;
const MATCHED: u32 = 8;

/// A stored record.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredRecord<'a> {
    pub(super) row: RowRef,
    pub(super) side: MergeSide<'a>,
    /// Whether a base row has matched it.
    pub(super) is_matched: bool,
}

/// The hash of a key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyHash(u32);

/// Where a key is in the bytes of the source of its record.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyRange {
    pub(super) at: u32,
    pub(super) len: u32,
}

impl KeyRange {
    /// Of `offset << 32 | length`.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) const fn from_packed(packed: u64) -> Self {
        Self { at: (packed >> 32) as u32, len: packed as u32 }
    }
}

/// Keys that an index holds regardless of its budget.
const LEAST_KEYS: usize = 64;

/// Up to this many keys, capacity grows faster.
const FEW_KEYS: usize = 1 << 16;

/// New keys between two checks of the memory that strings take.
const LOOK_EVERY: usize = 1024;

/// Keys that are looked up together.
pub(super) const AHEAD: usize = 64;

/// Base rows that are looked up together. Most have no entry: of so many, enough have one to keep memory busy.
const BASE_ROWS_AHEAD: usize = 128;

const _: () = assert!(size_of::<KeyEntry>() == 16);

/// An index from keys to entries.
pub(super) struct KeyIndex {
    sources: Vec<Bytes>,
    entries: Vec<KeyEntry>,
    orderings: OrderingValues,
    table: KeyTable,
    hasher: FixedState,
    /// Entries that base rows have matched.
    matched: usize,
    /// Whether each base row of a key matches, not the first alone.
    every_row: bool,
    /// Entries that base rows have matched again, once for each of these rows.
    matched_again: Vec<u32>,
    /// Entries by row number, once base rows are looked up by position.
    numbers: Option<Vec<(u64, u32)>>,
    range: HashRange,
    /// Bytes that the index may take, without those of the sources.
    budget: usize,
}

impl Default for KeyIndex {
    fn default() -> Self {
        Self::new(HashRange::ALL, usize::MAX)
    }
}

impl KeyIndex {
    /// An index of the keys of a hash range, or of as many of them as fit in the budget, in bytes.
    pub(super) fn new(range: HashRange, budget: usize) -> Self {
        Self {
            sources: Vec::new(),
            entries: Vec::new(),
            orderings: OrderingValues::default(),
            table: KeyTable::default(),
            hasher: FixedState::default(),
            matched: 0,
            every_row: false,
            matched_again: Vec::new(),
            numbers: None,
            range,
            budget,
        }
    }

    /// The hash range that is indexed: all keys of it are known.
    pub(super) const fn hash_range(&self) -> HashRange {
        self.range
    }

    /// Returns true if a key of that hash is in the indexed range.
    #[inline]
    pub(super) const fn holds(&self, hash: KeyHash) -> bool {
        self.range.holds(hash.0)
    }

    /// Makes room for one more key within the budget. `others` returns the bytes that other data of the same budget
    /// takes. Returns false if there is no room: then [`KeyIndex::narrow`] makes some.
    #[inline]
    pub(super) fn has_room(&mut self, others: impl FnOnce() -> usize) -> bool {
        let len = self.entries.len();
        let is_full = len == self.entries.capacity();
        !(is_full || len.is_multiple_of(LOOK_EVERY)) || self.grow(is_full, others())
    }

    /// Returns true if the index and `others`, the bytes of other data of the same budget, take more than the budget.
    pub(super) fn is_tight(&self, others: usize) -> bool {
        let len = self.entries.len();
        len >= LEAST_KEYS && self.range.half().is_some() && self.memory(len) > self.budget.saturating_sub(others)
    }

    fn grow(&mut self, is_full: bool, others: usize) -> bool {
        let len = self.entries.len();
        let budget = self.budget.saturating_sub(others);
        let may_narrow = len >= LEAST_KEYS && self.range.half().is_some();
        if !is_full {
            return !may_narrow || self.memory(len) <= budget;
        }
        // Twice as many, or four times as long as there are few, since each growth hashes all keys again; or as many as
        // fit.
        let most = if len < FEW_KEYS { len * 3 } else { len };
        let steps = [most, len, len / 2, len / 4, len / 8].map(|more| len + more.max(LEAST_KEYS));
        let fitting = steps.into_iter().find(|keys| self.memory(*keys) <= budget);
        let Some(keys) = fitting.or((!may_narrow).then_some(len + LEAST_KEYS)) else { return false };
        self.entries.reserve_exact(keys - len);
        self.orderings.reserve(keys);
        if keys > self.table.room() {
            self.build_table(keys);
        }
        true
    }

    /// Bytes that the index takes with capacity for so many keys.
    fn memory(&self, keys: usize) -> usize {
        let keys = keys.max(self.entries.capacity());
        let table = KeyTable::bytes_for(keys.max(self.table.room()));
        (keys * size_of::<KeyEntry>()).saturating_add(table).saturating_add(self.orderings.memory(keys))
    }

    /// Drops the keys that are not in the lower half of the hash range. Calls `moved` with the old and the new ordinal
    /// of each entry that stays, in order.
    pub(super) fn narrow(&mut self, mut moved: impl FnMut(usize, usize)) -> Result<()> {
        let half = self.range.half();
        self.range = half.ok_or_else(|| Error::internal("no room in the key index for the keys of one hash"))?;
        let mut entries = std::mem::take(&mut self.entries);
        let (mut at, mut kept) = (0, 0);
        entries.retain(|entry| {
            let stays = self.range.holds(self.hash_of(entry));
            if stays {
                self.orderings.shift(at, kept);
                moved(at, kept);
                kept += 1;
            }
            at += 1;
            stays
        });
        entries.shrink_to_fit();
        self.entries = entries;
        self.orderings.truncate(kept);
        self.build_table(kept);
        Ok(())
    }

    /// Rebuilds the table with capacity for so many keys.
    fn build_table(&mut self, keys: usize) {
        // The old table is freed before the new one is allocated.
        self.table = KeyTable::default();
        let mut table = KeyTable::with_room(keys);
        let mut index = 0_u32;
        for entries in self.entries.chunks(AHEAD) {
            entries.iter().for_each(|entry| self.prefetch_key_of(entry));
            let mut hashes = [0; AHEAD];
            for (entry, slot) in entries.iter().zip(&mut hashes) {
                *slot = self.hash_of(entry);
                table.prefetch(*slot);
                table.prefetch_filter(*slot);
            }
            for hash in hashes.into_iter().take(entries.len()) {
                table.insert(hash, index);
                index += 1;
            }
        }
        self.table = table;
    }

    /// The hash of the key of an entry.
    fn hash_of(&self, entry: &KeyEntry) -> u32 {
        let key = key_in(&self.sources, entry.row.source, entry.place());
        // Every key was read through [`KeyIndex::key`] before it was stored.
        debug_assert!(key.is_some(), "the key of {entry:?} is outside of its source");
        key.map_or(0, |key| self.hash(key).0)
    }

    /// Adds the bytes of one more source. Returns its ordinal.
    pub(super) fn add_source(&mut self, bytes: Bytes) -> Result<u32> {
        let ordinal = u32::try_from(self.sources.len());
        self.sources.push(bytes);
        ordinal.map_err(|_| Error::unsupported("more than 4 billion log blocks in one file slice"))
    }

    /// The key at this place of a source.
    pub(super) fn key(&self, source: u32, place: KeyRange) -> Result<&[u8]> {
        key_in(&self.sources, source, place)
            .ok_or_else(|| Error::corrupt("a record key outside of its block").at_offset(u64::from(place.at)))
    }

    /// The hash of a key, for [`KeyIndex::find`] and [`KeyIndex::store`].
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash(self.hasher.hash_one(key) as u32)
    }

    /// The hashes of the keys that are looked up next, [`AHEAD`] at most; any hash for a key that is null. Prefetches
    /// what the look-ups read, for all keys together: the buckets, then the entries in them, then the keys of these.
    pub(super) fn look_ahead<'k>(&self, keys: impl Iterator<Item = Option<&'k [u8]>>) -> [KeyHash; AHEAD] {
        let mut hashes = [KeyHash(0); AHEAD];
        let mut count = 0;
        for (key, slot) in keys.zip(&mut hashes) {
            *slot = key.map_or(KeyHash(0), |key| self.hash(key));
            self.table.prefetch(slot.0);
            // A new key is added there.
            self.table.prefetch_filter(slot.0);
            count += 1;
        }
        self.prefetch_likely::<AHEAD>(hashes.iter().take(count).copied());
        hashes
    }

    /// Prefetches the entries that keys of these hashes probably have, and then the keys of the entries; of `N` hashes
    /// at most, whose buckets were prefetched before.
    #[inline]
    fn prefetch_likely<const N: usize>(&self, hashes: impl Iterator<Item = KeyHash>) {
        let mut guesses = [None; N];
        for (hash, guess) in hashes.zip(&mut guesses) {
            *guess = self.guess(hash);
        }
        guesses.into_iter().flatten().for_each(|index| self.prefetch_key(index));
    }

    /// The entry that the key probably has; prefetches it.
    #[inline]
    fn guess(&self, hash: KeyHash) -> Option<u32> {
        let index = self.table.guess(hash.0)?;
        self.entries.get(index as usize).into_iter().for_each(prefetch_entry);
        self.orderings.prefetch(index as usize);
        Some(index)
    }

    /// Prefetches the key of an entry that is in the cache.
    #[inline]
    fn prefetch_key(&self, index: u32) {
        self.entries.get(index as usize).into_iter().for_each(|entry| self.prefetch_key_of(entry));
    }

    #[inline]
    fn prefetch_key_of(&self, entry: &KeyEntry) {
        let key = key_in(&self.sources, entry.row.source, entry.place());
        // A short key may be in two cache lines.
        for end in [key.and_then(<[u8]>::first), key.and_then(<[u8]>::last)] {
            end.into_iter().for_each(prefetch);
        }
    }

    /// The entry of a key.
    #[inline]
    pub(super) fn find(&self, hash: KeyHash, key: &[u8]) -> Option<u32> {
        self.table.find(hash.0, |index| self.is_key(index, key))
    }

    #[inline]
    fn is_key(&self, index: u32, key: &[u8]) -> bool {
        let entry = self.entries.get(index as usize);
        entry.is_some_and(|entry| key_in(&self.sources, entry.row.source, entry.place()) == Some(key))
    }

    /// The record of an entry.
    #[inline]
    pub(super) fn stored(&self, index: u32) -> Option<StoredRecord<'_>> {
        let entry = self.entries.get(index as usize)?;
        let (by_row, by_block) = (entry.is(DELETED_BY_ROW), entry.is(DELETED_BY_BLOCK));
        let deleted = match (by_row, by_block) {
            (false, false) => DeleteState::No,
            (true, false) => DeleteState::ByRow,
            (_, true) => DeleteState::ByBlock,
        };
        let kept = OrderingFlags { is_value: !entry.is(NO_ORDERING), is_foreign: by_row && by_block };
        let ordering = self.orderings.get(index as usize, kept);
        let side = MergeSide { ordering, is_foreign: kept.is_foreign, deleted };
        Some(StoredRecord { row: entry.row, side, is_matched: entry.is(MATCHED) })
    }

    /// Stores a record in the entry of its key, or in a new one at the end.
    pub(super) fn store(
        &mut self,
        index: Option<u32>,
        hash: KeyHash,
        row: RowRef,
        place: KeyRange,
        side: MergeSide<'_>,
    ) -> Result<()> {
        let kept = OrderingFlags::from_side(side);
        let deleted = match side.deleted {
            DeleteState::No | DeleteState::Flagged => 0,
            DeleteState::ByRow => DELETED_BY_ROW,
            DeleteState::ByBlock if kept.is_foreign => DELETED_BY_FOREIGN,
            DeleteState::ByBlock => DELETED_BY_BLOCK,
        };
        let state = deleted | if kept.is_value { 0 } else { NO_ORDERING };
        if place.len >> (u32::BITS - STATE_BITS) != 0 {
            let message = format!("unsupported record key of {} bytes (less than 256 MiB)", place.len);
            return Err(Error::unsupported(message).at_offset(u64::from(place.at)));
        }
        let key_len_and_state = place.len << STATE_BITS | state;
        let entry = KeyEntry { row, key_at: place.at, key_len_and_state };
        if let Some(index) = index {
            let slot = self.entries.get_mut(index as usize);
            *slot.ok_or_else(|| Error::internal(format_args!("the key index has no entry {index}")))? = entry;
            return self.orderings.set(index as usize, side.ordering);
        }
        let Ok(next) = u32::try_from(self.entries.len()) else {
            return Err(Error::unsupported("more than 4 billion keys in the logs of one file slice"));
        };
        self.entries.push(entry);
        self.orderings.set(next as usize, side.ordering)?;
        if self.table.room() < self.entries.len() {
            self.build_table(self.entries.capacity());
        }
        self.table.insert(hash.0, next);
        Ok(())
    }

    /// Looks up base rows. Calls `on_match` with each row that has an entry, in ascending order, the entry and its
    /// record. Only the first base row of a key matches.
    pub(super) fn probe(
        &mut self,
        rows: &BaseRows,
        mut on_match: impl FnMut(usize, u32, StoredRecord<'_>),
    ) -> Result<()> {
        match rows {
            _ if !self.may_match() => {}
            BaseRows::Keys(keys) => {
                for first in (0..keys.len()).step_by(BASE_ROWS_AHEAD) {
                    self.probe_some(keys, first..keys.len().min(first + BASE_ROWS_AHEAD), &mut on_match);
                }
            }
            BaseRows::Numbers(rows) => {
                let numbers = self.take_numbers()?;
                let first = numbers.partition_point(|(number, _)| *number < rows.start);
                for (number, index) in numbers.iter().skip(first).take_while(|(number, _)| *number < rows.end) {
                    let row = usize::try_from(number - rows.start);
                    let row = row.map_err(|_| Error::internal("a batch of base rows of more than memory holds"))?;
                    if let Some(stored) = self.mark_matched(*index) {
                        on_match(row, *index, stored);
                    }
                }
                self.numbers = Some(numbers);
            }
            BaseRows::NumberList(rows) => {
                let numbers = self.take_numbers()?;
                let mut left = numbers.as_slice();
                for (row, wanted) in rows.values().iter().enumerate() {
                    let (_, rest) = left.split_at(left.partition_point(|(number, _)| number < wanted));
                    left = rest;
                    let Some((number, index)) = left.first() else { break };
                    if number == wanted
                        && let Some(stored) = self.mark_matched(*index)
                    {
                        on_match(row, *index, stored);
                    }
                }
                self.numbers = Some(numbers);
            }
        }
        Ok(())
    }

    /// Looks up some rows, [`BASE_ROWS_AHEAD`] at most. Most have no entry, which the Bloom filter shows.
    fn probe_some(
        &mut self,
        keys: &StringArray,
        rows: Range<usize>,
        on_match: &mut impl FnMut(usize, u32, StoredRecord<'_>),
    ) {
        let mut hashes = [KeyHash(0); BASE_ROWS_AHEAD];
        for (row, slot) in rows.clone().zip(&mut hashes) {
            *slot = key_of_row(keys, row).map_or(KeyHash(0), |key| self.hash(key));
            self.table.prefetch_filter(slot.0);
        }
        let mut likely = [(0, KeyHash(0)); BASE_ROWS_AHEAD];
        let mut count = 0;
        for (row, hash) in rows.zip(hashes) {
            // The next row overwrites one that is not in the filter, without a branch. There are as many slots as rows.
            debug_assert!(count < BASE_ROWS_AHEAD, "more than {BASE_ROWS_AHEAD} base rows at a time");
            if let Some(slot) = likely.get_mut(count) {
                *slot = (row, hash);
                count += usize::from(self.table.may_hold(hash.0));
            }
        }
        let likely = || likely.iter().take(count);
        likely().for_each(|(_, hash)| self.table.prefetch(hash.0));
        self.prefetch_likely::<BASE_ROWS_AHEAD>(likely().map(|(_, hash)| *hash));
        for (row, hash) in likely() {
            let index = key_of_row(keys, *row).and_then(|key| self.find(*hash, key));
            if let Some((index, stored)) = index.and_then(|index| Some((index, self.mark_matched(index)?))) {
                on_match(*row, index, stored);
            }
        }
    }

    /// Marks keys outside a hash range as matched: other parts of the slice insert them.
    pub(super) fn restrict_inserts(&mut self, share: HashRange) {
        for index in 0..self.entries.len() {
            let is_outside = |entry: &KeyEntry| !entry.is(MATCHED) && !share.holds(self.hash_of(entry));
            let is_dropped = self.entries.get(index).is_some_and(is_outside);
            if let Some(entry) = self.entries.get_mut(index).filter(|_| is_dropped) {
                entry.key_len_and_state |= MATCHED;
                self.matched += 1;
            }
        }
    }

    /// Marks an entry as matched by a base row and returns its record; `None` if it was matched before, unless every
    /// base row matches.
    #[inline]
    fn mark_matched(&mut self, index: u32) -> Option<StoredRecord<'_>> {
        let entry = self.entries.get_mut(index as usize)?;
        if !entry.is(MATCHED) {
            entry.key_len_and_state |= MATCHED;
            self.matched += 1;
        } else if self.every_row {
            self.matched_again.push(index);
        } else {
            return None;
        }
        self.stored(index)
    }

    /// Takes the entries by the row numbers that are their keys; the caller puts them back.
    fn take_numbers(&mut self) -> Result<Vec<(u64, u32)>> {
        match self.numbers.take() {
            Some(numbers) => Ok(numbers),
            None => self.by_number(),
        }
    }

    /// The entries by the row numbers that are their keys.
    fn by_number(&self) -> Result<Vec<(u64, u32)>> {
        let number = |entry: &KeyEntry| {
            let bytes: [u8; NUMBER_LEN] = key_in(&self.sources, entry.row.source, entry.place())?.try_into().ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        let no_number = || Error::internal("a key that is not a row position in an index by row positions");
        let numbers =
            (0_u32..).zip(&self.entries).map(|(index, entry)| Ok((number(entry).ok_or_else(no_number)?, index)));
        let mut numbers: Vec<(u64, u32)> = numbers.collect::<Result<_>>()?;
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Has each base row of a key match, not the first alone.
    pub(super) const fn match_every_row(&mut self) {
        self.every_row = true;
    }

    /// Whether a further base row may match an entry.
    pub(super) const fn may_match(&self) -> bool {
        self.every_row && !self.entries.is_empty() || self.matched < self.entries.len()
    }

    /// The keys that several base rows have matched, once for each row after the first.
    pub(super) fn keys_matched_again(&self) -> impl Iterator<Item = &[u8]> {
        let entries = self.matched_again.iter().filter_map(|index| self.entries.get(*index as usize));
        entries.filter_map(|entry| key_in(&self.sources, entry.row.source, entry.place()))
    }

    /// Distinct keys.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

fn key_of_row(keys: &StringArray, row: usize) -> Option<&[u8]> {
    keys.is_valid(row).then(|| keys.value(row).as_bytes())
}

#[inline]
fn prefetch_entry(entry: &KeyEntry) {
    prefetch(&entry.row.source);
}

fn key_in(sources: &[Bytes], source: u32, place: KeyRange) -> Option<&[u8]> {
    let start = place.at as usize;
    sources.get(source as usize)?.get(start..start.checked_add(place.len as usize)?)
}
