//! What does not fit in memory: set aside in files, mapped back, gone with the last who looks at it.
//!
//! | file | job |
//! |---|---|
//! | `folder` | where such files are made: nameless, so that a process that dies leaves none behind |
//! | `appended_bytes` | bytes that are appended to, in a file once there are many |
//! | `entry_sorter` | keys with values, sorted |
//! | `kept_bytes` | bytes, kept as they are |
//! | `batches` | record batches, written one after the other and read again in that order |
//! | `row_memory` | how many bytes of rows are in memory |
//! | `row_batches_builder` | rows that are collected, in files once they take too much memory |
//! | `row_batches` | rows in batches, addressed by number |
//! | `row_bytes` | bytes that rows take |
//! | `shared_buffers` | columns of a batch that are those of another one |
//! | `touched_pages` | pages of mapped files that are in memory, and are released |

mod appended_bytes;
mod batches;
mod entry_sorter;
mod folder;
mod kept_bytes;
mod row_batches;
mod row_batches_builder;
mod row_bytes;
mod row_memory;
mod shared_buffers;
mod touched_pages;

pub use appended_bytes::AppendedBytes;
pub use batches::{BatchReader, BatchWriter};
pub use entry_sorter::{EntryBuffer, EntrySorter, SortedEntries, SortedEntry};
pub use folder::SpillFolder;
pub use row_batches::RowBatches;
pub use row_batches_builder::RowBatchesBuilder;
pub use row_bytes::{most_row_bytes, row_bytes, slice_bytes};
pub use row_memory::RowMemory;
