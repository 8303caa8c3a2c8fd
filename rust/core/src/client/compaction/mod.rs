//! Compactions of a table (`SparkRDDTableServiceClient.compact`).
//!
//! | file | job |
//! |---|---|
//! | `schedule` | plans a compaction, if one is due |
//! | `execute` | writes the files of a plan and completes it |
//! | `compact` | the entry point: what is planned and executed, in what order |

mod compact;
mod execute;
mod schedule;

pub use compact::{CompactRequest, Compacted, PlannedCompaction, compact, planned_compactions};
pub(super) use execute::{execute_pending, slices_of};
pub(super) use schedule::schedule;
