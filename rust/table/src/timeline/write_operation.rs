//! What a write does (`WriteOperationType`), what follows from it, and the action that it is on the timeline
//! (`CommitUtils.getCommitActionType`).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::instant::Action;
use mortice_merge::config::{TableConfig, TableType, TimelineLayout};

/// The operation of a commit. The prepped ones are those of writers that have looked record keys up themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WriteOperation {
    /// Updates rows whose key is there, inserts others.
    Upsert,
    /// The same, of records that are tagged and combined: commits of the metadata table.
    UpsertPrepped,
    /// Inserts rows.
    Insert,
    /// The same, of records that are tagged.
    InsertPrepped,
    /// Inserts rows into new base files.
    BulkInsert,
    /// The same, of records that are tagged: the first commits of the metadata table.
    BulkInsertPrepped,
    /// Deletes keys.
    Delete,
    /// The same, of records that are tagged.
    DeletePrepped,
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
    /// Takes over files of other tables.
    Bootstrap,
    /// Builds a partition of the metadata table.
    Index,
}

impl WriteOperation {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Upsert,
        Self::UpsertPrepped,
        Self::Insert,
        Self::InsertPrepped,
        Self::BulkInsert,
        Self::BulkInsertPrepped,
        Self::Delete,
        Self::DeletePrepped,
        Self::DeletePartition,
        Self::InsertOverwrite,
        Self::InsertOverwriteTable,
        Self::Compact,
        Self::LogCompact,
        Self::Cluster,
        Self::AlterSchema,
        Self::Bootstrap,
        Self::Index,
    ];

    /// Its name in commit metadata (`operationType`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upsert => "UPSERT",
            Self::UpsertPrepped => "UPSERT_PREPPED",
            Self::Insert => "INSERT",
            Self::InsertPrepped => "INSERT_PREPPED",
            Self::BulkInsert => "BULK_INSERT",
            Self::BulkInsertPrepped => "BULK_INSERT_PREPPED",
            Self::Delete => "DELETE",
            Self::DeletePrepped => "DELETE_PREPPED",
            Self::DeletePartition => "DELETE_PARTITION",
            Self::InsertOverwrite => "INSERT_OVERWRITE",
            Self::InsertOverwriteTable => "INSERT_OVERWRITE_TABLE",
            Self::Compact => "COMPACT",
            Self::LogCompact => "LOG_COMPACT",
            Self::Cluster => "CLUSTER",
            Self::AlterSchema => "ALTER_SCHEMA",
            Self::Bootstrap => "BOOTSTRAP",
            Self::Index => "INDEX",
        }
    }

    /// The operation of a name in commit metadata.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// The operation of a value of `hoodie.datasource.write.operation` and of `mortice.spark.write`: `upsert`,
    /// `bulk_insert`, …
    #[must_use]
    pub fn from_option(value: &str) -> Option<Self> {
        Self::named(&value.to_ascii_uppercase()).filter(|operation| operation.is_option())
    }

    /// Whether options name it.
    const fn is_option(self) -> bool {
        !matches!(self, Self::InsertPrepped | Self::DeletePrepped | Self::AlterSchema | Self::Bootstrap | Self::Index)
    }

    /// Whether it rewrites rows that exist, in any schema (`WriteOperationType.canUpdateSchema`).
    #[must_use]
    pub const fn is_table_service(self) -> bool {
        matches!(self, Self::Compact | Self::LogCompact | Self::Cluster | Self::Index)
    }

    /// Whether it changes rows (`WriteOperationType.yieldChanges`).
    #[must_use]
    pub const fn changes_rows(self) -> bool {
        !self.is_table_service() && !matches!(self, Self::AlterSchema)
    }

    /// Whether it may insert keys.
    #[must_use]
    pub const fn inserts_keys(self) -> bool {
        self.changes_rows() && !matches!(self, Self::Delete | Self::DeletePrepped | Self::DeletePartition)
    }

    /// The action that the operation requests in a table.
    ///
    /// A bulk insert into a merge-on-read table is a delta commit, as any other write. The one that creates the table
    /// is a commit in Hudi 1.x; but such a commit counts as a compaction, and Hudi's rollback of it leaves its instant
    /// on the timeline (measured).
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
            let of_option = WriteOperation::from_option(&operation.name().to_ascii_lowercase());
            assert_eq!(of_option, operation.is_option().then_some(operation));
        }
        assert_eq!(WriteOperation::named("upsert"), None);
        assert_eq!(WriteOperation::from_option("merge"), None);
    }

    #[test]
    fn services_change_no_rows() {
        for operation in WriteOperation::ALL {
            assert!(!(operation.is_table_service() && operation.changes_rows()), "{operation}");
            assert!(operation.changes_rows() || !operation.inserts_keys(), "{operation}");
        }
        let changing = WriteOperation::ALL.into_iter().filter(|operation| operation.changes_rows());
        assert_eq!(changing.count(), 12);
        assert!(!WriteOperation::Delete.inserts_keys() && WriteOperation::Bootstrap.inserts_keys());
    }
}
