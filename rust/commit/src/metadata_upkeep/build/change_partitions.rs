//! Changes the partitions of a metadata table as options ask: indexes are added from a listing of the table, or
//! dropped. Column statistics of other columns than the options name are built again: Hudi takes a file that has
//! statistics of some columns for one without values in the others.

use std::sync::Arc;

use super::drop_metadata_table::drop_partitions;
use super::index_builder::IndexBuilder;
use super::new_metadata_table::{add_partitions, current_schema};
use super::wanted_partitions::{PartitionChanges, partition_changes};
use crate::metadata_upkeep::options::MetadataOptions;
use crate::metadata_upkeep::partition_kind::{ListedPartitions, PartitionKind};
use crate::metadata_upkeep::records::indexed_columns::{ColumnChoice, IndexDefinitions, undefine_indexes};
use mortice_base::error::{Error, Result};
use mortice_merge::config::TimelineLayout;
use mortice_storage::FileStore;
use mortice_table::plan::OpenTable;

/// What [`change_partitions`] would do.
///
/// Up to table version 7 a partition is added once no instant is pending: its files could be taken for complete.
pub(in crate::metadata_upkeep) fn decided_changes(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    options: &MetadataOptions,
    listed: &ListedPartitions,
) -> Result<PartitionChanges> {
    let PartitionChanges { mut added, mut dropped } = partition_changes(&table.config, options, listed)?;
    check_defined(store.as_ref(), options, added.iter().cloned())?;
    check_created(store.as_ref(), options, listed)?;
    let has_to_wait = table.config.layout() == TimelineLayout::V1 && table.timeline.pending_writes().next().is_some();
    if has_to_wait {
        added.clear();
    } else if rebuilds_statistics(store, table, &options.columns, listed)? {
        let statistics = [PartitionKind::ColumnStats, PartitionKind::PartitionStats];
        let kept = statistics.clone().into_iter().filter(|kind| listed.known.contains(kind) && !dropped.contains(kind));
        added.extend(kept);
        added.sort_unstable();
        added.dedup();
        dropped.extend(statistics.into_iter().filter(|kind| added.contains(kind) && listed.known.contains(kind)));
    }
    if table.timeline.latest_visible().is_some() && table.has_column_ids(None)? {
        // Files have columns under names of their own: statistics by name would be those of other columns.
        added.retain(|kind| !matches!(kind, PartitionKind::ColumnStats | PartitionKind::PartitionStats));
    }
    Ok(PartitionChanges { added, dropped })
}

/// Changes the partitions of the metadata table of a table. Returns true if the table's properties were changed.
pub(in crate::metadata_upkeep) fn change_partitions(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    options: &MetadataOptions,
    listed: &ListedPartitions,
    builder: &dyn IndexBuilder,
) -> Result<bool> {
    let PartitionChanges { added, dropped } = decided_changes(store, table, options, listed)?;
    if !dropped.is_empty() {
        let names: Vec<String> = dropped.iter().map(|kind| kind.folder().to_owned()).collect();
        let (again, left): (Vec<PartitionKind>, Vec<PartitionKind>) =
            dropped.iter().cloned().partition(|kind| added.contains(kind));
        let folders = |kinds: Vec<PartitionKind>| kinds.iter().map(|kind| kind.folder().to_owned()).collect::<Vec<_>>();
        drop_partitions(store, &names, &folders(again))?;
        let left = folders(left);
        undefine_indexes(store.as_ref(), &left)?;
    }
    if !added.is_empty() {
        add_partitions(store, table, &added, options, builder)?;
    }
    Ok(!dropped.is_empty() || !added.is_empty())
}

/// Refuses a secondary index whose column is neither given nor defined.
pub(in crate::metadata_upkeep) fn check_defined(
    store: &dyn FileStore,
    options: &MetadataOptions,
    kinds: impl IntoIterator<Item = PartitionKind>,
) -> Result<()> {
    for kind in kinds {
        let PartitionKind::SecondaryIndex(name) = kind else { continue };
        if options.created_column(&name).is_none() && IndexDefinitions::load(store)?.secondary_index(&name).is_err() {
            return Err(Error::invalid_argument(format!(
                "the index {name} is to be added without its column; name it: {name}(column)"
            )));
        }
    }
    Ok(())
}

/// Refuses to create an index that is there, of another column.
fn check_created(store: &dyn FileStore, options: &MetadataOptions, listed: &ListedPartitions) -> Result<()> {
    for name in listed.secondary_indexes() {
        let Some(column) = options.created_column(name) else { continue };
        let definitions = IndexDefinitions::load(store)?;
        let (known, _) = definitions.secondary_index(name)?;
        if known != column {
            return Err(Error::invalid_argument(format!(
                "the index {name} is there, of the column {known:?}; drop it before it is created of {column:?}"
            )));
        }
    }
    Ok(())
}

fn rebuilds_statistics(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    choice: &ColumnChoice,
    listed: &ListedPartitions,
) -> Result<bool> {
    if !choice.is_given() || !listed.known.contains(&PartitionKind::ColumnStats) {
        return Ok(false);
    }
    let definitions = IndexDefinitions::load(store.as_ref())?;
    Ok(definitions.differs(&table.config, &current_schema(table)?, choice))
}
