//! Writing: files are created exclusively, appended to, and made durable.
//!
//! Storages differ, and results describe the difference: a file exists, the storage cannot append, writes are visible
//! at once or when the file is finished. A writer then continues with another name.

use super::Storage;
use mortice_base::error::Result;

/// A file that can be appended to.
pub trait FileSink: Send {
    /// Returns the full path or URI.
    fn path(&self) -> &str;

    /// Returns the size of the file in bytes: the offset of the next write.
    fn position(&self) -> u64;

    /// Appends all bytes or, as far as the storage allows, nothing: after an error the file should be unchanged, and
    /// this sink is not written to again.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes written bytes durable: they survive a crash of the machine. Nothing is written afterwards.
    fn sync(&mut self) -> Result<()>;

    /// Returns true if earlier writes are in the file even if a later one, or [`Self::sync`], fails. An object is empty
    /// until it is finished.
    fn keeps_earlier_writes(&self) -> bool {
        true
    }
}

/// The result of opening a file to append to it.
pub enum Appendable {
    /// The file, positioned at its end.
    Opened(Box<dyn FileSink>),
    /// The file does not exist.
    Missing,
    /// The storage cannot append.
    Unable,
}

/// A storage that can be written to.
pub trait WritableStorage: Storage {
    /// Creates a file; returns `None` if it exists already, created by any writer. The file's name survives a crash of
    /// the machine once this has returned. [`mortice_base::ErrorKind::NotFound`] if its folder does not exist.
    fn create_new(&self, path: &str) -> Result<Option<Box<dyn FileSink>>>;

    /// Returns true if this is an object store: it has no folders, and existing files are not appended to.
    fn is_object_store(&self) -> bool {
        false
    }

    /// Opens a file to append to it.
    fn append_to(&self, path: &str) -> Result<Appendable>;
}
