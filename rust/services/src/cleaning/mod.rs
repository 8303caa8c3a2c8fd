//! Cleans: delete the files of old slices and of replaced file groups (`CleanPlanActionExecutor`,
//! `CleanActionExecutor`).
//!
//! | file | job |
//! |---|---|
//! | `options` | what is kept, by Hudi's options |
//! | `earliest` | the earliest instant that is kept |
//! | `planner` | the files to delete |
//! | `plan_file` | plans, made and read; paths of foreign plans are checked |
//! | `delete_planned` | deletes what a plan names |
//! | `reason` | why a clean deletes nothing |
//! | `run` | the action: plan, files, metadata table, completed instant |
//! | `requested` | cleans that a user asks for |

mod delete_planned;
mod earliest;
mod options;
mod plan_file;
mod planner;
mod reason;
mod requested;
mod run;

pub(crate) use earliest::earliest_to_retain;
pub use options::{CleaningOptions, CleaningPolicy};
pub(crate) use plan_file::{CheckedPlan, plan_of};
pub(crate) use planner::{CleanPlanner, SAVEPOINTS};
pub(crate) use requested::cleaning_of;
pub use requested::{CleaningResult, plan_cleaning, run_cleaning};
pub(crate) use run::clean_metadata_of;
pub use run::{Clean, CleanedFile, Cleaning};

#[cfg(test)]
mod tests;
