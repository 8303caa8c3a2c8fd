//! The kinds of queries, each with the options that only it has.

use super::written_files::Skip;
use crate::timeline::Holes;

/// A kind of query.
#[derive(Debug, Clone)]
pub enum QueryKind {
    /// The rows as of the latest commit, base files and logs merged.
    Snapshot(SnapshotRows),
    /// The same as of an earlier instant.
    TimeTravel {
        /// The instant, in any form that Hudi takes.
        as_of: String,
        /// Which rows.
        rows: SnapshotRows,
    },
    /// The rows of base files alone: those that compactions have merged, and no log.
    ReadOptimized {
        /// The instant, in any form that Hudi takes; `None` is the latest.
        as_of: Option<String>,
    },
    /// The rows that a range of commits wrote.
    Incremental(IncrementalRange),
    /// The changes that a range of commits made (change data capture).
    Changes(CommitBounds),
}

impl QueryKind {
    /// The name of the kind, for people.
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

/// Which rows a snapshot delivers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SnapshotRows {
    /// Base and log rows of a key become one row.
    #[default]
    Merged,
    /// The same, and deleted keys as well, marked in `_hoodie_operation`.
    MergedWithDeletes,
    /// Base rows and log rows side by side (skip merge).
    Unmerged,
}

/// Which rows an incremental query delivers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IncrementalRows {
    /// The rows as they were at the end of the range.
    #[default]
    Merged,
    /// The same, and deleted keys as well, marked in `_hoodie_operation`.
    MergedWithDeletes,
    /// Every log record is a row, deletes too, and of base files the rows that their commit wrote. Nothing is merged.
    Changelog,
}

/// Whether an incremental query reads all files, where a commit of its range was archived or one of its files cleaned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FullScanFallback {
    /// As Hudi 1.x does: from table version 8 on, except for change logs.
    #[default]
    ByTableVersion,
    /// It does.
    Enabled,
    /// It fails instead.
    Disabled,
}

/// The bounds of a range of commits.
#[derive(Debug, Clone, Default)]
pub struct CommitBounds {
    /// An instant in any form that Hudi takes, or `earliest`. Exclusive.
    pub begin: String,
    /// Inclusive; `None` is the latest.
    pub end: Option<String>,
    /// What is done about pending commits that later ones have overtaken, below table version 8.
    pub holes: Holes,
}

/// The commits of an incremental query, and which of their rows it delivers.
#[derive(Debug, Clone, Default)]
pub struct IncrementalRange {
    /// Its bounds.
    pub bounds: CommitBounds,
    /// Table services to leave out.
    pub skip: Skip,
    /// What is done where files of the range are missing.
    pub full_scan: FullScanFallback,
    /// Whether the schema is that of the range's last commit, and not the table's.
    pub schema_at_end: bool,
    /// Which rows.
    pub rows: IncrementalRows,
}

impl IncrementalRange {
    /// The table services that the query leaves out: a change log has what commits wrote themselves.
    pub(super) fn skipped(&self) -> Skip {
        match self.rows {
            IncrementalRows::Changelog => Skip { compaction: true, clustering: true, ..self.skip },
            IncrementalRows::Merged | IncrementalRows::MergedWithDeletes => self.skip,
        }
    }

    /// Returns true if nothing is merged.
    pub(super) fn is_changelog(&self) -> bool {
        self.rows == IncrementalRows::Changelog
    }
}

/// The form of delivered rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowForm {
    /// Whether base and log rows of a key become one row.
    pub(super) merged: bool,
    /// Whether deleted keys are delivered as well.
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
