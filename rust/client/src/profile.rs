//! The workload profile: what a write is about to do, for the inflight instant
//! (`BaseCommitActionExecutor.saveWorkloadProfileMetadataToInflight`). Other writers read the updated file groups of it
//! when they look for conflicts early.

use mortice_base::error::Result;
use mortice_table::timeline::WriteOperation;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieWriteStat, OrderedMap};
use mortice_write::assign::{GroupTask, TaskKind};
use mortice_write::row_set::RowMarks;

/// What a task is about to do.
pub(super) struct TaskProfile<'a> {
    pub(super) partition: &'a str,
    pub(super) kind: &'a TaskKind,
    /// Rows that are no deletes.
    pub(super) rows: u64,
}

/// The tasks of a write, for its profile.
pub(super) fn task_profiles<'a>(tasks: &'a [GroupTask], marks: &RowMarks) -> Result<Vec<TaskProfile<'a>>> {
    let of_task = |task: &'a GroupTask| {
        let rows = marks.select(&task.rows)?.iter().filter(|mark| !mark.is_delete()).count();
        Ok(TaskProfile { partition: &task.partition, kind: &task.kind, rows: rows as u64 })
    };
    tasks.iter().map(of_task).collect()
}

/// The profile of tasks.
pub(super) fn profile<'a>(
    operation: WriteOperation,
    tasks: impl IntoIterator<Item = TaskProfile<'a>>,
) -> HoodieCommitMetadata {
    let mut stats: OrderedMap<Vec<HoodieWriteStat>> = OrderedMap::new();
    for task in tasks {
        let stat = stat_of(&task);
        match stats.get_mut(task.partition) {
            Some(partition) => partition.push(stat),
            None => stats.insert(task.partition.to_owned(), vec![stat]),
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

fn stat_of(task: &TaskProfile<'_>) -> HoodieWriteStat {
    let count = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
    let (file_id, previous) = match task.kind {
        TaskKind::Append { slice, .. } | TaskKind::Merge { slice } => {
            (slice.file_id.clone(), slice.base_instant.as_str().to_owned())
        }
        TaskKind::Create { .. } => (String::new(), "null".to_owned()),
    };
    let is_update = !file_id.is_empty();
    HoodieWriteStat {
        file_id: Some(file_id),
        prev_commit: Some(previous),
        num_inserts: count(if is_update { 0 } else { task.rows }),
        num_update_writes: count(if is_update { task.rows } else { 0 }),
        num_writes: Some(0),
        num_deletes: Some(0),
        total_write_bytes: Some(0),
        total_write_errors: Some(0),
        ..HoodieWriteStat::default()
    }
}
