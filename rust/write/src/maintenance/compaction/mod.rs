//! Compactions of a table (`SparkRDDTableServiceClient.compact`).
//!
//! | file | job |
//! |---|---|
//! | `schedule` | plans a compaction, if one is due |
//! | `execute` | writes the files of a plan and completes it |
//! | `compact` | the entry point: what is planned and executed, in what order |
//! | `log_compact` | the same for compactions of logs into logs |
//! | `log_execute` | writes the log files of a plan and completes it |

mod compact;
mod execute;
mod log_compact;
mod log_execute;
mod schedule;

pub use compact::{CompactRequest, Compacted, PlannedCompaction, compact, planned_compactions};
#[cfg(test)]
pub(crate) use execute::write_base_files;
pub(crate) use execute::{execute_pending, slices_of};
pub use log_compact::{log_compact, planned_log_compactions};
pub(crate) use log_compact::{log_compact_pending, schedule_log_compaction};
pub(crate) use log_execute::{log_slices_of, pending_log_compactions};
pub(crate) use schedule::{check_merge, schedule};
