//! Plans of indexing (`HoodieIndexPlan`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// The `.requested` file of an indexing action: partitions of the metadata table that are to be built.
    pub struct HoodieIndexPlan {
        /// Version of the plan, 1.
        version: Option<i32> = "version",
        /// The partitions.
        index_partition_infos: Option<Vec<HoodieIndexPartitionInfo>> = "indexPartitionInfos",
    }
}

metadata!(HoodieIndexPlan);

record! {
    /// A partition of the metadata table.
    pub struct HoodieIndexPartitionInfo {
        /// Version of the record, 1.
        version: Option<i32> = "version",
        /// The partition: `column_stats`, `record_index`, ….
        metadata_partition_path: Option<String> = "metadataPartitionPath",
        /// The instant up to which it is built.
        index_upto_instant: Option<String> = "indexUptoInstant",
        /// Strings by key.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
    }
}
