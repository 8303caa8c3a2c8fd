//! Keys of records in the metadata table's indexes of files: hashes of names as strings
//! (`HoodieMetadataPayload.getColumnStatsIndexKey`, `HashID`).
//!
//! ```text
//! column_stats      base64(xxh64(column)) base64(xxh64(partition)) base64(md5(file name))
//! partition_stats   base64(xxh64(column)) base64(xxh64(partition))
//! bloom_filters     base64(xxh64(partition)) base64(md5(file name))
//! ```
//! The partition of a table without partitions is `.`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use twox_hash::XxHash64;

/// The seed: an `int` in Hudi, sign-extended to a `long`.
const SEED: u64 = 0xffff_ffff_daba_daba;
/// The partition of a table without partitions.
const ROOT: &str = ".";

/// Keys of one column's records.
pub struct ColumnKeys(String);

impl ColumnKeys {
    /// Those of a column, by the path of its name.
    #[must_use]
    pub fn new(column: &str) -> Self {
        Self(xxh64(column))
    }

    /// The key of the record of a file.
    #[must_use]
    pub fn key(&self, partition: &str, file: &str) -> String {
        format!("{}{}", self.partition_key(partition), md5(file))
    }

    /// The key of the record of a partition.
    #[must_use]
    pub fn partition_key(&self, partition: &str) -> String {
        format!("{}{}", self.0, xxh64(partition_name(partition)))
    }
}

/// The key of the record of a file's Bloom filter.
#[must_use]
pub fn bloom_filter_key(partition: &str, file: &str) -> String {
    format!("{}{}", xxh64(partition_name(partition)), md5(file))
}

/// What a partition is called in the metadata table: its path, or `.` for that of a table without partitions.
#[must_use]
pub fn partition_name(partition: &str) -> &str {
    if partition.is_empty() { ROOT } else { partition }
}

fn md5(text: &str) -> String {
    STANDARD.encode(Md5::digest(text))
}

fn xxh64(text: &str) -> String {
    STANDARD.encode(XxHash64::oneshot(SEED, text.as_bytes()).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured on a table that Hudi wrote.
    #[test]
    fn hashes_are_hudis() {
        assert_eq!(xxh64("ts"), "oyTjviKHuhI=");
        let key = ColumnKeys::new("ts").key("", "");
        // The last part is the MD5 hash of the empty string.
        assert_eq!(key, "oyTjviKHuhI=FXThHwelITM=1B2M2Y8AsgTpgAmY7PhCfg==");
    }
}
