//! A write whose rows are in other processes: on Spark, or any engine that runs functions over batches of a data frame
//! and redistributes its rows.
//!
//! ```text
//! driver              processes                                      rows are redistributed by
//! plan
//!               ──>   prepare: rows ─> types, keys                   –
//! begin, look up ──>  split: by key;  keys of base files: by key     slot of the key
//!               ──>   tag: combine, tag, place                       –
//!               ──>   (global index) stored rows, move               file group, slot
//! assign, inflight ─> route: by task                                 task
//!               ──>   write: files, with markers                     –
//! commit
//! ```
//! The driver sees counts, file groups and write statuses; rows never come to it, unless they are so few that its
//! process runs the stages after the first, too (`DistributedWrite::is_small`). A serialised write state describes what
//! a stage does. Stages run the same code as a write in one process: preparation, index, assignment, tasks.
//!
//! | file or folder | job |
//! |---|---|
//! | `exchange/` | what stages send each other, and what the driver and the tasks exchange |
//! | `services/` | table services whose plans tasks execute |
//! | `rows/` | a write of rows: its stages, and the driver |
//! | `indexes/` | verifications, and indexes of the metadata table |
//! | `few_rows` | the stages of a write of few rows after the first, in the driver's process |
//! | `run_stage` | a stage, from its serialised form |
//! | `reread` | payloads read and written again, for tests |

mod exchange;
mod few_rows;
mod indexes;
#[cfg(any(test, feature = "testing"))]
mod reread;
mod rows;
mod run_stage;
mod services;

pub use exchange::{Exchange, Input, StageBatches, TaskAttempt, TaskRunner};
pub use indexes::{build_metadata_by_tasks, verify_by_tasks};
#[cfg(any(test, feature = "testing"))]
pub use reread::{open_stage, reread_report, reread_stage};
pub use rows::{
    DistributedWrite, MovePlan, NextStep, TagPlan, WritePlan, abort_task_insert, begin_task_insert, commit_task_insert,
};
pub use run_stage::run_stage;
pub use services::{PlannedService, ServiceRun, run_service_by_tasks};
