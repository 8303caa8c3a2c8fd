//! An open file: its size and the bytes of its ranges.

use std::ops::Range;

use bytes::Bytes;

use mortice_base::error::{Error, Result};

/// The end of a file at which a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// The first byte, as for a log file.
    Start,
    /// The last byte, as for a file with a footer.
    End,
}

/// Returns the error of a read outside a file. Callers check ranges against the size, so it is a defect.
#[cold]
pub(super) fn out_of_range(source: &(impl FileSource + ?Sized), range: &Range<u64>) -> Error {
    Error::internal(format!("bytes {range:?} of a file of {}", source.len())).in_file(source.path())
}

/// Checks that a range is within a file.
pub(super) fn check_range(source: &(impl FileSource + ?Sized), range: &Range<u64>) -> Result<()> {
    if range.start > range.end || range.end > source.len() { Err(out_of_range(source, range)) } else { Ok(()) }
}

/// An open, immutable file. Ranges may be read from any thread, in any order.
pub trait FileSource: Send + Sync {
    /// Returns the path or URI, for messages.
    fn path(&self) -> &str;

    /// Returns the size in bytes when the file was opened.
    fn len(&self) -> u64;

    /// Returns the bytes of `range`, which must be within the file, otherwise [`mortice_base::ErrorKind::Internal`]. A
    /// mapped file returns a slice of its mapping, others fetch the bytes.
    fn read(&self, range: Range<u64>) -> Result<Bytes>;

    /// Returns the recommended number of bytes per read of a sequential scan; `None` if ranges of all sizes cost the
    /// same, as in a mapped file.
    fn window(&self) -> Option<u64>;

    /// Returns true if each read is a request to another machine, so that small reads cost as much as large ones.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns true if the file is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of several ranges, in their order. A remote source merges adjacent ranges, and fetches all of
    /// them concurrently.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    /// Starts to fetch the bytes that a reader needs first, on remote storage; the reads wait for them.
    ///
    /// # Errors
    /// `Io` if nothing can be fetched at all; the error of a request is returned by the read.
    fn begin(&self, from: ReadFrom) -> Result<()> {
        let _ = from;
        Ok(())
    }

    /// Announces reads, in groups of ranges that are read concurrently (the column chunks of a row group). A remote
    /// source then fetches them with fewer requests, and ahead of the reader.
    fn plan_reads(&self, groups: &[Vec<Range<u64>>]) -> Result<()> {
        let _ = groups;
        Ok(())
    }

    /// Reads the whole file.
    fn read_all(&self) -> Result<Bytes> {
        self.read(0..self.len())
    }
}
