//! The file slices of a query, and where they were listed.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::file_group::FileSlice;
use crate::split::CommitRange;
use crate::timeline::InstantFilter;

/// The slices that a query reads.
#[derive(Default)]
pub(super) struct Slices {
    pub(super) slices: Vec<FileSlice>,
    pub(super) instants: InstantFilter,
    pub(super) range: Option<CommitRange>,
    pub(super) partitions: Partitions,
    pub(super) listing: Listing,
    /// Whether uncommitted blocks are in shared log files and are recognised by their instants, for either layout of the timeline.
    pub(super) commits_by_block: bool,
}

/// How many partitions a query reads, and how many it need not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Partitions {
    pub(super) read: usize,
    pub(super) pruned: usize,
}

/// Where the files of a query were listed.
#[derive(Debug, Clone, Default)]
pub(super) enum Listing {
    /// In storage, which alone has them.
    #[default]
    Storage,
    /// In the metadata table.
    MetadataTable,
    /// In storage, since the caller would have it so.
    MetadataTableOff,
    /// In storage, since the metadata table could not be used.
    MetadataTableFailed(Arc<Error>),
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage => f.write_str("storage"),
            Self::MetadataTable => f.write_str("metadata table"),
            Self::MetadataTableOff => f.write_str("storage (the metadata table is switched off)"),
            Self::MetadataTableFailed(error) => write!(f, "storage (the metadata table cannot be used: {error})"),
        }
    }
}
