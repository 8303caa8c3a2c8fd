//! Whether the files of the latest slices can be decoded, and whether each key is in one file group.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::findings::{Finding, FindingKind};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::Filter;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, QueryOptions};

/// Findings of duplicate keys, at most.
const MOST_KEYS: usize = 100;

/// Reads each slice, one at a time, and drops its rows. A file that cannot be read is a finding.
///
/// # Errors
/// Those of listing the slices; `Unsupported` for what this release does not read; `Interrupted` by a signal.
pub(super) fn unreadable_files(table: &OpenTable) -> Result<(Vec<Finding>, u64)> {
    let (mut found, mut rows) = (Vec::new(), 0_u64);
    for slice in table.file_slices(None, &Filter::default())? {
        let read = table.stored_rows(std::slice::from_ref(&slice), &QueryOptions::default());
        let counted = read.and_then(|scan| {
            scan.stream().try_fold(0_u64, |sum, batch| batch.map(|batch| sum.saturating_add(batch.num_rows() as u64)))
        });
        match counted {
            Ok(count) => rows = rows.saturating_add(count),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Unsupported) => return Err(error),
            Err(error) => found.push(unreadable(&slice, &error)),
        }
    }
    Ok((found, rows))
}

fn unreadable(slice: &FileSlice, error: &Error) -> Finding {
    let of_slice = || {
        let base = slice.base_file.as_ref().map(|base| base.path.clone());
        base.or_else(|| slice.log_files.first().map(|log| log.path.clone())).unwrap_or_default()
    };
    let path = error.location().path.clone().unwrap_or_else(of_slice);
    Finding::new(FindingKind::UnreadableFile, path, error.text())
}

/// Finds keys that are in two file groups, or twice in one. Keys are compared by a hash of 64 bits.
///
/// # Errors
/// What reading the keys may fail with.
pub(super) fn duplicate_keys(table: &OpenTable, is_global: bool) -> Result<Vec<Finding>> {
    let hasher = RandomState::new();
    let slices = table.record_keys(|_| true)?;
    let mut seen: HashMap<u64, (usize, usize)> = HashMap::new();
    let mut found = Vec::new();
    for (at, (slice, batches)) in slices.iter().enumerate() {
        let mut row = 0_usize;
        for batch in batches {
            let column = batch.column_by_name(meta_columns::RECORD_KEY);
            let keys = column.map(|column| arrow_cast::cast(column, &arrow_schema::DataType::Utf8)).transpose();
            let keys = keys.map_err(|error| Error::internal(format!("record keys are no strings: {error}")))?;
            let keys = keys.ok_or_else(|| Error::internal("a batch of keys without keys"))?;
            let keys = arrow_array::cast::AsArray::as_string::<i32>(&keys);
            for key in keys.iter().flatten() {
                let scope = if is_global { "" } else { slice.partition.as_str() };
                let hash = hasher.hash_one((scope, key));
                if let Some((other, _)) = seen.insert(hash, (at, row))
                    && let Some((other, _)) = slices.get(other)
                    && found.len() < MOST_KEYS
                {
                    let message = format!(
                        "the record key {key:?} is also in file group {} of {:?}",
                        other.file_id, other.partition
                    );
                    let path = format!("{}/{}", slice.partition, slice.file_id);
                    found.push(Finding::new(FindingKind::DuplicateKey, path, message));
                }
                row = row.saturating_add(1);
            }
        }
    }
    Ok(found)
}
