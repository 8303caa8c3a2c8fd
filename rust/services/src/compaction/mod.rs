//! Compactions of a table (`SparkRDDTableServiceClient.compact`).
//!
//! | file | job |
//! |---|---|
//! | `planning/` | when one is due, what it takes, its plan |
//! | `kind` | compactions into base files, and into logs |
//! | `schedule` | plans a compaction, if one is due |
//! | `execute` | executes plans, and completes them |
//! | `each_slice` | the slices of a plan, side by side |
//! | `base_execute` | writes the base files of a plan |
//! | `compact` | the entry point: what is planned and executed, in what order |
//! | `log_compact` | the same for compactions of logs into logs |
//! | `log_execute` | writes the log files of a plan |

mod base_execute;
mod compact;
mod each_slice;
mod execute;
mod kind;
mod log_compact;
mod log_execute;
pub(crate) mod planning;
mod schedule;

pub use base_execute::{slices_of, write_base_files};
pub use compact::open_table;
pub use compact::{CompactionResult, PlannedCompaction, plan_compaction, run_compaction};
pub(crate) use execute::execute_plan;
pub use execute::pending;
pub use kind::Compaction;
pub use log_compact::open_log_compaction;
pub use log_compact::{plan_log_compaction, run_log_compaction};
pub use log_execute::log_slices_of;
pub(crate) use schedule::check_merge;
pub use schedule::schedule;
