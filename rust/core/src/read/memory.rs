//! What one slice's merge may keep in memory, and what it does beyond: contents of log blocks go to files, keys to later passes.
//!
//! | share | of |
//! |---|---|
//! | a half | the index of keys |
//! | a quarter | contents of log blocks that are not mapped: fetched, unpacked, decoded |
//! | a quarter | batches that wait for the consumer (`pool`) |
//!
//! Mapped files count for nothing: their pages are the system's. What is fetched from an object store counts in the second quarter
//! as long as it is held, ahead of the readers too (`storage::FetchBudget`); contents of log blocks take a half of it then.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;

use crate::config::ReadOptions;
use crate::error::Result;
use crate::spill::{BatchWriter, SpillFolder};
use crate::storage::{FetchBudget, Reserved, Source};

/// The accounts of one slice.
pub(super) struct SliceMemory {
    folder: SpillFolder,
    compressed: bool,
    keys: usize,
    contents: u64,
    /// Bytes of contents that are held, by who holds them: the slice until its end, or one pass over its logs.
    held: u64,
    held_by_pass: u64,
    passes: u32,
    known: HashMap<BlockId, Bytes>,
    /// Where the bytes of fetched files are counted; what is made of them is counted there too.
    fetched: Option<Arc<FetchBudget>>,
    reserved: Vec<Reserved>,
    reserved_by_pass: Vec<Reserved>,
}

/// A block of the slice: its file's path and where its content begins.
type BlockId = (String, u64);

impl SliceMemory {
    /// By the limit of a slice, in bytes.
    pub(super) fn new(options: &ReadOptions, limit: u64, fetched: &Arc<FetchBudget>) -> Self {
        Self {
            folder: SpillFolder::new(options.spill_dir.as_deref()),
            compressed: options.spill_compressed,
            keys: usize::try_from(limit / 2).unwrap_or(usize::MAX),
            contents: if fetched.has_files() { limit / 8 } else { limit / 4 },
            held: 0,
            held_by_pass: 0,
            passes: 0,
            known: HashMap::new(),
            fetched: fetched.has_files().then(|| Arc::clone(fetched)),
            reserved: Vec::new(),
            reserved_by_pass: Vec::new(),
        }
    }

    /// Bytes that the index of keys may take.
    pub(super) const fn keys(&self) -> usize {
        self.keys
    }

    /// Forgets the contents that were held: they are no longer read.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.reserved.clear();
        self.reserved_by_pass.clear();
        (self.held, self.held_by_pass, self.passes) = (0, 0, 0);
    }

    /// Begins a pass over the logs: forgets what the last one held. Whether it is the first.
    pub(super) fn begin_pass(&mut self) -> bool {
        self.held_by_pass = 0;
        self.reserved_by_pass.clear();
        self.passes += 1;
        self.passes == 1
    }

    /// A range of a file: as it lies there where the file is mapped, or else held until the slice is read.
    pub(super) fn content(&mut self, file: &dyn Source, range: std::ops::Range<u64>) -> Result<Bytes> {
        if file.window().is_none() {
            return file.read(range);
        }
        let id = (file.path().to_owned(), range.start);
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let len = range.end.saturating_sub(range.start);
        let content = if self.fits(len) {
            self.held += len;
            file.read(range)?
        } else {
            self.folder.keep_range(file, range)?
        };
        self.known.insert(id, content.clone());
        Ok(content)
    }

    /// What is made of a range of a file, held until the slice is read.
    pub(super) fn unpacked(
        &mut self,
        file: &dyn Source,
        start: u64,
        unpack: impl FnOnce() -> Result<Bytes>,
    ) -> Result<Bytes> {
        let id = (file.path().to_owned(), start);
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let (held, unpacked) = self.kept(unpack()?)?;
        self.held += held;
        self.reserved.extend(self.counted(held));
        self.known.insert(id, unpacked.clone());
        Ok(unpacked)
    }

    /// Bytes that are needed for one pass over the logs. Those of the content that they were found in are held as it is.
    pub(super) fn of_pass(&mut self, bytes: Bytes, content: &Bytes) -> Result<Bytes> {
        if bytes.as_ptr() == content.as_ptr() {
            return Ok(bytes);
        }
        let (held, bytes) = self.kept(bytes)?;
        self.held_by_pass += held;
        self.reserved_by_pass.extend(self.counted(held));
        Ok(bytes)
    }

    /// Batches, held until the slice is read.
    pub(super) fn batches(&mut self, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<Vec<RecordBatch>> {
        let mut all = Vec::new();
        let mut writer: Option<BatchWriter> = None;
        for batch in batches {
            let batch = batch?;
            let len = batch.get_array_memory_size() as u64;
            if writer.is_none() && self.fits(len) {
                self.held += len;
                self.reserved.extend(self.counted(len));
                all.push(batch);
                continue;
            }
            // Not compressed: rows are picked from them here and there.
            let writer = match &mut writer {
                Some(writer) => writer,
                None => writer.insert(BatchWriter::new(&self.folder, batch.schema_ref(), false)?),
            };
            writer.write(&batch)?;
        }
        if let Some(writer) = writer {
            all.extend(writer.finish()?.collect::<Result<Vec<_>>>()?);
        }
        Ok(all)
    }

    /// A file for what is read again in the order in which it was written.
    pub(super) fn run(&self, schema: &arrow_schema::Schema) -> Result<BatchWriter> {
        BatchWriter::new(&self.folder, schema, self.compressed)
    }

    fn kept(&self, bytes: Bytes) -> Result<(u64, Bytes)> {
        let len = bytes.len() as u64;
        if self.fits(len) { Ok((len, bytes)) } else { Ok((0, self.folder.keep(&bytes)?)) }
    }

    fn counted(&self, bytes: u64) -> Option<Reserved> {
        self.fetched.as_ref().map(|fetched| fetched.reserve(bytes))
    }

    const fn fits(&self, len: u64) -> bool {
        self.held.saturating_add(self.held_by_pass).saturating_add(len) <= self.contents
    }
}
