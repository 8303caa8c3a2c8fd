//! Records of the partition `partition_stats`: one for each indexed column of each partition that a commit wrote to.
//!
//! Hudi computes them from the statistics of all live files. Here the ranges of the new files are added to the
//! partition's record, which is as correct: the bounds may be wider than the values, never narrower. The next commit of
//! Hudi makes them tight. They are marked as tight, since a record that is not is added to the one before by its
//! readers, which fails for a column that has another type now.
//!
//! | the partition has | record |
//! |---|---|
//! | no statistics | those of the new files |
//! | statistics of the column | the sum of both |
//! | statistics of other columns | those of the new files, and a null: the column is new, and files without it have null in it |
//! | only files of this commit (insert overwrite) | those of the new files |

use std::collections::{BTreeMap, BTreeSet};

use super::column_kind::ColumnKind;
use super::column_stats::{StatisticsOf, known_bounds, range_of, statistics};
use super::commit_update::CommitUpdate;
use super::indexed_columns::IndexedColumns;
use super::partition_records::PartitionRecords;
use super::record_schema::RecordSchema;
use super::stored_statistics::{StoredBound, StoredStatistics, stored_statistics};
use crate::metadata_upkeep::partition_kind::PartitionKind;
use mortice_base::error::Result;
use mortice_table::metadata_table::{ColumnKeys, MetadataTable, partition_name};
use mortice_table::timeline::WriteOperation;
use mortice_write::write::ColumnRange;

/// The records of a commit. `metadata` opens the metadata table as it is before the commit.
pub(in crate::metadata_upkeep) fn of_commit<'m>(
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
            stored_statistics(metadata()?, &PartitionKind::PartitionStats, &wanted)?
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
            let of = StatisticsOf::Partition(partition_name(partition));
            records.upserts.insert(key, statistics(schema, columns.version, of, column, kind, &range)?);
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
pub(in crate::metadata_upkeep) fn merged(
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

pub(in crate::metadata_upkeep) fn stored_range(
    column: &str,
    stored: &StoredStatistics,
    kind: &ColumnKind,
) -> ColumnRange {
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

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_avro::Schema;
    use mortice_write::write::ColumnValue;
    use proptest::prelude::*;

    use crate::metadata_upkeep::records::column_kind::IndexVersion;
    use crate::metadata_upkeep::records::record_bytes::{WrappedValue, Wrapper};

    fn longs() -> ColumnKind {
        ColumnKind::of_type(Schema::parse(r#""long""#).unwrap().root(), IndexVersion::V1).unwrap()
    }

    fn range(bounds: Option<(i64, i64)>, values: u64, nulls: u64) -> ColumnRange {
        let bounds = bounds.map(|(least, greatest)| (ColumnValue::Long(least), ColumnValue::Long(greatest)));
        ColumnRange { bounds, values, nulls, ..ColumnRange::new("c") }
    }

    fn stored(range: &ColumnRange) -> StoredStatistics {
        let kind = longs();
        let bound = |value: &ColumnValue| {
            StoredBound::Known(kind.wrapper(IndexVersion::V1), kind.wrapped(value, IndexVersion::V1).unwrap())
        };
        let bounds = match &range.bounds {
            Some((least, greatest)) => [bound(least), bound(greatest)],
            None => [StoredBound::Missing, StoredBound::Missing],
        };
        StoredStatistics { bounds, counts: [range.values, range.nulls, 3, 4] }
    }

    #[test]
    fn a_column_without_new_files_keeps_its_record() {
        let before = stored(&range(Some((1, 2)), 5, 0));
        assert_eq!(merged(None, Some(&before), &longs(), true), None);
    }

    #[test]
    fn a_column_that_other_files_do_not_have_has_nulls() {
        let new = range(Some((1, 2)), 5, 0);
        assert_eq!(merged(Some(&new), None, &longs(), false), Some(new.clone()));
        let found = merged(Some(&new), None, &longs(), true).unwrap();
        assert_eq!((found.bounds, found.values, found.nulls), (new.bounds, 6, 1));
    }

    /// A bound that cannot be read must not make the range of the partition narrower than its values.
    #[test]
    fn bounds_of_an_unknown_wrapper_are_the_widest() {
        let (kind, new) = (longs(), range(Some((1, 2)), 5, 0));
        let unknown = StoredStatistics { bounds: [StoredBound::Unknown, StoredBound::Unknown], counts: [9, 1, 3, 4] };
        let found = merged(Some(&new), Some(&unknown), &kind, true).unwrap();
        assert_eq!(found.bounds, Some(kind.widest()));
        let other = StoredBound::Known(Wrapper::String, WrappedValue::String("1".to_owned()));
        let of_string = StoredStatistics { bounds: [other.clone(), other], counts: [9, 1, 3, 4] };
        assert_eq!(merged(Some(&new), Some(&of_string), &kind, true).unwrap().bounds, Some(kind.widest()));
    }

    proptest! {
        #[test]
        fn the_range_of_a_partition_has_all_values_of_its_files(
            files in proptest::collection::vec(proptest::collection::vec(proptest::option::of(-9_i64..9), 0..4), 1..6)
        ) {
            let kind = longs();
            let mut known: Option<StoredStatistics> = None;
            for file in &files {
                let values: Vec<i64> = file.iter().flatten().copied().collect();
                let bounds = values.iter().min().copied().zip(values.iter().max().copied());
                let new = range(bounds, file.len() as u64, (file.len() - values.len()) as u64);
                known = Some(stored(&merged(Some(&new), known.as_ref(), &kind, known.is_some()).unwrap()));
            }
            let found = stored_range("c", known.as_ref().unwrap(), &kind);
            let all: Vec<i64> = files.iter().flatten().flatten().copied().collect();
            let bounds = all.iter().min().copied().zip(all.iter().max().copied());
            prop_assert_eq!(found.bounds, range(bounds, 0, 0).bounds);
            prop_assert_eq!(found.values, files.iter().flatten().count() as u64);
            prop_assert_eq!(found.nulls, files.iter().flatten().filter(|value| value.is_none()).count() as u64);
        }
    }
}
