//! Results of restores (`HoodieRestoreMetadata`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;
use super::rollback::HoodieRollbackMetadata;
use super::rollback_plan::HoodieInstantInfo;

record! {
    /// The file of a completed restore.
    pub struct HoodieRestoreMetadata {
        /// The requested time of the restore.
        start_restore_time: String = "startRestoreTime",
        /// How long it took, in milliseconds.
        time_taken_in_millis: i64 = "timeTakenInMillis",
        /// Requested times of the instants rolled back.
        instants_to_rollback: Vec<String> = "instantsToRollback",
        /// The rollbacks, by requested time of the instant rolled back.
        hoodie_restore_metadata: OrderedMap<Vec<Option<HoodieRollbackMetadata>>> = "hoodieRestoreMetadata",
        /// Version of the record, 1.
        version: Option<i32> = "version",
        /// The instants rolled back.
        restore_instant_info: Vec<HoodieInstantInfo> = "restoreInstantInfo",
    }
}

metadata!(HoodieRestoreMetadata);
