//! Plans of restores (`HoodieRestorePlan`). Avro in both layouts.

use super::file::metadata;
use super::record::record;
use super::rollback_plan::HoodieInstantInfo;

record! {
    /// The `.requested` file of a restore.
    pub struct HoodieRestorePlan {
        /// The instants to roll back, newest first.
        instants_to_rollback: Vec<HoodieInstantInfo> = "instantsToRollback",
        /// Version of the plan, 2.
        version: Option<i32> = "version",
        /// The instant of the savepoint, if the table is restored to one.
        savepoint_to_restore_timestamp: Option<String> = "savepointToRestoreTimestamp",
    }
}

metadata!(HoodieRestorePlan);
