//! Whole files written at once: created if there is none, or replaced, also only if they are a version that is known.
//!
//! An answer that was lost leaves open whether a file was written. It is then read back and compared, so that a write that
//! succeeded is never reported as another writer's: content of two writers has to differ (a commit names its instant).

use bytes::Bytes;

use super::Place;
use crate::error::Result;

/// The version of a file's content, as its store names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileVersion {
    /// `ETag`.
    pub etag: Option<String>,
    /// The generation on Google Cloud Storage, the version id on S3 buckets with versions.
    pub version: Option<String>,
}

/// What came of a write with a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// The file has the content.
    Written(FileVersion),
    /// The condition does not hold: the file is there, or it is of another version or gone. Nothing was written.
    Refused,
}

/// What came of a rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renamed {
    /// The file has the new name alone.
    Done,
    /// There is a file of the new name. Nothing was changed.
    Exists,
    /// The store cannot rename.
    Unable,
}

/// A large file that is written in parts. Nobody sees it before it is finished, and never if this is dropped before.
pub trait Upload: Send {
    /// Writes at the end.
    ///
    /// # Errors
    /// Those of the store.
    fn write(&mut self, bytes: Bytes) -> Result<()>;

    /// Makes the file visible and durable; a file of that name is replaced.
    ///
    /// # Errors
    /// Those of the store; the file may then be there or not.
    fn finish(self: Box<Self>) -> Result<FileVersion>;
}

/// A place whose files are written whole.
pub trait FileStore: Place {
    /// Creates a file, durable once this has returned. Of several writers at once one succeeds.
    ///
    /// # Errors
    /// Those of the store, if it is not known whether the file was created.
    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<Put>;

    /// Writes a file, durable once this has returned. With `expected`, only if the file is there and of that version.
    ///
    /// # Errors
    /// Those of the store, if it is not known whether the file was written.
    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<Put>;

    /// Reads a file with its version.
    ///
    /// # Errors
    /// [`crate::Kind::NotFound`] if there is none.
    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)>;

    /// Removes a file; one that is not there is no error.
    ///
    /// # Errors
    /// Those of the store.
    fn delete(&self, path: &str) -> Result<()>;

    /// Creates a folder and those above it, on storage that has folders.
    ///
    /// # Errors
    /// Those of the store.
    fn create_folder(&self, path: &str) -> Result<()>;

    /// Removes a folder and those below it that hold no file, on storage that has folders. Folders with files stay, and one that is
    /// not there is no error.
    ///
    /// # Errors
    /// Those of the store.
    fn remove_empty_folders(&self, path: &str) -> Result<()>;

    /// Renames a file, unless there is one of the new name.
    ///
    /// # Errors
    /// [`crate::Kind::NotFound`] if there is no such file.
    fn rename(&self, from: &str, to: &str) -> Result<Renamed>;

    /// Begins a large file.
    ///
    /// # Errors
    /// Those of the store.
    fn upload(&self, path: &str) -> Result<Box<dyn Upload>>;
}
