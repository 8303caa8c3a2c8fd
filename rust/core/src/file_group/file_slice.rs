//! A file slice: a base file and the logs on top of it (`FileSlice`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::partition_files::{ListedBase, ListedLog};
use crate::names::RequestedTime;

/// What is read together: the rows of one file group at one time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileSlice {
    /// The partition, `""` where the table has none.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// The instant that the slice begins with.
    pub base_instant: RequestedTime,
    /// The base file; none for a group of logs alone.
    pub base_file: Option<BaseFile>,
    /// Logs, oldest first; without change logs.
    pub log_files: Vec<LogFile>,
}

/// A base file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BaseFile {
    /// Relative to the table.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// Bytes.
    pub len: u64,
    /// The version of its content, if a listing reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The instant that wrote it.
    pub instant: RequestedTime,
    /// Where its rows lie, if it is a skeleton: all but the meta columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<BootstrapSource>,
}

/// The file that a metadata-only bootstrap made a skeleton of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BootstrapSource {
    /// Path or URI; not relative to the table.
    pub path: String,
    /// Bytes, when it was indexed.
    pub len: u64,
    /// The partition columns, with what the path says of them: the source file need not have them.
    pub path_values: Vec<(String, Option<String>)>,
}

/// A log file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogFile {
    /// Relative to the table.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// Bytes, when it was listed: what a writer appends later is no part of the slice.
    pub len: u64,
    /// The version of its content, if a listing reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

impl FileSlice {
    /// The paths of all its files, relative to the table (but that of a bootstrap's source), and their bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        let base = self.base_file.iter().map(|file| (file.path.as_str(), file.len));
        let source = self.base_file.iter().filter_map(|file| file.source.as_ref());
        let base = base.chain(source.map(|source| (source.path.as_str(), source.len)));
        base.chain(self.log_files.iter().map(|file| (file.path.as_str(), file.len)))
    }

    /// Bytes of all its files.
    #[must_use]
    pub fn total_len(&self) -> u64 {
        let source = |file: &BaseFile| file.source.as_ref().map_or(0, |source| source.len);
        let source = self.base_file.as_ref().map_or(0, source);
        self.files().fold(source, |sum, (_, len)| sum.saturating_add(len))
    }
}

/// Slices of one group while they are built, by the instant that each begins with.
pub(super) type Slices = BTreeMap<RequestedTime, Draft>;

/// The files of a slice before the choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    /// One, unless retried tasks left several.
    pub(super) bases: Vec<ListedBase>,
    pub(super) logs: Vec<ListedLog>,
}
