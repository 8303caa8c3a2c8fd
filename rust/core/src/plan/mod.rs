//! Plan: from a table to what is read.
//!
//! | file | job |
//! |---|---|
//! | `changes` | what the commits of a span changed |
//! | `incremental` | what the commits of a span have written |
//! | `listing` | the partitions of a table and their files, from storage |
//! | `partition_filter` | which partitions can hold a wanted row, told by their paths |

mod changes;
mod incremental;
mod listing;
mod partition_filter;

pub use changes::{Changed, How, WrittenFile, changes_in};
pub use incremental::{Skip, Written};
pub use listing::{files_of, list_table, list_where, partitions};
pub use partition_filter::PartitionFilter;
