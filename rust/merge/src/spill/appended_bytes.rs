//! Bytes that are appended to: in memory at first, in a file once there are many.

use std::fs::File;
use std::io::Write;

use bytes::Bytes;

use super::folder::SpillFolder;
use mortice_base::error::Result;

/// Bytes that are held in memory, and written at a time.
const HELD: usize = 4 << 20;

/// Collects bytes.
pub struct AppendedBytes {
    folder: SpillFolder,
    held: Vec<u8>,
    file: Option<File>,
}

impl AppendedBytes {
    /// No bytes. What does not stay in memory is kept in a file of `folder`.
    #[must_use]
    pub const fn new(folder: SpillFolder) -> Self {
        Self { folder, held: Vec::new(), file: None }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `Io` where the folder cannot be written to.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= HELD { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.folder.file()?),
        };
        file.write_all(&self.held).map_err(|error| self.folder.failed(error))?;
        self.held.clear();
        Ok(())
    }

    /// All bytes.
    ///
    /// # Errors
    /// `Io` where the folder cannot be written to, or the file cannot be mapped.
    pub fn finish(mut self) -> Result<Bytes> {
        if self.file.is_some() {
            self.write()?;
        }
        match &self.file {
            Some(file) => self.folder.mapped(file),
            None => Ok(self.held.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_stay_in_memory_and_many_come_back_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("not there yet");
        let spill = SpillFolder::new(missing.to_str());
        let mut few = AppendedBytes::new(spill.clone());
        few.append(b"ab").unwrap();
        few.append(b"").unwrap();
        few.append(b"c").unwrap();
        assert_eq!((few.finish().unwrap(), missing.exists()), (Bytes::from_static(b"abc"), false));
        let part = vec![7; HELD / 2 + 1];
        for parts in [2, 3, 4] {
            let mut many = AppendedBytes::new(spill.clone());
            (0..parts).try_for_each(|_| many.append(&part)).unwrap();
            let found = many.finish().unwrap();
            assert_eq!((found.len(), found.iter().all(|byte| *byte == 7)), (parts * part.len(), true));
        }
        assert!(missing.exists());
        assert!(AppendedBytes::new(spill).finish().unwrap().is_empty());
    }
}
