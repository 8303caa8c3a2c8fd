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
    /// The version of the content, if the store has one (`ETag`).
    pub etag: Option<String>,
}

/// What is known of a file before it is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct KnownFile {
    /// Bytes.
    pub len: u64,
    /// The version of the content, if a listing reported one.
    pub etag: Option<String>,
    /// Whether the file may be longer than `len` by now, as a log file that a writer has appended to.
    pub may_have_grown: bool,
}

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(FileStatus),
    /// A folder, by its last path part.
    Folder(String),
}

impl Entry {
    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::File(file) => &file.name,
            Self::Folder(name) => name,
        }
    }
}
