//! How the tasks of a write find keys: a closed set, since a task of another process knows it from what it was sent.

/// How the tasks of a write find the keys of rows that are spread over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskLookUp {
    /// Among the keys of base files, which other tasks read.
    StoredKeys,
    /// By the hash of the key, among file groups that the driver has listed.
    Buckets,
    /// In the record index of the metadata table, which each task reads.
    RecordIndex,
    /// In the record index, and among the keys of the base files of the rows' partitions.
    RecordIndexAndStoredKeys,
}

impl TaskLookUp {
    /// Whether the driver lists file slices before. Otherwise tasks find out which partitions have the keys.
    #[must_use]
    pub const fn needs_view(self) -> bool {
        match self {
            Self::StoredKeys | Self::Buckets => true,
            Self::RecordIndex | Self::RecordIndexAndStoredKeys => false,
        }
    }

    /// Whether base files are read.
    #[must_use]
    pub const fn reads_base_files(self) -> bool {
        matches!(self, Self::StoredKeys | Self::RecordIndexAndStoredKeys)
    }

    /// Whether tasks read the record index.
    #[must_use]
    pub const fn reads_record_index(self) -> bool {
        matches!(self, Self::RecordIndex | Self::RecordIndexAndStoredKeys)
    }
}
