//! Plan: from a table to what is read.
//!
//! | file | job |
//! |---|---|
//! | `listing` | the partitions of a table and their files, from storage |
//! | `partition_filter` | which partitions can hold a wanted row, told by their paths |
//! | `snapshot` | the splits of a snapshot or read-optimized query |
//! | `split` | one part of a query, complete in itself |

mod listing;
mod partition_filter;
mod snapshot;
mod split;

pub use listing::{files_of, list_table, list_where, partitions};
pub use partition_filter::PartitionFilter;
pub use snapshot::splits;
pub use split::{Deletes, MergerHandle, Query, Split};
