//! A partition's listing, told apart by name: base files, logs, and what is neither.

use crate::names::{BaseFileName, LogFileName};
use crate::storage::FileStatus;

/// The data files of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionFiles {
    /// The partition, relative to the table; `""` for its root.
    pub partition: String,
    /// Base files, as listed.
    pub base_files: Vec<ListedBase>,
    /// Logs, as listed; change logs among them.
    pub log_files: Vec<ListedLog>,
}

/// A base file that a listing named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBase {
    /// What its name says.
    pub name: BaseFileName,
    /// Bytes.
    pub len: u64,
}

/// A log file that a listing named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLog {
    /// What its name says.
    pub name: LogFileName,
    /// Bytes.
    pub len: u64,
}

impl PartitionFiles {
    /// Takes the data files out of a folder's listing. Checksum files, markers and files of others are left out.
    #[must_use]
    pub fn of<'a>(partition: &str, listed: impl IntoIterator<Item = &'a FileStatus>) -> Self {
        let mut files = Self { partition: partition.to_owned(), ..Self::default() };
        for status in listed {
            if let Some(name) = BaseFileName::parse(&status.name) {
                files.base_files.push(ListedBase { name, len: status.len });
            } else if let Some(name) = LogFileName::parse(&status.name).filter(|name| name.extension == "log") {
                files.log_files.push(ListedLog { name, len: status.len });
            }
        }
        files
    }

    /// Whether there is no data file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base_files.is_empty() && self.log_files.is_empty()
    }

    /// A file of this partition, relative to the table.
    pub(super) fn path(&self, name: &str) -> String {
        if self.partition.is_empty() { name.to_owned() } else { format!("{}/{name}", self.partition) }
    }
}
