//! A file slice: a base file and the logs on top of it (`FileSlice`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::partition_files::{ListedBase, ListedLog};
use mortice_base::names::RequestedTime;

/// The files that are merged to read one file group as of an instant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileSlice {
    /// The partition, `""` for a table without partitions.
    pub partition: String,
    /// The id of the file group.
    pub file_id: String,
    /// The base instant of the slice.
    pub base_instant: RequestedTime,
    /// The base file; `None` for a file group of logs only.
    pub base_file: Option<BaseFile>,
    /// The log files, oldest first, without change logs.
    pub log_files: Vec<LogFile>,
}

/// A base file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BaseFile {
    /// The path, relative to the table.
    pub path: String,
    /// The size in bytes.
    pub len: u64,
    /// The etag of the content, if the listing reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The instant that wrote the file.
    pub instant: RequestedTime,
    /// For a skeleton file: the file with all columns except the meta columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<BootstrapSource>>,
    /// The name by which the table knows a file that another tool has registered. Used for planning only.
    #[serde(skip)]
    pub registered_name: Option<Box<str>>,
}

/// The source file of a metadata-only bootstrap, for which a skeleton file was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BootstrapSource {
    /// The path or URI; not relative to the table.
    pub path: String,
    /// The size in bytes when it was indexed.
    pub len: u64,
    /// The partition columns and their values in the path: the source file may lack these columns.
    pub path_values: Vec<(String, Option<String>)>,
}

/// A log file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogFile {
    /// The path, relative to the table.
    pub path: String,
    /// The size in bytes when it was listed. Blocks appended later are not part of the slice.
    pub len: u64,
    /// The etag of the content, if the listing reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

impl FileSlice {
    /// Returns the paths and sizes of all files. Paths are relative to the table, except for a bootstrap source.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        let base = self.base_file.iter().map(|file| (file.path.as_str(), file.len));
        let source = self.base_file.iter().filter_map(|file| file.source.as_deref());
        let base = base.chain(source.map(|source| (source.path.as_str(), source.len)));
        base.chain(self.log_files.iter().map(|file| (file.path.as_str(), file.len)))
    }

    /// Returns the names of the base file and of the logs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.base_file.iter().map(BaseFile::name).chain(self.log_files.iter().map(LogFile::name))
    }

    /// Returns the size of all files in bytes.
    #[must_use]
    pub fn total_len(&self) -> u64 {
        self.files().fold(0, |sum, (_, len)| sum.saturating_add(len))
    }
}

impl BaseFile {
    /// Returns the name by which the timeline and the metadata table know the file.
    #[must_use]
    pub fn name(&self) -> &str {
        self.registered_name.as_deref().unwrap_or_else(|| name_in(&self.path))
    }

    /// Returns the path or URI of the file that a skeleton file of a bootstrap belongs to.
    #[must_use]
    pub fn source_path(&self) -> Option<&str> {
        self.source.as_deref().map(|source| source.path.as_str())
    }
}

impl LogFile {
    /// Returns the file name.
    #[must_use]
    pub fn name(&self) -> &str {
        name_in(&self.path)
    }
}

/// The last part of a path.
fn name_in(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The slices of one file group while they are built, by base instant.
pub(super) type Slices = BTreeMap<RequestedTime, SliceDraft>;

/// The files of a slice before base files are selected.
#[derive(Debug, Clone, Default)]
pub(super) struct SliceDraft {
    /// One, unless retried tasks have left several.
    pub(super) bases: Vec<ListedBase>,
    pub(super) logs: Vec<ListedLog>,
}
