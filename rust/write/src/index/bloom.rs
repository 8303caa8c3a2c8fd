//! What the footer of a base file says of its keys: the least, the greatest, and a Bloom filter (`HoodieBloomIndexCheckFunction`).

use mortice_base::error::Result;
use mortice_formats::base_file::BaseFile;
use mortice_formats::bloom::{BloomFilter, BloomType};

const LEAST: &str = "hoodie_min_record_key";
const GREATEST: &str = "hoodie_max_record_key";
const FILTER: &str = "org.apache.hudi.bloomfilter";
const FILTER_TYPE: &str = "hoodie_bloom_filter_type_code";

/// Returns true if a file may hold one of the keys. A footer without bounds or filter excludes nothing.
pub(super) fn may_hold_any<'k>(file: &dyn BaseFile, keys: impl Iterator<Item = &'k str>) -> Result<bool> {
    let bounds = (file.footer_value(LEAST), file.footer_value(GREATEST));
    let is_within = |key: &&str| match &bounds {
        // Bounds are those of Java strings: of text with surrogates another order than that of bytes.
        (Some(least), Some(greatest)) if least.is_ascii() && greatest.is_ascii() && key.is_ascii() => {
            least.as_str() <= *key && *key <= greatest.as_str()
        }
        _ => true,
    };
    let mut candidates = keys.filter(is_within).peekable();
    if candidates.peek().is_none() {
        return Ok(false);
    }
    let Some(text) = file.footer_value(FILTER) else { return Ok(true) };
    let kind = file.footer_value(FILTER_TYPE).map_or(Ok(BloomType::Simple), |name| BloomType::parse(&name))?;
    let filter = BloomFilter::parse(&text, kind)?;
    Ok(candidates.any(|key| filter.may_contain(key)))
}
