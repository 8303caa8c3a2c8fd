//! Names and values of metrics (`HoodieMetrics`).

use mortice_table::timeline::WriteOperation;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieRuntimeStats, HoodieWriteStat};

/// A metric: the name behind the prefix, and its value.
pub(super) type Metric = (String, i64);

/// The metrics of a commit.
///
/// Args:
///     action: The name of the action; see [`action_of`].
///     commit_ms: When it began, in milliseconds since the epoch.
///     duration_ms: How long it took.
///     metadata: What it wrote.
pub(super) fn of_commit(
    action: &str,
    commit_ms: i64,
    duration_ms: i64,
    metadata: &HoodieCommitMetadata,
) -> Vec<Metric> {
    let partitions: Vec<&Vec<HoodieWriteStat>> =
        metadata.partition_to_write_stats.iter().flat_map(|stats| stats.iter().map(|(_, stats)| stats)).collect();
    let stats: Vec<&HoodieWriteStat> = partitions.iter().copied().flatten().collect();
    let sum = |value: fn(&HoodieWriteStat) -> Option<i64>| {
        stats.iter().fold(0_i64, |sum, stat| sum.saturating_add(value(stat).unwrap_or_default()))
    };
    let time = |value: fn(&HoodieRuntimeStats) -> Option<i64>| {
        let times = stats.iter().filter_map(|stat| stat.runtime_stats.as_ref().and_then(value));
        times.fold(0_i64, i64::saturating_add)
    };
    let inserts = stats.iter().filter(|stat| is_new(stat)).count();
    let values = [
        ("commitTime", commit_ms),
        ("duration", duration_ms),
        ("totalPartitionsWritten", count(partitions.len())),
        ("totalFilesInsert", count(inserts)),
        ("totalFilesUpdate", count(stats.len().saturating_sub(inserts))),
        ("totalRecordsWritten", sum(|stat| stat.num_writes)),
        ("totalUpdateRecordsWritten", sum(|stat| stat.num_update_writes)),
        ("totalInsertRecordsWritten", sum(|stat| stat.num_inserts)),
        ("totalRecordsDeleted", sum(|stat| stat.num_deletes)),
        ("totalBytesWritten", sum(|stat| stat.total_write_bytes)),
        ("totalScanTime", time(|times| times.total_scan_time)),
        ("totalCreateTime", time(|times| times.total_create_time)),
        ("totalUpsertTime", time(|times| times.total_upsert_time)),
        ("totalCompactedRecordsUpdated", sum(|stat| stat.total_updated_records_compacted)),
        ("totalLogRecordsCompacted", sum(|stat| stat.total_log_records)),
        ("totalLogFilesCompacted", sum(|stat| stat.total_log_files_compacted)),
        ("totalLogFilesSize", sum(|stat| stat.total_log_size_compacted)),
    ];
    values.into_iter().map(|(name, value)| (format!("{action}.{name}"), value)).collect()
}

/// The metrics of a clean.
pub(super) fn of_clean(duration_ms: i64, files: usize) -> Vec<Metric> {
    vec![("clean.duration".to_owned(), duration_ms), ("clean.numFilesDeleted".to_owned(), count(files))]
}

/// The metrics of an archival.
pub(super) fn of_archival(duration_ms: i64, instants: usize) -> Vec<Metric> {
    vec![("archive.duration".to_owned(), duration_ms), ("archive.numInstantsArchived".to_owned(), count(instants))]
}

/// The action that metrics of an operation have: that of the timeline, but for services, which have their own.
pub(super) fn action_of(operation: WriteOperation, action: &'static str) -> &'static str {
    match operation {
        WriteOperation::Compact => "compaction",
        WriteOperation::LogCompact => "logcompaction",
        WriteOperation::Cluster => "clustering",
        _ => action,
    }
}

/// Whether a file is the first of its file group.
fn is_new(stat: &HoodieWriteStat) -> bool {
    stat.prev_commit.as_deref().is_some_and(|commit| commit.eq_ignore_ascii_case("null"))
}

fn count(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::metadata::OrderedMap;

    #[test]
    fn files_and_rows_are_counted() {
        let stat = |previous: &str, writes, inserts| HoodieWriteStat {
            prev_commit: Some(previous.into()),
            num_writes: Some(writes),
            num_inserts: Some(inserts),
            total_write_bytes: Some(100),
            runtime_stats: Some(HoodieRuntimeStats { total_create_time: Some(7), ..Default::default() }),
            ..Default::default()
        };
        let stats = [("a", vec![stat("null", 3, 3)]), ("b", vec![stat("20240101", 5, 1), stat("null", 1, 1)])];
        let metadata = HoodieCommitMetadata {
            partition_to_write_stats: Some(OrderedMap::from_iter(stats)),
            ..HoodieCommitMetadata::default()
        };
        let metrics = of_commit("commit", 1000, 20, &metadata);
        for (name, value) in [
            ("commitTime", 1000),
            ("duration", 20),
            ("totalPartitionsWritten", 2),
            ("totalFilesInsert", 2),
            ("totalFilesUpdate", 1),
            ("totalRecordsWritten", 9),
            ("totalInsertRecordsWritten", 5),
            ("totalBytesWritten", 300),
            ("totalCreateTime", 21),
            ("totalRecordsDeleted", 0),
        ] {
            assert!(metrics.contains(&(format!("commit.{name}"), value)), "{name}");
        }
        assert_eq!(action_of(WriteOperation::Compact, "commit"), "compaction");
        assert_eq!(action_of(WriteOperation::InsertOverwrite, "replacecommit"), "replacecommit");
    }
}
