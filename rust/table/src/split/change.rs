//! The changes that one commit made to a file group: the files with these changes, and the columns of the result
//! (`HoodieCDCFileSplit`, `HoodieCDCInferenceCase`, `CDCRelation`).

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use serde::{Deserialize, Serialize};

use crate::file_group::{FileSlice, LogFile};
use mortice_base::names::RequestedTime;
use mortice_merge::config::CdcMode;

/// The operation: `i`, `u` or `d`.
pub const OPERATION: &str = "op";
/// The requested time of the commit.
pub const COMMIT: &str = "ts_ms";
/// The row before the change, as JSON.
pub const BEFORE: &str = "before";
/// The row after the change, as JSON.
pub const AFTER: &str = "after";

/// Returns the schema of query results.
#[must_use]
pub fn change_schema() -> Schema {
    Schema::new(
        [OPERATION, COMMIT, BEFORE, AFTER].map(|name| Arc::new(Field::new(name, DataType::Utf8, true))).to_vec(),
    )
}

/// The changes that one commit made to one file group. The split has a file slice in addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileGroupChange {
    /// The requested time of the commit.
    pub instant: RequestedTime,
    /// The source of the changes.
    pub source: ChangeSource,
}

/// The source of changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeSource {
    /// All rows of the slice are inserted (`BASE_FILE_INSERT`).
    Inserted,
    /// All rows of the slice are deleted (`BASE_FILE_DELETE`, `REPLACE_COMMIT`).
    Deleted,
    /// The records of these logs are applied to the rows of the slice, which is the state before them (`LOG_FILE`).
    Logs(Vec<LogFile>),
    /// Change logs (`AS_IS`). Rows that they do not contain are looked up by key: the row after the commit in the
    /// slice, the row before it in `before`.
    ChangeLogs {
        /// The change logs.
        files: Vec<LogFile>,
        /// The contents of the change logs.
        mode: CdcMode,
        /// The file group before the commit, if it is needed.
        before: Option<Box<FileSlice>>,
    },
}

impl FileGroupChange {
    /// Returns the paths and sizes of the files that it refers to.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        let (logs, before) = match &self.source {
            ChangeSource::Inserted | ChangeSource::Deleted => (&[][..], None),
            ChangeSource::Logs(logs) => (logs.as_slice(), None),
            ChangeSource::ChangeLogs { files, before, .. } => (files.as_slice(), before.as_deref()),
        };
        let of_before = before.into_iter().flat_map(FileSlice::files);
        logs.iter().map(|log| (log.path.as_str(), log.len)).chain(of_before)
    }
}
