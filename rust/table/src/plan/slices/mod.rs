//! The file slices that a query reads, or that a writer works on.
//!
//! | file | contents |
//! |---|---|
//! | `file_slices` | the file slices of a query, and where they were listed |
//! | `lister` | lists files, by the metadata table or in storage |
//! | `metadata` | opens the metadata table and reads its rows as those of any table |
//! | `selection` | chooses slices, and prunes them by the filters of the query |
//! | `partition_filter` | which partitions can hold a matching row, derived from their paths |
//! | `lost_files` | refuses slices whose files were cleaned |
//! | `registered_files` | files of other tools: refused where they cannot be found, or are to be changed |
//! | `write_view` | the file slices that a writer works on |
//! | `logs_beside_compaction` | of these the logs whose keys may be missing in base files |

pub(in crate::plan) mod file_slices;
pub(in crate::plan) mod lister;
pub(in crate::plan) mod logs_beside_compaction;
pub(in crate::plan) mod lost_files;
pub(in crate::plan) mod metadata;
pub(in crate::plan) mod partition_filter;
pub(in crate::plan) mod registered_files;
pub(in crate::plan) mod selection;
pub(in crate::plan) mod write_view;
