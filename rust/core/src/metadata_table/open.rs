//! The metadata table of a table.
//!
//! The metadata table commits before the table does, with the same instant. So a record is valid if its instant is
//! completed on the metadata table's timeline and not pending on the table's. Instants that were rolled back are valid,
//! as is the rollback that undoes them (`HoodieTableMetadataUtil.getValidInstantTimestamps`).

use std::collections::BTreeSet;

use arrow_array::RecordBatch;

use crate::avro;
use crate::error::{Error, Result};
use crate::names::RequestedTime;
use crate::timeline::{Action, Timeline};

/// The key column of records.
pub const KEY: &str = "key";

/// Reads rows of a metadata table. Planning implements it: a metadata table is read like any other table.
pub trait MetadataRows: Send + Sync {
    /// Returns the timeline of the metadata table.
    fn timeline(&self) -> &Timeline;

    /// Returns the rows of a partition with the given columns; if keys are given, only those of the keys.
    ///
    /// # Errors
    /// Errors of planning and reading a snapshot.
    fn rows(&self, partition: &str, columns: &[&str], keys: Option<&BTreeSet<String>>) -> Result<Vec<RecordBatch>>;
}

/// A metadata table that is complete up to the table's newest write.
pub struct MetadataTable {
    rows: Box<dyn MetadataRows>,
    schema: avro::Schema,
    is_ahead: bool,
}

impl MetadataTable {
    /// Returns the metadata table of the table with this timeline.
    ///
    /// # Errors
    /// `InvalidTable` if the metadata table is behind the table's newest write.
    pub fn new(rows: Box<dyn MetadataRows>, schema: avro::Schema, table: &Timeline) -> Result<Self> {
        check_newest(table, rows.timeline())?;
        let is_ahead = is_ahead(table, rows.timeline());
        Ok(Self { rows, schema, is_ahead })
    }

    /// Returns true if it has writes that were not completed when the table's timeline was read: its indexes may
    /// contain them.
    pub(super) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Returns the Avro schema of its records.
    pub(super) fn schema(&self) -> &avro::Schema {
        &self.schema
    }

    /// Returns the rows of one of its partitions, with the given columns.
    ///
    /// # Errors
    /// Errors of [`MetadataRows::rows`].
    pub fn rows(&self, partition: &str, columns: &[&str]) -> Result<Vec<RecordBatch>> {
        self.rows.rows(partition, columns, None)
    }

    /// Returns the rows of the given keys.
    ///
    /// # Errors
    /// Errors of [`MetadataRows::rows`].
    pub fn rows_of_keys(&self, partition: &str, columns: &[&str], keys: &BTreeSet<String>) -> Result<Vec<RecordBatch>> {
        self.rows.rows(partition, columns, Some(keys))
    }
}

fn is_ahead(table: &Timeline, metadata: &Timeline) -> bool {
    let pending = pending(table);
    let newest = table.instants().iter().map(|instant| &instant.requested_time).max();
    let mut writes = metadata.completed_writes().filter(|write| write.action == Action::DeltaCommit);
    writes.any(|write| pending.contains(&write.requested_time) || Some(&write.requested_time) > newest)
}

/// Checks that the metadata table has the table's newest write. It always has, unless a writer disabled it, which
/// removes the metadata table's partitions from the table's properties; the check is cheap.
fn check_newest(table: &Timeline, metadata: &Timeline) -> Result<()> {
    let Some(newest) = table.completed_writes().next_back() else { return Ok(()) };
    let time = &newest.requested_time;
    if metadata.completed_writes().any(|instant| instant.requested_time == *time) {
        return Ok(());
    }
    Err(Error::invalid_table("the metadata table is behind the data timeline: the table's newest write is missing")
        .at_instant(time))
}

/// Returns the requested times of pending instants of all actions.
#[must_use]
pub fn pending(timeline: &Timeline) -> BTreeSet<RequestedTime> {
    let completed: BTreeSet<&RequestedTime> = timeline
        .instants()
        .iter()
        .filter(|instant| instant.is_completed())
        .map(|instant| &instant.requested_time)
        .collect();
    let times = timeline.instants().iter().map(|instant| &instant.requested_time);
    times.filter(|time| !completed.contains(time)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::timeline;

    #[test]
    fn what_is_pending_of_any_action() {
        let of = timeline(&["1.deltacommit", "2.clean.inflight", "3.commit", "3.compaction.requested", "4.inflight"]);
        assert_eq!(Vec::from_iter(pending(&of)), ["2", "4"]);
    }

    #[test]
    fn a_metadata_table_without_the_newest_write_is_not_believed() {
        let table = timeline(&["1.deltacommit", "2.deltacommit", "3.deltacommit.inflight", "4.clean"]);
        assert!(check_newest(&table, &timeline(&["0.deltacommit", "2.deltacommit"])).is_ok());
        for metadata in [&["1.deltacommit"][..], &["2.deltacommit.inflight"], &[]] {
            assert!(check_newest(&table, &timeline(metadata)).is_err());
        }
        assert!(check_newest(&timeline(&["3.deltacommit.inflight"]), &timeline(&[])).is_ok());
    }
}
