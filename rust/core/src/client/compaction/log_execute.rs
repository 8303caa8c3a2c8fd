//! The execution of log compactions: new log files for each slice, then the completed instant.

use super::execute::{each_slice, memory_of_each, threads_for};
use crate::assign::log_naming;
use crate::avro::Schema;
use crate::client::schema::WriteSchema;
use crate::client::transaction::ServiceTarget;
use crate::client::{CommitExtra, Committed, Transaction};
use crate::commit::WriteOperation;
use crate::config::TimelineLayout;
use crate::error::Result;
use crate::file_group::FileSlice;
use crate::names::RequestedTime;
use crate::plan::WriteView;
use crate::services::TableCompactions;
use crate::storage::open_file_store;
use crate::write::{AppendOptions, LogCompactHandle, LogCompactTarget, WriteStatus};

/// Executes all log compactions that are pending, oldest first, but those that another process executes. Those that a later compaction
/// has overtaken are rolled back.
///
/// # Errors
/// As for [`execute`] and [`ServiceTarget::give_up`].
pub(super) fn execute_pending_log_compactions(target: ServiceTarget<'_>) -> Result<Vec<Committed>> {
    let compactions = TableCompactions::open(&open_file_store(target.uri, target.storage)?)?;
    let pending = compactions.pending_log_compactions();
    let mut committed = Vec::with_capacity(pending.len());
    for instant in pending {
        match compactions.compaction_after(&instant) {
            Some(_) => target.give_up(&instant)?,
            None => committed.extend(execute(target, &instant)?),
        }
    }
    Ok(committed)
}

/// Executes a log compaction that is on the timeline. None if it is not pending, or if another process executes it.
///
/// # Errors
/// As for [`ServiceTarget::begin`], [`TableCompactions::log_slices`], [`LogCompactHandle::compact`] and [`Transaction::commit`]. The
/// plan stays on the timeline, and is executed again later.
fn execute(target: ServiceTarget<'_>, instant: &RequestedTime) -> Result<Option<Committed>> {
    let Some(transaction) = target.begin(WriteOperation::LogCompact, instant)? else { return Ok(None) };
    match written(&transaction, target) {
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

/// Writes the new log files. Returns also the table's columns.
fn written(transaction: &Transaction, target: ServiceTarget<'_>) -> Result<(Vec<WriteStatus>, Schema)> {
    let (table, store, instant) = (transaction.table(), transaction.store(), transaction.instant());
    LogCompactHandle::check(table)?;
    let slices = TableCompactions::open(store)?.log_slices(instant)?;
    let schema = WriteSchema::of_table(table)?;
    let threads = threads_for(&slices);
    let handle = LogCompactHandle {
        store,
        table,
        schema: &schema.stored,
        options: &AppendOptions::from_hudi_options(target.options)?,
        memory: memory_of_each(table, threads),
    };
    // Up to table version 7 the names of new log files follow those of all that the slice has by now.
    let partitions = slices.iter().map(|slice| slice.partition.clone()).collect();
    let view = match table.config.layout() {
        TimelineLayout::V1 => table.write_view(Some(&partitions))?,
        TimelineLayout::V2 => WriteView::default(),
    };
    let statuses = each_slice(&slices, threads, &|slice, token| {
        let naming = log_naming(&view, &table.config, latest_of(&view, slice));
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
