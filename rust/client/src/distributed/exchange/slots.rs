//! Slots: which rows come together in one process. Rows of one key are in the same slot, and so are the stored keys
//! that they are matched with.

use arrow_array::Array;
use twox_hash::XxHash64;

use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;

/// The seed of Spark's `hash` function, by which it distributes rows.
const SEED: u32 = 42;

/// The hashes of a key, equal in all processes; of a key in a partition, unless a key is unique in the table.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyHasher {
    is_global: bool,
    /// The partition that was last seen, and its hash.
    last: Option<(String, u64)>,
}

impl KeyHasher {
    pub(crate) const fn new(is_global: bool) -> Self {
        Self { is_global, last: None }
    }

    pub(crate) fn hash(&mut self, key: &str, partition: &str) -> u64 {
        XxHash64::oneshot(self.seed(partition), key.as_bytes())
    }

    fn seed(&mut self, partition: &str) -> u64 {
        if self.is_global {
            return 0;
        }
        // Rows of one partition mostly follow each other.
        if let Some((last, seed)) = &self.last
            && last == partition
        {
            return *seed;
        }
        let seed = XxHash64::oneshot(0, partition.as_bytes());
        self.last = Some((partition.to_owned(), seed));
        seed
    }

    /// The hashes of rows.
    pub(crate) fn hashes(&mut self, keys: &RowKeys) -> Result<Vec<u64>> {
        let pairs = keys.record_keys.iter().zip(&keys.partitions);
        pairs
            .map(|pair| match pair {
                (Some(key), Some(partition)) => Ok(self.hash(key, partition)),
                _ => Err(Error::internal("a row without a key")),
            })
            .collect()
    }
}

/// How many rows there are, and the sum of the hashes of their keys: equal before and after rows were sent to other
/// processes, unless some were lost or sent twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RowSum {
    pub(crate) rows: u64,
    pub(crate) hash: u64,
}

impl RowSum {
    pub(crate) fn from_hashes(hashes: &[u64]) -> Self {
        let hash = hashes.iter().fold(0, |sum: u64, hash| sum.wrapping_add(*hash));
        Self { rows: hashes.len() as u64, hash }
    }

    pub(crate) fn of_keys(keys: &RowKeys, is_global: bool) -> Result<Self> {
        debug_assert_eq!(keys.record_keys.len(), keys.partitions.len());
        Ok(Self::from_hashes(&KeyHasher::new(is_global).hashes(keys)?))
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

/// The slot of a hash, of so many.
pub(crate) fn slot_of(hash: u64, slots: u32) -> u32 {
    let high = u64::from((hash >> 32) as u32);
    ((high * u64::from(slots)) >> 32) as u32
}

/// For each of so many partitions of a data frame a number that Spark's `repartition` by a column of integers sends
/// there. Rows that are sent elsewhere are written as well: only the balance depends on it.
pub(crate) fn numbers_for_partitions(partitions: u32) -> Vec<i32> {
    let count = i32::try_from(partitions).unwrap_or(i32::MAX).max(1);
    // Positive, and so are the remainders.
    let mut numbers = vec![None; usize::try_from(count).unwrap_or(1)];
    let mut missing = numbers.len();
    for number in 0..i32::MAX {
        if missing == 0 {
            break;
        }
        let partition = usize::try_from(spark_hash(number).rem_euclid(count)).unwrap_or(0);
        if let Some(free @ None) = numbers.get_mut(partition) {
            *free = Some(number);
            missing -= 1;
        }
    }
    numbers.into_iter().map(Option::unwrap_or_default).collect()
}

/// Spark's hash of an integer: Murmur3 (`Murmur3_x86_32.hashInt`).
fn spark_hash(number: i32) -> i32 {
    let mixed = number.cast_unsigned().wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let hash = (SEED ^ mixed).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64) ^ 4;
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    (hash ^ hash >> 16).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_integers_are_those_of_spark() {
        // select hash(0), hash(1), hash(-1)
        assert_eq!([spark_hash(0), spark_hash(1), spark_hash(-1)], [933_211_791, -559_580_957, -1_604_776_387]);
    }

    #[test]
    fn each_partition_has_a_number() {
        for count in [1, 2, 3, 200] {
            let numbers = numbers_for_partitions(count);
            for (partition, number) in (0..).zip(&numbers) {
                assert_eq!(spark_hash(*number).rem_euclid(count.cast_signed()), partition);
            }
            assert_eq!(numbers.len(), count as usize);
        }
    }

    #[test]
    fn keys_are_spread_over_slots() {
        let mut hasher = KeyHasher::new(false);
        let mut counts = [0_u32; 3];
        for key in 0..3000 {
            counts[slot_of(hasher.hash(&format!("k{key}"), "p"), 3) as usize] += 1;
        }
        assert!(counts.iter().all(|count| *count > 800), "{counts:?}");
        assert_ne!(hasher.hash("k", "p"), hasher.hash("k", "q"));
        let mut global = KeyHasher::new(true);
        assert_eq!(global.hash("k", "p"), global.hash("k", "q"));
    }
}
