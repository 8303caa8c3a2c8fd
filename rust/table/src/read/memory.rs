//! The memory of one slice's merge. If it exceeds its limit, contents of log blocks are written to files, and keys are
//! left to later passes.
//!
//! | share | use |
//! |---|---|
//! | a half | the index of keys |
//! | a quarter | contents of log blocks that are not mapped: fetched, decompressed, decoded |
//! | a quarter | batches that wait for the consumer (`pool`) |
//!
//! Mapped files are not counted: their pages belong to the operating system. Bytes that are fetched from an object
//! store are counted in the second share while they are held, also those that are read ahead (`storage::FetchBudget`);
//! contents of log blocks then take half of it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;

use mortice_base::error::Result;
use mortice_merge::config::ReadOptions;
use mortice_merge::spill::{BatchWriter, SpillFolder};
use mortice_storage::{FetchBudget, FileSource, ReservedBytes};

/// The memory of one slice.
pub(super) struct SliceMemory {
    folder: SpillFolder,
    compressed: bool,
    /// The limit of all in bytes.
    limit: u64,
    keys: usize,
    contents: u64,
    /// The number of bytes of contents held for the slice until its end, or for one pass over its logs.
    held: u64,
    held_by_pass: u64,
    passes: u32,
    known: HashMap<BlockId, Bytes>,
    /// The budget of fetched files; bytes derived from them are counted there, too.
    fetched: Option<Arc<FetchBudget>>,
    reserved: Vec<ReservedBytes>,
    reserved_by_pass: Vec<ReservedBytes>,
}

/// A block of the slice: the path of its file and the offset of its content.
type BlockId = (String, u64);

impl SliceMemory {
    /// Creates the memory of a slice with a limit in bytes.
    pub(super) fn new(options: &ReadOptions, limit: u64, fetched: &Arc<FetchBudget>) -> Self {
        Self {
            folder: SpillFolder::new(options.spill_dir.as_deref()),
            compressed: options.spill_compressed,
            limit,
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

    /// Returns the limit in bytes.
    pub(super) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the limit of the index of keys in bytes.
    pub(super) const fn keys(&self) -> usize {
        self.keys
    }

    /// Releases the contents that were held: they are no longer read.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.reserved.clear();
        self.reserved_by_pass.clear();
        (self.held, self.held_by_pass, self.passes) = (0, 0, 0);
    }

    /// Begins a pass over the logs: releases the contents of the previous one. Returns true for the first pass.
    pub(super) fn begin_pass(&mut self) -> bool {
        self.held_by_pass = 0;
        self.reserved_by_pass.clear();
        self.passes += 1;
        self.passes == 1
    }

    /// Returns a range of a file: of the mapping if the file is mapped, otherwise held until the slice is read.
    pub(super) fn content(&mut self, file: &dyn FileSource, range: std::ops::Range<u64>) -> Result<Bytes> {
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

    /// Returns bytes derived from a range of a file, held until the slice is read.
    pub(super) fn converted(
        &mut self,
        file: &dyn FileSource,
        start: u64,
        unpack: impl FnOnce() -> Result<Bytes>,
    ) -> Result<Bytes> {
        let id = (file.path().to_owned(), start);
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let (held, converted) = self.kept(unpack()?)?;
        self.held += held;
        self.reserved.extend(self.counted(held));
        self.known.insert(id, converted.clone());
        Ok(converted)
    }

    /// Returns bytes that are needed for one pass over the logs. Those that are part of the content are already held.
    pub(super) fn hold_for_pass(&mut self, bytes: Bytes, content: &Bytes) -> Result<Bytes> {
        if bytes.as_ptr() == content.as_ptr() {
            return Ok(bytes);
        }
        let (held, bytes) = self.kept(bytes)?;
        self.held_by_pass += held;
        self.reserved_by_pass.extend(self.counted(held));
        Ok(bytes)
    }

    /// Returns batches, held until the slice is read.
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
            // Not compressed: rows are picked from them in random order.
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

    /// Creates a file for batches that are read again in the order in which they were written.
    pub(super) fn run(&self, schema: &arrow_schema::Schema) -> Result<BatchWriter> {
        BatchWriter::new(&self.folder, schema, self.compressed)
    }

    fn kept(&self, bytes: Bytes) -> Result<(u64, Bytes)> {
        let len = bytes.len() as u64;
        if self.fits(len) { Ok((len, bytes)) } else { Ok((0, self.folder.keep(&bytes)?)) }
    }

    fn counted(&self, bytes: u64) -> Option<ReservedBytes> {
        self.fetched.as_ref().map(|fetched| fetched.reserve(bytes))
    }

    const fn fits(&self, len: u64) -> bool {
        self.held.saturating_add(self.held_by_pass).saturating_add(len) <= self.contents
    }
}
