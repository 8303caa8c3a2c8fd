//! The execution of plans: a base file for each slice, then the completed instant.

use std::num::NonZero;

use crate::commit::WriteOperation;
use crate::rows::WriteSchema;
use crate::services::TableCompactions;
use crate::transaction::ServiceTarget;
use crate::transaction::{CommitExtra, Committed, Transaction};
use crate::write::{AppendOptions, BaseFileOptions, CompactHandle, CompactTarget, WriteStatus, WriteToken};
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::progress;
use mortice_storage::{open_file_store, parallel};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;

/// Executes all compactions that are pending, oldest first, but those that another process executes.
///
/// # Errors
/// As for [`execute`], [`TableCompactions::slices`] and [`CompactHandle::compact`].
pub(crate) fn execute_pending(target: ServiceTarget<'_>) -> Result<Vec<Committed>> {
    let pending = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?.pending();
    let mut committed = Vec::with_capacity(pending.len());
    for instant in pending {
        committed.extend(execute(target, WriteOperation::Compact, &instant, |begun| write_base_files(begun, target))?);
    }
    Ok(committed)
}

/// What the execution of a plan has written, with the table's columns.
pub(crate) type WrittenFiles = (Vec<WriteStatus>, Schema);

/// Executes a compaction that is on the timeline: `write` writes its files. None if it is not pending, or if another process executes
/// it.
///
/// # Errors
/// As for [`ServiceTarget::begin`] and [`Transaction::commit`]; those of `write`. The plan stays on the timeline, and is executed again
/// later.
pub(super) fn execute(
    target: ServiceTarget<'_>,
    operation: WriteOperation,
    instant: &RequestedTime,
    write: impl FnOnce(&Transaction) -> Result<WrittenFiles>,
) -> Result<Option<Committed>> {
    let Some(transaction) = target.begin(operation, instant)? else { return Ok(None) };
    match write(&transaction) {
        Ok((statuses, schema)) => {
            let extra = CommitExtra { schema: schema.json().to_owned(), ..CommitExtra::default() };
            transaction.commit(statuses, &extra).map(Some)
        }
        Err(error) => {
            transaction.abort(&error)?;
            Err(error)
        }
    }
}

/// The slices of a compaction that has begun.
///
/// # Errors
/// As for [`TableCompactions::slices`].
pub(crate) fn slices_of(transaction: &Transaction) -> Result<Vec<FileSlice>> {
    TableCompactions::open(transaction.store())?.slices(transaction.instant())
}

/// Writes the new base files.
pub(crate) fn write_base_files(transaction: &Transaction, target: ServiceTarget<'_>) -> Result<WrittenFiles> {
    let (table, store, instant) = (transaction.table(), transaction.store(), transaction.instant());
    let slices = slices_of(transaction)?;
    let schema = WriteSchema::of_table(table)?;
    let threads = threads_for(&slices);
    let handle = CompactHandle {
        store,
        table,
        schema: &schema.stored,
        options: &BaseFileOptions::from_hudi_options(target.options)?,
        change_block_bytes: AppendOptions::from_hudi_options(target.options)?.max_block_bytes,
        memory: memory_of_each(table, threads),
    };
    let statuses = each_slice(&slices, threads, &|slice, token| {
        handle.compact(&CompactTarget { slice: slice.clone(), instant: instant.clone(), token })
    })?;
    Ok((statuses, schema.columns))
}

/// The threads that merge slices.
pub(super) fn threads_for(slices: &[FileSlice]) -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(slices.len().max(1))
}

/// The share of the memory limit of each thread.
pub(super) fn memory_of_each(table: &OpenTable, threads: usize) -> u64 {
    table.options.memory_limit / (threads as u64).max(1)
}

/// Merges each slice, in an attempt of its own. One result for each.
///
/// # Errors
/// Of several errors, that of the first slice.
pub(super) fn each_slice<T: Send>(
    slices: &[FileSlice],
    threads: usize,
    merge: &(dyn Fn(&FileSlice, WriteToken) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let attempt = WriteToken::new_attempt();
    let numbered: Vec<(u32, &FileSlice)> = (0..).zip(slices).collect();
    progress::begin(slices.iter().fold(0, |sum, slice| sum.saturating_add(slice.total_len())));
    let done = parallel::map(&numbered, threads, |(task, slice)| {
        let merged = merge(slice, WriteToken { task: *task, stage: 0, attempt })?;
        progress::advance(slice.total_len());
        Ok(merged)
    })?;
    if done.len() != slices.len() {
        return Err(Error::internal(format!("{} of {} slices were compacted", done.len(), slices.len())));
    }
    Ok(done)
}
