//! Compactions: when they are due, what they take, and their plans. Metadata tables are compacted by the same plans.
//!
//! | file | job |
//! |---|---|
//! | `options` | Hudi's options of all this |
//! | `trigger` | when a compaction is due |
//! | `slices` | the file slices that it may take |
//! | `strategy` | which of these it takes |
//! | `plan` | plans, made and read |
//! | `table_compaction` | all of it, for the table itself |
//! | `log_compaction` | the same for compactions of logs into logs |

mod log_compaction;
mod options;
mod plan;
mod slices;
mod strategy;
mod table_compaction;
mod trigger;

pub(crate) use options::{CompactionOptions, LogCompactionOptions, TriggerNames, trigger};
pub(crate) use plan::{operation_of, plan_of, planned_slices};
pub(crate) use slices::{planned_groups, slices_to_compact};
pub(crate) use table_compaction::TableCompactions;
pub(crate) use trigger::{Trigger, last_completed_compaction};
