//! Files in memory, which parsers read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use mortice::storage::FileSource;

/// The number of rows is not bounded by the input if decoders take no bytes for them (a record without fields, an array
/// of nulls).
pub(super) const MOST_ROWS: u64 = 10_000;

/// Bytes in memory, read as a whole (window 0) or in windows.
struct Memory {
    path: String,
    bytes: Bytes,
    window: u64,
}

impl FileSource for Memory {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn window(&self) -> Option<u64> {
        (self.window > 0).then_some(self.window)
    }

    fn read(&self, range: Range<u64>) -> mortice::Result<Bytes> {
        assert!(range.start <= range.end && range.end <= self.len(), "a read outside the file");
        Ok(self.bytes.slice(range.start as usize..range.end as usize))
    }
}

pub(super) fn memory(data: &[u8], window: u64) -> Arc<dyn FileSource> {
    memory_named("memory", data, window)
}

/// The same with the path of a file: those of native logs say what is in them.
pub(super) fn memory_named(path: &str, data: &[u8], window: u64) -> Arc<dyn FileSource> {
    Arc::new(Memory { path: path.to_owned(), bytes: Bytes::copy_from_slice(data), window })
}
