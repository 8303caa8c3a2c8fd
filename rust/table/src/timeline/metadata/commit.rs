//! Metadata of commits, delta commits and completed compactions (`HoodieCommitMetadata`, `HoodieWriteStat`,
//! `HoodieDeltaWriteStat`).
//!
//! JSON in layout 1, Avro in layout 2. Files of inflight instants hold the same record: what the writer plans to write.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// What a commit wrote. For planning, [`crate::timeline::CommitMetadata`] reads a part of it faster.
    pub struct HoodieCommitMetadata {
        /// Statistics of the files written, by partition; the key is `""` for a table without partitions.
        partition_to_write_stats: Option<OrderedMap<Vec<HoodieWriteStat>>> = "partitionToWriteStats",
        /// True for a compaction.
        compacted: Option<bool> = "compacted",
        /// Strings by key: `schema` (the Avro schema without meta columns), checkpoints.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
        /// Version of the record, 1; Hudi 1.x writes null. JSON has no such field.
        version: Option<i32> = "version",
        /// `WriteOperationType`: `UPSERT`, `COMPACT`, ….
        operation_type: Option<String> = "operationType",
    }
}

metadata!(HoodieCommitMetadata);

record! {
    /// What a commit wrote to one file. Statistics of base files have no `log_version`, `log_offset`, `base_file` and
    /// `log_files`. JSON files may have `recordsStats` as well, which is an unknown field here.
    pub struct HoodieWriteStat {
        /// The file group.
        file_id: Option<String> = "fileId",
        /// The file, relative to the table.
        path: Option<String> = "path",
        /// Bytes of the change log files (CDC) by path.
        cdc_stats: Option<OrderedMap<i64>> = "cdcStats",
        /// The instant of the slice that was written upon; the string `null` for a new file group.
        prev_commit: Option<String> = "prevCommit",
        /// Rows written.
        num_writes: Option<i64> = "numWrites",
        /// Rows deleted.
        num_deletes: Option<i64> = "numDeletes",
        /// Rows updated.
        num_update_writes: Option<i64> = "numUpdateWrites",
        /// Rows inserted.
        num_inserts: Option<i64> = "numInserts",
        /// Bytes written.
        total_write_bytes: Option<i64> = "totalWriteBytes",
        /// Rows that could not be written.
        total_write_errors: Option<i64> = "totalWriteErrors",
        /// Unused.
        temp_path: Option<String> = "tempPath",
        /// The partition.
        partition_path: Option<String> = "partitionPath",
        /// For compactions: log records read.
        total_log_records: Option<i64> = "totalLogRecords",
        /// For compactions: log files read. In Avro, `totalLogFiles` is a field beside it.
        total_log_files_compacted: Option<i64> = "totalLogFilesCompacted",
        /// The Avro form's field for the same count.
        total_log_files: Option<i64> = "totalLogFiles",
        /// For compactions: bytes of log files read.
        total_log_size_compacted: Option<i64> = "totalLogSizeCompacted",
        /// For compactions: rows updated.
        total_updated_records_compacted: Option<i64> = "totalUpdatedRecordsCompacted",
        /// For compactions: log blocks read.
        total_log_blocks: Option<i64> = "totalLogBlocks",
        /// For compactions: corrupt log blocks.
        total_corrupt_log_block: Option<i64> = "totalCorruptLogBlock",
        /// For compactions: rollback blocks.
        total_rollback_blocks: Option<i64> = "totalRollbackBlocks",
        /// For compactions: milliseconds spent on reading logs (1.x).
        total_log_read_time_ms: Option<i64> = "totalLogReadTimeMs",
        /// For compactions: rows updated by log records (1.x).
        num_updates: Option<i64> = "numUpdates",
        /// Bytes of the file after the write. Readers use it as the file's length.
        file_size_in_bytes: Option<i64> = "fileSizeInBytes",
        /// The least event time, if it is recorded.
        min_event_time: Option<i64> = "minEventTime",
        /// The greatest event time, if it is recorded.
        max_event_time: Option<i64> = "maxEventTime",
        /// The base file that was replaced, by name (1.x).
        prev_base_file: Option<String> = "prevBaseFile",
        /// Milliseconds that the write took.
        runtime_stats: Option<HoodieRuntimeStats> = "runtimeStats",
        /// For logs: the version in the file's name.
        log_version: Option<i32> = "logVersion",
        /// For logs: the offset of the first block written.
        log_offset: Option<i64> = "logOffset",
        /// For logs: the name of the slice's base file; empty from table version 8.
        base_file: Option<String> = "baseFile",
        /// For logs: names of the slice's log files; from table version 8 this file alone.
        log_files: Option<Vec<String>> = "logFiles",
    }
}

record! {
    /// Milliseconds that a write took (`HoodieWriteStat.RuntimeStats`).
    pub struct HoodieRuntimeStats {
        /// Reading logs.
        total_scan_time: Option<i64> = "totalScanTime",
        /// Updating rows.
        total_upsert_time: Option<i64> = "totalUpsertTime",
        /// Inserting rows.
        total_create_time: Option<i64> = "totalCreateTime",
    }
}
