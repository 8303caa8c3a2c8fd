//! The folder in which files are set aside, and how they are made: without a name where the system can, or else with
//! one that is taken away at once.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::touched_pages::TouchedPages;
use mortice_base::error::{Error, Result};

/// Where files are set aside.
#[derive(Debug, Clone)]
pub struct SpillFolder {
    path: PathBuf,
    /// Of all files that this value and its clones have mapped.
    pub(super) pages: Arc<TouchedPages>,
}

impl SpillFolder {
    /// A folder, made when it is first needed; none is the system's own for temporary files.
    #[must_use]
    pub fn new(path: Option<&str>) -> Self {
        Self { path: path.map_or_else(std::env::temp_dir, PathBuf::from), pages: Arc::default() }
    }

    /// A new file.
    ///
    /// # Errors
    /// `Io` where the folder cannot be made, or written to.
    pub fn file(&self) -> Result<File> {
        std::fs::create_dir_all(&self.path)
            .and_then(|()| tempfile::tempfile_in(&self.path))
            .map_err(|error| self.failed(error))
    }

    /// What is said where the folder's file system refuses.
    pub(super) fn failed(&self, error: std::io::Error) -> Error {
        Error::io("setting data aside that takes more memory than the limit (memory_limit, spill_dir)", error)
            .in_file(self.path.display().to_string())
    }
}
