//! The schema strings of metadata table records (`HoodieMetadataRecord`), as Hudi writes them.
//!
//! | text | where |
//! |---|---|
//! | `block` | in log blocks and HFiles: with the five meta columns, which are null |
//! | `commit` | in `extraMetadata.schema` of commits: without them. A compaction by Hudi copies it |
//!
//! Hudi resolves records by the schema in their file, so metadata tables of version 6 get the schema of 0.15, which all
//! releases from 0.14 on read, and others that of 1.2. The files in `schemas/` are Hudi's (Apache License 2.0).

use mortice_merge::config::{TableVersion, TimelineLayout};

/// A pair of schema strings.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordSchema {
    /// In files.
    pub block: &'static str,
    /// In commits.
    pub commit: &'static str,
    /// Whether column statistics say if their bounds are tight, and the type of the values; and whether there are
    /// records of secondary indexes.
    pub(in crate::metadata_upkeep) is_1x: bool,
}

pub(in crate::metadata_upkeep) const OF_0_15: RecordSchema = RecordSchema {
    block: include_str!("schemas/block_0_15.avsc"),
    commit: include_str!("schemas/commit_0_15.avsc"),
    is_1x: false,
};

pub(in crate::metadata_upkeep) const OF_1_2: RecordSchema = RecordSchema {
    block: include_str!("schemas/block_1_2.avsc"),
    commit: include_str!("schemas/commit_1_2.avsc"),
    is_1x: true,
};

impl RecordSchema {
    /// All of them, the oldest first.
    pub const ALL: [&'static Self; 2] = [&OF_0_15, &OF_1_2];

    /// That of a metadata table of this version.
    #[must_use]
    pub fn of_version(version: TableVersion) -> &'static Self {
        match version.layout() {
            TimelineLayout::V1 => &OF_0_15,
            TimelineLayout::V2 => &OF_1_2,
        }
    }
}
