//! An open file: its length and bytes of its ranges.

use std::ops::Range;

use bytes::Bytes;

use crate::error::Result;

/// An open, immutable file. Ranges may be read from any thread, in any order.
pub trait Source: Send + Sync {
    /// The path or URI, for messages.
    fn path(&self) -> &str;

    /// Bytes in the file when it was opened.
    fn len(&self) -> u64;

    /// The bytes of `range`, which lies within the file; else [`crate::Kind::Internal`]. A mapped file gives a
    /// slice of its mapping, others fetch.
    fn read(&self, range: Range<u64>) -> Result<Bytes>;

    /// How many bytes at a time are worth asking for when walking through the file; `None` where any range is as cheap, as in a
    /// mapped file.
    fn window(&self) -> Option<u64>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole file.
    fn read_all(&self) -> Result<Bytes> {
        self.read(0..self.len())
    }
}
