//! What follows from the operation of a commit (`WriteOperationType`). Metadata names it; operations that no rule names
//! are allowed.

use super::commit_metadata::CommitMetadata;

const COMPACT: &str = "COMPACT";
const LOG_COMPACT: &str = "LOG_COMPACT";
const CLUSTER: &str = "CLUSTER";
const INDEX: &str = "INDEX";

/// The operations that change rows (`WriteOperationType.yieldChanges`). The prepped ones are used by writers that have
/// looked up record keys themselves.
const CHANGING: [&str; 12] = [
    "INSERT",
    "INSERT_PREPPED",
    "UPSERT",
    "UPSERT_PREPPED",
    "BULK_INSERT",
    "BULK_INSERT_PREPPED",
    "DELETE",
    "DELETE_PREPPED",
    "DELETE_PARTITION",
    "INSERT_OVERWRITE",
    "INSERT_OVERWRITE_TABLE",
    "BOOTSTRAP",
];

/// Returns true for the operation of clustering.
pub(super) fn is_clustering(operation: &str) -> bool {
    operation == CLUSTER
}

impl CommitMetadata {
    /// Returns true if logs were merged into base files.
    #[must_use]
    pub fn is_compaction(&self) -> bool {
        self.operation == COMPACT
    }

    /// Returns true if logs were merged into logs.
    #[must_use]
    pub fn is_log_compaction(&self) -> bool {
        self.operation == LOG_COMPACT
    }

    /// Returns true if file groups were rewritten.
    #[must_use]
    pub fn is_clustering(&self) -> bool {
        is_clustering(&self.operation)
    }

    /// Returns true if existing rows were rewritten, which may be in any schema
    /// (`WriteOperationType.canUpdateSchema`).
    #[must_use]
    pub fn is_of_service(&self) -> bool {
        [COMPACT, LOG_COMPACT, CLUSTER, INDEX].contains(&self.operation.as_str())
    }

    /// Returns true if rows were changed.
    #[must_use]
    pub fn changes_rows(&self) -> bool {
        CHANGING.contains(&self.operation.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_change_no_rows() {
        let of = |operation: &str| CommitMetadata { operation: operation.to_owned(), ..CommitMetadata::default() };
        for service in [COMPACT, LOG_COMPACT, CLUSTER, INDEX] {
            assert!(of(service).is_of_service() && !of(service).changes_rows(), "{service}");
        }
        for operation in CHANGING {
            assert!(of(operation).changes_rows() && !of(operation).is_of_service(), "{operation}");
        }
        for other in ["UNKNOWN", "", "compact"] {
            assert!(!of(other).changes_rows() && !of(other).is_of_service(), "{other}");
        }
        assert!(of(CLUSTER).is_clustering() && of(COMPACT).is_compaction() && of(LOG_COMPACT).is_log_compaction());
    }
}
