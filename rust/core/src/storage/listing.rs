//! What a folder holds.

/// A file, as a listing tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// The last part of the path.
    pub name: String,
    /// Bytes.
    pub len: u64,
    /// Last modification, milliseconds since the epoch; 0 where unknown.
    pub modified_ms: i64,
}

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(FileStatus),
    /// A folder, by its last path part.
    Folder(String),
}
