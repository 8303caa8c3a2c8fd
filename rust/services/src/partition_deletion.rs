//! A replace commit without files, which deletes partitions (`SparkDeletePartitionCommitActionExecutor`). The files
//! stay until a clean.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::replaced_groups::replaced_by_delete;
use crate::transaction::{CommitExtra, Committed, Transaction};
use mortice_base::error::Result;
use mortice_commit::writable_table::WritableTable;
use mortice_table::plan::{OpenTable, WriteView};
use mortice_table::timeline::WriteOperation;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, OrderedMap};
use mortice_write::rows::WriteSchema;

/// Deletes partitions, as one commit.
///
/// Args:
///     target: The table.
///     user_metadata: What the user adds to the commit.
///     choose: Chooses the partitions of the table as it is when the write has begun.
///
/// # Errors
/// `Unsupported` if a table service of such a partition is pending; those of `choose`; as for [`Transaction::begin`]
/// and [`Transaction::commit`].
pub fn delete_chosen_partitions(
    target: &Arc<WritableTable>,
    user_metadata: BTreeMap<String, String>,
    choose: impl FnOnce(&OpenTable) -> Result<(WriteView, BTreeSet<String>)>,
) -> Result<Committed> {
    let mut transaction = Transaction::begin(target, WriteOperation::DeletePartition)?;
    let extra = begun(&mut transaction, user_metadata, choose);
    let (transaction, extra) = transaction.or_abort(extra)?;
    transaction.commit(Vec::new(), &extra)
}

/// Finds the file groups, and starts the instant.
fn begun(
    transaction: &mut Transaction,
    user_metadata: BTreeMap<String, String>,
    choose: impl FnOnce(&OpenTable) -> Result<(WriteView, BTreeSet<String>)>,
) -> Result<CommitExtra> {
    let table = Arc::clone(transaction.table());
    let (view, chosen) = choose(&table)?;
    let replaced = replaced_by_delete(&table, &chosen, &view)?;
    let schema = match table.timeline.completed_writes().next() {
        Some(_) => WriteSchema::of_table(&table)?.columns.json().to_owned(),
        None => table.config.create_schema.clone().unwrap_or_default(),
    };
    transaction.inflight(&HoodieCommitMetadata {
        partition_to_write_stats: Some(OrderedMap::new()),
        compacted: Some(false),
        extra_metadata: Some(OrderedMap::new()),
        operation_type: Some(WriteOperation::DeletePartition.name().to_owned()),
        ..HoodieCommitMetadata::default()
    })?;
    Ok(CommitExtra { schema, user_metadata, replaced, column_ids: None })
}
