//! New metadata tables and partitions, and their deletion.
//!
//! | file | job |
//! |---|---|
//! | `base_hfile` | a new metadata table |
//! | `new_partition` | a new metadata table |
//! | `new_metadata_table` | a new metadata table |
//! | `wanted_partitions` | which partitions options ask for |
//! | `change_partitions` | adds indexes to it, and drops them, as options ask |
//! | `drop_metadata_table` | deletes it, or partitions of it |
//! | `index_builder` | reads the files of a table, in this process or elsewhere |
//! | `record_index_files` | base files of a new record index |
//! | `secondary_index_files` | base files of a new secondary index |
//! | `listing_records` | records of a table, from a listing |
//! | `file_ranges` | ranges of columns of files that are there already |

pub(in crate::metadata_upkeep) mod base_hfile;
pub(in crate::metadata_upkeep) mod change_partitions;
pub(in crate::metadata_upkeep) mod drop_metadata_table;
pub(in crate::metadata_upkeep) mod file_ranges;
pub(in crate::metadata_upkeep) mod index_builder;
pub(in crate::metadata_upkeep) mod listing_records;
pub(in crate::metadata_upkeep) mod new_metadata_table;
pub(in crate::metadata_upkeep) mod new_partition;
pub(in crate::metadata_upkeep) mod record_index_files;
pub(in crate::metadata_upkeep) mod secondary_index_files;
pub(in crate::metadata_upkeep) mod wanted_partitions;
