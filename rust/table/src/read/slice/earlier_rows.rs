//! The rows before the range of an incremental query, from which partial records take their missing columns.
//!
//! An incremental query selects records by commit and merges them then. A record of an update of some columns has only
//! these: the others are in a base file or a log of an earlier commit. So if a log block of the range has partial
//! records, its logs are merged with the whole file group as it was before them. Rows of earlier commits give values
//! only: they win over no record of the range, and those that no record of the range updates are removed.
//!
//! Commits do not report the files of the group from table version 8 on, and not whether records are partial. So the
//! partition is listed here, by reads that need it, and the plan of other queries stays one of commits.

use std::sync::Arc;

use crate::bootstrap;
use crate::file_group::{FileSlice, FileSystemView, files_of};
use crate::read::base::merge_base::MergeBase;
use crate::read::base::merged_slice::{MergedSlice, OpenSlice};
use crate::read::logs::log_blocks::LogBlocks;
use crate::split::{DeleteOutput, Query, Split};
use crate::timeline::Timeline;
use mortice_avro as avro;
use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_formats::filter::Filter;
use mortice_merge::config::TableConfig;
use mortice_storage::Storage;

/// Returns the rows before the logs of a split; `None` if they are not needed. `open` reads the rows of a slice.
pub(super) fn earlier_rows(
    split: &Split,
    blocks: &LogBlocks,
    storage: &Arc<dyn Storage>,
    open: OpenSlice,
) -> Result<Option<Arc<dyn MergeBase>>> {
    let query = &split.query;
    let needs_rows = query.range.is_some() && query.over_base && !query.changelog;
    if !needs_rows || !blocks.has_partial() {
        return Ok(None);
    }
    let Some(earlier) = slice_before(split, storage)? else { return Ok(None) };
    let added = (query.deletes == DeleteOutput::InAddedColumn).then_some(meta_columns::OPERATION);
    let schema = match added {
        Some(name) => avro::Schema::parse(&query.schema)?.without_fields(&[name])?.json().to_owned(),
        None => query.schema.clone(),
    };
    let (deletes, filter) = (DeleteOutput::LeftOut, Filter::default());
    let query = Query { schema, range: None, deletes, filter, ..Query::clone(query) };
    let split = Split {
        query: Arc::new(query),
        slice: Arc::new(earlier),
        change: None,
        part: None,
        merger: split.merger.clone(),
    };
    Ok(Some(Arc::new(MergedSlice::new(split, open).with_nulls_in(added))))
}

/// Returns the file slice before the logs of a split.
fn slice_before(split: &Split, storage: &Arc<dyn Storage>) -> Result<Option<FileSlice>> {
    let state = &split.query.table_state;
    let (config, timeline) = match state.get() {
        Some(state) => state,
        None => {
            let config = TableConfig::load(storage.as_ref())?;
            let timeline = Timeline::load(storage, &config)?;
            state.get_or_init(|| (config, timeline))
        }
    };
    let files = files_of(storage.as_ref(), &split.slice.partition)?;
    let view = FileSystemView::in_range(timeline, config, Vec::new())?;
    let mut slice = view.slice_before(&files, &split.slice)?;
    bootstrap::attach(storage.as_ref(), config, slice.iter_mut())?;
    Ok(slice)
}
