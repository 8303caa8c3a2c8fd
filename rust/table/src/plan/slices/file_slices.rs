//! The file slices of a query, and the source of their listing.

use std::fmt;
use std::sync::Arc;

use crate::file_group::FileSlice;
use crate::split::CommitRange;
use crate::timeline::InstantFilter;
use mortice_base::error::Error;

/// The slices that a query reads.
#[derive(Default)]
pub(in crate::plan) struct SelectedSlices {
    pub(in crate::plan) slices: Vec<Arc<FileSlice>>,
    pub(in crate::plan) instants: InstantFilter,
    pub(in crate::plan) range: Option<CommitRange>,
    pub(in crate::plan) partitions: PartitionCounts,
    pub(in crate::plan) listing: ListingSource,
    /// Whether uncommitted blocks are in shared log files and are recognised by their instants, for either layout of
    /// the timeline.
    pub(in crate::plan) commits_by_block: bool,
}

/// The numbers of partitions that a query reads and skips.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::plan) struct PartitionCounts {
    pub(in crate::plan) read: usize,
    pub(in crate::plan) pruned: usize,
}

/// The source of the file listing.
#[derive(Debug, Clone, Default)]
pub(in crate::plan) enum ListingSource {
    /// Storage: the table has no metadata table.
    #[default]
    Storage,
    /// The metadata table.
    MetadataTable,
    /// Storage: the options disable the metadata table.
    MetadataTableOff,
    /// Storage: the metadata table could not be used.
    MetadataTableFailed(Arc<Error>),
}

impl fmt::Display for ListingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage => f.write_str("storage"),
            Self::MetadataTable => f.write_str("metadata table"),
            Self::MetadataTableOff => f.write_str("storage (the metadata table is disabled)"),
            Self::MetadataTableFailed(error) => write!(f, "storage (the metadata table cannot be used: {error})"),
        }
    }
}
