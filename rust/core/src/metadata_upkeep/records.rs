//! The records of one commit in the metadata table, by its partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::partition_kind::PartitionKind;

/// Records of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PartitionRecords {
    /// Avro bytes by key, sorted as HFiles are.
    pub(super) upserts: BTreeMap<String, Vec<u8>>,
    /// Keys that are deleted; none of them is upserted.
    pub(super) deletes: BTreeSet<String>,
}

impl PartitionRecords {
    pub(super) fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.deletes.is_empty()
    }
}

/// Records by partition. Partitions without records are left out.
pub(super) type Records = BTreeMap<PartitionKind, PartitionRecords>;
