//! Savepoints (`HoodieSavepointMetadata`). Avro in both layouts.

use super::file::metadata;
use super::ordered_map::OrderedMap;
use super::record::record;

record! {
    /// The file of a completed savepoint.
    pub struct HoodieSavepointMetadata {
        /// The user who made it.
        savepointed_by: String = "savepointedBy",
        /// When it was made, in milliseconds since 1970.
        savepointed_at: i64 = "savepointedAt",
        /// The user's comment.
        comments: String = "comments",
        /// The files that it keeps, by partition.
        partition_metadata: OrderedMap<HoodieSavepointPartitionMetadata> = "partitionMetadata",
        /// Version of the record, 1.
        version: Option<i32> = "version",
    }
}

metadata!(HoodieSavepointMetadata);

record! {
    /// The files that a savepoint keeps in one partition.
    pub struct HoodieSavepointPartitionMetadata {
        /// The partition.
        partition_path: String = "partitionPath",
        /// Names of the files; before 0.14 base files alone.
        savepoint_data_file: Vec<String> = "savepointDataFile",
    }
}
