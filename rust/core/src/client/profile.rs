//! The workload profile: what a write is about to do, for the inflight instant (`BaseCommitActionExecutor.saveWorkloadProfileMetadataToInflight`).
//! Other writers read the updated file groups of it when they look for conflicts early.

use super::prepare::Prepared;
use crate::assign::{GroupTask, TaskKind};
use crate::commit::WriteOperation;
use crate::timeline::metadata::{HoodieCommitMetadata, HoodieWriteStat, OrderedMap};

/// The profile of tasks.
pub(super) fn profile(operation: WriteOperation, tasks: &[GroupTask], prepared: &Prepared) -> HoodieCommitMetadata {
    let mut stats: OrderedMap<Vec<HoodieWriteStat>> = OrderedMap::new();
    for task in tasks {
        let stat = stat_of(task, prepared);
        match stats.get_mut(&task.partition) {
            Some(partition) => partition.push(stat),
            None => stats.insert(task.partition.clone(), vec![stat]),
        }
    }
    HoodieCommitMetadata {
        partition_to_write_stats: Some(stats),
        compacted: Some(false),
        extra_metadata: Some(OrderedMap::new()),
        operation_type: Some(operation.name().to_owned()),
        ..HoodieCommitMetadata::default()
    }
}

fn stat_of(task: &GroupTask, prepared: &Prepared) -> HoodieWriteStat {
    let rows = task.rows.iter().filter(|row| !prepared.is_delete(**row)).count();
    let count = |number: usize| Some(i64::try_from(number).unwrap_or(i64::MAX));
    let (file_id, previous) = match &task.kind {
        TaskKind::Append { slice, .. } | TaskKind::Merge { slice } => {
            (slice.file_id.clone(), slice.base_instant.as_str().to_owned())
        }
        TaskKind::Create { .. } => (String::new(), "null".to_owned()),
    };
    let is_update = !file_id.is_empty();
    HoodieWriteStat {
        file_id: Some(file_id),
        prev_commit: Some(previous),
        num_inserts: count(if is_update { 0 } else { rows }),
        num_update_writes: count(if is_update { rows } else { 0 }),
        num_writes: Some(0),
        num_deletes: Some(0),
        total_write_bytes: Some(0),
        total_write_errors: Some(0),
        ..HoodieWriteStat::default()
    }
}
