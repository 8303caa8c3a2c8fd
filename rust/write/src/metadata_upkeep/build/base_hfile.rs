//! Base files of the metadata table: HFiles with a Bloom filter of their keys, which Hudi's readers look into first.

use bytes::Bytes;
use chrono::Utc;

use mortice_base::error::Result;
use mortice_formats::bloom::{BloomBuilder, BloomOptions};
use mortice_formats::hfile::HFileWriter;
use mortice_storage::{FileStore, StoreUpload};

/// Keys of the filter: it grows with more.
const BLOOM_ENTRIES: u32 = 10_000;
/// Bytes that are handed to the storage at once.
const PIECE: usize = 1 << 20;

/// A base file that records are added to, in the order of their keys. Memory holds the filter, the index and the bytes that were not
/// taken.
struct BaseHFile {
    file: HFileWriter,
    bloom: BloomBuilder,
    keys: Option<(Vec<u8>, Vec<u8>)>,
}

impl BaseHFile {
    /// A file without records. `schema` is the schema text of the records.
    ///
    /// # Errors
    /// As for [`BloomBuilder::new`].
    fn new(schema: &str) -> Result<Self> {
        let bloom = BloomBuilder::new(&BloomOptions { entries: BLOOM_ENTRIES, ..BloomOptions::default() })?;
        Ok(Self { file: HFileWriter::new(schema, Utc::now().timestamp_millis()), bloom, keys: None })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// As for [`HFileWriter::append`].
    fn append(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
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
    fn take_complete(&mut self) -> Vec<u8> {
        self.file.take_complete()
    }

    /// Ends the file and returns its bytes that were not taken.
    ///
    /// # Errors
    /// As for [`HFileWriter::finish`].
    fn finish(mut self) -> Result<Vec<u8>> {
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

/// A base file that is written to the storage while records are added to it, in the order of their keys.
pub struct BaseHFileUpload {
    file: BaseHFile,
    upload: Box<dyn StoreUpload>,
    waiting: Vec<u8>,
    bytes: u64,
}

impl BaseHFileUpload {
    /// A file without records at this path of a store. `schema` is the schema text of the records.
    ///
    /// # Errors
    /// As for [`BloomBuilder::new`]; those of the store.
    pub fn start(store: &dyn FileStore, path: &str, schema: &str) -> Result<Self> {
        Ok(Self { file: BaseHFile::new(schema)?, upload: store.upload(path)?, waiting: Vec::new(), bytes: 0 })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// As for [`HFileWriter::append`]; those of the store.
    pub fn append(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
        self.file.append(key, record)?;
        self.waiting.append(&mut self.file.take_complete());
        if self.waiting.len() >= PIECE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let piece = std::mem::take(&mut self.waiting);
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        self.upload.write(Bytes::from(piece))
    }

    /// Ends the file, which is there from now on. Returns its bytes.
    ///
    /// # Errors
    /// As for [`HFileWriter::finish`]; those of the store.
    pub fn finish(self) -> Result<u64> {
        let Self { file, mut upload, mut waiting, bytes } = self;
        waiting.append(&mut file.finish()?);
        let bytes = bytes.saturating_add(waiting.len() as u64);
        upload.write(Bytes::from(waiting))?;
        upload.finish()?;
        Ok(bytes)
    }
}
