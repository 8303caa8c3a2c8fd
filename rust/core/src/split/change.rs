//! Where the changes of a file group are found that one commit made, and what they look like to a caller (`HoodieCDCFileSplit`,
//! `HoodieCDCInferenceCase`, `CDCRelation`).

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use serde::{Deserialize, Serialize};

use crate::config::CdcMode;
use crate::file_group::{FileSlice, LogFile};
use crate::names::RequestedTime;

/// `i`, `u` or `d`.
pub const OPERATION: &str = "op";
/// The commit's requested time.
pub const COMMIT: &str = "ts_ms";
/// The row before, as JSON.
pub const BEFORE: &str = "before";
/// The row after, as JSON.
pub const AFTER: &str = "after";

/// The schema of all changes.
#[must_use]
pub fn change_schema() -> Schema {
    Schema::new(
        [OPERATION, COMMIT, BEFORE, AFTER].map(|name| Arc::new(Field::new(name, DataType::Utf8, true))).to_vec(),
    )
}

/// What one commit changed in one file group. The split that has it names a slice besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The commit's requested time.
    pub instant: RequestedTime,
    /// Where its changes are found.
    pub source: ChangeSource,
}

/// Where changes are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeSource {
    /// Every row of the slice is new (`BASE_FILE_INSERT`).
    Inserted,
    /// Every row of the slice is gone (`BASE_FILE_DELETE`, `REPLACE_COMMIT`).
    Deleted,
    /// The records of these logs, over the rows of the slice, which is as it was before them (`LOG_FILE`).
    Logs(Vec<LogFile>),
    /// Change logs (`AS_IS`). Rows that they do not hold are found by key: after the commit in the slice, before it in `before`.
    ChangeLogs {
        /// The logs.
        files: Vec<LogFile>,
        /// What they hold.
        mode: CdcMode,
        /// As the file group was before, where that is needed.
        before: Option<Box<FileSlice>>,
    },
}

impl Change {
    /// The files that it names.
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
