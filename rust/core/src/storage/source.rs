//! An open file: its length and bytes of its ranges.

use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};

/// The end at which a reader begins with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// Its first byte, as a log file.
    Start,
    /// Its last byte, as a file with a footer.
    End,
}

/// The error of a read outside a file. Whoever asks for a range has checked it against the length: it is a defect otherwise.
#[cold]
pub(super) fn out_of_range(source: &(impl Source + ?Sized), range: &Range<u64>) -> Error {
    Error::internal(format!("bytes {range:?} of a file of {}", source.len())).in_file(source.path())
}

/// Checks that a range lies within a file.
pub(super) fn check_range(source: &(impl Source + ?Sized), range: &Range<u64>) -> Result<()> {
    if range.start > range.end || range.end > source.len() { Err(out_of_range(source, range)) } else { Ok(()) }
}

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

    /// The bytes of several ranges, in their order. A source that fetches over a network fetches near ones together, and
    /// all at once.
    ///
    /// # Errors
    /// As for [`Source::read`].
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    /// Starts to fetch what a reader needs first, where that takes a while; the reads themselves wait for it.
    ///
    /// # Errors
    /// `Io` if nothing can be fetched at all; what a request fails with is the error of the read.
    fn begin(&self, from: ReadFrom) -> Result<()> {
        let _ = from;
        Ok(())
    }

    /// Announces reads, in groups of ranges that are read side by side (the column chunks of a row group). A source that
    /// fetches over a network then fetches them in fewer requests, and ahead of the reader.
    ///
    /// # Errors
    /// As for [`Source::begin`].
    fn plan_reads(&self, groups: &[Vec<Range<u64>>]) -> Result<()> {
        let _ = groups;
        Ok(())
    }

    /// The whole file.
    fn read_all(&self) -> Result<Bytes> {
        self.read(0..self.len())
    }
}
