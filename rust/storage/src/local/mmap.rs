//! A memory-mapped file. Its ranges are slices of the mapping without copying, and only touched pages are read.

#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Range;

use bytes::Bytes;
use memmap2::Mmap;

use crate::FileSource;
use crate::source::out_of_range;
use mortice_base::error::{Error, ErrorKind, Result};

/// A local file mapped into memory.
pub struct MappedFile {
    path: String,
    bytes: Bytes,
    /// The file, if others may change it.
    file: Option<File>,
}

impl MappedFile {
    /// Maps a file that only this process has: a temporary file without a name. Fails if the operating system refuses
    /// the mapping (an address-space limit, a file system without mappings); callers then read in windows.
    pub fn map(file: &File, path: &str) -> std::io::Result<Self> {
        // SAFETY: the mapping is private to this value and read only, and no `&mut` to the mapped pages exists in this
        // process. The file is not shortened: this process does not, and others do not have it. One that others have
        // is mapped only if the user asks for it, and the documentation says what that needs (`map_shared`).
        let map = unsafe { Mmap::map(file)? };
        Ok(Self { path: path.to_owned(), bytes: Bytes::from_owner(map), file: None })
    }

    /// Maps a file of a table. Nobody may make it shorter while it is read: touching a page that is gone ends the
    /// process with SIGBUS. Its length is compared before each read, which notices most of it.
    ///
    /// # Errors
    /// As for [`Self::map`].
    pub(super) fn map_shared(file: File, path: &str) -> std::io::Result<Self> {
        let mapped = Self::map(&file, path)?;
        Ok(Self { file: Some(file), ..mapped })
    }
}

impl FileSource for MappedFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let within = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        let Some((start, end)) = within.filter(|(start, end)| start <= end && *end <= self.bytes.len()) else {
            return Err(out_of_range(self, &range));
        };
        if let Some(file) = &self.file
            && file.metadata().is_ok_and(|status| status.len() < range.end)
        {
            return Err(truncated(&self.path, range.start, self.len()));
        }
        Ok(self.bytes.slice(start..end))
    }
}

/// The error of a file that became shorter while it was read.
pub(super) fn truncated(path: &str, offset: u64, len: u64) -> Error {
    let message =
        format!("the file was truncated while it was read: it had {len} bytes when it was opened; read again");
    Error::new(ErrorKind::FileChanged, message).in_file(path).at_offset(offset)
}
