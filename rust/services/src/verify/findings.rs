//! What was found to be wrong with a table.

use serde::{Deserialize, Serialize};

/// A kind of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FindingKind {
    /// A file that a completed write wrote, and no clean removed, is not there.
    MissingFile,
    /// A file has another length than its write recorded.
    WrongLength,
    /// A completed write has no metadata that can be read.
    UnreadableInstant,
    /// A write was completed after it had been rolled back: its rows are not in the table.
    RollbackResult,
    /// The metadata table cannot be read.
    UnreadableMetadataTable,
    /// The metadata table lists a file that is not there.
    ListedNotStored,
    /// The metadata table does not list a file that is there.
    StoredNotListed,
    /// The metadata table lists a file with another length.
    ListedLength,
    /// A base file or log file cannot be decoded.
    UnreadableFile,
    /// A log file has a corrupt block among the bytes that a completed write wrote.
    DamagedLog,
    /// A data file of a kind that this release does not read.
    UnsupportedFile,
    /// A record key is in two file groups, or twice in one.
    DuplicateKey,
    /// A bucket has several file groups.
    DuplicateBucket,
    /// The record index does not have the key of a row.
    IndexMissingKey,
    /// The record index has another location of a key than its row.
    IndexWrongLocation,
    /// The record index has a key that no row has.
    IndexStaleKey,
    /// The metadata table lists a file of an instant that was not committed.
    ListedUncommitted,
    /// A file of an instant that was rolled back is before the start of the timeline, where files count as committed.
    UncommittedFile,
    /// A file before the start of the timeline of whose instant nothing is known: a completed write may have written
    /// it.
    UnaccountedFile,
    /// Files of a file group that an archived write replaced: its rows are in the table again.
    LiveReplacedGroup,
    /// A data file that no instant accounts for.
    OrphanFile,
    /// A file that a stopped writer had not finished.
    TemporaryFile,
    /// Markers of an instant that is not pending.
    StaleMarkers,
    /// The heartbeat of an instant that is not pending.
    DeadHeartbeat,
}

impl FindingKind {
    /// The name, for messages and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MissingFile => "missing_file",
            Self::WrongLength => "wrong_length",
            Self::UnreadableInstant => "unreadable_instant",
            Self::RollbackResult => "undone_instant",
            Self::UnreadableMetadataTable => "unreadable_metadata_table",
            Self::ListedNotStored => "listed_not_stored",
            Self::StoredNotListed => "stored_not_listed",
            Self::ListedLength => "listed_length",
            Self::UnreadableFile => "unreadable_file",
            Self::DamagedLog => "damaged_log",
            Self::UnsupportedFile => "unsupported_file",
            Self::DuplicateKey => "duplicate_key",
            Self::DuplicateBucket => "duplicate_bucket",
            Self::IndexMissingKey => "index_missing_key",
            Self::IndexWrongLocation => "index_wrong_location",
            Self::IndexStaleKey => "index_stale_key",
            Self::ListedUncommitted => "listed_uncommitted",
            Self::UncommittedFile => "uncommitted_file",
            Self::UnaccountedFile => "unaccounted_file",
            Self::LiveReplacedGroup => "live_replaced_group",
            Self::OrphanFile => "orphan_file",
            Self::TemporaryFile => "temporary_file",
            Self::StaleMarkers => "stale_markers",
            Self::DeadHeartbeat => "dead_heartbeat",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// Where: a path relative to the table.
    pub path: String,
    /// In words.
    pub message: String,
    /// The bytes of the file; none if there is none.
    pub bytes: Option<u64>,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, path: path.into(), message: message.into(), bytes: None }
    }

    pub(super) fn with_bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }
}
