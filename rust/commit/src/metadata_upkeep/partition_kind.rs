//! Partitions of the metadata table (`MetadataPartitionType`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use mortice_base::error::{Error, Result};
use mortice_merge::config::Properties;
use mortice_merge::config::option_names::METADATA_DROP_UNSUPPORTED;
pub(super) use mortice_table::metadata_table::SECONDARY_INDEX_PREFIX;

/// The property that names the partitions that are complete.
pub(super) const COMPLETED: &str = "hoodie.table.metadata.partitions";
/// The property that names those that are being built.
pub(super) const INFLIGHT: &str = "hoodie.table.metadata.partitions.inflight";

/// The property that names the partitions of a metadata table that was deleted to be built again, until it is: the
/// writer that goes on builds the same ones. Hudi keeps properties that it does not know.
pub(super) const TO_REBUILD: &str = "mortice.metadata.partitions.to.rebuild";

/// A partition that can be maintained. Their order is that in which Hudi initialises them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PartitionKind {
    Files,
    ColumnStats,
    BloomFilters,
    RecordIndex,
    /// A secondary index, by the name of its folder.
    SecondaryIndex(Arc<str>),
    PartitionStats,
}

impl PartitionKind {
    /// Those of which a table has one at most, in the order in which Hudi initialises them.
    pub(super) const SINGLE: [Self; 5] =
        [Self::Files, Self::ColumnStats, Self::BloomFilters, Self::RecordIndex, Self::PartitionStats];

    /// The folder, which is the name in the table's properties.
    pub(super) fn folder(&self) -> &str {
        match self {
            Self::Files => "files",
            Self::ColumnStats => "column_stats",
            Self::BloomFilters => "bloom_filters",
            Self::RecordIndex => "record_index",
            Self::SecondaryIndex(name) => name,
            Self::PartitionStats => "partition_stats",
        }
    }

    /// What the ids of its file groups begin with, before the number.
    fn file_group_prefix(&self) -> Cow<'static, str> {
        match self {
            Self::Files => "files".into(),
            Self::ColumnStats => "col-stats".into(),
            Self::BloomFilters => "bloom-filters".into(),
            Self::RecordIndex => "record-index".into(),
            // `HoodieTableMetadataUtil.getFileIDPrefix`.
            Self::SecondaryIndex(name) => name.replace('_', "-").into(),
            Self::PartitionStats => "partition-stats".into(),
        }
    }

    /// The id of a file group.
    pub(super) fn file_group(&self, number: u32) -> String {
        format!("{}-{number:04}-0", self.file_group_prefix())
    }

    /// The partition of a name in the table's properties.
    pub(super) fn named(name: &str) -> Option<Self> {
        let is_secondary =
            name.strip_prefix(SECONDARY_INDEX_PREFIX).is_some_and(|rest| !rest.is_empty() && !rest.contains('/'));
        if is_secondary {
            return Some(Self::SecondaryIndex(name.into()));
        }
        Self::SINGLE.into_iter().find(|kind| kind.folder() == name)
    }
}

/// The folders of the partitions that a table's metadata table has, as its properties name them.
///
/// # Errors
/// `Unsupported`, by name, for partitions that cannot be maintained.
pub fn maintained_partitions(properties: &Properties) -> Result<Vec<String>> {
    let listed = ListedPartitions::of_properties(properties);
    listed.check_known()?;
    Ok(listed.names())
}

/// The partitions that a table has, complete or being built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ListedPartitions {
    pub(super) known: BTreeSet<PartitionKind>,
    /// The names of those that cannot be maintained.
    pub(super) unknown: Vec<String>,
}

impl ListedPartitions {
    pub(super) fn of_properties(properties: &Properties) -> Self {
        Self::of_names([properties.list(&[COMPLETED]), properties.list(&[INFLIGHT])].concat())
    }

    /// Those of a metadata table that was deleted and not yet built again.
    pub(super) fn to_rebuild(properties: &Properties) -> Self {
        Self::of_names(properties.list(&[TO_REBUILD]))
    }

    fn of_names(names: Vec<String>) -> Self {
        let mut listed = Self::default();
        for name in names {
            match PartitionKind::named(&name) {
                Some(kind) => drop(listed.known.insert(kind)),
                None => listed.unknown.push(name),
            }
        }
        listed
    }

    /// The names of all of them.
    pub(super) fn names(&self) -> Vec<String> {
        let known = self.known.iter().map(|kind| kind.folder().to_owned());
        known.chain(self.unknown.iter().cloned()).collect()
    }

    /// The names of its secondary indexes.
    pub(super) fn secondary_indexes(&self) -> impl Iterator<Item = &str> {
        self.known.iter().filter_map(|kind| match kind {
            PartitionKind::SecondaryIndex(name) => Some(&**name),
            _ => None,
        })
    }

    /// The folders of those that it could have and does not; secondary indexes have names of their own.
    pub(super) fn unlisted(&self) -> Vec<String> {
        let kinds = PartitionKind::SINGLE.into_iter().filter(|kind| !self.known.contains(kind));
        kinds.map(|kind| kind.folder().to_owned()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.unknown.is_empty()
    }

    /// Refuses partitions that cannot be maintained.
    pub(super) fn check_known(&self) -> Result<()> {
        if self.unknown.is_empty() {
            return Ok(());
        }
        let known: Vec<&str> = PartitionKind::SINGLE.iter().map(PartitionKind::folder).collect();
        Err(Error::unsupported(format!(
            "the table's metadata table has partitions that mortice cannot maintain: {} (supported: {}, secondary indexes); set {METADATA_DROP_UNSUPPORTED}=true to drop these indexes, or write with Hudi",
            self.unknown.join(", "),
            known.join(", "),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn listed(completed: &str, inflight: &str) -> ListedPartitions {
        ListedPartitions::of_properties(&[(COMPLETED, completed), (INFLIGHT, inflight)].into_iter().collect())
    }

    #[test]
    fn partitions_of_either_property_are_listed() {
        let found = listed("files,column_stats", "record_index");
        let folders: Vec<&str> = found.known.iter().map(PartitionKind::folder).collect();
        assert_eq!(folders, ["files", "column_stats", "record_index"]);
        assert!(found.check_known().is_ok() && !found.is_empty() && listed("", "").is_empty());
    }

    #[test]
    fn unknown_partitions_are_refused_by_name() {
        let error = listed("files,vector_index_x", "expr_index_y").check_known().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("vector_index_x, expr_index_y (supported"), "{error}");
    }

    #[test]
    fn file_groups_are_numbered() {
        assert_eq!(PartitionKind::ColumnStats.file_group(1), "col-stats-0001-0");
        assert_eq!(PartitionKind::Files.file_group(0), "files-0000-0");
    }
}
