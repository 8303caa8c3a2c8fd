//! Builds file slices up to table version 7 (`HoodieFileGroup` of 0.x). The name of a log file has the base instant of
//! its slice. A pending compaction begins a slice as well, because later logs are written to it.
//!
//! Hudi 1.x uses completion times for these tables, too, and takes them from file modification times, so its results
//! depend on how the table was copied. Names do not change.

use super::file_slice::Slices;
use super::partition_files::{ListedBase, ListedLog};
use mortice_base::names::RequestedTime;

/// Builds the slices of one file group. The view selects among them.
pub(super) fn build(
    bases: Vec<ListedBase>,
    logs: Vec<ListedLog>,
    pending_compaction: Option<&RequestedTime>,
) -> Slices {
    let mut slices = Slices::new();
    if let Some(instant) = pending_compaction {
        slices.entry(instant.clone()).or_default();
    }
    for base in bases {
        slices.entry(base.name.instant.clone()).or_default().bases.push(base);
    }
    for log in logs {
        slices.entry(log.name.instant.clone()).or_default().logs.push(log);
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_group::view::tests::{describe, listed};

    #[test]
    fn the_name_of_a_log_holds_its_slice() {
        let files = listed(&["f_0-1-2_10.parquet", ".f_10.log.1_0-1-2", ".f_20.log.1_0-1-2", "f_0-1-2_30.parquet"]);
        let slices = build(files.base_files, files.log_files, Some(&"40".into()));
        assert_eq!(describe(&slices), ["10: base 1 logs", "20: 1 logs", "30: base 0 logs", "40: 0 logs"]);
    }
}
