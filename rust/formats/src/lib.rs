//! The files of a Hudi table, each format on its own: no timeline, no table, no merging.
//!
//! [`log`] scans, validates and decodes log files, and writes them; [`base_file`] reads base files of every format
//! behind one trait; [`hfile`], [`orc`] and [`avro_parquet`] are the formats themselves, [`bloom`] the filters of
//! record keys, [`filter`] the predicates that prune and select rows. Files are reached through the traits of
//! `mortice_storage` alone, so that this crate can be used by itself: `examples/log_blocks.rs` lists the blocks of a
//! log file.

pub mod avro_parquet;
pub mod base_file;
pub mod bloom;
pub mod filter;
pub mod hfile;
pub mod log;
pub mod orc;
