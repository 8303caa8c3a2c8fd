//! Plans of rollbacks (`HoodieRollbackPlan`), from 0.11 on. Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// The `.requested` file of a rollback.
    pub struct HoodieRollbackPlan {
        /// The instant to roll back.
        instant_to_rollback: Option<HoodieInstantInfo> = "instantToRollback",
        /// What is to be done, for each file group or partition.
        rollback_requests: Option<Vec<HoodieRollbackRequest>> = "RollbackRequests",
        /// Version of the plan, 1.
        version: Option<i32> = "version",
    }
}

metadata!(HoodieRollbackPlan);

record! {
    /// An instant.
    pub struct HoodieInstantInfo {
        /// Its requested time.
        commit_time: String = "commitTime",
        /// Its action.
        action: String = "action",
    }
}

record! {
    /// What a rollback is to do.
    pub struct HoodieRollbackRequest {
        /// The partition.
        partition_path: String = "partitionPath",
        /// The file group.
        file_id: Option<String> = "fileId",
        /// The instant of its latest base file.
        latest_base_instant: Option<String> = "latestBaseInstant",
        /// The files to delete, with their full paths.
        files_to_be_deleted: Vec<String> = "filesToBeDeleted",
        /// The log files that get a rollback block, with their bytes: table versions up to 7.
        log_blocks_to_be_deleted: Option<OrderedMap<i64>> = "logBlocksToBeDeleted",
    }
}
