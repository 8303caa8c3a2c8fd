//! Entries of a folder listing.

/// A file of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// The last part of the path.
    pub name: String,
    /// The size in bytes.
    pub len: u64,
    /// The modification time in milliseconds since the epoch; 0 if unknown.
    pub modified_ms: i64,
    /// The version of the content (`ETag`), if the storage has one.
    pub etag: Option<String>,
}

/// The properties of a file that are known before it is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct KnownFile {
    /// The size in bytes.
    pub len: u64,
    /// The etag of the content, if the listing reported one.
    pub etag: Option<String>,
    /// Whether the file may be longer than `len` now, like a log file to which a writer has appended.
    pub may_have_grown: bool,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderEntry {
    /// A file.
    File(FileStatus),
    /// A folder, by the last part of its path.
    Folder(String),
}

impl FolderEntry {
    /// Returns the last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::File(file) => &file.name,
            Self::Folder(name) => name,
        }
    }
}
