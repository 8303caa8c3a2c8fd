//! The slices of a plan, merged side by side.

use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::progress::Progress;
use mortice_storage::parallel;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_write::write::{WriteStatus, WriteToken};

/// What the execution of a plan has written, with the table's columns.
pub(crate) type WrittenFiles = (Vec<WriteStatus>, Schema);

/// The threads that merge slices.
pub(super) fn threads_for(slices: &[FileSlice]) -> usize {
    parallel::cores().min(slices.len().max(1))
}

/// The share of the memory limit of each thread.
pub(super) fn memory_of_each(table: &OpenTable, threads: usize) -> u64 {
    table.options.memory_limit / (threads as u64).max(1)
}

/// Merges each slice, in an attempt of its own. One result for each.
///
/// Args:
///     slices: The slices.
///     threads: As of [`threads_for`].
///     progress: Gets how much is done.
///     merge: Merges one.
pub(super) fn each_slice<T: Send>(
    slices: &[FileSlice],
    threads: usize,
    progress: &Progress,
    merge: &(dyn Fn(&FileSlice, WriteToken) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let attempt = WriteToken::new_attempt();
    let numbered: Vec<(u32, &FileSlice)> = (0..).zip(slices).collect();
    progress.begin(slices.iter().fold(0, |sum, slice| sum.saturating_add(slice.total_len())));
    let done = parallel::map(&numbered, threads, |(task, slice)| {
        let merged = merge(slice, WriteToken { task: *task, stage: 0, attempt })?;
        progress.advance(slice.total_len());
        Ok(merged)
    })?;
    if done.len() != slices.len() {
        return Err(Error::internal(format!("{} of {} slices were compacted", done.len(), slices.len())));
    }
    Ok(done)
}
