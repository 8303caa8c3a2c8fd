//! Plans of cleans (`HoodieCleanerPlan`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// The `.requested` file of a clean; up to 1.0 also the `.inflight` one.
    pub struct HoodieCleanerPlan {
        /// Files that this instant and later ones need are kept; none if the clean goes by versions.
        earliest_instant_to_retain: Option<HoodieActionInstant> = "earliestInstantToRetain",
        /// The last completed write when the clean was planned.
        last_completed_commit_timestamp: String = "lastCompletedCommitTimestamp",
        /// `HoodieCleaningPolicy`: `KEEP_LATEST_COMMITS`, ….
        policy: String = "policy",
        /// Names of the files to delete, by partition: version 1 of the plan, before 0.7.
        files_to_be_deleted_per_partition: Option<OrderedMap<Vec<String>>> = "filesToBeDeletedPerPartition",
        /// Version of the plan, 2.
        version: Option<i32> = "version",
        /// The files to delete, by partition.
        file_paths_to_be_deleted_per_partition: Option<OrderedMap<Vec<HoodieCleanFileInfo>>>
            = "filePathsToBeDeletedPerPartition",
        /// Partitions that are deleted as a whole.
        partitions_to_be_deleted: Option<Vec<String>> = "partitionsToBeDeleted",
        /// Strings by key.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
    }
}

metadata!(HoodieCleanerPlan);

record! {
    /// An instant that a clean keeps.
    pub struct HoodieActionInstant {
        /// Its requested time.
        timestamp: String = "timestamp",
        /// Its action.
        action: String = "action",
        /// Its state: `COMPLETED`, ….
        state: String = "state",
    }
}

record! {
    /// A file to delete.
    pub struct HoodieCleanFileInfo {
        /// Its full path.
        file_path: Option<String> = "filePath",
        /// Whether it is the source file of a bootstrapped base file.
        is_bootstrap_base_file: Option<bool> = "isBootstrapBaseFile",
    }
}
