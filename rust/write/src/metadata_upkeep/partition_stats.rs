//! Records of the partition `partition_stats`: one for each indexed column of each partition that a commit wrote to.
//!
//! Hudi computes them from the statistics of all live files. Here the ranges of the new files are added to the partition's record, which
//! is as correct: the bounds may be wider than the values, never narrower. The next commit of Hudi makes them tight. They are marked as
//! tight, since a record that is not is added to the one before by its readers, which fails for a column that has another type now.
//!
//! | the partition has | record |
//! |---|---|
//! | no statistics | those of the new files |
//! | statistics of the column | the sum of both |
//! | statistics of other columns | those of the new files, and a null: the column is new, and files without it have null in it |
//! | only files of this commit (insert overwrite) | those of the new files |

use std::collections::{BTreeMap, BTreeSet};

use super::column_kind::ColumnKind;
use super::column_stats::{known_bounds, range_of, statistics};
use super::commit_update::CommitUpdate;
use super::indexed_columns::IndexedColumns;
use super::partition_kind::PartitionKind;
use super::record_schema::RecordSchema;
use super::records::PartitionRecords;
use super::stored_statistics::{StoredBound, StoredStatistics, stored_statistics};
use crate::commit::WriteOperation;
use crate::write::ColumnRange;
use mortice_base::error::Result;
use mortice_table::metadata_table::{ColumnKeys, MetadataTable, partition_name};

/// The records of a commit. `metadata` opens the metadata table as it is before the commit.
pub(super) fn of_commit<'m>(
    schema: &RecordSchema,
    columns: &IndexedColumns,
    update: &CommitUpdate<'_>,
    metadata: impl FnOnce() -> Result<&'m MetadataTable>,
) -> Result<PartitionRecords> {
    let keys: Vec<ColumnKeys> = columns.columns.iter().map(|(column, _)| ColumnKeys::new(column)).collect();
    let keys_of = |partition: &str| keys.iter().map(|keys| keys.partition_key(partition)).collect::<Vec<_>>();
    if update.operation == WriteOperation::DeletePartition {
        let deletes = update.replaced.keys().flat_map(|partition| keys_of(partition)).collect();
        return Ok(PartitionRecords { deletes, ..PartitionRecords::default() });
    }
    let partitions = update.written_partitions();
    let stored = match update.operation {
        WriteOperation::InsertOverwrite | WriteOperation::InsertOverwriteTable => BTreeMap::new(),
        _ => {
            let wanted: BTreeSet<String> = partitions.iter().flat_map(|partition| keys_of(partition)).collect();
            stored_statistics(metadata()?, PartitionKind::PartitionStats, &wanted)?
        }
    };
    let ranges = ranges(columns, update)?;
    let mut records = PartitionRecords::default();
    for partition in partitions {
        let keys = keys_of(partition);
        let is_known = keys.iter().any(|key| stored.contains_key(key));
        for ((column, kind), key) in columns.columns.iter().zip(keys) {
            let range = ranges.get(&(partition, column.as_str()));
            let Some(range) = merged(range, stored.get(&key), kind, is_known) else { continue };
            let name = (partition_name(partition), true);
            records.upserts.insert(key, statistics(schema, name, columns, (column, kind), &range)?);
        }
    }
    Ok(records)
}

/// The ranges of the new files, by partition and column.
fn ranges<'a>(
    columns: &'a IndexedColumns,
    update: &CommitUpdate<'a>,
) -> Result<BTreeMap<(&'a str, &'a str), ColumnRange>> {
    let mut ranges: BTreeMap<(&str, &str), ColumnRange> = BTreeMap::new();
    for file in update.files()? {
        for (column, kind) in &columns.columns {
            let Some(range) = range_of(&file, column) else { continue };
            let range = ColumnRange { bounds: known_bounds(&range, kind), ..range };
            let sum = ranges.entry((file.partition, column)).or_insert_with(|| ColumnRange::new(column));
            sum.add(range);
        }
    }
    Ok(ranges)
}

/// The range of a partition after a commit; none if nothing is known of the column.
fn merged(
    new: Option<&ColumnRange>,
    stored: Option<&StoredStatistics>,
    kind: &ColumnKind,
    is_known_partition: bool,
) -> Option<ColumnRange> {
    let mut new = new?.clone();
    match stored {
        Some(stored) => new.add(stored_range(&new.column, stored, kind)),
        None if is_known_partition => {
            new.values = new.values.saturating_add(1);
            new.nulls = new.nulls.saturating_add(1);
        }
        None => {}
    }
    Some(new)
}

fn stored_range(column: &str, stored: &StoredStatistics, kind: &ColumnKind) -> ColumnRange {
    let [values, nulls, total_size, total_uncompressed_size] = stored.counts;
    let bounds = match &stored.bounds {
        [StoredBound::Missing, StoredBound::Missing] => None,
        [StoredBound::Known(wrapper, least), StoredBound::Known(_, greatest)] => {
            let both = kind.unwrapped(least, *wrapper).zip(kind.unwrapped(greatest, *wrapper));
            Some(both.unwrap_or_else(|| kind.widest()))
        }
        _ => Some(kind.widest()),
    };
    let range = ColumnRange { bounds, values, nulls, total_size, total_uncompressed_size, ..ColumnRange::new(column) };
    ColumnRange { bounds: known_bounds(&range, kind), ..range }
}
