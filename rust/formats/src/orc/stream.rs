//! The decompressed bytes of one stream, read on from where the last read ended.

use bytes::Bytes;

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// A stream's bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    bytes: Bytes,
}

impl Stream {
    pub(super) const fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// Reads from the front; what a failed read has seen stays.
    pub(super) fn read<T>(&mut self, read: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
        let mut cursor = Cursor::new(&self.bytes);
        let value = read(&mut cursor)?;
        let used = cursor.position();
        self.bytes = self.bytes.slice(used..);
        Ok(value)
    }

    /// Bytes that are left.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The next `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<Bytes> {
        let left = self.bytes.len();
        if len > left {
            return Err(Error::invalid_table(format!(
                "unexpected end of an ORC stream: expected {len} bytes, found {left}"
            )));
        }
        Ok(self.bytes.split_to(len))
    }
}

/// A number whose sign is its lowest bit.
pub(super) const fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
