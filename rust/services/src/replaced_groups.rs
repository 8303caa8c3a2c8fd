//! The file groups that a write replaces (`SparkInsertOverwriteCommitActionExecutor.getPartitionToReplacedFileIds`,
//! `SparkDeletePartitionCommitActionExecutor`).

use std::collections::{BTreeMap, BTreeSet};

use mortice_base::error::{Error, Result};
use mortice_table::plan::{OpenTable, WriteView};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::has_consistent_hashing;
use mortice_write::rows::RowOptions;

/// File ids by partition.
pub type ReplacedGroups = BTreeMap<String, Vec<String>>;

/// The file groups that an operation replaces which writes rows to these partitions.
///
/// # Errors
/// `Unsupported` if a pending clustering rewrites one of them; those of the listing.
pub fn replaced_by_write(
    table: &OpenTable,
    operation: WriteOperation,
    options: &RowOptions,
    written: BTreeSet<String>,
) -> Result<ReplacedGroups> {
    match operation {
        WriteOperation::InsertOverwrite => {
            let fixed = options.static_partitions.as_ref();
            let partitions = fixed.map_or(written, |fixed| fixed.iter().cloned().collect());
            live_groups(table, &partitions, &table.write_view(Some(&partitions))?)
        }
        WriteOperation::InsertOverwriteTable => {
            let view = table.write_view(None)?;
            let partitions = view.slices.iter().map(|slice| slice.partition.clone()).chain(written).collect();
            live_groups(table, &partitions, &view)
        }
        _ => Ok(ReplacedGroups::new()),
    }
}

/// The file groups of partitions that are deleted.
pub(crate) fn replaced_by_delete(
    table: &OpenTable,
    partitions: &BTreeSet<String>,
    view: &WriteView,
) -> Result<ReplacedGroups> {
    let log_compactions = table.timeline.pending_log_compactions()?;
    let compactions = table.timeline.pending_compactions()?;
    for plan in compactions.iter().chain(&log_compactions) {
        if let Some(operation) = plan.operations.iter().find(|operation| partitions.contains(&operation.partition)) {
            return Err(Error::unsupported(format!(
                "partition {:?} cannot be deleted while a compaction of it is pending; execute the compaction or roll it back, then delete again",
                operation.partition
            ))
            .at_instant(&plan.instant));
        }
    }
    live_groups(table, partitions, view)
}

/// The live file groups of partitions; for a partition without one, none.
fn live_groups(table: &OpenTable, partitions: &BTreeSet<String>, view: &WriteView) -> Result<ReplacedGroups> {
    let mut groups: BTreeMap<String, BTreeSet<String>> =
        partitions.iter().map(|partition| (partition.clone(), BTreeSet::new())).collect();
    for slice in &view.slices {
        // The view may show other partitions too, which stay.
        let Some(file_ids) = groups.get_mut(&slice.partition) else { continue };
        // The clustering would bring the rows back.
        if let Some(instant) = view.pending_clustering(&slice.partition, &slice.file_id) {
            return Err(Error::unsupported(format!(
                "file group {:?} in partition {:?} is to be replaced, which a pending clustering rewrites; execute the clustering or roll it back, then write again",
                slice.file_id, slice.partition
            ))
            .in_file(&table.uri)
            .at_instant(instant));
        }
        file_ids.insert(slice.file_id.clone());
    }
    if groups.values().any(|file_ids| !file_ids.is_empty()) && has_consistent_hashing(table)? {
        // Measured with Hudi 1.2, which does not find the rows that are written to such a file group afterwards.
        return Err(Error::unsupported(
            "file groups of a table with consistent hashing are to be replaced: they keep their ids, and readers leave out ids that were replaced; delete the rows instead (DELETE FROM, Table.delete_where)",
        )
        .in_file(&table.uri));
    }
    Ok(groups.into_iter().map(|(partition, file_ids)| (partition, file_ids.into_iter().collect())).collect())
}
