//! The execution of plans: the files of each slice, then the completed instant.

use std::sync::Arc;

use super::base_execute::write_base_files;
use super::kind::Compaction;
use super::log_execute::write_logs;
use crate::compaction::planning::TableCompactions;
use crate::transaction::{CommitExtra, Committed, ExecutePlan, Transaction, begin_service, give_up};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::writable_table::WritableTable;
use mortice_table::timeline::WriteOperation;

/// Executes all compactions that are pending, oldest first, but those that another process executes. Log compactions
/// that a later compaction has overtaken are rolled back.
///
/// # Errors
/// As for [`begin_service`] and [`pending`]; those of `execute`. The plan stays on the timeline, and is executed again
/// later.
pub(super) fn execute_pending(
    target: &Arc<WritableTable>,
    kind: Compaction,
    execute: ExecutePlan<'_>,
) -> Result<Vec<Committed>> {
    let mut committed = Vec::new();
    for instant in pending(target, kind)? {
        if let Some(transaction) = begin_service(target, kind.operation(), &instant)? {
            committed.push(execute(transaction)?);
        }
    }
    Ok(committed)
}

/// The compactions that are pending in the table as it was last seen, oldest first. Log compactions that a later
/// compaction has overtaken are rolled back.
///
/// # Errors
/// As for [`give_up`].
pub fn pending(target: &WritableTable, kind: Compaction) -> Result<Vec<RequestedTime>> {
    let compactions = TableCompactions::new(target.store(), &target.latest());
    if kind != Compaction::IntoLogs {
        return Ok(compactions.pending());
    }
    let is_overtaken = |instant: &RequestedTime| compactions.compaction_after(instant).is_some();
    let (overtaken, pending): (Vec<_>, Vec<_>) =
        compactions.pending_log_compactions().into_iter().partition(is_overtaken);
    overtaken.iter().try_for_each(|instant| give_up(target, instant))?;
    Ok(pending)
}

/// Executes a plan that has begun in this process: writes its files and completes it.
///
/// # Errors
/// As for [`Transaction::commit`]; those of writing. The plan stays on the timeline, and is executed again later.
pub(crate) fn execute_plan(transaction: Transaction) -> Result<Committed> {
    let written = match transaction.operation() {
        WriteOperation::LogCompact => write_logs(&transaction),
        _ => write_base_files(&transaction),
    };
    let (transaction, (statuses, schema)) = transaction.or_abort(written)?;
    let extra = CommitExtra { schema: schema.json().to_owned(), ..CommitExtra::default() };
    transaction.commit(statuses, &extra)
}
