//! Assignment: which rows of a write go to which file group, and how (`UpsertPartitioner`,
//! `SparkUpsertDeltaCommitPartitioner`, `SparkBucketIndexPartitioner`).
//!
//! ```text
//! RowKeys, Tagged ─> updates ─┐
//!                    inserts ─┴─> GroupTask: append to logs, rewrite the base file, or write new base files
//! ```
//! | file | job |
//! |---|---|
//! | `options` | sizes and limits, by Hudi's option names |
//! | `assignment` | the tasks of a write |
//! | `record_size` | bytes of a row, estimated from earlier commits |
//! | `small_files` | base files that take new rows |
//! | `updates` | rows of the file groups that hold their keys |
//! | `nested_partitions` | refuses a new partition within another one |
//! | `inserts` | rows whose keys are new |
//! | `task_plan` | the tasks, from counts of rows |
//! | `assign` | the rows of each task |

#[expect(clippy::module_inception, reason = "the module's main function has its name")]
mod assign;
mod assignment;
mod inserts;
mod nested_partitions;
mod options;
mod record_size;
mod small_files;
mod task_plan;
mod updates;

pub use assign::assign;
pub use assignment::{Assignment, GroupTask, TaskKind};
pub use options::{AssignOptions, PlaceInserts};
pub use task_plan::{InsertClass, PlannedTask, RowCounts, TaskPlan, check_takes, plan_tasks};
pub use updates::log_naming;
