//! The records that a commit adds to the metadata table, by partition.
//!
//! | file | job |
//! |---|---|
//! | `record_schema` | schema strings of records |
//! | `record_bytes` | records as Avro bytes |
//! | `column_kind` | how bounds of a column are stored, by its type |
//! | `commit_update` | what a commit changed |
//! | `files` | records of the partition `files` |
//! | `removed_partitions` | files that records of a partition that was removed still list |
//! | `column_stats` | records of statistics of files |
//! | `partition_stats` | records of statistics of partitions |
//! | `stored_statistics` | statistics that the metadata table has |
//! | `bloom_filters` | records of Bloom filters of base files |
//! | `record_index` | records of record keys' locations |
//! | `secondary_index` | records of a secondary index |
//! | `indexed_values` | the keys that a secondary index has of rows |
//! | `key_locations` | these records, set aside in files, by file group |
//! | `group_records` | records of one file group |
//! | `partition_records` | the records of a commit |
//! | `file_keys` | record keys of files, read from them |
//! | `indexed_columns` | the columns that have statistics |

pub(in crate::metadata_upkeep) mod bloom_filters;
pub(in crate::metadata_upkeep) mod column_kind;
pub(in crate::metadata_upkeep) mod column_stats;
pub(in crate::metadata_upkeep) mod commit_update;
pub(in crate::metadata_upkeep) mod file_keys;
pub(in crate::metadata_upkeep) mod files;
pub(in crate::metadata_upkeep) mod group_records;
pub(in crate::metadata_upkeep) mod indexed_columns;
pub(in crate::metadata_upkeep) mod indexed_values;
pub(in crate::metadata_upkeep) mod key_locations;
pub(in crate::metadata_upkeep) mod partition_records;
pub(in crate::metadata_upkeep) mod partition_stats;
pub(in crate::metadata_upkeep) mod record_bytes;
pub(in crate::metadata_upkeep) mod record_index;
pub(in crate::metadata_upkeep) mod record_schema;
pub(in crate::metadata_upkeep) mod removed_partitions;
pub(in crate::metadata_upkeep) mod secondary_index;
pub(in crate::metadata_upkeep) mod stored_statistics;
