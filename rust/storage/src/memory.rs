//! A file whose bytes are in memory.

use std::ops::Range;

use bytes::Bytes;

use super::FileSource;
use super::source::check_range;
use mortice_base::error::Result;

/// Bytes that are read as a file. Ranges are slices of them without copying.
pub struct MemoryFile {
    path: String,
    bytes: Bytes,
    window: Option<u64>,
}

impl MemoryFile {
    /// `path` is the name of the file in messages.
    pub fn new(path: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), window: None }
    }

    /// Returns the same file, read in windows of `window` bytes like a file that cannot be mapped.
    #[must_use]
    pub fn by_windows(self, window: u64) -> Self {
        Self { window: Some(window), ..self }
    }
}

impl FileSource for MemoryFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn window(&self) -> Option<u64> {
        self.window
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        check_range(self, &range)?;
        // Both are within a slice, so they fit in usize.
        #[allow(clippy::cast_possible_truncation)]
        Ok(self.bytes.slice(range.start as usize..range.end as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_within_are_slices_others_an_error() {
        let file = MemoryFile::new("memory", &b"abcd"[..]).by_windows(3);
        assert_eq!((file.path(), file.len(), file.window()), ("memory", 4, Some(3)));
        assert_eq!(file.read(1..3).unwrap(), &b"bc"[..]);
        assert_eq!(file.read(4..4).unwrap(), &b""[..]);
        #[allow(clippy::reversed_empty_ranges)]
        for outside in [0..5, 3..2, u64::MAX..u64::MAX] {
            assert_eq!(file.read(outside).unwrap_err().kind(), mortice_base::ErrorKind::Internal);
        }
    }
}
