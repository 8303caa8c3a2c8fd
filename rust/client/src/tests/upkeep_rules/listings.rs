//! Records that are built from a listing of a table: of its completed files, without those of pending writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;

use super::by_hand::{ALL, ByHand, Written, group, time};
use mortice_base::names::meta_columns;
use mortice_formats::filter::{Filter, Literal, Operator, Term};
use mortice_table::plan::{QueryOptions, SnapshotRows};
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::write::{WriteStatus, WrittenFile};

const OFF: [(&str, &str); 1] = [("hoodie.metadata.enable", "false")];

/// Bounds and counts of the column `ts`, by the file or the partition.
type Ranges = BTreeMap<String, (Option<(i64, i64)>, [i64; 2])>;

/// Builds the metadata table of a table again, with these options.
fn build(by_hand: &mut ByHand, given: &[(&'static str, &'static str)]) {
    by_hand.given = OFF.to_vec();
    by_hand.initialize();
    assert!(by_hand.table.partitions().is_empty());
    by_hand.given = given.to_vec();
    assert!(by_hand.initialize());
}

fn ranges(by_hand: &ByHand, partition: &str) -> Ranges {
    let open = by_hand.table.open(true);
    let mut found = Ranges::new();
    for batch in open.metadata_table().unwrap().rows(partition, &["key", "ColumnStatsMetadata"]).unwrap() {
        let members = batch.column_by_name("ColumnStatsMetadata").unwrap().as_struct().clone();
        let column = |name: &str| members.column_by_name(name).unwrap();
        for row in 0..batch.num_rows() {
            if column("columnName").as_string::<i32>().value(row) != "ts" {
                continue;
            }
            // Longs are the third of the wrappers.
            let bound = |name: &str| {
                let wrapper = column(name).as_struct();
                let long = wrapper.column(2).as_struct();
                let is_there = wrapper.is_valid(row) && long.is_valid(row);
                is_there.then(|| long.column(0).as_primitive::<Int64Type>().value(row))
            };
            let counts = ["valueCount", "nullCount"].map(|name| column(name).as_primitive::<Int64Type>().value(row));
            let name = column("fileName").as_string::<i32>().value(row).to_owned();
            assert!(found.insert(name, (bound("minValue").zip(bound("maxValue")), counts)).is_none());
        }
    }
    found
}

/// The keys of the rows whose `ts` is this, by a query that may skip files.
fn keys_at(by_hand: &ByHand, ts: i64, metadata: bool) -> Vec<String> {
    let term = Term::new("ts", Operator::Eq, vec![Literal::Int(ts.into())]).unwrap();
    let options = QueryOptions { filter: Filter::any_of(vec![vec![term]]), ..QueryOptions::default() };
    let scan = by_hand.table.open(metadata).snapshot(&options, None, SnapshotRows::Merged).unwrap();
    let mut keys: Vec<String> = Vec::new();
    for batch in scan.stream() {
        let batch = batch.unwrap();
        let ids = batch.column_by_name("id").unwrap().as_string::<i32>();
        let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>();
        let wanted = ids.iter().zip(times).filter(|(_, found)| *found == Some(ts));
        keys.extend(wanted.map(|(id, _)| id.unwrap().to_owned()));
    }
    keys.sort();
    keys
}

/// A base file of the table before it had the columns `city` and `ts`.
fn older_file(by_hand: &ByHand, number: usize, key: &str) -> WriteStatus {
    let name = format!("{}_0-0-0_{}.parquet", group(number), time(number));
    let values = [
        (meta_columns::COMMIT_TIME, time(number).to_string()),
        (meta_columns::COMMIT_SEQNO, "0_0_0".to_owned()),
        (meta_columns::RECORD_KEY, key.to_owned()),
        (meta_columns::PARTITION_PATH, "x".to_owned()),
        (meta_columns::FILE_NAME, name.clone()),
        ("id", key.to_owned()),
    ];
    let columns = values.map(|(name, value)| (name, Arc::new(StringArray::from(vec![value])) as _, true));
    let rows = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let path = by_hand.path("x").join(&name);
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let file = WrittenFile::new(format!("x/{name}"), std::fs::metadata(path).unwrap().len());
    WriteStatus { writes: 1, inserts: 1, file: Some(file), ..WriteStatus::new("x", &group(number)) }
}

/// Their own commits add them, if they come that far; they may be half written.
#[test]
fn files_of_pending_writes_are_left_out() {
    let mut by_hand = ByHand::new(9, &[]);
    by_hand.insert(1, "x", &["a"]);
    by_hand.begin(&time(2), Action::DeltaCommit);
    let statuses = [
        by_hand.base_file(("x", 2), &time(2), &["b".to_owned()].into(), None),
        by_hand.base_file(("z", 7), &time(2), &["c".to_owned()].into(), None),
        by_hand.deletes(("x", 1), &time(2), &["a".to_owned()].into(), (&time(1), 0)),
    ];
    let path = by_hand.path(&statuses[0].file.as_ref().unwrap().path);
    std::fs::write(path, b"PAR1").unwrap();
    build(&mut by_hand, &ALL);
    let listed: Vec<usize> = by_hand.listed().values().map(BTreeSet::len).collect();
    assert_eq!(listed.iter().sum::<usize>(), 1, "{:?}", by_hand.listed());
    assert_eq!(by_hand.locations().into_keys().collect::<Vec<_>>(), ["a"]);
    let records = by_hand.records();
    assert_eq!((ranges(&by_hand, "column_stats").len(), records["bloom_filters"].len()), (1, 1));
    // The write goes on, and is found as any other.
    let statuses = statuses[1..].to_vec();
    let written = Written { statuses, ..Written::default() };
    by_hand.write(&by_hand.upkeep(), &time(2), WriteOperation::Upsert, &written).unwrap();
    by_hand.complete(&time(2), WriteOperation::Upsert, &written);
    assert_eq!(by_hand.locations().into_keys().collect::<Vec<_>>(), ["c"]);
    let found: Vec<usize> = by_hand.listed().values().map(BTreeSet::len).collect();
    assert_eq!(found, [2, 1]);
}

/// Rows of logs are not in the bounds of base files: their partition must not be skipped by those.
#[test]
fn partitions_with_logs_have_the_widest_bounds() {
    for version in [6, 9] {
        let mut by_hand = ByHand::new(version, &[]);
        by_hand.insert(1, "x", &["a", "b", "c"]);
        by_hand.insert(2, "y", &["d", "e"]);
        let log = by_hand.deletes(("x", 1), &time(3), &["a".to_owned()].into(), (&time(1), 0));
        by_hand.commit(&time(3), WriteOperation::Delete, &Written { statuses: vec![log], ..Written::default() });
        build(&mut by_hand, &ALL[..3]);
        let of_files = ranges(&by_hand, "column_stats");
        let found: Vec<_> = of_files.values().cloned().collect();
        assert_eq!(found, [(Some((0, 2)), [3, 0]), (Some((0, 1)), [2, 0])], "version {version}");
        assert!(of_files.keys().all(|name| !name.contains(".log.")), "version {version}: slices with logs are read");
        if version > 6 {
            let partitions = ranges(&by_hand, "partition_stats");
            assert_eq!(partitions["y"], (Some((0, 1)), [2, 0]));
            let (bounds, [values, nulls]) = partitions["x"];
            assert_eq!(bounds, Some((i64::MIN, i64::MAX)));
            assert!(nulls > 0 && values > nulls + 3, "{values} values, {nulls} nulls");
        }
        for ts in 0..3 {
            assert_eq!(keys_at(&by_hand, ts, true), keys_at(&by_hand, ts, false), "version {version}, {ts}");
        }
        assert_eq!(keys_at(&by_hand, 1, true), ["b", "e"]);
    }
}

/// A column that came later is null in the rows of before: `IS NULL` must not skip their partition.
#[test]
fn files_that_are_older_than_a_column_have_nulls_in_it() {
    let mut by_hand = ByHand::new(9, &[]);
    by_hand.insert(1, "x", &["a", "b"]);
    let statuses = vec![older_file(&by_hand, 2, "old")];
    by_hand.commit(&time(2), WriteOperation::Insert, &Written { statuses, ..Written::default() });
    by_hand.insert(3, "y", &["c"]);
    build(&mut by_hand, &ALL[..3]);
    assert_eq!(ranges(&by_hand, "column_stats").len(), 2, "nothing is known of the column in the older file");
    let partitions = ranges(&by_hand, "partition_stats");
    assert_eq!(partitions["y"], (Some((0, 0)), [1, 0]));
    assert_eq!(partitions["x"], (Some((0, 1)), [3, 1]));
    assert_eq!(by_hand.locations().len(), 4);
    assert_eq!(keys_at(&by_hand, 1, true), ["b"]);
}

/// A table without commits has no files, and no schema to read.
#[test]
fn a_table_without_commits_has_an_empty_metadata_table() {
    for version in [6, 9] {
        let mut by_hand = ByHand::new(version, &[]);
        // Files that nobody has committed.
        by_hand.base_file(("x", 1), &time(1), &["a".to_owned()].into(), None);
        build(&mut by_hand, &ALL[..3]);
        assert!(by_hand.listed().is_empty() && by_hand.locations().is_empty(), "version {version}");
        assert!(by_hand.records()["column_stats"].is_empty(), "version {version}");
        // The first write finds all file groups that it needs.
        by_hand.insert(2, "x", &["a", "b"]);
        assert_eq!(by_hand.locations().len(), 2, "version {version}");
        assert_eq!(ranges(&by_hand, "column_stats").len(), 1, "version {version}");
    }
}

/// Each build of a partition has an instant of its own: its files would be those of the build before otherwise.
#[test]
fn partitions_that_are_built_again_have_new_instants() {
    for version in [6, 9] {
        let mut by_hand = ByHand::new(version, &[]);
        by_hand.insert(1, "x", &["a"]);
        let mut seen = BTreeSet::new();
        for _ in 0..3 {
            for (value, is_there) in [("true", true), ("false", false)] {
                by_hand.given = vec![(ALL[0].0, value), (ALL[1].0, value)];
                assert!(by_hand.initialize());
                let groups = by_hand.files_below(".hoodie/metadata/record_index").into_keys();
                let bases: Vec<String> = groups.filter(|path| path.ends_with(".hfile")).collect();
                assert_eq!(bases.len(), usize::from(is_there), "version {version}: {bases:?}");
                if let [base] = &bases[..] {
                    let instant = base.rsplit('_').next().unwrap().to_owned();
                    assert!(seen.insert(instant), "version {version}: {base}");
                    assert_eq!(by_hand.locations().len(), 1, "version {version}");
                }
            }
        }
        assert_eq!(seen.len(), 3);
    }
}
