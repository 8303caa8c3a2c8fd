//! The latest record of each key, in order of first appearance. Keys stay where they lie, in the sources' bytes.
//!
//! Cost of a distinct key: an entry of 24 bytes, its ordering value (8 or 16 bytes; text is kept) and about 5 bytes of
//! hash table.

use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use super::input::RowRef;
use super::orderings::{Kept, Orderings};
use super::rules::{Deleted, Side};
use crate::error::{Error, Result};

/// The record of one key.
#[derive(Debug, Clone, Copy)]
struct Entry {
    row: RowRef,
    key_at: u32,
    key_len: u32,
    hash: u32,
    state: u32,
}

const DELETED_BY_ROW: u32 = 1;
const DELETED_BY_BLOCK: u32 = 2;
const NO_ORDERING: u32 = 4;
const TAKEN: u32 = 8;
const FOREIGN_ORDERING: u32 = 16;

/// A record as it is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored<'a> {
    pub(super) row: RowRef,
    pub(super) side: Side<'a>,
    /// A base row has used it up.
    pub(super) taken: bool,
}

/// The hash of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyHash(u32);

/// A place of a key in the source that its record lies in.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyPlace {
    pub(super) at: u32,
    pub(super) len: u32,
}

impl KeyPlace {
    /// Of `offset << 32 | length`.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) const fn of(packed: u64) -> Self {
        Self { at: (packed >> 32) as u32, len: packed as u32 }
    }
}

/// Keys to entries.
#[derive(Default)]
pub(super) struct KeyIndex {
    sources: Vec<Bytes>,
    entries: Vec<Entry>,
    orderings: Orderings,
    table: HashTable<u32>,
    hasher: FixedState,
}

impl KeyIndex {
    /// Makes the bytes of one more source known; its ordinal.
    pub(super) fn add_source(&mut self, bytes: Bytes) -> Result<u32> {
        let ordinal = u32::try_from(self.sources.len());
        self.sources.push(bytes);
        ordinal.map_err(|_| Error::unsupported("more than 4 billion log blocks in one file slice"))
    }

    /// The key at a place of a source.
    pub(super) fn key(&self, source: u32, place: KeyPlace) -> Result<&[u8]> {
        key_in(&self.sources, source, place)
            .ok_or_else(|| Error::corrupt("a record key outside of its block").at_offset(u64::from(place.at)))
    }

    /// What a key hashes to, for [`KeyIndex::find`] and [`KeyIndex::store`].
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash(self.hasher.hash_one(key) as u32)
    }

    /// The entry of a key.
    #[inline]
    pub(super) fn find(&self, hash: KeyHash, key: &[u8]) -> Option<u32> {
        self.table.find(spread(hash.0), |index| self.is_key(*index, hash.0, key)).copied()
    }

    #[inline]
    fn is_key(&self, index: u32, hash: u32, key: &[u8]) -> bool {
        self.entries.get(index as usize).is_some_and(|entry| {
            let place = KeyPlace { at: entry.key_at, len: entry.key_len };
            entry.hash == hash && key_in(&self.sources, entry.row.source, place) == Some(key)
        })
    }

    /// What is stored under an entry.
    pub(super) fn stored(&self, index: u32) -> Option<Stored<'_>> {
        let entry = self.entries.get(index as usize)?;
        let is = |bit: u32| entry.state & bit != 0;
        let kept = Kept { is_value: !is(NO_ORDERING), is_foreign: is(FOREIGN_ORDERING) };
        let ordering = self.orderings.get(index as usize, kept);
        let deleted = match entry.state & (DELETED_BY_ROW | DELETED_BY_BLOCK) {
            0 => Deleted::No,
            DELETED_BY_ROW => Deleted::ByRow,
            _ => Deleted::ByBlock,
        };
        Some(Stored { row: entry.row, side: Side { ordering, is_foreign: kept.is_foreign, deleted }, taken: is(TAKEN) })
    }

    /// Stores a record: under its key's entry, or a new one at the end.
    pub(super) fn store(
        &mut self,
        index: Option<u32>,
        hash: KeyHash,
        row: RowRef,
        place: KeyPlace,
        side: Side<'_>,
    ) -> Result<()> {
        let kept = Kept::of(side);
        let state = if kept.is_value { 0 } else { NO_ORDERING }
            | if kept.is_foreign { FOREIGN_ORDERING } else { 0 }
            | match side.deleted {
                Deleted::No | Deleted::Flagged => 0,
                Deleted::ByRow => DELETED_BY_ROW,
                Deleted::ByBlock => DELETED_BY_BLOCK,
            };
        let entry = Entry { row, key_at: place.at, key_len: place.len, hash: hash.0, state };
        if let Some(index) = index {
            if let Some(slot) = self.entries.get_mut(index as usize) {
                *slot = entry;
            }
            self.orderings.set(index as usize, side.ordering);
            return Ok(());
        }
        let Ok(next) = u32::try_from(self.entries.len()) else {
            return Err(Error::unsupported("more than 4 billion keys in the logs of one file slice"));
        };
        self.entries.push(entry);
        self.orderings.set(next as usize, side.ordering);
        let entries = &self.entries;
        let hash_of = |index: &u32| entries.get(*index as usize).map_or(0, |entry| spread(entry.hash));
        self.table.insert_unique(spread(hash.0), next, hash_of);
        Ok(())
    }

    /// Marks an entry as used up by a base row.
    pub(super) fn take(&mut self, index: u32) {
        if let Some(entry) = self.entries.get_mut(index as usize) {
            entry.state |= TAKEN;
        }
    }

    /// Distinct keys.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

fn key_in(sources: &[Bytes], source: u32, place: KeyPlace) -> Option<&[u8]> {
    let start = place.at as usize;
    sources.get(source as usize)?.get(start..start.checked_add(place.len as usize)?)
}

/// The table wants 64 bits with the top ones meaningful; entries keep 32.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
