//! What a write does (`WriteOperationType`), and the action that it is on the timeline (`CommitUtils.getCommitActionType`).

use std::fmt;

use serde::{Deserialize, Serialize};

use mortice_merge::config::{TableConfig, TableType, TimelineLayout};
use mortice_table::timeline::Action;

/// An operation that writes data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WriteOperation {
    /// Updates rows whose key is there, inserts others.
    Upsert,
    /// The same, of records that are tagged and combined: commits of the metadata table.
    UpsertPrepped,
    /// Inserts rows.
    Insert,
    /// Inserts rows into new base files.
    BulkInsert,
    /// The same, of records that are tagged: the first commits of the metadata table.
    BulkInsertPrepped,
    /// Deletes keys.
    Delete,
    /// Deletes all file groups of partitions.
    DeletePartition,
    /// Replaces the file groups of the partitions that are written.
    InsertOverwrite,
    /// Replaces all file groups.
    InsertOverwriteTable,
    /// Merges logs into base files.
    Compact,
    /// Merges logs into logs.
    LogCompact,
    /// Rewrites file groups.
    Cluster,
    /// Changes columns, and no rows.
    AlterSchema,
}

impl WriteOperation {
    /// All that options name.
    pub const ALL: [Self; 12] = [
        Self::Upsert,
        Self::UpsertPrepped,
        Self::Insert,
        Self::BulkInsert,
        Self::BulkInsertPrepped,
        Self::Delete,
        Self::DeletePartition,
        Self::InsertOverwrite,
        Self::InsertOverwriteTable,
        Self::Compact,
        Self::LogCompact,
        Self::Cluster,
    ];

    /// Its name in commit metadata (`operationType`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upsert => "UPSERT",
            Self::UpsertPrepped => "UPSERT_PREPPED",
            Self::Insert => "INSERT",
            Self::BulkInsert => "BULK_INSERT",
            Self::BulkInsertPrepped => "BULK_INSERT_PREPPED",
            Self::Delete => "DELETE",
            Self::DeletePartition => "DELETE_PARTITION",
            Self::InsertOverwrite => "INSERT_OVERWRITE",
            Self::InsertOverwriteTable => "INSERT_OVERWRITE_TABLE",
            Self::Compact => "COMPACT",
            Self::LogCompact => "LOG_COMPACT",
            Self::Cluster => "CLUSTER",
            Self::AlterSchema => "ALTER_SCHEMA",
        }
    }

    /// The operation of a name in commit metadata.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// The operation of a value of `hoodie.datasource.write.operation` and of `mortice.spark.write`: `upsert`, `bulk_insert`, …
    #[must_use]
    pub fn from_option(value: &str) -> Option<Self> {
        Self::named(&value.to_ascii_uppercase())
    }

    /// The action that the operation requests in a table.
    ///
    /// A bulk insert into a merge-on-read table is a delta commit, as any other write. The one that creates the table is a commit in
    /// Hudi 1.x; but such a commit counts as a compaction, and Hudi's rollback of it leaves its instant on the timeline (measured).
    #[must_use]
    pub fn action(self, table: &TableConfig) -> Action {
        let is_merge_on_read = table.table_type == TableType::MergeOnRead;
        match self {
            Self::DeletePartition | Self::InsertOverwrite | Self::InsertOverwriteTable => Action::ReplaceCommit,
            Self::Compact => Action::Compaction,
            Self::LogCompact => Action::LogCompaction,
            Self::Cluster if table.layout() == TimelineLayout::V1 => Action::ReplaceCommit,
            Self::Cluster => Action::Clustering,
            _ if is_merge_on_read => Action::DeltaCommit,
            _ => Action::Commit,
        }
    }
}

impl fmt::Display for WriteOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_merge::config::Properties;

    fn table(version: &str, table_type: &str) -> TableConfig {
        let entries =
            [("hoodie.table.name", "t"), ("hoodie.table.version", version), ("hoodie.table.type", table_type)];
        TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap()
    }

    #[test]
    fn actions_by_table_type_and_version() {
        for (operation, version, table_type, action) in [
            (WriteOperation::Upsert, "9", "MERGE_ON_READ", Action::DeltaCommit),
            (WriteOperation::Upsert, "9", "COPY_ON_WRITE", Action::Commit),
            (WriteOperation::Delete, "6", "MERGE_ON_READ", Action::DeltaCommit),
            (WriteOperation::BulkInsert, "9", "MERGE_ON_READ", Action::DeltaCommit),
            (WriteOperation::BulkInsert, "9", "COPY_ON_WRITE", Action::Commit),
            (WriteOperation::BulkInsert, "6", "MERGE_ON_READ", Action::DeltaCommit),
            (WriteOperation::BulkInsertPrepped, "9", "MERGE_ON_READ", Action::DeltaCommit),
            (WriteOperation::InsertOverwrite, "6", "MERGE_ON_READ", Action::ReplaceCommit),
            (WriteOperation::DeletePartition, "9", "COPY_ON_WRITE", Action::ReplaceCommit),
            (WriteOperation::Cluster, "6", "MERGE_ON_READ", Action::ReplaceCommit),
            (WriteOperation::Cluster, "8", "MERGE_ON_READ", Action::Clustering),
            (WriteOperation::Compact, "9", "MERGE_ON_READ", Action::Compaction),
        ] {
            assert_eq!(operation.action(&table(version, table_type)), action, "{operation} {version} {table_type}");
        }
    }

    #[test]
    fn names_are_those_of_commit_metadata_and_options() {
        for operation in WriteOperation::ALL {
            assert_eq!(WriteOperation::named(operation.name()), Some(operation));
            assert_eq!(WriteOperation::from_option(&operation.name().to_ascii_lowercase()), Some(operation));
        }
        assert_eq!(WriteOperation::named("upsert"), None);
        assert_eq!(WriteOperation::from_option("merge"), None);
    }
}
