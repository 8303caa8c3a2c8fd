//! Which log files are written.

use serde::{Deserialize, Serialize};

use crate::write::markers::MarkerKind;
use crate::write::write_status::LogFileStatus;
use crate::write::write_token::WriteToken;
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, NativeLog, RequestedTime};

/// The file group and the attempt that writes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTarget {
    /// The partition's path from the table; empty for a table without partitions.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// The delta commit that writes: its requested time.
    pub instant: RequestedTime,
    /// The attempt that writes.
    pub token: WriteToken,
    /// How the files are named.
    pub naming: LogNaming,
}

/// How log files are named, by table version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogNaming {
    /// Version 8 and later: by the delta commit that writes them, from version 1 on. Native logs have a form of their
    /// own.
    ByDeltaCommit,
    /// The same, of a table with change data capture: commits say which files had the rows before.
    ByDeltaCommitOf(SliceNames),
    /// Up to version 7: by the base instant of the file slice, from the first version that the slice does not have.
    /// Files are not appended to.
    BySlice {
        /// The slice's base instant. A pending compaction's instant, if one is planned; that of the delta commit for a
        /// new group.
        base_instant: RequestedTime,
        /// The slice's base file, by name; empty if there is none.
        base_file: String,
        /// The slice's log files, by name.
        log_files: Vec<String>,
    },
}

/// The files of a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceNames {
    /// The slice's base instant.
    pub base_instant: RequestedTime,
    /// The slice's base file, by name; empty if there is none.
    pub base_file: String,
    /// The slice's log files, by name.
    pub log_files: Vec<String>,
}

/// The name of a native log, in the format of base files.
pub(in crate::write) fn native_log_name(
    file_id: &str,
    instant: &RequestedTime,
    version: i64,
    token: WriteToken,
    content: NativeLog,
) -> Result<String> {
    Ok(LogFileName::compose_native(file_id, instant, version, &token.to_string(), content, "parquet")?.name)
}

impl LogTarget {
    /// The first version to write.
    pub(super) fn first_version(&self) -> Result<i64> {
        let LogNaming::BySlice { log_files, .. } = &self.naming else { return Ok(1) };
        let mut next = 1;
        for name in log_files {
            let Some(parsed) = LogFileName::parse(name) else {
                return Err(Error::invalid_argument(format!("{name:?} is not the name of a log file")));
            };
            next = next.max(parsed.version.saturating_add(1));
        }
        Ok(next)
    }

    /// The name of the file of a version.
    pub(super) fn name(&self, version: i64) -> Result<String> {
        let instant = match &self.naming {
            LogNaming::ByDeltaCommit | LogNaming::ByDeltaCommitOf(_) => &self.instant,
            LogNaming::BySlice { base_instant, .. } => base_instant,
        };
        Ok(LogFileName::compose(&self.file_id, instant, version, &self.token.to_string())?.name)
    }

    /// The name of the native log of a version.
    pub(super) fn native_name(&self, version: i64, content: NativeLog) -> Result<String> {
        native_log_name(&self.file_id, &self.instant, version, self.token, content)
    }

    /// The path from the table of a file of this partition.
    pub(super) fn path(&self, name: &str) -> String {
        if self.partition.is_empty() { name.to_owned() } else { format!("{}/{name}", self.partition) }
    }

    /// The kind of the files' markers.
    pub(super) const fn marker(&self) -> MarkerKind {
        match self.naming {
            LogNaming::ByDeltaCommit | LogNaming::ByDeltaCommitOf(_) => MarkerKind::Create,
            LogNaming::BySlice { .. } => MarkerKind::Append,
        }
    }

    /// `prevCommit` of write statistics.
    pub(super) fn previous_commit(&self) -> &str {
        match &self.naming {
            LogNaming::ByDeltaCommit => self.instant.as_str(),
            LogNaming::ByDeltaCommitOf(SliceNames { base_instant, .. }) | LogNaming::BySlice { base_instant, .. } => {
                base_instant.as_str()
            }
        }
    }

    /// What the statistics of a file say, given the names of those that were written before it.
    pub(super) fn status(&self, version: i64, name: &str, before: &[String]) -> LogFileStatus {
        let (base_file, known) = match &self.naming {
            LogNaming::ByDeltaCommit => (String::new(), Vec::new()),
            LogNaming::ByDeltaCommitOf(SliceNames { base_file, log_files, .. })
            | LogNaming::BySlice { base_file, log_files, .. } => {
                (base_file.clone(), log_files.iter().chain(before).cloned().collect())
            }
        };
        let log_files = known.into_iter().chain([name.to_owned()]).collect();
        LogFileStatus { version: i32::try_from(version).unwrap_or(i32::MAX), offset: 0, base_file, log_files }
    }
}
