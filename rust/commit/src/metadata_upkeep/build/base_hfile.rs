//! Base files of the metadata table: HFiles with a Bloom filter of their keys, which Hudi's readers look into first.
//! Native logs of the metadata table have the same form.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_formats::bloom::{BloomBuilder, BloomOptions};
use mortice_formats::hfile::HFileWriter;
use mortice_storage::{FileStore, PutOutcome, StoreUpload};

/// Keys of the filter: it grows with more.
const BLOOM_ENTRIES: u32 = 10_000;
/// Bytes that are handed to the storage at once.
const PIECE: usize = 1 << 20;

/// A base file that records are added to, in the order of their keys. Memory holds the filter, the index and the bytes
/// that were not taken.
pub(in crate::metadata_upkeep) struct BaseHFile {
    file: HFileWriter,
    bloom: BloomBuilder,
    keys: Option<(Vec<u8>, Vec<u8>)>,
}

impl BaseHFile {
    /// A file without records, which is created now. `schema` is the schema text of the records.
    pub(in crate::metadata_upkeep) fn new(schema: &str, now: DateTime<Utc>) -> Result<Self> {
        let bloom = BloomBuilder::new(&BloomOptions { entries: BLOOM_ENTRIES, ..BloomOptions::default() })?;
        Ok(Self { file: HFileWriter::new(schema, now.timestamp_millis()), bloom, keys: None })
    }

    /// Adds an entry to the file info.
    pub(in crate::metadata_upkeep) fn add_info(&mut self, key: &str, value: &str) {
        self.file.add_info(key, value.as_bytes());
    }

    /// Adds a record.
    pub(in crate::metadata_upkeep) fn append(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
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
    pub(in crate::metadata_upkeep) fn finish(mut self) -> Result<Vec<u8>> {
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
pub struct BaseHFileUpload<'a> {
    file: BaseHFile,
    store: &'a dyn FileStore,
    path: String,
    /// None as long as all of a new file waits.
    upload: Option<Box<dyn StoreUpload>>,
    waiting: Vec<u8>,
    bytes: u64,
    is_new: bool,
}

impl<'a> BaseHFileUpload<'a> {
    /// A file without records at this path of a store, which replaces one that is there. `schema` is the schema text of
    /// the records.
    ///
    /// # Errors
    /// As for [`BloomBuilder::new`]; those of the store.
    pub fn start(store: &'a dyn FileStore, path: String, schema: &str) -> Result<Self> {
        let upload = Some(store.upload(&path)?);
        Ok(Self { upload, is_new: false, ..Self::create(store, path, schema)? })
    }

    /// The same of a file that must not be there when it is finished: another writer builds the same, and may have
    /// completed it. Storage does not create large files on that condition: whether there is one is looked up right
    /// before.
    ///
    /// # Errors
    /// As for [`BloomBuilder::new`].
    pub fn create(store: &'a dyn FileStore, path: String, schema: &str) -> Result<Self> {
        let file = BaseHFile::new(schema, store.time().now())?;
        Ok(Self { file, store, path, upload: None, waiting: Vec::new(), bytes: 0, is_new: true })
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
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => none.insert(self.store.upload(&self.path)?),
        };
        upload.write(Bytes::from(piece))
    }

    /// Ends the file, which is there from now on. Returns its bytes.
    ///
    /// # Errors
    /// As for [`HFileWriter::finish`]; `WriteConflict` if a file that is to be new is there; those of the store.
    pub fn finish(self) -> Result<u64> {
        let Self { file, store, path, upload, mut waiting, bytes, is_new } = self;
        waiting.append(&mut file.finish()?);
        let bytes = bytes.saturating_add(waiting.len() as u64);
        let Some(mut upload) = upload else {
            create_once(store, &path, &Bytes::from(waiting))?;
            return Ok(bytes);
        };
        upload.write(Bytes::from(waiting))?;
        if is_new {
            match store.len_of(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Ok(_) => return Err(built_by_another(store, &path)),
                Err(error) => return Err(error),
            }
        }
        upload.finish()?;
        Ok(bytes)
    }
}

/// Creates a file of a partition that is built.
pub(super) fn create_once(store: &dyn FileStore, path: &str, content: &Bytes) -> Result<()> {
    match store.put_if_absent(path, content)? {
        PutOutcome::Written(_) => Ok(()),
        PutOutcome::Refused => Err(built_by_another(store, path)),
    }
}

fn built_by_another(store: &dyn FileStore, path: &str) -> Error {
    let message = "another writer initialises the metadata table at the same time";
    Error::new(ErrorKind::WriteConflict, message).in_file(store.full_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::{LocalStorage, Storage};

    #[test]
    fn a_new_file_replaces_none_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalStorage::new(&folder.path().to_string_lossy(), true);
        // Bytes that no codec makes fewer.
        let record: Vec<u8> = (0..PIECE / 16).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
        for records in [1_u8, 3] {
            let path = format!("{records}.hfile");
            let write = |is_new: bool| {
                let open = if is_new { BaseHFileUpload::create } else { BaseHFileUpload::start };
                let mut file = open(&store, path.clone(), "{}")?;
                (1..records).try_for_each(|key| file.append(&[key], &record))?;
                file.finish()
            };
            let bytes = write(true).unwrap();
            assert_eq!((bytes, records > 1), (store.len_of(&path).unwrap(), bytes > PIECE as u64));
            assert_eq!(write(true).unwrap_err().kind(), ErrorKind::WriteConflict);
            write(false).unwrap();
        }
        let names = store.list_recursively("").unwrap().into_iter().map(|(path, _)| path);
        assert_eq!(names.collect::<Vec<_>>(), ["1.hfile", "3.hfile"]);
    }
}
