//! The execution of log compactions: new log files for each slice, then the completed instant.

use super::execute::{WrittenFiles, each_slice, execute, memory_of_each, threads_for};
use crate::assign::log_naming;
use crate::commit::WriteOperation;
use crate::rows::WriteSchema;
use crate::services::TableCompactions;
use crate::transaction::ServiceTarget;
use crate::transaction::{Committed, Transaction};
use crate::write::{AppendOptions, LogCompactHandle, LogCompactTarget, LogNaming};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;
use mortice_storage::open_file_store;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::WriteView;

/// Executes all log compactions that are pending, oldest first, but those that another process executes. Those that a later compaction
/// has overtaken are rolled back.
///
/// # Errors
/// As for [`execute`], [`ServiceTarget::give_up`], [`TableCompactions::log_slices`] and [`LogCompactHandle::compact`].
pub(super) fn execute_pending_log_compactions(target: ServiceTarget<'_>) -> Result<Vec<Committed>> {
    let pending = pending_log_compactions(target)?;
    let mut committed = Vec::with_capacity(pending.len());
    for instant in pending {
        let write = |begun: &Transaction| written(begun, target);
        committed.extend(execute(target, WriteOperation::LogCompact, &instant, write)?);
    }
    Ok(committed)
}

/// The log compactions that are pending, oldest first. Those that a later compaction has overtaken are rolled back.
///
/// # Errors
/// As for [`ServiceTarget::give_up`] and [`TableCompactions::open`].
pub(crate) fn pending_log_compactions(target: ServiceTarget<'_>) -> Result<Vec<RequestedTime>> {
    let compactions = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?;
    let is_overtaken = |instant: &RequestedTime| compactions.compaction_after(instant).is_some();
    let (overtaken, pending): (Vec<_>, Vec<_>) =
        compactions.pending_log_compactions().into_iter().partition(is_overtaken);
    overtaken.iter().try_for_each(|instant| target.give_up(instant))?;
    Ok(pending)
}

/// The slices of a log compaction that has begun, with the names of their new log files.
///
/// # Errors
/// As for [`LogCompactHandle::check`] and [`TableCompactions::log_slices`].
pub(crate) fn log_slices_of(transaction: &Transaction) -> Result<Vec<(FileSlice, LogNaming)>> {
    let table = transaction.table();
    LogCompactHandle::check(table)?;
    let slices = TableCompactions::open(transaction.store())?.log_slices(transaction.instant())?;
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
fn written(transaction: &Transaction, target: ServiceTarget<'_>) -> Result<WrittenFiles> {
    let (table, store, instant) = (transaction.table(), transaction.store(), transaction.instant());
    let (slices, naming): (Vec<FileSlice>, Vec<LogNaming>) = log_slices_of(transaction)?.into_iter().unzip();
    let schema = WriteSchema::of_table(table)?;
    let threads = threads_for(&slices);
    let handle = LogCompactHandle {
        store,
        table,
        schema: &schema.stored,
        options: &AppendOptions::from_hudi_options(target.options)?,
        memory: memory_of_each(table, threads),
    };
    let statuses = each_slice(&slices, threads, &|slice, token| {
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
