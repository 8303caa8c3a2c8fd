//! Statistics of partitions: added up file by file, as commits store them, they are those of all values. Where
//! something is not known they are wider, never narrower: a reader skips a partition by them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::is_at_most;
use crate::metadata_upkeep::records::column_kind::{ColumnKind, IndexVersion};
use crate::metadata_upkeep::records::column_stats::known_bounds;
use crate::metadata_upkeep::records::commit_update::CommitUpdate;
use crate::metadata_upkeep::records::indexed_columns::IndexedColumns;
use crate::metadata_upkeep::records::partition_stats::{self, merged, stored_range};
use crate::metadata_upkeep::records::record_schema::OF_1_2;
use crate::metadata_upkeep::records::stored_statistics::{StoredBound, StoredStatistics};
use mortice_avro::{Schema, float_to_double};
use mortice_base::error::Error;
use mortice_base::property::check;
use mortice_table::metadata_table::ColumnKeys;
use mortice_table::timeline::WriteOperation;
use mortice_write::write::{ColumnRange, ColumnValue, WriteStatus, WrittenFile};

/// Values of one column in one file of a partition.
#[derive(Debug, Clone)]
enum FileValues {
    /// With their bounds.
    Known(Vec<Option<ColumnValue>>),
    /// The footer has no bounds.
    Unknown(Vec<Option<ColumnValue>>),
    /// The file is older than the column.
    Older,
}

type Column = (String, Vec<FileValues>);

/// A column by its type, with the values of files.
fn column(ty: &'static str, value: impl Strategy<Value = ColumnValue> + Clone + 'static) -> BoxedStrategy<Column> {
    let values = vec(option::of(value), 0..5);
    let file = prop_oneof![
        8 => values.clone().prop_map(FileValues::Known),
        1 => values.prop_map(FileValues::Unknown),
        1 => Just(FileValues::Older),
    ];
    vec(file, 1..6).prop_map(move |files| (ty.to_owned(), files)).boxed()
}

fn columns() -> impl Strategy<Value = Column> {
    let doubles =
        prop_oneof![3 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0), 1 => Just(-0.0), 1 => Just(f64::INFINITY)];
    let floats = prop_oneof![3 => any::<f32>(), 1 => Just(f32::NAN), 1 => Just(0.0), 1 => Just(-0.0)];
    let decimals = -99_999_999_999_i128..=99_999_999_999;
    prop_oneof![
        column(r#""boolean""#, any::<bool>().prop_map(ColumnValue::Boolean)),
        column(r#""int""#, (-9..9).prop_map(ColumnValue::Int)),
        column(r#""long""#, any::<i64>().prop_map(ColumnValue::Long)),
        column(r#""float""#, floats.prop_map(ColumnValue::from_f32)),
        column(r#""double""#, doubles.prop_map(ColumnValue::from_f64)),
        column(r#""string""#, "[a-c\0ß\u{10000}\u{ffff}]{0,3}".prop_map(ColumnValue::String)),
        column(r#""bytes""#, vec(any::<u8>(), 0..3).prop_map(ColumnValue::Bytes)),
        column(
            r#"{"type":"bytes","logicalType":"decimal","precision":11,"scale":4}"#,
            decimals.prop_map(ColumnValue::Decimal)
        ),
        column(r#"{"type":"int","logicalType":"date"}"#, any::<i32>().prop_map(ColumnValue::Int)),
        column(r#"{"type":"long","logicalType":"timestamp-micros"}"#, any::<i64>().prop_map(ColumnValue::Long)),
    ]
}

fn kind(ty: &str, version: IndexVersion) -> ColumnKind {
    ColumnKind::of_type(Schema::parse(ty).unwrap().root(), version).unwrap()
}

/// The least and the greatest value, found by comparing each with all others.
fn extremes(values: &[ColumnValue]) -> Option<(ColumnValue, ColumnValue)> {
    let least = values.iter().find(|one| values.iter().all(|other| is_at_most(one, other)))?;
    let greatest = values.iter().find(|one| values.iter().all(|other| is_at_most(other, one)))?;
    Some((least.clone(), greatest.clone()))
}

fn range(values: &[Option<ColumnValue>], is_known: bool) -> ColumnRange {
    let known: Vec<ColumnValue> = values.iter().flatten().cloned().collect();
    let bounds = if is_known { extremes(&known) } else { None };
    let (rows, nulls) = (values.len() as u64, (values.len() - known.len()) as u64);
    ColumnRange { bounds, values: rows, nulls, ..ColumnRange::new("c") }
}

/// A range as the record of a partition has it.
fn stored(range: &ColumnRange, kind: &ColumnKind, version: IndexVersion) -> StoredStatistics {
    let bound = |value: &ColumnValue| StoredBound::Known(kind.wrapper(version), kind.wrapped(value, version).unwrap());
    let bounds = known_bounds(range, kind).map(|(least, greatest)| [bound(&least), bound(&greatest)]);
    let bounds = bounds.unwrap_or([StoredBound::Missing, StoredBound::Missing]);
    StoredStatistics { bounds, counts: [range.values, range.nulls, 0, 0] }
}

/// The statistics of a partition after commits of one file each.
fn after_commits(files: &[FileValues], kind: &ColumnKind, version: IndexVersion) -> Option<ColumnRange> {
    let (mut known, mut is_known_partition) = (None, false);
    for file in files {
        let new = match file {
            FileValues::Known(values) => Some(range(values, true)),
            FileValues::Unknown(values) => Some(range(values, false)),
            FileValues::Older => None,
        };
        // Nothing is written of a column that a file does not have.
        if let Some(sum) = merged(new.as_ref(), known.as_ref(), kind, is_known_partition) {
            known = Some(stored(&sum, kind, version));
        }
        is_known_partition = true;
    }
    known.map(|known| stored_range("c", &known, kind))
}

#[test]
fn statistics_of_a_partition_are_those_of_all_its_values() {
    check(1000, &(columns(), any::<bool>()), |((ty, files), is_first)| {
        let version = if is_first { IndexVersion::V1 } else { IndexVersion::V2 };
        let kind = kind(&ty, version);
        let all = files.iter().flat_map(|file| match file {
            FileValues::Known(values) | FileValues::Unknown(values) => values.clone(),
            FileValues::Older => Vec::new(),
        });
        let all: Vec<Option<ColumnValue>> = all.collect();
        let values: Vec<ColumnValue> = all.iter().flatten().cloned().collect();
        let Some(found) = after_commits(&files, &kind, version) else {
            prop_assert!(files.iter().all(|file| matches!(file, FileValues::Older)));
            return Ok(());
        };
        // Infinity is the bound of what is not known, which may be NaN.
        let is_below = |value: &ColumnValue, greatest: &ColumnValue| {
            is_at_most(value, greatest) || greatest.infinity().as_ref() == Some(greatest)
        };
        let is_covered = |value: &ColumnValue| {
            let bounds = found.bounds.as_ref();
            bounds.is_some_and(|(least, greatest)| is_at_most(least, value) && is_below(value, greatest))
        };
        prop_assert!(values.iter().all(is_covered), "{:?}", found);
        // A column that begins in a later file is null in the first ones.
        let begins_later = matches!(files.first(), Some(FileValues::Older));
        let nulls = (all.len() - values.len()) as u64;
        prop_assert_eq!(found.nulls, nulls + u64::from(begins_later));
        prop_assert_eq!(found.values, all.len() as u64 + u64::from(begins_later));
        if !files.iter().any(|file| matches!(file, FileValues::Unknown(_))) {
            let expected = extremes(&values);
            prop_assert_eq!(found.bounds.is_some(), expected.is_some());
            if let (Some((least, greatest)), Some((low, high))) = (found.bounds, expected) {
                prop_assert!(is_at_most(&low, &least) && is_at_most(&greatest, &high), "not wider than the values");
            }
        }
        Ok(())
    });
}

/// Types that became wider: bounds from before are those of the rows as they are read now.
#[test]
fn bounds_of_before_a_column_became_wider_hold_for_its_rows() {
    let numbers = (vec(any::<f32>().prop_filter("a number", |value| !value.is_nan()), 1..4), any::<f64>());
    check(300, &(numbers, vec(any::<i32>(), 1..4)), |((floats, double), ints)| {
        let version = IndexVersion::V2;
        let after = |before: &str, old: &[ColumnValue], now: &str, new: ColumnValue| {
            let old: Vec<Option<ColumnValue>> = old.iter().cloned().map(Some).collect();
            let known = stored(&range(&old, true), &kind(before, version), version);
            let new = range(&[Some(new)], true);
            merged(Some(&new), Some(&known), &kind(now, version), true).unwrap().bounds.unwrap()
        };
        let of = |values: &[f32]| values.iter().map(|value| ColumnValue::from_f32(*value)).collect::<Vec<_>>();
        let (least, greatest) = after(r#""float""#, &of(&floats), r#""double""#, ColumnValue::from_f64(double));
        for float in &floats {
            // A float is read as the double of its decimal text.
            let read = ColumnValue::from_f64(float_to_double(*float));
            prop_assert!(is_at_most(&least, &read) && is_at_most(&read, &greatest), "{}", float);
        }
        let old: Vec<ColumnValue> = ints.iter().copied().map(ColumnValue::Int).collect();
        let (least, greatest) = after(r#""int""#, &old, r#""long""#, ColumnValue::Long(0));
        for int in &ints {
            let read = ColumnValue::Long((*int).into());
            prop_assert!(is_at_most(&least, &read) && is_at_most(&read, &greatest), "{}", int);
        }
        // Strings of numbers are in another order.
        let string = ColumnValue::String("x".into());
        let bounds = after(r#""int""#, &old, r#""string""#, string);
        prop_assert_eq!(bounds, kind(r#""string""#, version).widest());
        Ok(())
    });
}

fn update_of<'a>(
    operation: WriteOperation,
    statuses: &'a [WriteStatus],
    replaced: &'a BTreeMap<String, Vec<String>>,
    schema: &'a Schema,
) -> CommitUpdate<'a> {
    CommitUpdate { operation, statuses, replaced, schema }
}

#[test]
fn partitions_that_are_deleted_or_overwritten_lose_their_statistics() {
    let schema = Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap();
    let version = IndexVersion::V2;
    let names = ["a", "b"];
    let columns = names.map(|name| (name.to_owned(), kind(r#""long""#, version))).to_vec();
    let columns = IndexedColumns { version, columns };
    let unread = || Err(Error::internal("statistics of before are read"));
    let keys = |partitions: &[&str]| {
        let keys = names.iter().flat_map(|name| partitions.iter().map(|one| ColumnKeys::new(name).partition_key(one)));
        keys.collect::<BTreeSet<String>>()
    };
    let replaced: BTreeMap<String, Vec<String>> = ["p", "q", ""].map(|name| (name.to_owned(), vec![])).into();
    let update = update_of(WriteOperation::DeletePartition, &[], &replaced, &schema);
    let found = partition_stats::of_commit(&OF_1_2, &columns, &update, unread).unwrap();
    assert!(found.upserts.is_empty());
    assert_eq!(found.deletes, keys(&["p", "q", ""]));
    // The statistics of rows that are replaced are not added; those of the partition `q` stay.
    let ranges = names.map(|name| ColumnRange { values: 1, ..ColumnRange::new(name) }).to_vec();
    let file = WrittenFile { columns: ranges, ..WrittenFile::new("p/a.parquet".into(), 1) };
    let statuses = [WriteStatus { file: Some(file), ..WriteStatus::new("p", "f-0") }];
    for operation in [WriteOperation::InsertOverwrite, WriteOperation::InsertOverwriteTable] {
        let update = update_of(operation, &statuses, &replaced, &schema);
        let found = partition_stats::of_commit(&OF_1_2, &columns, &update, unread).unwrap();
        assert!(found.deletes.is_empty());
        assert_eq!(found.upserts.into_keys().collect::<BTreeSet<_>>(), keys(&["p"]));
    }
    for operation in [WriteOperation::Upsert, WriteOperation::Compact, WriteOperation::Cluster] {
        let update = update_of(operation, &statuses, &replaced, &schema);
        assert!(partition_stats::of_commit(&OF_1_2, &columns, &update, unread).is_err(), "{operation:?}");
    }
}
