//! Slices of a file group up to table version 7 (`HoodieFileGroup` of 0.x): a log's name holds the base instant of its
//! slice. A pending compaction begins a slice as well, since newer logs are written upon it.
//!
//! Hudi 1.x goes by completion times here too, and takes file modification times for them, so that its answers on such a
//! table depend on how it was copied. Names do not change.

use super::file_slice::Slices;
use super::partition_files::{ListedBase, ListedLog};

/// Builds the slices of one group. Which of them count is for the view to say.
pub(super) fn build(bases: Vec<ListedBase>, logs: Vec<ListedLog>, pending_compaction: Option<&str>) -> Slices {
    let mut slices = Slices::new();
    if let Some(instant) = pending_compaction {
        slices.entry(instant.to_owned()).or_default();
    }
    for base in bases {
        slices.entry(base.name.instant.clone()).or_default().bases.push(base);
    }
    for log in logs {
        slices.entry(log.name.instant.clone()).or_default().logs.push(log);
    }
    slices
}
