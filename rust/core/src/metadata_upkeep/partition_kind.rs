//! Partitions of the metadata table (`MetadataPartitionType`).

use std::collections::BTreeSet;

use crate::config::PropertiesFile;
use crate::error::{Error, Result};

/// The property that names the partitions that are complete.
pub(super) const COMPLETED: &str = "hoodie.table.metadata.partitions";
/// The property that names those that are being built.
pub(super) const INFLIGHT: &str = "hoodie.table.metadata.partitions.inflight";

/// A partition that can be maintained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PartitionKind {
    Files,
    ColumnStats,
    BloomFilters,
    RecordIndex,
    PartitionStats,
}

impl PartitionKind {
    /// All of them, in the order in which Hudi initialises them.
    pub(super) const ALL: [Self; 5] =
        [Self::Files, Self::ColumnStats, Self::BloomFilters, Self::RecordIndex, Self::PartitionStats];

    /// The folder, which is the name in the table's properties.
    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::ColumnStats => "column_stats",
            Self::BloomFilters => "bloom_filters",
            Self::RecordIndex => "record_index",
            Self::PartitionStats => "partition_stats",
        }
    }

    /// What the ids of its file groups begin with.
    const fn file_group_prefix(self) -> &'static str {
        match self {
            Self::Files => "files-",
            Self::ColumnStats => "col-stats-",
            Self::BloomFilters => "bloom-filters-",
            Self::RecordIndex => "record-index-",
            Self::PartitionStats => "partition-stats-",
        }
    }

    /// The id of a file group.
    pub(super) fn file_group(self, number: u32) -> String {
        format!("{}{number:04}-0", self.file_group_prefix())
    }

    /// The partition of a name in the table's properties.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.folder() == name)
    }
}

/// The partitions that a table has, complete or being built.
///
/// # Errors
/// `Unsupported`, by name, for partitions that cannot be maintained.
pub(super) fn listed_partitions(properties: &PropertiesFile) -> Result<BTreeSet<PartitionKind>> {
    let properties = properties.properties();
    let names = [properties.list(&[COMPLETED]), properties.list(&[INFLIGHT])].concat();
    let (known, unknown): (Vec<_>, Vec<_>) = names.iter().partition(|name| PartitionKind::named(name).is_some());
    if !unknown.is_empty() {
        let unknown: Vec<&str> = unknown.iter().map(|name| name.as_str()).collect();
        let known: Vec<&str> = PartitionKind::ALL.iter().map(|kind| kind.folder()).collect();
        return Err(Error::unsupported(format!(
            "the table's metadata table has partitions that mortice cannot maintain: {} (supported: {}); drop these indexes with Hudi, or write with Hudi",
            unknown.join(", "),
            known.join(", "),
        )));
    }
    Ok(known.into_iter().filter_map(|name| PartitionKind::named(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn properties(completed: &str, inflight: &str) -> PropertiesFile {
        [("hoodie.table.name", "t"), (COMPLETED, completed), (INFLIGHT, inflight)].into_iter().collect()
    }

    #[test]
    fn partitions_of_either_property_are_listed() {
        let found = listed_partitions(&properties("files,column_stats", "record_index")).unwrap();
        let folders: Vec<&str> = found.iter().map(|kind| kind.folder()).collect();
        assert_eq!(folders, ["files", "column_stats", "record_index"]);
        assert!(listed_partitions(&properties("", "")).unwrap().is_empty());
    }

    #[test]
    fn unknown_partitions_are_refused_by_name() {
        let error = listed_partitions(&properties("files,secondary_index_x", "expr_index_y")).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported);
        assert!(error.to_string().contains("secondary_index_x, expr_index_y (supported"), "{error}");
    }

    #[test]
    fn file_groups_are_numbered() {
        assert_eq!(PartitionKind::ColumnStats.file_group(1), "col-stats-0001-0");
        assert_eq!(PartitionKind::Files.file_group(0), "files-0000-0");
    }
}
