//! A memory-mapped file. Its ranges are slices of the mapping without copying, and only touched pages are read.

#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Range;

use bytes::Bytes;
use memmap2::Mmap;

use crate::FileSource;
use crate::source::out_of_range;
use mortice_base::error::Result;

/// A local file mapped into memory.
pub struct MappedFile {
    path: String,
    bytes: Bytes,
}

impl MappedFile {
    /// Maps the whole file. Fails if the operating system refuses the mapping (an address-space limit, a file system
    /// without mappings); callers then read in windows.
    pub fn map(file: &File, path: &str) -> std::io::Result<Self> {
        // SAFETY: the mapping is private to this value and read only. Hudi never rewrites or shortens a data file or a
        // log file in place: it creates files, appends to log files past the length seen here, and deletes whole files
        // (a deleted file stays mapped). What it does write in place is small, and small files are not mapped
        // (`LocalStorage::open_file`). No `&mut` to the mapped pages exists in this process.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self { path: path.to_owned(), bytes: Bytes::from_owner(map) })
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
        match within {
            Some((start, end)) if start <= end && end <= self.bytes.len() => Ok(self.bytes.slice(start..end)),
            _ => Err(out_of_range(self, &range)),
        }
    }
}
