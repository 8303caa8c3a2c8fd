//! Reads the keys of all rows, and of the record index, to be sorted.

use arrow_array::StringArray;

use super::contents::unreadable;
use super::file_group_numbers::FileGroupNumbers;
use super::findings::Finding;
use super::sorted_keys::{KeySorter, Origin};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::parallel;
use mortice_table::file_group::FileSlice;
use mortice_table::metadata_table::RECORD_INDEX;
use mortice_table::plan::{OpenTable, RecordKeyScan};
use mortice_table::split::Split;

/// Calls `each` with the keys of a slice, batch by batch. Returns the finding of a slice that cannot be read; `each`
/// may have had a part of its keys then. `memory` is the limit of logs that are merged.
///
/// # Errors
/// Those of `each`; `Unsupported` for what this release does not read; `Interrupted` by a signal.
pub fn keys_of_slice(
    scan: &RecordKeyScan,
    split: &Split,
    memory: u64,
    each: &mut dyn FnMut(&StringArray) -> Result<()>,
) -> Result<Option<Finding>> {
    match scan.read(split, memory, each)? {
        Ok(()) => Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Unsupported) => Err(error),
        Err(error) => Ok(Some(unreadable(&split.slice, &error))),
    }
}

/// Adds the keys of all rows of slices, merged as of now. Returns the slices that cannot be read.
pub(super) fn add_row_keys(
    table: &OpenTable,
    slices: &[FileSlice],
    numbers: &FileGroupNumbers,
    sorter: &KeySorter,
) -> Result<Vec<Finding>> {
    let scan = table.record_keys(slices)?;
    let threads = table.slices_at_once();
    let memory = table.options.memory_limit / u64::try_from(threads).unwrap_or(u64::MAX).max(1);
    let found = parallel::map(scan.splits(), threads, |split| {
        let number = numbers.known(&split.slice.partition, &split.slice.file_id);
        let number = number.ok_or_else(|| Error::internal("a file group without a number"))?;
        let mut buffer = sorter.buffer();
        let found = keys_of_slice(&scan, split, memory, &mut |keys| {
            keys.iter().flatten().try_for_each(|key| sorter.add(&mut buffer, key, Origin::Row, number))
        });
        sorter.give_back(buffer);
        found
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Adds all keys of the record index, with the file groups that it names.
pub(super) fn add_index_keys(table: &OpenTable, numbers: &mut FileGroupNumbers, sorter: &KeySorter) -> Result<()> {
    let metadata = table.metadata_index(RECORD_INDEX)?;
    let metadata = metadata.ok_or_else(|| Error::internal("a record index that is not there"))?;
    let mut buffer = sorter.buffer();
    let read = metadata.key_locations(None, &mut |location| {
        let number = numbers.number_of(location.partition, &location.file_id)?;
        sorter.add(&mut buffer, location.key, Origin::Index, number)
    });
    sorter.give_back(buffer);
    read
}
