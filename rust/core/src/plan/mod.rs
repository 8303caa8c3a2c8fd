//! Plan: from a table to what is read.
//!
//! | file | job |
//! |---|---|
//! | `listing` | the partitions of a table and their files, from storage |

mod listing;

pub use listing::{files_of, list_table, partitions};
