//! Results of indexing (`HoodieIndexCommitMetadata`). Avro in both layouts.

use super::file::metadata;
use super::index_plan::HoodieIndexPartitionInfo;
use super::record::record;

record! {
    /// The file of a completed indexing action.
    pub struct HoodieIndexCommitMetadata {
        /// Version of the record, 1.
        version: Option<i32> = "version",
        /// `WriteOperationType`: `INDEX`.
        operation_type: Option<String> = "operationType",
        /// The partitions of the metadata table that were built.
        index_partition_infos: Option<Vec<HoodieIndexPartitionInfo>> = "indexPartitionInfos",
    }
}

metadata!(HoodieIndexCommitMetadata);
