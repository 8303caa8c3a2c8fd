//! Results of rollbacks (`HoodieRollbackMetadata`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;
use super::rollback_plan::HoodieInstantInfo;

record! {
    /// The file of a completed rollback, and part of that of a completed restore.
    pub struct HoodieRollbackMetadata {
        /// The requested time of the rollback.
        start_rollback_time: String = "startRollbackTime",
        /// How long it took, in milliseconds.
        time_taken_in_millis: i64 = "timeTakenInMillis",
        /// How many files were deleted.
        total_files_deleted: i32 = "totalFilesDeleted",
        /// Requested times of the instants rolled back.
        commits_rollback: Vec<String> = "commitsRollback",
        /// What was done, by partition.
        partition_metadata: OrderedMap<HoodieRollbackPartitionMetadata> = "partitionMetadata",
        /// Version of the record, 1.
        version: Option<i32> = "version",
        /// The instants rolled back.
        instants_rollback: Vec<HoodieInstantInfo> = "instantsRollback",
    }
}

metadata!(HoodieRollbackMetadata);

record! {
    /// What a rollback did in one partition. Files of Hudi 0.9 have `writtenLogFiles` as well, which is an unknown
    /// field.
    pub struct HoodieRollbackPartitionMetadata {
        /// The partition.
        partition_path: String = "partitionPath",
        /// The files deleted.
        success_delete_files: Vec<String> = "successDeleteFiles",
        /// The files that could not be deleted.
        failed_delete_files: Vec<String> = "failedDeleteFiles",
        /// Log files to which a rollback block was appended, with their bytes: table versions up to 7.
        rollback_log_files: Option<OrderedMap<i64>> = "rollbackLogFiles",
        /// Log files of the failed commit, with their bytes.
        log_files_from_failed_commit: Option<OrderedMap<i64>> = "logFilesFromFailedCommit",
    }
}
