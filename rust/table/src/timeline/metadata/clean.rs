//! Results of cleans (`HoodieCleanMetadata`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// The file of a completed clean.
    pub struct HoodieCleanMetadata {
        /// The requested time of the clean.
        start_clean_time: String = "startCleanTime",
        /// How long it took, in milliseconds.
        time_taken_in_millis: i64 = "timeTakenInMillis",
        /// How many files were deleted.
        total_files_deleted: i32 = "totalFilesDeleted",
        /// Slices that only older instants need may be gone; empty if the clean went by versions.
        earliest_commit_to_retain: String = "earliestCommitToRetain",
        /// The last completed write when the clean was planned.
        last_completed_commit_timestamp: String = "lastCompletedCommitTimestamp",
        /// What was deleted, by partition.
        partition_metadata: OrderedMap<HoodieCleanPartitionMetadata> = "partitionMetadata",
        /// Version of the record, 2; 1 has full paths.
        version: Option<i32> = "version",
        /// The source files of bootstrapped base files that were deleted, by partition.
        bootstrap_partition_metadata: Option<OrderedMap<HoodieCleanPartitionMetadata>> = "bootstrapPartitionMetadata",
        /// Strings by key.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
    }
}

metadata!(HoodieCleanMetadata);

record! {
    /// What a clean deleted in one partition.
    pub struct HoodieCleanPartitionMetadata {
        /// The partition.
        partition_path: String = "partitionPath",
        /// `HoodieCleaningPolicy`: `KEEP_LATEST_COMMITS`, ….
        policy: String = "policy",
        /// What was to be deleted.
        delete_path_patterns: Vec<String> = "deletePathPatterns",
        /// What was deleted.
        success_delete_files: Vec<String> = "successDeleteFiles",
        /// What could not be deleted.
        failed_delete_files: Vec<String> = "failedDeleteFiles",
        /// Whether the partition itself was deleted.
        is_partition_deleted: Option<bool> = "isPartitionDeleted",
    }
}
