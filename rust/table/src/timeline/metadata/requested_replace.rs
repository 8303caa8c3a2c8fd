//! Plans of clustering, and requested replace commits of other operations (`HoodieRequestedReplaceMetadata`,
//! `HoodieClusteringPlan`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// The `.requested` file of clustering and of replace commits. Operations other than clustering have no plan.
    pub struct HoodieRequestedReplaceMetadata {
        /// `CLUSTER`, or none.
        operation_type: Option<String> = "operationType",
        /// What is to be clustered.
        clustering_plan: Option<HoodieClusteringPlan> = "clusteringPlan",
        /// Strings by key.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
        /// Version of the record, 1.
        version: Option<i32> = "version",
    }
}

metadata!(HoodieRequestedReplaceMetadata);

record! {
    /// What is to be clustered, and how.
    pub struct HoodieClusteringPlan {
        /// Groups of file slices. Each is rewritten by itself.
        input_groups: Option<Vec<HoodieClusteringGroup>> = "inputGroups",
        /// How it is executed.
        strategy: Option<HoodieClusteringStrategy> = "strategy",
        /// Strings by key.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
        /// Version of the record, 1.
        version: Option<i32> = "version",
        /// Whether rows keep their meta columns.
        preserve_hoodie_metadata: Option<bool> = "preserveHoodieMetadata",
        /// Partitions that the plan left out (1.x).
        missing_schedule_partitions: Option<Vec<String>> = "missingSchedulePartitions",
    }
}

record! {
    /// File slices that are clustered together.
    pub struct HoodieClusteringGroup {
        /// The slices.
        slices: Option<Vec<HoodieSliceInfo>> = "slices",
        /// Numbers by name: sizes and counts of what is read.
        metrics: Option<OrderedMap<f64>> = "metrics",
        /// How many file groups are written.
        num_output_file_groups: Option<i32> = "numOutputFileGroups",
        /// Strings by key.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
        /// Version of the record, 1.
        version: Option<i32> = "version",
    }
}

record! {
    /// A file slice.
    pub struct HoodieSliceInfo {
        /// Its base file, with its full path.
        data_file_path: Option<String> = "dataFilePath",
        /// Its log files, with their full paths.
        delta_file_paths: Option<Vec<String>> = "deltaFilePaths",
        /// Its file group.
        file_id: Option<String> = "fileId",
        /// Its partition.
        partition_path: Option<String> = "partitionPath",
        /// The source file of a bootstrapped base file; empty for others.
        bootstrap_file_path: Option<String> = "bootstrapFilePath",
        /// Version of the record, 1.
        version: Option<i32> = "version",
    }
}

record! {
    /// How clustering is executed.
    pub struct HoodieClusteringStrategy {
        /// The Java class.
        strategy_class_name: Option<String> = "strategyClassName",
        /// Its parameters: columns to sort by, sizes.
        strategy_params: Option<OrderedMap<String>> = "strategyParams",
        /// Version of the record, 1.
        version: Option<i32> = "version",
    }
}
