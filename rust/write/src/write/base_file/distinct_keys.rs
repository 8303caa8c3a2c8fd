//! Whether no two rows of a file have the same record key, as its footer says.
//!
//! A log is merged with one row of a key. So a write to a log of keys that an index finds without their rows would have
//! to read the keys of the base file, but for this mark. It counts if its number of rows is that of the file: tools
//! that join files may keep the mark of one.

use std::hash::BuildHasher;

use arrow_array::StringArray;

/// The footer key. Its value is the number of rows of the file.
pub const DISTINCT_KEYS: &str = "mortice.distinct.keys";

/// More keys than these are not compared: their hashes take 32 MiB.
const MOST_KEYS: usize = 4 << 20;

/// Compares keys as they come, by their hashes: a collision is taken for a repeated key.
#[derive(Default)]
pub(super) struct DistinctKeys {
    hasher: foldhash::quality::RandomState,
    hashes: Vec<u64>,
    /// The last key; none if one was not greater than the one before.
    ascending: Option<String>,
    count: u64,
}

impl DistinctKeys {
    pub(super) fn add(&mut self, keys: &StringArray) {
        let is_first = self.count == 0;
        let mut last = if is_first { Some("") } else { self.ascending.as_deref() };
        for (at, key) in keys.iter().map(Option::unwrap_or_default).enumerate() {
            last = last.filter(|last| (is_first && at == 0) || *last < key).map(|_| key);
            if self.hashes.len() <= MOST_KEYS {
                self.hashes.push(self.hasher.hash_one(key));
            }
        }
        self.count = self.count.saturating_add(keys.iter().count() as u64);
        self.ascending = last.map(str::to_owned);
    }

    /// The value of the footer, if the keys are distinct.
    pub(super) fn finish(mut self) -> Option<String> {
        if self.ascending.is_none() {
            if self.hashes.len() > MOST_KEYS {
                return None;
            }
            self.hashes.sort_unstable();
            if self.hashes.windows(2).any(|pair| matches!(pair, [one, other] if one == other)) {
                return None;
            }
        }
        Some(self.count.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mark(batches: &[Vec<String>]) -> Option<String> {
        let mut keys = DistinctKeys::default();
        batches.iter().for_each(|batch| keys.add(&StringArray::from_iter_values(batch)));
        keys.finish()
    }

    proptest! {
        #[test]
        fn keys_are_marked_if_no_two_are_equal(
            mut keys in proptest::collection::vec("[a-f]{1,3}", 0..24),
            is_sorted in any::<bool>(),
            size in 1_usize..9,
        ) {
            if is_sorted {
                keys.sort_unstable();
            }
            let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
            let expected = (distinct.len() == keys.len()).then(|| keys.len().to_string());
            let batches: Vec<Vec<String>> = keys.chunks(size).map(<[String]>::to_vec).collect();
            prop_assert_eq!(mark(&batches), expected);
        }
    }

    #[test]
    fn more_keys_than_are_compared_are_marked_if_they_ascend() {
        let keys = |last: &str| {
            let keys = (0..=MOST_KEYS).map(|number| format!("{number:08}"));
            vec![keys.collect(), vec![last.to_owned()]]
        };
        assert_eq!(mark(&keys("99999999")), Some((MOST_KEYS + 2).to_string()));
        assert_eq!(mark(&keys("00000007")), None);
    }
}
