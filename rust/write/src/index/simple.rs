//! The simple indexes: keys are looked for among those of all base files (`HoodieSimpleIndex`,
//! `HoodieGlobalSimpleIndex`).

use std::sync::Arc;

use super::incoming_keys::partitions_of;
use super::index::Index;
use super::key_join::join;
use super::options::IndexType;
use super::tagged::Tagged;
use super::task_look_up::TaskLookUp;
use mortice_base::error::Result;
use mortice_merge::keys::RowKeys;
use mortice_table::plan::OpenTable;

/// `SIMPLE`, `GLOBAL_SIMPLE`; another type whose place the index takes.
#[derive(Debug)]
pub(super) struct SimpleIndex {
    kind: IndexType,
    updates_partition: bool,
}

impl SimpleIndex {
    pub(super) const fn new(kind: IndexType, updates_partition: bool) -> Self {
        Self { kind, updates_partition }
    }
}

impl Index for SimpleIndex {
    fn kind(&self) -> IndexType {
        self.kind
    }

    fn updates_partition(&self) -> bool {
        self.updates_partition
    }

    fn tag(&self, table: &Arc<OpenTable>, keys: &RowKeys) -> Result<Tagged> {
        let view = self.view(table, self.partitions(&partitions_of(keys)))?;
        join(table, view, keys, self.is_global(), |_, _, _| Ok(true))
    }

    fn task_look_up(&self, _: &OpenTable) -> Result<TaskLookUp> {
        Ok(TaskLookUp::StoredKeys)
    }
}
