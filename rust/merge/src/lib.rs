//! How the records of a key become a row: table properties, keys, merge rules and their engine.
//!
//! [`config`] reads and writes `hoodie.properties` and decides how a table is merged; [`keys`] computes record keys,
//! ordering values and partition paths; [`merge_plan`] derives the merge from both; [`merge`] executes it on Arrow
//! batches, without any I/O; [`spill`] keeps rows that do not fit in memory in temporary files. Readers and writers
//! share all of it.

pub mod config;
pub mod keys;
pub mod merge;
pub mod merge_plan;
pub mod spill;
