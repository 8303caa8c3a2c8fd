//! File groups: the files that are read together, and the selection of file slices.
//!
//! | file | contents |
//! |---|---|
//! | `partition_files` | the files of a partition, by kind |
//! | `listing` | lists the partitions of a table and their files in storage |
//! | `file_slice` | the files that are merged |
//! | `by_name` | builds slices up to table version 7: a log's name has its base instant |
//! | `by_completion` | builds slices from version 8: the slice of a log depends on its completion time |
//! | `view` | selects the slices of a query |
//! | `versions` | all slices of file groups |
//! | `in_range` | selects the slices of an incremental query, from files that its range wrote |

mod by_completion;
mod by_name;
mod file_slice;
mod in_range;
mod listing;
mod partition_files;
mod versions;
mod view;

pub use file_slice::{BaseFile, BootstrapSource, FileSlice, LogFile};
pub use listing::{StorageListing, files_of, list_table, list_where, partitions};
pub use partition_files::{ListedBase, ListedLog, PartitionFiles};
pub use versions::{GroupVersions, SliceFiles};
pub use view::FileSystemView;
