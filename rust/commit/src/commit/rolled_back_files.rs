//! What a rollback did to data files: for its own metadata, and for the metadata table.

use std::collections::BTreeMap;

/// By partition, `""` for a table without partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolledBackFiles {
    /// The partitions that the failed instant wrote to.
    pub partitions: BTreeMap<String, RolledBackPartition>,
}

/// What a rollback did in one partition. Files are given by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolledBackPartition {
    /// Files of the failed instant that are gone. Some may not have been written.
    pub deleted: Vec<String>,
    /// Log files that hold a rollback block, with their lengths: up to table version 7.
    pub rollback_logs: BTreeMap<String, u64>,
    /// Log files of the failed instant that stay, with their lengths: up to table version 7. Their blocks are undone by
    /// those of [`Self::rollback_logs`].
    pub failed_logs: BTreeMap<String, u64>,
}

impl RolledBackPartition {
    /// Whether a file was undone, or undoes one.
    #[must_use]
    pub fn names(&self, file: &str) -> bool {
        let is_file = |name: &String| name == file;
        self.deleted.iter().any(is_file) || self.rollback_logs.contains_key(file) || self.failed_logs.contains_key(file)
    }
}
