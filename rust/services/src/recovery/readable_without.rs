//! Makes sure that a table can be read once instants have left its timeline.
//!
//! A query reads the metadata of the newest completed write, for the schema, and of every replace commit, for the file
//! groups that are gone. The file of an earlier commit may be damaged, and nobody notices until a rollback makes it the
//! newest one. So the query is planned before anything is undone, on the storage without the files of these instants.

use std::collections::BTreeSet;
use std::sync::Arc;

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::TimelineWriter;
use mortice_commit::writable_table::TableState;
use mortice_formats::filter::Filter;
use mortice_merge::config::ReadOptions;
use mortice_storage::{FileStore, OverlaidFolder, Storage};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Instant;

/// Plans a query of the table as it will be without these writes. A table that cannot be read as it is need not become
/// readable.
///
/// # Errors
/// Those of the query, saying that nothing was undone.
pub(super) fn check_readable_without(state: &TableState, undone: &[Instant]) -> Result<()> {
    let TableState { store, table, .. } = state;
    let times: BTreeSet<&RequestedTime> = undone.iter().map(|instant| &instant.requested_time).collect();
    let files = TimelineWriter::new(Arc::clone(store), &table.config).files()?;
    let of_write = files.into_iter().filter(|file| file.action.is_write() && times.contains(&file.requested_time));
    let hidden: BTreeSet<String> = of_write.map(|file| file.file_name).collect();
    let storage = Arc::<dyn FileStore>::clone(store) as Arc<dyn Storage>;
    let folder = table.config.timeline_folder.clone();
    let without = Arc::new(OverlaidFolder::new(Arc::clone(&storage), folder).without_files(hidden));
    let Err(error) = check_readable(without, table) else { return Ok(()) };
    if check_readable(storage, table).is_err() {
        return Ok(());
    }
    let message = "without what is to be undone the table could not be read: nothing was undone; repair the file, or undo earlier writes, \
                   too (restore the table to one before it)";
    Err(Error::new(error.kind(), message).caused_by(error))
}

fn check_readable(storage: Arc<dyn Storage>, table: &OpenTable) -> Result<()> {
    let options = ReadOptions { metadata: false, ..ReadOptions::default() };
    let left = OpenTable::at(storage, &table.uri, &table.storage_options, options)?;
    if left.timeline.latest_visible().is_none() {
        return Ok(());
    }
    left.schema_at(None)?;
    left.file_slices(None, &Filter::default()).map(|_| ())
}
