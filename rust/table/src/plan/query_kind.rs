//! The kinds of queries, each with its specific options.

use super::ranges::written_files::SkippedWrites;
use crate::timeline::HollowCommitPolicy;

/// A kind of query.
#[derive(Debug, Clone)]
pub enum QueryKind {
    /// The rows as of the latest commit: base files and logs merged.
    Snapshot(SnapshotRows),
    /// The rows as of an earlier instant.
    TimeTravel {
        /// The instant, in any format that Hudi accepts.
        as_of: String,
        /// The rows to return.
        rows: SnapshotRows,
    },
    /// The rows of base files only, without logs: those that compactions have merged.
    ReadOptimized {
        /// The instant, in any format that Hudi accepts; `None` is the latest.
        as_of: Option<String>,
    },
    /// The rows that a range of commits wrote.
    Incremental(IncrementalRange),
    /// The changes that a range of commits made (change data capture).
    Changes(CommitBounds),
}

impl QueryKind {
    /// Returns the name of the kind, for display.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Snapshot(_) | Self::TimeTravel { .. } => "snapshot",
            Self::ReadOptimized { .. } => "read_optimized",
            Self::Incremental(_) => "incremental",
            Self::Changes(_) => "changes",
        }
    }
}

/// The rows that a snapshot returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SnapshotRows {
    /// Base and log records of a key are merged into one row.
    #[default]
    Merged,
    /// Merged rows, and deleted keys as well, marked in `_hoodie_operation`.
    MergedWithDeletes,
    /// Base rows and log records without merging (skip merge).
    Unmerged,
}

/// The rows that an incremental query returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IncrementalRows {
    /// The rows as of the end of the range.
    #[default]
    Merged,
    /// The rows as of the end of the range, and deleted keys as well, marked in `_hoodie_operation`.
    MergedWithDeletes,
    /// Every log record, including deletes, and the base rows written by the commit of their base file. Nothing is
    /// merged.
    Changelog,
}

/// Whether an incremental query reads all files if a commit of its range was archived or one of its files was cleaned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FullScanFallback {
    /// As in Hudi 1.x: from table version 8, except for change logs.
    #[default]
    ByTableVersion,
    /// It reads all files.
    Enabled,
    /// It fails.
    Disabled,
}

/// The bounds of a range of commits.
#[derive(Debug, Clone, Default)]
pub struct CommitBounds {
    /// An instant in any format that Hudi accepts, or `earliest`. Exclusive.
    pub begin: String,
    /// Inclusive; `None` is the latest.
    pub end: Option<String>,
    /// How pending commits that later ones have overtaken are handled, below table version 8.
    pub holes: HollowCommitPolicy,
}

/// The commits of an incremental query, and the rows that it returns.
#[derive(Debug, Clone, Default)]
pub struct IncrementalRange {
    /// The bounds of the range.
    pub bounds: CommitBounds,
    /// Table services whose commits are skipped.
    pub skip: SkippedWrites,
    /// How missing files of the range are handled.
    pub full_scan: FullScanFallback,
    /// Whether the schema is that of the range's last commit instead of the table's.
    pub schema_at_end: bool,
    /// The rows to return.
    pub rows: IncrementalRows,
}

impl IncrementalRange {
    /// Returns the table services that the query skips: a change log contains the rows of writers only.
    pub(super) fn skipped(&self) -> SkippedWrites {
        match self.rows {
            IncrementalRows::Changelog => SkippedWrites { compaction: true, clustering: true, ..self.skip },
            IncrementalRows::Merged | IncrementalRows::MergedWithDeletes => self.skip,
        }
    }

    /// Returns true if nothing is merged.
    pub(super) fn is_changelog(&self) -> bool {
        self.rows == IncrementalRows::Changelog
    }
}

/// The format of returned rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowForm {
    /// Whether base and log records of a key are merged into one row.
    pub(super) merged: bool,
    /// Whether deleted keys are returned as well.
    pub(super) with_deletes: bool,
}

impl RowForm {
    /// Merged rows without deleted keys.
    pub(super) const MERGED: Self = Self { merged: true, with_deletes: false };
}

impl From<SnapshotRows> for RowForm {
    fn from(rows: SnapshotRows) -> Self {
        Self { merged: rows != SnapshotRows::Unmerged, with_deletes: rows == SnapshotRows::MergedWithDeletes }
    }
}

impl From<IncrementalRows> for RowForm {
    fn from(rows: IncrementalRows) -> Self {
        Self { merged: rows != IncrementalRows::Changelog, with_deletes: rows != IncrementalRows::Merged }
    }
}
