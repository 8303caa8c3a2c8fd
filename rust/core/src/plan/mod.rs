//! Plan: from a table to what is read.
//!
//! | file | job |
//! |---|---|
//! | `listing` | the partitions of a table and their files, from storage |
//! | `snapshot` | the splits of a snapshot or read-optimized query |
//! | `split` | one part of a query, complete in itself |

mod listing;
mod snapshot;
mod split;

pub use listing::{files_of, list_table, partitions};
pub use snapshot::splits;
pub use split::{Deletes, MergerHandle, Query, Split};
