//! The rings that a clustering leaves (`HoodieSparkConsistentBucketIndex.updateLocation`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::planning::{PlannedClustering, PlannedGroup};
use crate::transaction::Transaction;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::LogFileName;
use mortice_table::plan::OpenTable;
use mortice_write::index::{BucketLayout, BucketOptions, IndexOptions, RingNode, store_next};

/// The buckets of a table by which a plan rewrites rows; none for a plan that does not.
///
/// # Errors
/// `WriteConflict` if rows were written to the old file groups alone since the plan was made; as for
/// [`BucketLayout::of_table`].
pub fn buckets_of_plan(
    table: &OpenTable,
    plan: &PlannedClustering,
    options: &IndexOptions,
) -> Result<Option<Arc<BucketLayout>>> {
    if plan.groups.iter().all(|group| group.nodes.is_empty()) {
        return Ok(None);
    }
    for group in plan.groups.iter().filter(|group| group.has_newer_logs) {
        check_written_twice(table, group)?;
    }
    Ok(Some(Arc::new(ring_layout(table, options)?)))
}

/// The buckets of a table with consistent hashing.
///
/// # Errors
/// As for [`BucketLayout::of_table`].
pub(super) fn ring_layout(table: &OpenTable, options: &IndexOptions) -> Result<BucketLayout> {
    BucketLayout::of_table(table, &BucketOptions::of_rings(&table.config, options)?)
}

/// Makes sure that newer rows of the old file groups were written to the new ones, too.
fn check_written_twice(table: &OpenTable, group: &PlannedGroup) -> Result<()> {
    let prefixes: Vec<&str> = group.nodes.iter().filter_map(|node| node.file_id_prefix.as_deref()).collect();
    let files = table.storage.list(&group.partition)?.into_iter().flatten();
    let mut logs = files.filter_map(|entry| LogFileName::parse(entry.name()));
    if logs.any(|log| prefixes.iter().any(|prefix| log.file_id.strip_suffix("-0") == Some(*prefix))) {
        return Ok(());
    }
    let message = format!(
        "file groups of partition {:?} were written to after their clustering was planned, and its new file groups were not; roll the clustering back",
        group.partition
    );
    Err(Error::new(ErrorKind::WriteConflict, message).in_file(&table.uri))
}

/// Stores the rings of a plan whose files are written, before it is completed: a ring without its completed clustering
/// does not count.
///
/// # Errors
/// `WriteConflict` if a ring is not the one that the plan was made for; those of the store.
pub fn store_rings(transaction: &Transaction, plan: &PlannedClustering) -> Result<()> {
    let (table, instant) = (transaction.table(), transaction.instant());
    let Some(layout) = buckets_of_plan(table, plan, &transaction.target().settings().index)? else { return Ok(()) };
    let mut changes: BTreeMap<&str, Vec<RingNode>> = BTreeMap::new();
    for group in &plan.groups {
        let ring = layout.ring(&group.partition)?;
        if group.sequence.is_some_and(|planned| planned != ring.sequence()) {
            let message = format!(
                "the clustering was planned for another ring of partition {:?} than the table has; roll it back",
                group.partition
            );
            return Err(Error::new(ErrorKind::WriteConflict, message).in_file(&table.uri).at_instant(instant));
        }
        changes.entry(&group.partition).or_default().extend(group.nodes.iter().cloned());
    }
    for (partition, nodes) in changes {
        store_next(transaction.store().as_ref(), layout.ring(partition)?.with_nodes(&nodes)?, partition, instant)?;
    }
    Ok(())
}
