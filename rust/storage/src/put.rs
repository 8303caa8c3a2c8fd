//! Whole files, written at once: created exclusively, or replaced, optionally only if they have a known version.
//!
//! After a lost response it is unknown whether a file was written. It is then read back and compared, so that a
//! successful write is never reported as that of another writer: the contents of two writers must differ (a commit has
//! its instant).

use std::sync::Arc;

use bytes::Bytes;

use super::Storage;
use mortice_base::error::Result;
use mortice_base::time::{Time, system_time};

/// The version of a file's content in its storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileVersion {
    /// `ETag`.
    pub etag: Option<String>,
    /// The generation on Google Cloud Storage, the version id on S3 buckets with versions.
    pub version: Option<String>,
}

/// The result of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// The file has the content.
    Written(FileVersion),
    /// The condition is not satisfied: the file exists, or it has another version or does not exist. Nothing was
    /// written.
    Refused,
}

/// The result of a rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameOutcome {
    /// The file has the new name only.
    Done,
    /// A file with the new name exists. Nothing was changed.
    Exists,
    /// The storage cannot rename.
    Unable,
}

/// Whether a process has a store's root to itself, as far as others ask for it.
pub enum RootLock {
    /// Until this is dropped, or the process ends.
    Held(Box<dyn Send>),
    /// Another process or thread has it.
    Busy,
    /// The storage has no such lock.
    Unsupported,
}

/// A large file that is written in parts. It is invisible until it is finished, and discarded if this is dropped
/// before.
pub trait StoreUpload: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: Bytes) -> Result<()>;

    /// Makes the file visible and durable; an existing file with that name is replaced.
    ///
    /// # Errors
    /// Errors of the storage; it is then unknown whether the file exists.
    fn finish(self: Box<Self>) -> Result<FileVersion>;
}

/// A storage whose files are written whole.
pub trait FileStore: Storage {
    /// The time by which writers measure the ages of the store's files, wait, and name instants. It is the machine's;
    /// in tests a simulated one.
    fn time(&self) -> Arc<dyn Time> {
        system_time()
    }

    /// Creates a file, durable once this has returned. Of several concurrent writers one succeeds.
    fn put_if_absent(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome>;

    /// Writes a file, durable once this has returned. With `expected`, only if the file exists and has that version.
    fn put(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome>;

    /// Returns true if [`Self::put`] can compare versions. HDFS cannot.
    fn compares_versions(&self) -> bool {
        true
    }

    /// Reads a file with its version.
    fn get(&self, path: &str) -> Result<(Bytes, FileVersion)>;

    /// Removes a file. A missing file is not an error.
    fn delete(&self, path: &str) -> Result<()>;

    /// Makes sure that [`Self::delete`] of this path would remove a file of the table: a regular file that no symbolic
    /// link leads out of the root. A file that is not there is no error. Stores without links have nothing to check.
    fn check_removable(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    /// Takes the advisory lock of the root, if it is free. Nothing is written for it, and it does not outlive its
    /// process.
    fn try_lock_root(&self) -> Result<RootLock> {
        Ok(RootLock::Unsupported)
    }

    /// Creates a folder and its parents, on storage that has folders.
    fn create_folder(&self, path: &str) -> Result<()>;

    /// Removes a folder and those below it that hold no file, on storage that has folders. Folders with files stay, and
    /// one that is not there is no error.
    fn remove_empty_folders(&self, path: &str) -> Result<()>;

    /// Renames a file, unless there is one of the new name.
    fn rename(&self, from: &str, to: &str) -> Result<RenameOutcome>;

    /// Sets when a file was modified, in milliseconds since the epoch. Returns false on storage that cannot: an object
    /// has the time at which it was written.
    fn set_modified(&self, _path: &str, _modified_ms: i64) -> Result<bool> {
        Ok(false)
    }

    /// Starts a large file.
    fn upload(&self, path: &str) -> Result<Box<dyn StoreUpload>>;
}
