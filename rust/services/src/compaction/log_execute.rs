//! The execution of log compactions: new log files for each slice, then the completed instant.

use super::each_slice::{WrittenFiles, each_slice, memory_of_each, threads_for};
use crate::compaction::planning::TableCompactions;
use crate::transaction::Transaction;
use mortice_base::error::{Error, Result};
use mortice_merge::config::TimelineLayout;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::WriteView;
use mortice_table::read::LogCheck;
use mortice_write::assign::log_naming;
use mortice_write::rows::WriteSchema;
use mortice_write::write::{LogCompactHandle, LogCompactTarget, LogNaming};

/// The slices of a log compaction that has begun, with the names of their new log files.
///
/// # Errors
/// As for [`LogCompactHandle::check`], [`TableCompactions::log_slices`] and
/// [`OpenTable::check_logs`](mortice_table::plan::OpenTable::check_logs).
pub fn log_slices_of(transaction: &Transaction) -> Result<Vec<(FileSlice, LogNaming)>> {
    let table = transaction.table();
    LogCompactHandle::check(table)?;
    let slices = TableCompactions::new(transaction.store(), table).log_slices(transaction.instant())?;
    table.check_logs(&slices, LogCheck::Lengths)?;
    // Up to table version 7 the names of new log files follow those of all that the slice has by now.
    let partitions = slices.iter().map(|slice| slice.partition.clone()).collect();
    let view = match table.config.layout() {
        TimelineLayout::V1 => table.write_view(Some(&partitions))?,
        TimelineLayout::V2 => WriteView::default(),
    };
    let named = slices.into_iter().map(|slice| {
        let naming = log_naming(&view, &table.config, latest_of(&view, &slice));
        (slice, naming)
    });
    Ok(named.collect())
}

/// Writes the new log files.
pub(super) fn write_logs(transaction: &Transaction) -> Result<WrittenFiles> {
    let (table, store, instant) = (transaction.table(), transaction.store(), transaction.instant());
    let (slices, naming): (Vec<FileSlice>, Vec<LogNaming>) = log_slices_of(transaction)?.into_iter().unzip();
    let schema = WriteSchema::of_table(table)?;
    let threads = threads_for(&slices);
    let handle = LogCompactHandle {
        store,
        table,
        schema: &schema.stored,
        options: &transaction.target().settings().log_files,
        memory: memory_of_each(table, threads),
    };
    let statuses = each_slice(&slices, threads, transaction.target().progress(), &|slice, token| {
        let naming = usize::try_from(token.task).ok().and_then(|number| naming.get(number)).cloned();
        let naming = naming.ok_or_else(|| Error::internal("a slice without the names of its log files"))?;
        handle.compact(&LogCompactTarget { slice: slice.clone(), instant: instant.clone(), token, naming })
    })?;
    Ok((statuses.into_iter().flatten().collect(), schema.columns))
}

/// The slice as it is now.
fn latest_of<'a>(view: &'a WriteView, planned: &'a FileSlice) -> &'a FileSlice {
    let is_same = |slice: &&FileSlice| {
        (&slice.partition, &slice.file_id, &slice.base_instant)
            == (&planned.partition, &planned.file_id, &planned.base_instant)
    };
    view.slices.iter().find(is_same).unwrap_or(planned)
}
