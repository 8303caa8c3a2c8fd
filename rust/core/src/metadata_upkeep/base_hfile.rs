//! Base files of the metadata table: HFiles with a Bloom filter of their keys, which Hudi's readers look into first.

use std::collections::BTreeMap;

use chrono::Utc;

use super::record_schema::RecordSchema;
use crate::bloom::{BloomBuilder, BloomOptions};
use crate::error::{Error, Result};
use crate::hfile::HFileWriter;

/// Keys of the filter: it grows with more.
const BLOOM_ENTRIES: u32 = 10_000;

/// The bytes of a base file with these records, of which there is one at least.
///
/// # Errors
/// As for [`HFileWriter::append`].
pub(super) fn base_hfile(schema: &RecordSchema, records: &BTreeMap<&str, &[u8]>) -> Result<Vec<u8>> {
    let mut bloom = BloomBuilder::new(&BloomOptions { entries: BLOOM_ENTRIES, ..BloomOptions::default() })?;
    let mut file = HFileWriter::new(schema.block, Utc::now().timestamp_millis());
    bloom.add_all(records.keys().map(|key| key.as_bytes()))?;
    for (key, record) in records {
        file.append(key.as_bytes(), record)?;
    }
    let ends = records.first_key_value().zip(records.last_key_value());
    let ((first, _), (last, _)) = ends.ok_or_else(|| Error::internal("a base file without records"))?;
    let filter = bloom.finish();
    file.add_meta_block("bloomFilter", filter.to_text().as_bytes());
    file.add_info("bloomFilterTypeCode", filter.kind().name().as_bytes());
    file.add_info("minRecordKey", first.as_bytes());
    file.add_info("maxRecordKey", last.as_bytes());
    file.finish()
}
