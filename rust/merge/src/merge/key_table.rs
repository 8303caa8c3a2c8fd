//! A hash table from keys to their entries, one cache line for a look-up.
//!
//! A bucket is a cache line of 64 bytes: twelve entries and, before them, one byte of the hash of each. The hash of a
//! key selects a bucket; if that is full, the next one is used, and after the last the first. At most nine entries a
//! bucket on average make that rare, and cost 7 bytes a key. Entries are never removed: an index that drops keys builds
//! another table.
//!
//! ```text
//! | 12 tags, 0 where there is no entry | 4 unused | 12 entries (u32) |
//! ```
//!
//! Most base rows have no entry. A blocked Bloom filter excludes 19 in 20 of them: each key sets three bits of one
//! word, at most ten keys a word on average. It takes a tenth of the memory of the table, and so may stay in a smaller
//! cache.

use mortice_base::trusted::prefetch;

/// Entries of a bucket.
const WAYS: usize = 12;

/// Entries of a bucket on the average, at most.
const FILL: usize = 9;

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket {
    /// Of each entry, and four that stay 0.
    tags: [u8; 16],
    entries: [u32; WAYS],
}

const _: () = assert!(size_of::<Bucket>() == 64);

/// Keys of a word of the filter on the average, at most.
const KEYS_OF_WORD: usize = 10;

/// Entries by hash.
#[derive(Default)]
pub struct KeyTable {
    buckets: Vec<Bucket>,
    filter: Vec<u64>,
}

impl KeyTable {
    /// An empty table with room for so many entries.
    #[must_use]
    pub fn with_room(entries: usize) -> Self {
        Self { buckets: vec![Bucket::default(); buckets_for(entries)], filter: vec![0; words_for(entries)] }
    }

    /// How many entries there is room for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.buckets.len() * FILL
    }

    /// The bytes of a table with room for so many entries.
    #[must_use]
    pub fn bytes_for(entries: usize) -> usize {
        buckets_for(entries) * size_of::<Bucket>() + words_for(entries) * size_of::<u64>()
    }

    /// The first bucket that the key may be in.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        place_among(hash, self.buckets.len())
    }

    /// Whether there may be an entry of that hash.
    #[inline]
    #[must_use]
    pub fn may_hold(&self, hash: u32) -> bool {
        let bits = filter_bits(hash);
        self.filter.get(place_among(hash, self.filter.len())).is_some_and(|word| word & bits == bits)
    }

    /// Prefetches the word of the filter that a key is in.
    #[inline]
    pub fn prefetch_filter(&self, hash: u32) {
        self.filter.get(place_among(hash, self.filter.len())).into_iter().for_each(prefetch);
    }

    /// The entry of which `is_it` says that it is the key's.
    #[inline]
    #[must_use]
    pub fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        for _ in 0..self.buckets.len() {
            let bucket = self.buckets.get(at)?;
            for place in bucket.with_tag(tag_of(hash)) {
                let entry = *bucket.entries.get(place)?;
                if is_it(entry) {
                    return Some(entry);
                }
            }
            if !bucket.with_tag(0).is_none() {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    /// Adds an entry, for which there has to be room.
    #[inline]
    pub fn insert(&mut self, hash: u32, entry: u32) {
        let word = place_among(hash, self.filter.len());
        if let Some(word) = self.filter.get_mut(word) {
            *word |= filter_bits(hash);
        }
        let mut at = self.home(hash);
        for _ in 0..self.buckets.len() {
            let next = self.after(at);
            let Some(bucket) = self.buckets.get_mut(at) else { return };
            if let Some(free) = bucket.with_tag(0).next()
                && let (Some(tag), Some(slot)) = (bucket.tags.get_mut(free), bucket.entries.get_mut(free))
            {
                (*tag, *slot) = (tag_of(hash), entry);
                return;
            }
            at = next;
        }
    }

    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 < self.buckets.len() { bucket + 1 } else { 0 }
    }

    /// Has the bucket of a key fetched.
    #[inline]
    pub fn prefetch(&self, hash: u32) {
        if let Some(bucket) = self.buckets.get(self.home(hash)).and_then(|bucket| bucket.tags.first()) {
            prefetch(bucket);
        }
    }

    /// An entry that may well be the key's.
    #[inline]
    #[must_use]
    pub fn guess(&self, hash: u32) -> Option<u32> {
        let bucket = self.buckets.get(self.home(hash))?;
        bucket.entries.get(bucket.with_tag(tag_of(hash)).next()?).copied()
    }
}

impl Bucket {
    /// The places of entries of that tag, the lowest first; of tag 0, those that are free. Behind the first there may
    /// be some that have another tag.
    #[inline]
    fn with_tag(&self, tag: u8) -> Matches {
        const ONES: u64 = 0x0101_0101_0101_0101;
        let ones = u128::from(ONES) << 64 | u128::from(ONES);
        let all = u128::from(ONES.wrapping_mul(u64::from(tag)));
        // A byte that is the tag becomes 0; and 0 alone loses its high bit to nobody and has it borrowed.
        let other = u128::from_le_bytes(self.tags) ^ (all << 64 | all);
        let same = other.wrapping_sub(ones) & !other & (ones << 7);
        Matches(same & (u128::MAX >> (128 - 8 * WAYS)))
    }
}

/// A high bit in the byte of each place.
struct Matches(u128);

impl Matches {
    #[inline]
    fn is_none(&self) -> bool {
        self.0 == 0
    }
}

impl Iterator for Matches {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros() as usize / 8;
        self.0 &= self.0.wrapping_sub(1);
        (place < WAYS).then_some(place)
    }
}

const fn buckets_for(entries: usize) -> usize {
    entries.div_ceil(FILL)
}

const fn words_for(entries: usize) -> usize {
    (buckets_for(entries) * FILL).div_ceil(KEYS_OF_WORD)
}

/// One of so many places, of which there are below 2^32.
#[inline]
const fn place_among(hash: u32, places: usize) -> usize {
    // Hashes of a hash range share their upper bits: the multiplication makes all bits differ.
    let spread = hash.wrapping_mul(0x9e37_79b9) as u64;
    ((spread * places as u64) >> 32) as usize
}

/// Three bits of a word; the hash is spread otherwise than to find the word.
#[inline]
const fn filter_bits(hash: u32) -> u64 {
    let spread = hash.wrapping_mul(0xc2b2_ae35);
    1 << (spread >> 26) | 1 << (spread >> 20 & 63) | 1 << (spread >> 14 & 63)
}

#[inline]
fn tag_of(hash: u32) -> u8 {
    (hash as u8).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As good as that of keys.
    fn hash(entry: u32) -> u32 {
        let mixed = (u64::from(entry) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
    }

    #[test]
    fn a_full_table_finds_every_entry_and_no_other() {
        for room in [1, 8, 9, 10, 1000, 20_000] {
            let mut table = KeyTable::with_room(room);
            let entries = u32::try_from(table.room()).unwrap();
            (0..entries).for_each(|entry| table.insert(hash(entry), entry));
            for entry in 0..entries {
                assert!(table.may_hold(hash(entry)));
                assert_eq!(table.find(hash(entry), |other| other == entry), Some(entry));
                assert_eq!(table.find(hash(entry), |_| false), None);
            }
            let passed = (entries..entries + 10_000).filter(|entry| table.may_hold(hash(*entry))).count();
            assert!(passed < 1_000, "{passed} of 10,000 that are not there");
        }
    }

    #[test]
    fn entries_of_one_hash_fill_bucket_after_bucket() {
        let mut table = KeyTable::with_room(90);
        for entry in 0..90 {
            table.insert(u32::MAX, entry);
        }
        for entry in 0..90 {
            assert_eq!(table.find(u32::MAX, |other| other == entry), Some(entry));
        }
        assert_eq!(table.find(u32::MAX, |_| false), None);
    }

    #[test]
    fn an_empty_table_has_nothing() {
        let table = KeyTable::default();
        table.prefetch(7);
        table.prefetch_filter(7);
        assert!(!table.may_hold(7));
        assert_eq!((table.find(7, |_| true), table.guess(7), table.room()), (None, None, 0));
    }

    #[test]
    fn hashes_of_a_small_part_spread_over_all_buckets() {
        let mut table = KeyTable::with_room(9_000);
        for entry in 0..9_000_u32 {
            // The upper ten bits in common.
            table.insert(hash(entry) >> 10, entry);
        }
        let empty = table.buckets.iter().filter(|bucket| bucket.tags == [0; 16]).count();
        assert!(empty < 10, "{empty} buckets of 1000 are empty");
    }
}
