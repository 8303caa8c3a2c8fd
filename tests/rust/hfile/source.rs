//! A file in memory that remembers which ranges were read, and how to get all out of an HFile.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use mortice::Result;
use mortice::hfile::{Cells, HFile};
use mortice::storage::FileSource;

use super::builder::Entries;

/// Bytes, as a mapped file (window 0) or as one that is read by windows.
pub struct Memory {
    bytes: Bytes,
    window: u64,
    reads: Mutex<Vec<Range<u64>>>,
}

impl Memory {
    pub fn new(bytes: impl Into<Bytes>, window: u64) -> Arc<Self> {
        Arc::new(Self { bytes: bytes.into(), window, reads: Mutex::default() })
    }

    /// The ranges read since the last time it was asked.
    pub fn reads(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.reads.lock().unwrap())
    }
}

impl FileSource for Memory {
    fn path(&self) -> &str {
        "memory.hfile"
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.reads.lock().unwrap().push(range.clone());
        Ok(self.bytes.slice(range.start as usize..range.end as usize))
    }

    fn window(&self) -> Option<u64> {
        (self.window > 0).then_some(self.window)
    }
}

pub fn open(bytes: impl Into<Bytes>) -> Result<HFile> {
    HFile::open(Memory::new(bytes, 0))
}

/// Keys and values of blocks, in order.
pub fn collect(blocks: impl Iterator<Item = Result<Cells>>) -> Result<Entries> {
    let mut entries = Vec::new();
    for block in blocks {
        let block = block?;
        assert!(!block.cells.is_empty(), "a block without a hit was handed out");
        entries.extend(block.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
    Ok(entries)
}
