//! How many bytes of rows are in memory before they are written to files.

use super::folder::SpillFolder;

/// Bytes of rows that are copied at a time.
const LEAST_CHUNK: usize = 1 << 20;
const MOST_CHUNK: usize = 16 << 20;

/// Where rows wait.
#[derive(Debug, Clone)]
pub struct RowMemory {
    pub(super) folder: SpillFolder,
    pub(super) limit: usize,
}

impl RowMemory {
    /// In memory up to so many bytes, then in files of a folder.
    #[must_use]
    pub const fn new(folder: SpillFolder, limit: usize) -> Self {
        Self { folder, limit }
    }

    /// Bytes of rows that are copied at a time.
    #[must_use]
    pub fn chunk_bytes(&self) -> usize {
        self.limit.clamp(LEAST_CHUNK, MOST_CHUNK)
    }

    /// In memory, however many they are.
    #[must_use]
    pub fn unlimited() -> Self {
        Self { folder: SpillFolder::new(None), limit: usize::MAX }
    }
}
