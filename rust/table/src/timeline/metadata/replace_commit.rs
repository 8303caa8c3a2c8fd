//! Metadata of replace commits: insert overwrite, delete partition, clustering (`HoodieReplaceCommitMetadata`).
//!
//! JSON in layout 1, Avro in layout 2.

use super::commit::HoodieWriteStat;
use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// What a replace commit wrote, and the file groups that it replaced. The file of an inflight replace commit holds
    /// [`super::HoodieCommitMetadata`].
    pub struct HoodieReplaceCommitMetadata {
        /// Statistics of the files written, by partition.
        partition_to_write_stats: Option<OrderedMap<Vec<HoodieWriteStat>>> = "partitionToWriteStats",
        /// False.
        compacted: Option<bool> = "compacted",
        /// Strings by key: `schema`, checkpoints.
        extra_metadata: Option<OrderedMap<String>> = "extraMetadata",
        /// Version of the record, 1. JSON has no such field.
        version: Option<i32> = "version",
        /// `WriteOperationType`: `INSERT_OVERWRITE`, `CLUSTER`, ….
        operation_type: Option<String> = "operationType",
        /// The file groups replaced, by partition.
        partition_to_replace_file_ids: Option<OrderedMap<Vec<String>>> = "partitionToReplaceFileIds",
    }
}

metadata!(HoodieReplaceCommitMetadata);
