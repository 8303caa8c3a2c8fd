//! A Bloom filter that keys are added to (`SimpleBloomFilter`, `InternalDynamicBloomFilter`).
//!
//! A dynamic filter grows by a row when the last one has its number of keys, up to a number of keys in all. From then
//! on the rows take keys in turns, and more keys are found that were never added.

use arrow_array::builder::LargeBinaryBuilder;

use super::bits::Bits;
use super::filter::{BloomFilter, BloomType};
use super::hash::{HashKind, Hashing};
use mortice_base::error::{Error, Result};

/// The size of a filter; the defaults are Hudi's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BloomOptions {
    /// `hoodie.bloom.index.filter.type`.
    pub kind: BloomType,
    /// Keys per row: `hoodie.index.bloom.num_entries`.
    pub entries: u32,
    /// The rate of false positives: `hoodie.index.bloom.fpp`.
    pub error_rate: f64,
    /// Keys up to which a dynamic filter grows: `hoodie.bloom.index.filter.dynamic.max.entries`.
    pub max_entries: u32,
}

impl Default for BloomOptions {
    fn default() -> Self {
        Self { kind: BloomType::DynamicV0, entries: 60_000, error_rate: 1e-9, max_entries: 100_000 }
    }
}

impl BloomOptions {
    /// Bits of a row, and hashes of a key. Refuses numbers that make no filter.
    fn size(&self) -> Result<(u32, u32)> {
        let Self { entries, error_rate, .. } = *self;
        if entries == 0 || !(error_rate > 0.0 && error_rate < 1.0) {
            let message = format!(
                "Bloom filter of {entries} entries with a false positive rate of {error_rate}: there must be at least 1 entry, and the rate must be above 0 and below 1"
            );
            return Err(Error::invalid_argument(message));
        }
        let log2 = std::f64::consts::LN_2;
        let bits = (f64::from(entries) * (-error_rate.ln() / (log2 * log2))).ceil();
        if bits > f64::from(i32::MAX) {
            return Err(Error::invalid_argument(format!(
                "Bloom filter of {entries} entries would have {bits} bits; Hudi counts them in an int: set fewer entries"
            )));
        }
        let count = (log2 * bits / f64::from(entries)).ceil();
        Ok((bits as u32, count as u32))
    }
}

/// A filter that keys are added to.
#[derive(Debug)]
pub struct BloomBuilder {
    /// Has no row of bits while keys wait.
    filter: BloomFilter,
    /// The first keys. The bits of a filter have the size of that of a full file, and many files that are open at the
    /// same time have few keys each.
    waiting: Option<LargeBinaryBuilder>,
    max_entries: u32,
    /// Once the filter has all its rows: the row for the next key.
    turn: Option<usize>,
    scratch: [Vec<u32>; KEYS],
}

/// Keys that are added at the same time.
const KEYS: usize = 4;

/// Bytes of keys that wait.
const WAITING_BYTES: usize = 16 << 10;

impl BloomBuilder {
    /// Creates an empty filter.
    ///
    /// # Errors
    /// `InvalidArgument` for numbers that make no filter.
    pub fn new(options: &BloomOptions) -> Result<Self> {
        let BloomOptions { kind, entries, max_entries, .. } = *options;
        let (bits, count) = options.size()?;
        let hashing = Hashing { kind: HashKind::Murmur, count, bits };
        let counts = if kind == BloomType::Simple { [0; 2] } else { [entries, 0] };
        let filter = BloomFilter { kind, hashing, counts, rows: Vec::new() };
        let waiting = Some(LargeBinaryBuilder::with_capacity(0, 0));
        Ok(Self { filter, waiting, max_entries, turn: None, scratch: Default::default() })
    }

    /// Adds a key.
    ///
    /// # Errors
    /// `InvalidArgument` for the empty key, which Hudi refuses as well.
    pub fn add(&mut self, key: &[u8]) -> Result<()> {
        self.add_all(std::iter::once(key))
    }

    /// Adds keys, several at a time.
    ///
    /// # Errors
    /// As for [`Self::add`]: the keys after the empty one are not added.
    pub fn add_all<'a>(&mut self, keys: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let mut has_empty = false;
        self.insert_all(keys.take_while(|key| {
            has_empty = key.is_empty();
            !has_empty
        }));
        if has_empty {
            return Err(Error::invalid_argument("an empty record key cannot be added to a Bloom filter"));
        }
        Ok(())
    }

    fn insert_all<'a>(&mut self, mut keys: impl Iterator<Item = &'a [u8]>) {
        while let Some(waiting) = &mut self.waiting {
            let Some(key) = keys.next() else { return };
            waiting.append_value(key);
            if waiting.values_slice().len() > WAITING_BYTES {
                self.begin();
            }
        }
        while let Some(first) = keys.next() {
            match (keys.next(), keys.next(), keys.next()) {
                (Some(second), Some(third), Some(fourth)) => self.insert([first, second, third, fourth]),
                (second, third, _) => {
                    return [Some(first), second, third].into_iter().flatten().for_each(|key| self.insert([key]));
                }
            }
        }
    }

    /// Creates the first row of bits, for the keys that wait.
    fn begin(&mut self) {
        if let Some(mut waiting) = self.waiting.take() {
            self.filter.rows.push(Bits::new(self.filter.hashing.bits));
            self.insert_all(waiting.finish().iter().flatten());
        }
    }

    fn insert<const COUNT: usize>(&mut self, keys: [&[u8]; COUNT]) {
        let rows = keys.map(|_| self.row_for_key());
        let mut scratch: [Vec<u32>; COUNT] =
            std::array::from_fn(|at| self.scratch.get_mut(at).map(std::mem::take).unwrap_or_default());
        let hashing = self.filter.hashing;
        hashing.murmur_of(keys, &mut scratch, |number, bit| {
            let row = rows.get(number).and_then(|row| self.filter.rows.get_mut(*row));
            if let Some(row) = row {
                row.set(bit);
            }
        });
        self.scratch.iter_mut().zip(scratch).for_each(|(own, used)| *own = used);
    }

    /// The row for the next key, which is counted.
    fn row_for_key(&mut self) -> usize {
        let rows = self.filter.rows.len();
        if self.filter.kind == BloomType::Simple {
            return 0;
        }
        let [per_row, in_last] = self.filter.counts;
        let row = match self.turn {
            Some(turn) => {
                self.turn = Some((turn + 1) % rows);
                turn % rows
            }
            None if in_last < per_row => rows.saturating_sub(1),
            None if (rows as u64).saturating_mul(per_row.into()) < self.max_entries.into() => {
                self.filter.rows.push(Bits::new(self.filter.hashing.bits));
                self.filter.counts = [per_row, 1];
                return rows;
            }
            // Hudi begins the turns with the key after this one.
            None => {
                self.turn = Some(0);
                0
            }
        };
        self.filter.counts = [per_row, in_last.saturating_add(1)];
        row
    }

    /// The filter of the keys added.
    #[must_use]
    pub fn finish(mut self) -> BloomFilter {
        self.begin();
        self.filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 10,000 keys of Hudi's own tests: UUIDs, 16 bytes each.
    fn keys() -> Vec<String> {
        let packed = include_bytes!("../../../../tests/data/format/bloom_filter/keys.uuids");
        let (uuids, rest) = packed.as_chunks::<16>();
        assert!(rest.is_empty());
        let key = |uuid: &[u8; 16]| {
            let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        };
        uuids.iter().map(key).collect()
    }

    fn filter(keys: &[String], options: &BloomOptions) -> BloomFilter {
        let mut builder = BloomBuilder::new(options).unwrap();
        builder.add_all(keys.iter().map(String::as_bytes)).unwrap();
        builder.finish()
    }

    fn options(kind: BloomType, entries: u32, max_entries: u32) -> BloomOptions {
        BloomOptions { kind, entries, error_rate: 0.000_001, max_entries }
    }

    const SIMPLE: &str = include_str!("../../../../tests/data/format/bloom_filter/simple_1000_murmur.txt");
    const DYNAMIC: &str = include_str!("../../../../tests/data/format/bloom_filter/dynamic_200_1000_murmur.txt");
    const JENKINS: &str = include_str!("../../../../tests/data/format/bloom_filter/dynamic_1000_5000_jenkins.txt");

    /// Filters that Hadoop's classes wrote, which Hudi's tests compare its own with. They have far more keys than
    /// planned for, so that the dynamic one is past its growth.
    #[test]
    fn filters_are_byte_for_byte_hudis() {
        let keys = keys();
        for (text, options) in
            [(SIMPLE, options(BloomType::Simple, 1000, 0)), (DYNAMIC, options(BloomType::DynamicV0, 200, 1000))]
        {
            let filter = filter(&keys, &options);
            assert!(filter.to_text() == text.trim_end(), "{options:?}");
            assert_eq!(BloomFilter::parse(text, options.kind).unwrap(), filter);
        }
    }

    #[test]
    fn keys_are_found_in_filters_of_hudi() {
        let keys = keys();
        for (text, kind) in
            [(SIMPLE, BloomType::Simple), (DYNAMIC, BloomType::DynamicV0), (JENKINS, BloomType::DynamicV0)]
        {
            let filter = BloomFilter::parse(text, kind).unwrap();
            assert!(keys.iter().all(|key| filter.may_contain(key)), "{kind:?}");
            assert_eq!(filter.to_text(), text.trim_end());
        }
        // The fuller a filter, the more keys it has wrongly; this one has twice the keys that it was made for.
        let jenkins = BloomFilter::parse(JENKINS, BloomType::DynamicV0).unwrap();
        let others = (0..10_000).filter(|number| jenkins.may_contain(&format!("no key {number}"))).count();
        assert!(others < 1000, "{others} of 10,000");
    }

    #[test]
    fn other_keys_are_mostly_not_found() {
        let keys: Vec<String> = (0..60_001).map(|number| format!("key {number}")).collect();
        let filter = filter(&keys, &BloomOptions::default());
        assert!(keys.iter().all(|key| filter.may_contain(key)));
        assert!(!(0..10_000).any(|number| filter.may_contain(&format!("no key {number}"))));
        assert_eq!((filter.rows.len(), filter.counts), (2, [60_000, 1]));
        // As measured in footers of Hudi 1.2.
        assert_eq!((filter.hashing.count, filter.hashing.bits), (30, 2_587_966));
    }

    #[test]
    fn numbers_that_make_no_filter_are_refused() {
        let default = BloomOptions::default();
        for options in [
            BloomOptions { entries: 0, ..default },
            BloomOptions { error_rate: 0.0, ..default },
            BloomOptions { error_rate: 1.0, ..default },
            BloomOptions { error_rate: f64::NAN, ..default },
            BloomOptions { entries: u32::MAX, ..default },
        ] {
            assert_eq!(BloomBuilder::new(&options).unwrap_err().kind(), mortice_base::ErrorKind::InvalidArgument);
        }
        assert!(BloomBuilder::new(&default).unwrap().add(b"").is_err());
    }

    #[test]
    fn keys_added_one_by_one_make_the_same_filter() {
        let keys = keys();
        for count in [0, 1, 3, 4, 5, 999, 1003] {
            let options = options(BloomType::DynamicV0, 200, 1000);
            let mut builder = BloomBuilder::new(&options).unwrap();
            keys[..count].iter().for_each(|key| builder.add(key.as_bytes()).unwrap());
            assert!(builder.finish() == filter(&keys[..count], &options), "{count}");
        }
    }
}
