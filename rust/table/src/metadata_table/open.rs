//! The metadata table of a table.
//!
//! The metadata table commits before the table does, with the same instant. So a record is valid if its instant is
//! completed on the metadata table's timeline and not pending on the table's. Instants that were rolled back are valid,
//! as is the rollback that undoes them (`HoodieTableMetadataUtil.getValidInstantTimestamps`).

use std::collections::BTreeSet;

use arrow_array::RecordBatch;

use super::complete::check_complete;
use super::init_instant::time_on_table;
use super::shard::PartitionPart;
use crate::timeline::{Action, Timeline};
use mortice_avro as avro;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;

/// The key column of records.
pub const KEY: &str = "key";

/// Takes batches of rows, from several threads.
pub type EachBatch<'a> = &'a (dyn Fn(&RecordBatch) -> Result<()> + Sync);

/// Some rows of a partition of a metadata table.
#[derive(Debug, Clone, Copy)]
pub enum SelectedRows<'a> {
    /// Those of a part of its file groups.
    Part(PartitionPart),
    /// Those of these keys.
    Keys(&'a BTreeSet<String>),
    /// Those whose keys begin with one of these.
    Prefixes(KeyPrefixes<'a>),
}

/// Prefixes of keys.
#[derive(Debug, Clone, Copy)]
pub struct KeyPrefixes<'a> {
    /// The prefixes.
    pub prefixes: &'a BTreeSet<String>,
    /// Whether the file group of a key is chosen by its prefix, not by the whole key.
    pub are_hashed: bool,
}

/// Reads rows of a metadata table. Planning implements it: rows of a metadata table are read as those of any table.
pub trait MetadataRows: Send + Sync {
    /// Returns the timeline of the metadata table.
    fn timeline(&self) -> &Timeline;

    /// Returns the rows of a partition with the given columns; if keys are given, only those of the keys.
    fn rows(&self, partition: &str, columns: &[&str], keys: Option<&BTreeSet<String>>) -> Result<Vec<RecordBatch>>;

    /// Calls `each` with some rows of a partition, batch by batch, in any order and from several threads. Only the
    /// batches that are being read are in memory.
    fn for_each_batch(
        &self,
        partition: &str,
        rows: SelectedRows<'_>,
        columns: &[&str],
        each: EachBatch<'_>,
    ) -> Result<()>;

    /// Makes sure that a partition has the files that the commits to the metadata table wrote to it.
    fn check_index(&self, partition: &str) -> Result<()>;

    /// Returns the rows of these keys in the base files of a partition.
    fn base_rows(&self, partition: &str, columns: &[&str], keys: &BTreeSet<String>) -> Result<Vec<RecordBatch>>;
}

/// A metadata table that has all completed writes of the table's active timeline.
pub struct MetadataTable {
    rows: Box<dyn MetadataRows>,
    schema: avro::Schema,
    is_ahead: bool,
    is_newer: bool,
}

impl MetadataTable {
    /// Returns the metadata table of the table with this timeline.
    ///
    /// # Errors
    /// `InvalidTable` if the metadata table is behind the table's timeline: see [`check_complete`].
    pub fn new(rows: Box<dyn MetadataRows>, schema: avro::Schema, table: &Timeline) -> Result<Self> {
        check_complete(table, rows.timeline())?;
        let is_ahead = is_ahead(table, rows.timeline());
        let is_newer = is_newer(table, rows.timeline());
        Ok(Self { rows, schema, is_ahead, is_newer })
    }

    /// Returns true if it has writes that the table's timeline, as it was read, does not have: records of pending
    /// instants are left out of rows, those of unknown ones are not.
    pub(super) fn is_newer(&self) -> bool {
        self.is_newer
    }

    /// Its records' schema.
    #[must_use]
    pub fn schema(&self) -> &avro::Schema {
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

    /// Calls `each` with some rows of one of its partitions, batch by batch.
    pub(super) fn for_each_batch(
        &self,
        partition: &str,
        rows: SelectedRows<'_>,
        columns: &[&str],
        each: EachBatch<'_>,
    ) -> Result<()> {
        self.rows.for_each_batch(partition, rows, columns, each)
    }

    /// Makes sure that an index can answer for the table as it was opened: that it has no commits which the table's
    /// timeline lacks, and the files of all commits to it. What an index has of files is not checked: it may be stale,
    /// but not wrong, if a file that it does not know is read.
    ///
    /// # Errors
    /// `InvalidTable`, with what is wrong; errors of reading commits to the metadata table.
    pub fn check_index(&self, partition: &str) -> Result<Option<&'static str>> {
        if self.is_ahead {
            return Ok(Some("the index is ahead of the table's timeline"));
        }
        self.rows.check_index(partition)?;
        Ok(None)
    }

    /// Returns the rows that the given keys have in base files.
    pub(super) fn base_rows_of_keys(
        &self,
        partition: &str,
        columns: &[&str],
        keys: &BTreeSet<String>,
    ) -> Result<Vec<RecordBatch>> {
        self.rows.base_rows(partition, columns, keys)
    }
}

fn is_ahead(table: &Timeline, metadata: &Timeline) -> bool {
    let pending = pending(table);
    is_newer(table, metadata) || delta_commits(metadata).any(|write| pending.contains(write))
}

fn is_newer(table: &Timeline, metadata: &Timeline) -> bool {
    let newest = table.instants().iter().map(|instant| instant.requested_time.as_str()).max();
    let times = delta_commits(metadata).filter_map(time_on_table);
    times.filter(|time| Some(*time) > newest).any(|time| !is_in_restore(table, time))
}

/// Returns true if a completed restore was running at this time. Hudi's restore ends with such a commit to the metadata
/// table, which brings it in line with the files (`HoodieBackedTableMetadataWriter.update(HoodieRestoreMetadata)`).
fn is_in_restore(table: &Timeline, time: &str) -> bool {
    let restores = table.instants().iter().filter(|instant| instant.action == Action::Restore);
    let mut ends = restores.filter_map(|restore| Some((&restore.requested_time, restore.completion_time.as_ref()?)));
    ends.any(|(from, until)| from.as_str() < time && time <= until.as_str())
}

fn delta_commits(metadata: &Timeline) -> impl Iterator<Item = &RequestedTime> {
    let writes = metadata.completed_writes().filter(|write| write.action == Action::DeltaCommit);
    writes.map(|write| &write.requested_time)
}

/// The requested times of pending instants of any action.
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
    use crate::timeline::timeline;

    #[test]
    fn initialisations_are_not_ahead_of_the_table() {
        for (table, metadata, expected) in [
            (vec![], vec!["00000000000000000.deltacommit", "00000000000000002.deltacommit"], false),
            (vec![], vec!["20240101000000000.deltacommit"], true),
            (
                vec!["20240101000000000.deltacommit"],
                vec!["00000000000000001.deltacommit", "20240101000000000010.deltacommit"],
                false,
            ),
            (vec!["20240101000000000.deltacommit"], vec!["20240101000000001.deltacommit"], true),
            (vec!["20240101000000000.inflight"], vec!["20240101000000000.deltacommit"], true),
            // The commit at the end of a restore of Hudi, and one after it.
            (
                vec!["20240101000000100_20240101000000900.restore"],
                vec!["20240101000000500_20240101000000600.deltacommit"],
                false,
            ),
            (
                vec!["20240101000000100_20240101000000900.restore"],
                vec!["20240101000000901_20240101000000902.deltacommit"],
                true,
            ),
        ] {
            assert_eq!(is_ahead(&timeline(&table), &timeline(&metadata)), expected, "{table:?} {metadata:?}");
        }
    }

    #[test]
    fn what_is_pending_of_any_action() {
        let of = timeline(&["1.deltacommit", "2.clean.inflight", "3.commit", "3.compaction.requested", "4.inflight"]);
        assert_eq!(Vec::from_iter(pending(&of)), ["2", "4"]);
    }
}
