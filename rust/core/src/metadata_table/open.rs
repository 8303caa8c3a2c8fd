//! The metadata table of a table, and rows of its partitions.
//!
//! It commits before the table does, under the same instant. So its records count where its own timeline has their instant
//! completed and the table's has it not pending: rolled back instants count, as the rollback does that takes them away
//! (`HoodieTableMetadataUtil.getValidInstantTimestamps`).

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::avro;
use crate::config::{MergeConfig, OnCorrupt, ReadOptions, Semantics, TableConfig};
use crate::error::{Error, Result};
use crate::file_group::View;
use crate::filter::Filter;
use crate::plan::{Deletes, Query, files_of, splits};
use crate::read::{SharedReport, SplitReader};
use crate::schema::table_schema::{self, TableSchema};
use crate::storage::{self, Place, StorageOptions};
use crate::timeline::{Action, Timeline};

/// Where it lies, relative to the table.
const FOLDER: &str = ".hoodie/metadata";

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
    /// That of the table at `uri`, as of the table's timeline.
    ///
    /// # Errors
    /// What opening a table may fail with; `InvalidTable` where it lags behind the table's newest write.
    pub fn open(uri: &str, storage: &StorageOptions, table: &Timeline, options: &ReadOptions) -> Result<Self> {
        let uri = format!("{}/{FOLDER}", uri.trim_end_matches('/'));
        let place = storage::open(&uri, storage)?;
        let config = TableConfig::load(place.as_ref())?;
        let merge = config.merge_by(Semantics::V1x).map_err(|error| error.in_file(&uri))?;
        merge.check_supported().map_err(|error| error.in_file(&uri))?;
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

    /// The rows of one of its partitions that pass the filter, with these columns.
    ///
    /// # Errors
    /// What planning and reading a snapshot may fail with.
    pub fn rows(&self, partition: &str, columns: &[&str], filter: Filter) -> Result<Vec<RecordBatch>> {
        let view = View::of(&self.timeline, &self.config, None)?;
        let Some(latest) = view.query_instant() else { return Ok(Vec::new()) };
        let mut instants = self.timeline.instant_filter(latest);
        instants.inflight.extend(self.pending.iter().cloned());
        let slices = view.slices(&files_of(self.place.as_ref(), partition)?)?;
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
            path_columns: Vec::new(),
            path_as_it_stands: false,
            path_alone: false,
            path_first: false,
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            filter,
            options: self.options.clone(),
        });
        let mut rows = Vec::new();
        for split in splits(&query, slices, None) {
            for batch in SplitReader::new(split, SharedReport::default())? {
                rows.push(batch?);
            }
        }
        Ok(rows)
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
