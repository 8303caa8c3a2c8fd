//! The metadata table of a table, and rows of its partitions.
//!
//! It commits before the table does, under the same instant. So its records count where its own timeline has their instant
//! completed and the table's has it not pending: rolled back instants count, as the rollback does that takes them away
//! (`HoodieTableMetadataUtil.getValidInstantTimestamps`).

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::shard;
use crate::avro;
use crate::config::{MergeConfig, OnCorrupt, ReadOptions, Semantics, TableConfig};
use crate::error::{Error, Result};
use crate::file_group::View;
use crate::filter::{Filter, Literal, Operator, Term};
use crate::plan::files_of;
use crate::read::{SharedReport, SplitReader};
use crate::schema::table_schema::{self, TableSchema};
use crate::split::{Deletes, PathColumns, Query, Split, splits};
use crate::storage::{Below, Place, StorageOptions, parallel};
use crate::timeline::{Action, Timeline};

/// Where it lies, relative to the table.
const FOLDER: &str = ".hoodie/metadata";
/// The column that records are found by.
pub(super) const KEY: &str = "key";

/// A metadata table, its timeline read.
pub struct MetadataTable {
    uri: String,
    storage: StorageOptions,
    place: Arc<dyn Place>,
    config: TableConfig,
    merge: MergeConfig,
    timeline: Timeline,
    schema: avro::Schema,
    /// Instants that are pending on the table's timeline.
    pending: BTreeSet<String>,
    /// The newest instant on the table's timeline, whatever its state.
    newest_instant: Option<String>,
    options: ReadOptions,
}

impl MetadataTable {
    /// That of the table at `uri`, whose place is `place`, as of the table's timeline.
    ///
    /// # Errors
    /// What opening a table may fail with; `InvalidTable` where it lags behind the table's newest write.
    pub fn open(
        (uri, place): (&str, &Arc<dyn Place>),
        storage: &StorageOptions,
        table: &Timeline,
        options: &ReadOptions,
    ) -> Result<Self> {
        let uri = format!("{}/{FOLDER}", uri.trim_end_matches('/'));
        let place: Arc<dyn Place> = Arc::new(Below::new(Arc::clone(place), FOLDER));
        let config = TableConfig::load(place.as_ref())?;
        let merge = config.merge_by(Semantics::V1x).map_err(|error| error.in_file(&uri))?;
        merge.check_supported(Semantics::V1x).map_err(|error| error.in_file(&uri))?;
        let timeline = Timeline::load(&place, &config)?;
        check_newest(table, &timeline).map_err(|error| error.in_file(&uri))?;
        let Some(TableSchema { schema, .. }) = table_schema::at(&timeline, &config, None)? else {
            return Err(Error::unsupported("a metadata table whose commits hold no schema").in_file(uri));
        };
        // A corrupt block is passed over by readers of tables. Here it may be a list of files, which storage has, too.
        let on_corrupt = OnCorrupt::Raise;
        let options = ReadOptions { semantics: Semantics::V1x, prune: true, on_corrupt, ..options.clone() };
        let (pending, storage) = (pending(table), storage.clone());
        let newest_instant = table.instants().iter().map(|instant| instant.requested_time.clone()).max();
        Ok(Self { uri, storage, place, config, merge, timeline, schema, pending, newest_instant, options })
    }

    /// Whether it has writes that the table's timeline, as it was read, has not completed: an index then may tell of them.
    pub(super) fn is_ahead(&self) -> bool {
        let writes = || self.timeline.completed_writes().filter(|write| write.action == Action::DeltaCommit);
        let newest = self.newest_instant.as_deref().unwrap_or_default();
        writes().any(|write| self.pending.contains(&write.requested_time) || write.requested_time.as_str() > newest)
    }

    /// Its records' schema.
    pub(super) fn schema(&self) -> &avro::Schema {
        &self.schema
    }

    /// The rows of one of its partitions, with these columns.
    ///
    /// # Errors
    /// What planning and reading a snapshot may fail with.
    pub fn rows(&self, partition: &str, columns: &[&str]) -> Result<Vec<RecordBatch>> {
        self.read(partition, columns, None)
    }

    /// The same, those of some keys alone.
    ///
    /// # Errors
    /// As for [`MetadataTable::rows`].
    pub fn rows_of_keys(&self, partition: &str, columns: &[&str], keys: &BTreeSet<String>) -> Result<Vec<RecordBatch>> {
        self.read(partition, columns, Some(keys))
    }

    fn read(&self, partition: &str, columns: &[&str], keys: Option<&BTreeSet<String>>) -> Result<Vec<RecordBatch>> {
        let view = View::of(&self.timeline, &self.config, None)?;
        let Some(latest) = view.query_instant() else { return Ok(Vec::new()) };
        let filter = match keys {
            Some(keys) => {
                let literals = keys.iter().cloned().map(Literal::Text).collect();
                Filter::any_of(vec![vec![Term::new(KEY, Operator::In, literals)?]])
            }
            None => Filter::default(),
        };
        let mut instants = self.timeline.instant_filter(latest);
        instants.inflight.extend(self.pending.iter().cloned());
        let mut slices = view.slices(&files_of(self.place.as_ref(), partition)?)?;
        if let Some(keys) = keys {
            slices = shard::of_keys(slices, keys);
        }
        let query = Arc::new(Query {
            uri: self.uri.clone(),
            storage: self.storage.clone(),
            schema: self.schema.json().to_owned(),
            evolution: None,
            virtual_key: (!self.config.populate_meta_fields).then(|| self.config.record_key_fields.clone()),
            key_fields: self.config.record_key_fields.clone(),
            key_field: None,
            merge: self.merge.clone(),
            over_base: true,
            changelog: false,
            deletes: Deletes::LeftOut,
            // From version 8 on files are of one instant; but the table may have it pending.
            commits_by_block: true,
            instants,
            range: None,
            path_columns: PathColumns::default(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            filter,
            options: self.options.clone(),
        });
        let splits = splits(&query, slices, None);
        let threads = self.options.threads.unwrap_or_else(|| self.place.requests_at_once());
        let read = |split: &Split| {
            let reader = SplitReader::new(split.clone(), SharedReport::default())?;
            reader.in_place(Arc::clone(&self.place)).collect::<Result<Vec<_>>>()
        };
        Ok(parallel::map(&splits, threads, read)?.into_iter().flatten().collect())
    }
}

/// Whether the newest write of the table has reached the metadata table. It has, unless a writer did without it, which takes the
/// metadata table's partitions out of the table's properties; the check costs nothing.
fn check_newest(table: &Timeline, metadata: &Timeline) -> Result<()> {
    let Some(newest) = table.completed_writes().next_back() else { return Ok(()) };
    let time = newest.requested_time.as_str();
    if metadata.completed_writes().any(|instant| instant.requested_time == time) {
        return Ok(());
    }
    Err(Error::invalid_table("the metadata table has not the table's newest write").at_instant(time))
}

/// Instants, of any action, that are pending.
fn pending(timeline: &Timeline) -> BTreeSet<String> {
    let completed: BTreeSet<&str> = timeline
        .instants()
        .iter()
        .filter(|instant| instant.is_completed())
        .map(|instant| instant.requested_time.as_str())
        .collect();
    let times = timeline.instants().iter().map(|instant| instant.requested_time.as_str());
    times.filter(|time| !completed.contains(time)).map(str::to_owned).collect()
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
