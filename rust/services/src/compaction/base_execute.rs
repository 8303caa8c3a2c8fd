//! The base files of a compaction.

use super::each_slice::{WrittenFiles, each_slice, memory_of_each, threads_for};
use crate::compaction::planning::TableCompactions;
use crate::transaction::Transaction;
use mortice_base::error::Result;
use mortice_table::file_group::FileSlice;
use mortice_table::read::LogCheck;
use mortice_write::rows::WriteSchema;
use mortice_write::write::{CompactHandle, CompactTarget};

/// The slices of a compaction that has begun.
///
/// # Errors
/// As for [`TableCompactions::slices`] and [`OpenTable::check_logs`](mortice_table::plan::OpenTable::check_logs).
pub fn slices_of(transaction: &Transaction) -> Result<Vec<FileSlice>> {
    let table = transaction.table();
    let slices = TableCompactions::new(transaction.store(), table).slices(transaction.instant())?;
    table.check_logs(&slices, LogCheck::Lengths)?;
    Ok(slices)
}

/// Writes the new base files.
pub fn write_base_files(transaction: &Transaction) -> Result<WrittenFiles> {
    let (table, store, instant) = (transaction.table(), transaction.store(), transaction.instant());
    let options = transaction.target().settings();
    let slices = slices_of(transaction)?;
    let schema = WriteSchema::of_table(table)?;
    let threads = threads_for(&slices);
    let handle = CompactHandle {
        store,
        table,
        schema: &schema.stored,
        options: &options.base_files,
        change_block_bytes: options.log_files.max_block_bytes,
        memory: memory_of_each(table, threads),
    };
    let statuses = each_slice(&slices, threads, transaction.target().progress(), &|slice, token| {
        handle.compact(&CompactTarget { slice: slice.clone(), instant: instant.clone(), token })
    })?;
    Ok((statuses, schema.columns))
}
