//! Whether the files of the latest slices can be decoded.

use super::findings::{Finding, FindingKind};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_formats::filter::Filter;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, QueryOptions};

/// Reads each slice, one at a time, and drops its rows. A file that cannot be read is a finding.
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

/// The finding of a slice that cannot be read.
pub(super) fn unreadable(slice: &FileSlice, error: &Error) -> Finding {
    let first = || slice.files().next().map(|(path, _)| path.to_owned()).unwrap_or_default();
    let path = error.location().path.as_deref().map_or_else(first, |named| {
        // Errors have full paths, findings those in the table.
        let is_named = |path: &str| named.strip_suffix(path).is_some_and(|root| root.is_empty() || root.ends_with('/'));
        slice.files().map(|(path, _)| path).find(|path| is_named(path)).unwrap_or(named).to_owned()
    });
    Finding::new(FindingKind::UnreadableFile, path, error.text())
}
