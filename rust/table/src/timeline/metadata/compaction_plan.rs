//! Plans of compactions and log compactions (`HoodieCompactionPlan`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// The `.requested` file of a compaction or log compaction.
    pub struct HoodieCompactionPlan {
        /// What is merged, one entry for each file slice.
        operations: Option<Vec<HoodieCompactionOperation>> = "operations",
        /// Strings by key.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
        /// Version of the plan: 1 has full paths, 2 has names of files.
        version: Option<i32> = "version",
        /// How it is executed.
        strategy: Option<HoodieCompactionStrategy> = "strategy",
        /// Whether rows keep their meta columns.
        preserve_hoodie_metadata: Option<bool> = "preserveHoodieMetadata",
        /// Partitions that the plan left out (1.x).
        missing_schedule_partitions: Option<Vec<String>> = "missingSchedulePartitions",
    }
}

metadata!(HoodieCompactionPlan);

record! {
    /// A file slice that is compacted.
    pub struct HoodieCompactionOperation {
        /// The instant of the slice.
        base_instant_time: Option<String> = "baseInstantTime",
        /// Its log files.
        delta_file_paths: Option<Vec<String>> = "deltaFilePaths",
        /// Its base file, if it has one.
        data_file_path: Option<String> = "dataFilePath",
        /// Its file group.
        file_id: Option<String> = "fileId",
        /// Its partition.
        partition_path: Option<String> = "partitionPath",
        /// Numbers by name: sizes of what is read and written.
        metrics: Option<OrderedMap<f64>> = "metrics",
        /// The source file of a bootstrapped base file.
        bootstrap_file_path: Option<String> = "bootstrapFilePath",
    }
}

record! {
    /// How a compaction is executed.
    pub struct HoodieCompactionStrategy {
        /// The Java class.
        compactor_class_name: Option<String> = "compactorClassName",
        /// Its parameters.
        strategy_params: Option<OrderedMap<String>> = "strategyParams",
        /// Version of the record, 1.
        version: Option<i32> = "version",
    }
}
