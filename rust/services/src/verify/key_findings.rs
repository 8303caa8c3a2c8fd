//! What is wrong with record keys: keys of several rows, and what the record index says of rows.

use std::sync::Arc;

use super::file_group_numbers::FileGroupNumbers;
use super::findings::{Finding, FindingKind};
use super::key_check::{IndexScope, KeyCheck, KeyComparison};
use super::key_reader::{add_index_keys, add_row_keys};
use super::sorted_keys::KeySorter;
use super::stored_files::joined;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::meta_columns;
use mortice_commit::metadata_upkeep::{METADATA_ROOT, is_record_index_partitioned};
use mortice_formats::filter::Filter;
use mortice_merge::spill::SpillFolder;
use mortice_storage::FileStore;
use mortice_table::metadata_table::RECORD_INDEX;
use mortice_table::plan::OpenTable;

/// Bytes of keys that are sorted in memory, of all threads together.
const SORT_MEMORY: usize = 256 << 20;
/// Bytes of each thread, at least.
const LEAST_BUFFER: usize = 1 << 20;

/// Reads the keys of all rows and of the record index, if the table has one, and compares them. Memory is bounded: keys
/// are sorted in files of the table's `spill_dir`.
pub(super) fn key_findings(store: &Arc<dyn FileStore>, table: &OpenTable, is_global: bool) -> Result<Vec<Finding>> {
    let slices = table.file_slices(None, &Filter::default())?;
    let mut numbers = FileGroupNumbers::of_slices(&slices)?;
    let folder = SpillFolder::new(table.options.spill_dir.as_deref());
    let buffer_memory = (SORT_MEMORY / table.slices_at_once()).max(LEAST_BUFFER);
    let sorter = KeySorter::new(folder, buffer_memory);
    let mut found = add_row_keys(table, &slices, &numbers, &sorter)?;
    let mut compared = KeyComparison { is_global, index: None, leaves_stale_keys: leaves_stale_keys(table)? };
    if found.is_empty() {
        let index = index_scope(store, table).and_then(|scope| {
            scope.is_some().then(|| add_index_keys(table, &mut numbers, &sorter)).transpose()?;
            Ok(scope)
        });
        match index {
            Ok(index) => compared.index = index,
            Err(error) => found.push(unreadable_index(error)?),
        }
    }
    let mut check = KeyCheck::new(&numbers, compared);
    sorter.for_each(&mut |key, places| check.add(key, places))?;
    found.extend(check.into_findings().into_findings());
    Ok(found)
}

/// Whether writers leave keys in the record index that no row has: a row that an update replaces (`-U`) leaves its key
/// there, as in Hudi, and the key may have no row afterwards.
///
/// # Errors
/// Those of reading the table's schema.
pub fn leaves_stale_keys(table: &OpenTable) -> Result<bool> {
    if table.config.stores_operations() || table.timeline.latest_visible().is_none() {
        return Ok(table.config.stores_operations());
    }
    Ok(table.schema_at(None)?.0.files.field(meta_columns::OPERATION).is_some())
}

/// What the table's record index has one location of a key for; none if there is no index.
///
/// # Errors
/// What opening the index may fail with: see [`unreadable_index`].
pub fn index_scope(store: &Arc<dyn FileStore>, table: &OpenTable) -> Result<Option<IndexScope>> {
    if table.metadata_index(RECORD_INDEX)?.is_none() {
        return Ok(None);
    }
    let is_partitioned = is_record_index_partitioned(&**store)?;
    Ok(Some(if is_partitioned { IndexScope::Partition } else { IndexScope::Table }))
}

/// The finding of a record index that cannot be read.
///
/// # Errors
/// `error`, if it says nothing of the index: `Unsupported`, and `Interrupted` by a signal.
pub fn unreadable_index(error: Error) -> Result<Finding> {
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::Unsupported => Err(error),
        _ => {
            let path = joined(METADATA_ROOT, RECORD_INDEX);
            Ok(Finding::new(FindingKind::UnreadableMetadataTable, path, error.text()))
        }
    }
}
