//! A write whose rows are in other processes: on Spark, or any engine that runs functions over batches of a data frame and redistributes
//! its rows.
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
//! The driver sees counts, file groups and write statuses; rows never come to it, unless they are so few that its process runs the
//! stages after the first, too (`DistributedWrite::is_small`). A serialised write state describes what a stage does.
//! Stages run the same code as a write in one process: preparation, index, assignment, tasks.
//!
//! | file | job |
//! |---|---|
//! | `chunk`, `sent_rows` | rows as bytes that are sent, and as batches with what is known of each |
//! | `slots` | which rows come together in one process |
//! | `specs`, `state`, `reports` | what the driver sends to tasks, and what they report |
//! | `stage`, `distributor`, `task_numbers` | input and output of a stage |
//! | `prepare_stage`, `split_stage`, `keys_stage`, `tag_stage`, `rows_stage`, `move_stage`, `route_stage`, `write_stage`, `service_stage` | the stages |
//! | `placer`, `tags` | places and tags of rows |
//! | `closing_store` | files of attempts that run on after the commit |
//! | `run_stage` | a stage, from its serialised form |
//! | `table_work`, `table_stage` | stages that work on a table as it is |
//! | `sent_keys`, `received_keys` | record keys with their places, sent to the slots of the keys |
//! | `key_places_stage`, `key_check_stage` | the stages of a verification |
//! | `index_keys_stage`, `index_files_stage` | the stages that build a record index |
//! | `index_parts_stage` | what other indexes of the metadata table are built from |
//! | `reread` | payloads read and written again, for tests |
//! | `packing` | tasks that one process runs one after the other |
//! | `driver`, `next_step` | the driver's part, step by step, and what it decides |
//! | `own_mark` | the open mark of what is under way |
//! | `planned_service`, `service_kind` | the driver's part of services that are planned and executed |
//! | `running_plan` | one plan of such a service; those of services after a write |
//! | `task_runner` | the engine, for services that do all of their work in one call, and those after a write |
//! | `verification` | the driver's part of verifications |
//! | `metadata_build` | the driver's part of new indexes of the metadata table |
//! | `assigned` | its tasks, and what they have to report |
//! | `insert_stage` | rows that are written where they are, to new file groups |
//! | `task_insert` | a write of such tasks, whose driver's parts run in several processes |

mod assigned;
mod chunk;
mod closing_store;
mod distributor;
mod driver;
mod index_files_stage;
mod index_keys_stage;
mod index_parts_stage;
mod insert_stage;
mod key_check_stage;
mod key_places_stage;
mod keys_stage;
mod metadata_build;
mod move_stage;
mod next_step;
mod own_mark;
mod packing;
mod placer;
mod planned_service;
mod prepare_stage;
mod received_keys;
mod reports;
#[cfg(any(test, feature = "testing"))]
mod reread;
mod route_stage;
mod rows_stage;
mod run_stage;
mod running_plan;
mod sent_keys;
mod sent_rows;
mod service_kind;
mod service_stage;
mod slots;
mod specs;
mod split_stage;
mod stage;
mod state;
mod table_stage;
mod table_work;
mod tag_stage;
mod tags;
mod task_insert;
mod task_numbers;
mod task_runner;
mod verification;
mod write_stage;

pub use driver::DistributedWrite;
pub use metadata_build::build_metadata_by_tasks;
pub use next_step::{MovePlan, NextStep, TagPlan, WritePlan};
pub use planned_service::DistributedService;
#[cfg(any(test, feature = "testing"))]
pub use reread::{open_stage, reread_report, reread_stage};
pub use run_stage::run_stage;
pub use running_plan::ServiceStep;
pub use service_kind::PlannedService;
pub use stage::{Input, StageBatches, TaskAttempt};
pub use task_insert::{abort_task_insert, begin_task_insert, commit_task_insert};
pub use task_runner::{Exchange, TaskRunner};
pub use verification::verify_by_tasks;
