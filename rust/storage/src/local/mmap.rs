//! A memory-mapped file. Its ranges are slices of the mapping without copying, and only touched pages are read.

#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use memmap2::Mmap;

use crate::FileSource;
use crate::source::out_of_range;
use mortice_base::error::{Error, ErrorKind, Result};

/// A local file mapped into memory.
pub struct MappedFile {
    path: String,
    bytes: Bytes,
    map: Weak<Mmap>,
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
        let map = Arc::new(map);
        let shared = Arc::downgrade(&map);
        Ok(Self { path: path.to_owned(), bytes: Bytes::from_owner(SharedMap(map)), map: shared, file: None })
    }

    /// Returns a handle on the pages of the mapping that are in memory. It does not keep the mapping.
    #[must_use]
    pub fn pages(&self) -> MappedPages {
        MappedPages(Weak::clone(&self.map))
    }

    /// Maps a file of a table. Nobody may make it shorter while it is read: touching a page that is gone ends the
    /// process with SIGBUS. Its length is compared before each read, which notices most of it.
    pub(super) fn map_shared(file: File, path: &str) -> std::io::Result<Self> {
        let mapped = Self::map(&file, path)?;
        Ok(Self { file: Some(file), ..mapped })
    }
}

/// The mapping, which lasts as long as any slice of it.
struct SharedMap(Arc<Mmap>);

impl AsRef<[u8]> for SharedMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The pages of a mapping that are in the memory of this process.
#[derive(Debug)]
pub struct MappedPages(Weak<Mmap>);

impl MappedPages {
    /// Takes the pages out of the memory of this process. They stay in the system's cache while it has room, and are
    /// mapped again where they are touched. Returns false if there is no mapping any more.
    #[must_use]
    pub fn release(&self) -> bool {
        self.0.upgrade().is_some_and(|map| {
            // Advice: a system that does not take it keeps the pages.
            let _ = release(&map);
            true
        })
    }
}

#[cfg(unix)]
fn release(map: &Mmap) -> std::io::Result<()> {
    // SAFETY: the mapping is shared with the file and read only: no page has contents of its own that would be lost,
    // and one that is touched again has the same bytes, as nobody writes to the file (`MappedFile::map`).
    unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) }
}

#[cfg(not(unix))]
const fn release(_: &Mmap) -> std::io::Result<()> {
    Ok(())
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
