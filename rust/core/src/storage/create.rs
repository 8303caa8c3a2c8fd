//! The writing side of a place: files are made exclusively, grow at their end, and are made durable.
//!
//! Stores differ, and values say how: a file exists already, a store cannot append, writes are visible at once or when the file is
//! finished. A writer then goes on with another name.

use super::Place;
use crate::error::Result;

/// A file that grows at its end.
pub trait Sink: Send {
    /// The full path or URI.
    fn path(&self) -> &str;

    /// Bytes in the file: where the next write begins.
    fn position(&self) -> u64;

    /// Writes at the end, all or, as far as the store allows, nothing: after an error the file should be left as it was,
    /// and this sink is not written to again.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Returns once what was written survives a crash of the machine. Nothing is written afterwards.
    fn sync(&mut self) -> Result<()>;

    /// Returns true if earlier writes are in the file even if a later one, or [`Self::sync`], fails. An object has nothing
    /// before it is finished.
    fn keeps_earlier_writes(&self) -> bool {
        true
    }
}

/// What came of asking to append to a file.
pub enum Appendable {
    /// The file, at its end.
    Opened(Box<dyn Sink>),
    /// There is no such file.
    Missing,
    /// The store cannot append.
    Unable,
}

/// A place that can be written to.
pub trait WritablePlace: Place {
    /// Makes a file that was not there; `None` where it is there already, made by whomever. The file's name survives a
    /// crash of the machine once this has returned. [`crate::Kind::NotFound`] where its folder is missing.
    fn create_new(&self, path: &str) -> Result<Option<Box<dyn Sink>>>;

    /// Returns true if this is an object store: it has no folders, and files that exist are not appended to.
    fn is_object_store(&self) -> bool {
        false
    }

    /// Opens a file to append to it.
    fn append_to(&self, path: &str) -> Result<Appendable>;
}
