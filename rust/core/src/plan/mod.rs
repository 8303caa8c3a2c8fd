//! Plan: from a table to what is read.
//!
//! | file | job |
//! |---|---|
//! | `base_share` | the share of base files that a query reads, estimated |
//! | `change` | where the changes of a file group are found, and what they look like |
//! | `changes` | what the commits of a span changed |
//! | `incremental` | what the commits of a span have written |
//! | `listing` | the partitions of a table and their files, from storage |
//! | `part` | parts of a file slice that is too large for one task |
//! | `partition_filter` | which partitions can hold a wanted row, told by their paths |
//! | `path_value` | what a part of a path says of its column |
//! | `path_time` | times in paths |
//! | `snapshot` | the splits of a snapshot or read-optimized query |
//! | `split` | one part of a query, complete in itself |
//! | `split_form` | queries and splits as bytes |

mod base_share;
mod change;
mod changes;
mod incremental;
mod listing;
mod part;
mod partition_filter;
mod path_time;
mod path_value;
mod snapshot;
mod split;
mod split_form;

pub use base_share::base_share;
pub use change::{AFTER, BEFORE, COMMIT, Change, ChangeSource, OPERATION, change_schema};
pub use changes::{Changed, How, WrittenFile, changes_in};
pub use incremental::{Skip, Written};
pub use listing::{files_of, list_table, list_where, partitions};
pub use part::Part;
pub use partition_filter::PartitionFilter;
pub use snapshot::{divided, splits};
pub use split::{CommitRange, Deletes, MergerHandle, PathColumns, Query, Split};
