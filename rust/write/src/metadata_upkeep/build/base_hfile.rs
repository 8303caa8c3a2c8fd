//! Base files of the metadata table: HFiles with a Bloom filter of their keys, which Hudi's readers look into first.

use chrono::Utc;

use mortice_base::error::Result;
use mortice_formats::bloom::{BloomBuilder, BloomOptions};
use mortice_formats::hfile::HFileWriter;

/// Keys of the filter: it grows with more.
const BLOOM_ENTRIES: u32 = 10_000;

/// A base file that records are added to, in the order of their keys. Memory holds the filter, the index and the bytes that were not
/// taken.
pub struct BaseHFile {
    file: HFileWriter,
    bloom: BloomBuilder,
    keys: Option<(Vec<u8>, Vec<u8>)>,
}

impl BaseHFile {
    /// A file without records. `schema` is the schema text of the records.
    ///
    /// # Errors
    /// As for [`BloomBuilder::new`].
    pub fn new(schema: &str) -> Result<Self> {
        let bloom = BloomBuilder::new(&BloomOptions { entries: BLOOM_ENTRIES, ..BloomOptions::default() })?;
        Ok(Self { file: HFileWriter::new(schema, Utc::now().timestamp_millis()), bloom, keys: None })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// As for [`HFileWriter::append`].
    pub fn append(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
        self.bloom.add(key)?;
        self.file.append(key, record)?;
        match &mut self.keys {
            None => self.keys = Some((key.to_vec(), key.to_vec())),
            Some((_, last)) => {
                last.clear();
                last.extend_from_slice(key);
            }
        }
        Ok(())
    }

    /// Takes the bytes that are complete, as of [`HFileWriter::take_complete`].
    pub fn take_complete(&mut self) -> Vec<u8> {
        self.file.take_complete()
    }

    /// Ends the file and returns its bytes that were not taken.
    ///
    /// # Errors
    /// As for [`HFileWriter::finish`].
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let filter = self.bloom.finish();
        self.file.add_meta_block("bloomFilter", filter.to_text().as_bytes());
        self.file.add_info("bloomFilterTypeCode", filter.kind().name().as_bytes());
        // Empty of a file without records.
        let (first, last) = self.keys.unwrap_or_default();
        self.file.add_info("minRecordKey", &first);
        self.file.add_info("maxRecordKey", &last);
        self.file.finish()
    }
}
