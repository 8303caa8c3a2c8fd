//! What a clean deleted: for its own metadata, and for the metadata table.

use std::collections::BTreeMap;

/// By partition, `""` for a table without partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanedFiles {
    /// The partitions that files were deleted from.
    pub partitions: BTreeMap<String, CleanedPartition>,
}

/// What a clean deleted in one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanedPartition {
    /// The names of the files.
    pub files: Vec<String>,
    /// Whether the partition itself was deleted.
    pub is_deleted: bool,
}
