//! File groups: which files are read together, and which do not count.
//!
//! | file | job |
//! |---|---|
//! | `partition_files` | a partition's listing, told apart by name |
//! | `listing` | the partitions of a table and their files, listed in storage |
//! | `file_slice` | what is read together |
//! | `by_name` | builds slices up to table version 7: a log's name holds its slice |
//! | `by_completion` | builds slices from version 8: a log belongs where its completion time falls |
//! | `view` | chooses the slices that a query reads |
//! | `in_range` | the same for an incremental query, of files that its range wrote |

mod by_completion;
mod by_name;
mod file_slice;
mod in_range;
mod listing;
mod partition_files;
mod view;

pub use file_slice::{BaseFile, BootstrapSource, FileSlice, LogFile};
pub use listing::{files_of, list_table, list_where, partitions};
pub use partition_files::{ListedBase, ListedLog, PartitionFiles};
pub use view::View;
