//! What follows from the operation that commit metadata names. Names that are not known are allowed: nothing follows
//! from them.

use super::commit_metadata::CommitMetadata;
use super::write_operation::WriteOperation;

/// Returns true for the operation of clustering.
pub(super) fn is_clustering(operation: &str) -> bool {
    WriteOperation::named(operation) == Some(WriteOperation::Cluster)
}

impl CommitMetadata {
    /// The operation, if it is known.
    #[must_use]
    pub fn write_operation(&self) -> Option<WriteOperation> {
        WriteOperation::named(&self.operation)
    }

    /// Returns true if logs were merged into base files.
    #[must_use]
    pub fn is_compaction(&self) -> bool {
        self.write_operation() == Some(WriteOperation::Compact)
    }

    /// Returns true if logs were merged into logs.
    #[must_use]
    pub fn is_log_compaction(&self) -> bool {
        self.write_operation() == Some(WriteOperation::LogCompact)
    }

    /// Returns true if file groups were rewritten.
    #[must_use]
    pub fn is_clustering(&self) -> bool {
        is_clustering(&self.operation)
    }

    /// Returns true if existing rows were rewritten, which may be in any schema.
    #[must_use]
    pub fn is_of_service(&self) -> bool {
        self.write_operation().is_some_and(WriteOperation::is_table_service)
    }

    /// Returns true if rows were changed.
    #[must_use]
    pub fn changes_rows(&self) -> bool {
        self.write_operation().is_some_and(WriteOperation::changes_rows)
    }

    /// Returns true if keys may have been inserted: that is not known of an operation that is not.
    #[must_use]
    pub fn may_insert_keys(&self) -> bool {
        self.write_operation().is_none_or(WriteOperation::inserts_keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_follows_from_unknown_operations() {
        let of = |operation: &str| CommitMetadata { operation: operation.to_owned(), ..CommitMetadata::default() };
        for other in ["UNKNOWN", "", "compact"] {
            let metadata = of(other);
            assert!(!metadata.changes_rows() && !metadata.is_of_service() && metadata.may_insert_keys(), "{other}");
        }
        assert!(of("CLUSTER").is_clustering() && of("COMPACT").is_compaction());
        assert!(of("LOG_COMPACT").is_log_compaction() && of("INDEX").is_of_service());
        assert!(of("BOOTSTRAP").changes_rows() && !of("DELETE_PREPPED").may_insert_keys());
    }
}
