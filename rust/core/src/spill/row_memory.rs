//! How many bytes of rows are in memory before they are written to files.

use super::folder::SpillFolder;

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

    /// In memory, however many they are.
    #[must_use]
    pub fn unlimited() -> Self {
        Self { folder: SpillFolder::new(None), limit: usize::MAX }
    }
}
