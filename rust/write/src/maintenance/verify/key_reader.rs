//! Reads the keys of all rows, and of the record index, to be sorted.

use std::sync::Arc;

use super::contents::unreadable;
use super::file_group_numbers::FileGroupNumbers;
use super::findings::Finding;
use super::sorted_keys::{KeyBuffer, KeySorter, Origin};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_merge::keys::RecordKey;
use mortice_storage::parallel;
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::MetadataTable;
use mortice_table::plan::{OpenTable, QueryOptions};
use mortice_table::read::{SharedReport, SplitReader};
use mortice_table::split::Split;

/// How many slices are read at the same time.
pub(super) fn threads(table: &OpenTable) -> usize {
    table.options.threads.unwrap_or_else(|| table.storage.requests_at_once()).max(1)
}

/// Adds the keys of all rows of slices, merged as of now. Returns the slices that cannot be read.
///
/// # Errors
/// Those of planning; `Unsupported` for what this release does not read; `Interrupted` by a signal.
pub(super) fn add_row_keys(
    table: &OpenTable,
    slices: &[FileSlice],
    numbers: &FileGroupNumbers,
    sorter: &KeySorter,
) -> Result<Vec<Finding>> {
    let config = &table.config;
    let virtual_key = (!config.populate_meta_fields).then_some(config.record_key_fields.as_slice());
    let key = RecordKey::new(virtual_key)?;
    let options = QueryOptions { columns: Some(key.columns()), ..QueryOptions::default() };
    let scan = table.stored_rows(slices, &options)?;
    let threads = threads(table);
    let memory = table.options.memory_limit / u64::try_from(threads).unwrap_or(u64::MAX).max(1);
    let found = parallel::map(scan.splits(), threads, |split| {
        let mut buffer = sorter.buffer();
        let reader = SplitReader::new(split.clone(), SharedReport::default())?;
        let reader = reader.with_storage(Arc::clone(&table.storage)).within(memory);
        let added = add_slice(split, reader, &key, numbers, (sorter, &mut buffer));
        sorter.give_back(buffer);
        match added? {
            None => Ok(None),
            Some(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Unsupported) => Err(error),
            Some(error) => Ok(Some(unreadable(&split.slice, &error))),
        }
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Adds the keys of a slice. Returns the error of reading it.
fn add_slice(
    split: &Split,
    reader: SplitReader,
    key: &RecordKey,
    numbers: &FileGroupNumbers,
    (sorter, buffer): (&KeySorter, &mut KeyBuffer),
) -> Result<Option<Error>> {
    let number = numbers.known(&split.slice.partition, &split.slice.file_id);
    let number = number.ok_or_else(|| Error::internal("a file group without a number"))?;
    for batch in reader {
        let keys = match batch.and_then(|batch| key.keys_of(&batch)) {
            Ok(keys) => keys,
            Err(error) => return Ok(Some(error)),
        };
        for key in keys.iter().flatten() {
            sorter.add(buffer, key, (Origin::Row, number))?;
        }
    }
    Ok(None)
}

/// Adds all keys of the record index, with the file groups that it names.
///
/// # Errors
/// What reading the index may fail with.
pub(super) fn add_index_keys(
    metadata: &MetadataTable,
    numbers: &mut FileGroupNumbers,
    sorter: &KeySorter,
) -> Result<()> {
    let mut buffer = sorter.buffer();
    let read = metadata.key_locations(None, &mut |location| {
        let number = numbers.number_of(location.partition, &location.file_id)?;
        sorter.add(&mut buffer, location.key, (Origin::Index, number))
    });
    sorter.give_back(buffer);
    read
}
