//! A write whose rows are in other processes: its stages, and the driver.
//!
//! | file | job |
//! |---|---|
//! | `prepare_stage`, `keys_stage`, `tag_stage`, `rows_stage`, `move_stage`, `route_stage`, `write_stage` | the stages |
//! | `deleted_rows` | inserts of keys that logs have deleted |
//! | `placer`, `tags` | places and tags of rows |
//! | `driver`, `steps`, `next_step` | the driver's part, step by step, and what it decides |
//! | `assigned` | its tasks, and what they have to report |
//! | `insert_stage` | rows that are written where they are, to new file groups |
//! | `task_insert` | a write of such tasks, whose driver's parts run in several processes |

mod assigned;
mod deleted_rows;
mod driver;
mod insert_stage;
mod keys_stage;
mod move_stage;
mod next_step;
mod placer;
mod prepare_stage;
mod route_stage;
mod rows_stage;
mod steps;
mod tag_stage;
mod tags;
mod task_insert;
mod write_stage;

pub use driver::DistributedWrite;
pub(crate) use insert_stage::InsertStage;
pub(crate) use keys_stage::KeysStage;
pub(crate) use move_stage::MoveStage;
pub use next_step::{MovePlan, NextStep, TagPlan, WritePlan};
pub(crate) use prepare_stage::PrepareStage;
pub(crate) use route_stage::RouteStage;
pub(crate) use rows_stage::RowsStage;
pub(crate) use steps::KEY_FILE_BYTES;
pub(crate) use tag_stage::TagStage;
pub use task_insert::{abort_task_insert, begin_task_insert, commit_task_insert};
pub(crate) use write_stage::WriteStage;
