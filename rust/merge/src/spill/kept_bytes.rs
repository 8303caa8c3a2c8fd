//! Bytes set aside and mapped back: they are the system's to keep in memory or not.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use bytes::Bytes;

use super::folder::SpillFolder;
use mortice_base::error::Result;
use mortice_storage::{FileSource, MappedFile};

/// Bytes copied at a time.
const WINDOW: u64 = 4 << 20;

impl SpillFolder {
    /// Bytes, kept in a file.
    ///
    /// # Errors
    /// `Io` where the folder cannot be written to, or the file cannot be mapped.
    pub fn keep(&self, bytes: &[u8]) -> Result<Bytes> {
        let mut file = self.file()?;
        file.write_all(bytes).map_err(|error| self.failed(error))?;
        self.mapped(&file)
    }

    /// A range of a file elsewhere, kept in a file here, never as a whole in memory.
    ///
    /// # Errors
    /// Those of reading the file; `Io` as for [`SpillFolder::keep`].
    pub fn keep_range(&self, source: &dyn FileSource, range: Range<u64>) -> Result<Bytes> {
        let mut file = BufWriter::new(self.file()?);
        let mut at = range.start;
        while at < range.end {
            let end = at.saturating_add(WINDOW).min(range.end);
            file.write_all(&source.read(at..end)?).map_err(|error| self.failed(error))?;
            at = end;
        }
        let file = file.into_inner().map_err(|error| self.failed(error.into_error()))?;
        self.mapped(&file)
    }

    /// All bytes of a file that is written no more.
    pub(super) fn mapped(&self, file: &File) -> Result<Bytes> {
        if file.metadata().map_err(|error| self.failed(error))?.len() == 0 {
            return Ok(Bytes::new());
        }
        let mapped = MappedFile::map(file, "data set aside").map_err(|error| self.failed(error))?;
        self.pages.add(mapped.pages());
        mapped.read(0..mapped.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::MemoryFile;

    #[test]
    fn what_is_kept_comes_back() {
        let folder = SpillFolder::new(None);
        assert_eq!(folder.keep(b"abc").unwrap(), &b"abc"[..]);
        assert_eq!(folder.keep(b"").unwrap(), &b""[..]);
        let bytes: Vec<u8> = (0..WINDOW + 5).map(|at| at.to_le_bytes()[0]).collect();
        let file = MemoryFile::new("memory", bytes.clone());
        assert_eq!(folder.keep_range(&file, 3..WINDOW + 5).unwrap(), &bytes[3..]);
        assert_eq!(folder.keep_range(&file, 7..7).unwrap(), &b""[..]);
        assert!(folder.keep_range(&file, 0..WINDOW + 6).is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let error = SpillFolder::new(Some("/dev/null/none")).keep(b"abc").unwrap_err();
        assert!(error.to_string().contains("/dev/null/none") && error.to_string().contains("spill_dir"), "{error}");
    }
}
