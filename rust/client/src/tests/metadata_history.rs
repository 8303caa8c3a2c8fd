//! The metadata table after a random history of writes and services, kept up commit by commit, compared with the table,
//! and with a metadata table that is built from a listing of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::display::array_value_to_string;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::stopped_services::{Table, options};
use crate::delete_partitions;
use mortice_base::property::check;
use mortice_commit::writable_table::WritableTable;
use mortice_merge::config::TableType;
use mortice_services::{
    Cleaning, MetadataBuildRequest, ServiceRequest, VerifyOptions, run_clustering, run_compaction, run_metadata_build,
    run_rollback, verify,
};
use mortice_table::metadata_table::MetadataTable;
use mortice_table::plan::{QueryOptions, SnapshotRows};
use mortice_table::timeline::WriteOperation;

const GIVEN: [(&str, &str); 14] = [
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.clean.policy", "KEEP_LATEST_FILE_VERSIONS"),
    ("hoodie.clean.fileversions.retained", "1"),
    ("hoodie.index.type", "RECORD_INDEX"),
    ("hoodie.record.index.update.partition.path", "true"),
    ("hoodie.metadata.record.index.enable", "true"),
    ("hoodie.metadata.global.record.level.index.enable", "true"),
    ("hoodie.metadata.index.column.stats.enable", "true"),
    ("hoodie.metadata.index.partition.stats.enable", "true"),
    ("hoodie.metadata.index.bloom.filter.enable", "true"),
    ("hoodie.metadata.global.record.level.index.min.filegroup.count", "3"),
    ("hoodie.metadata.record.index.min.filegroup.count", "3"),
    ("hoodie.metadata.compact.max.delta.commits", "3"),
];
const PARTITIONS: [&str; 3] = ["a", "b", "c"];

/// A row: its key, its partition, its ordering value, and a number for the others.
type Row = (usize, usize, i64, usize);

/// What is done to the table.
#[derive(Debug, Clone)]
enum HistoryStep {
    Upsert(Vec<Row>),
    Delete(Vec<Row>),
    Overwrite(Vec<Row>),
    DeletePartition(usize),
    /// A write that is rolled back.
    Undone(Vec<Row>),
    Clean,
    Compact,
    Cluster,
}

fn steps() -> impl Strategy<Value = Vec<HistoryStep>> {
    let rows = || vec((0_usize..9, 0_usize..3, 1_i64..9, 0_usize..30), 1..5);
    let step = prop_oneof![
        6 => rows().prop_map(HistoryStep::Upsert),
        3 => rows().prop_map(HistoryStep::Delete),
        1 => rows().prop_map(HistoryStep::Overwrite),
        1 => (0_usize..3).prop_map(HistoryStep::DeletePartition),
        2 => rows().prop_map(HistoryStep::Undone),
        2 => Just(HistoryStep::Clean),
        1 => Just(HistoryStep::Compact),
        1 => Just(HistoryStep::Cluster),
    ];
    vec(step, 4..9)
}

/// The rows, the last of each key.
fn batch(rows: &[Row]) -> RecordBatch {
    let rows: BTreeMap<usize, Row> = rows.iter().map(|row| (row.0, *row)).collect();
    let rows: Vec<Row> = rows.into_values().collect();
    let number = |row: &Row| [None, Some(f64::NAN), Some(0.0), Some(-0.0), Some(1.5), Some(-7.25)][row.3 % 6];
    let decimals: Decimal128Array = rows.iter().map(|row| (row.3 > 4).then(|| row.3 as i128 * 100 - 999)).collect();
    let note = |row: &Row| (row.3 > 3).then(|| "ß".repeat(row.3 % 3) + &row.3.to_string());
    let day = |row: &Row| (row.3 != 7).then(|| i32::try_from(row.3).unwrap() - 15);
    let columns: [(&str, ArrayRef); 7] = [
        ("id", Arc::new(rows.iter().map(|row| Some(format!("k{}", row.0))).collect::<StringArray>())),
        ("city", Arc::new(rows.iter().map(|row| Some(PARTITIONS[row.1])).collect::<StringArray>())),
        ("ts", Arc::new(rows.iter().map(|row| Some(row.2)).collect::<Int64Array>())),
        ("x", Arc::new(rows.iter().map(number).collect::<Float64Array>())),
        ("d", Arc::new(decimals.with_precision_and_scale(12, 3).unwrap())),
        ("day", Arc::new(rows.iter().map(day).collect::<Date32Array>())),
        ("note", Arc::new(rows.iter().map(note).collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn run(table: &Table, step: &HistoryStep) {
    let (location, given) = (table.location(), options(&GIVEN));
    let write = |operation, rows: &[Row]| table.write(operation, batch(rows), &GIVEN);
    match step {
        HistoryStep::Upsert(rows) => drop(write(WriteOperation::Upsert, rows)),
        HistoryStep::Delete(rows) => drop(write(WriteOperation::Delete, rows)),
        HistoryStep::Overwrite(rows) => {
            // Keys are not looked up: those of other partitions would be there twice.
            let own = |(key, partition, ts, number): &Row| (20 + key % 3 * 3 + partition, *partition, *ts, *number);
            write(WriteOperation::InsertOverwrite, &rows.iter().map(own).collect::<Vec<_>>());
        }
        HistoryStep::DeletePartition(partition) => {
            let partitions = [PARTITIONS[*partition].to_owned()];
            delete_partitions(&location, &partitions, &given, None).unwrap();
        }
        HistoryStep::Undone(rows) => {
            let instant = write(WriteOperation::Upsert, rows);
            run_rollback(&location, instant.as_str(), &given).unwrap();
        }
        HistoryStep::Clean => {
            let target = WritableTable::open(&location, &given, "clean").unwrap();
            Cleaning::new(&target).unwrap().run().unwrap();
        }
        HistoryStep::Compact if table.open(false).config.table_type == TableType::MergeOnRead => {
            run_compaction(&location, ServiceRequest::BOTH, &given).unwrap();
        }
        HistoryStep::Compact => {}
        HistoryStep::Cluster => drop(run_clustering(&location, ServiceRequest::BOTH, &given).unwrap()),
    }
}

/// Records of statistics by key: the names, the bounds and the counts.
fn statistics(metadata: &MetadataTable, partition: &str) -> BTreeMap<String, Statistics> {
    let mut found = BTreeMap::new();
    for batch in metadata.rows(partition, &["key", "ColumnStatsMetadata"]).unwrap() {
        let keys = batch.column_by_name("key").unwrap().as_string::<i32>().clone();
        let members = batch.column_by_name("ColumnStatsMetadata").unwrap().as_struct().clone();
        for row in 0..batch.num_rows() {
            let member = |name: &str| array_value_to_string(members.column_by_name(name).unwrap(), row).unwrap();
            let record = Statistics {
                name: member("fileName"),
                column: member("columnName"),
                bounds: [member("minValue"), member("maxValue")],
                counts: [member("valueCount"), member("nullCount")],
            };
            found.insert(keys.value(row).to_owned(), record);
        }
    }
    found
}

#[derive(Debug, Clone, PartialEq)]
struct Statistics {
    name: String,
    column: String,
    bounds: [String; 2],
    counts: [String; 2],
}

/// What a metadata table says of a table.
#[derive(Debug, PartialEq)]
struct Contents {
    /// Files with their sizes, by partition.
    files: BTreeMap<String, BTreeSet<(String, u64)>>,
    /// The partition and the file group of each key.
    locations: BTreeMap<String, (String, String)>,
    /// Of base files.
    statistics: BTreeMap<String, Statistics>,
    filters: BTreeSet<String>,
}

fn contents(table: &Table) -> Contents {
    let open = table.open(true);
    let metadata = open.metadata_table().unwrap();
    let mut files = BTreeMap::new();
    for listed in metadata.list(None).unwrap().files {
        let bases = listed.base_files.iter().map(|base| (base.name.name.clone(), base.len));
        let logs = listed.log_files.iter().map(|log| (log.name.name.clone(), log.len));
        let of_partition: BTreeSet<(String, u64)> = bases.chain(logs).collect();
        if !of_partition.is_empty() {
            files.insert(listed.partition, of_partition);
        }
    }
    let mut locations = BTreeMap::new();
    let each = &mut |found: mortice_table::metadata_table::KeyLocation<'_>| {
        let known = locations.insert(found.key.to_owned(), (found.partition.to_owned(), found.file_id));
        assert!(known.is_none(), "{} is there twice", found.key);
        Ok(())
    };
    metadata.key_locations(None, each).unwrap();
    let mut statistics = statistics(metadata, "column_stats");
    statistics.retain(|_, record| !record.name.contains(".log."));
    for record in statistics.values_mut().filter(|record| record.column == "x") {
        // Footers leave out NaN, which a file that is there may have.
        record.bounds.iter_mut().for_each(String::clear);
    }
    let filters = metadata.rows("bloom_filters", &["key"]).unwrap();
    let filters = filters
        .iter()
        .flat_map(|batch| batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>());
    Contents { files, locations, statistics, filters: filters.collect() }
}

/// The bounds of `ts` in each partition.
fn bounds_of_partitions(metadata: &MetadataTable) -> BTreeMap<String, (i64, i64)> {
    let mut found = BTreeMap::new();
    for batch in metadata.rows("partition_stats", &["key", "ColumnStatsMetadata"]).unwrap() {
        let members = batch.column_by_name("ColumnStatsMetadata").unwrap().as_struct();
        let text = |name: &str| members.column_by_name(name).unwrap().as_string::<i32>();
        // Longs are the third of the wrappers.
        let longs = |name: &str| {
            let wrapper = members.column_by_name(name).unwrap().as_struct().column(2).as_struct();
            wrapper.column(0).as_primitive::<Int64Type>()
        };
        let of_ts = (0..batch.num_rows()).filter(|row| text("columnName").value(*row) == "ts");
        found.extend(of_ts.map(|row| {
            (text("fileName").value(row).to_owned(), (longs("minValue").value(row), longs("maxValue").value(row)))
        }));
    }
    found
}

/// The rows, from a listing of the storage: key, partition and `ts`.
fn rows(table: &Table) -> Vec<(String, String, i64)> {
    let scan = table.open(false).snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
    let mut rows = Vec::new();
    for batch in scan.stream() {
        let batch = batch.unwrap();
        let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
        let (ids, cities) = (text("id"), text("city"));
        let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>();
        let row = |row| (ids.value(row).to_owned(), cities.value(row).to_owned(), times.value(row));
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows.sort();
    rows
}

fn check_history(version: u8, table_type: TableType, steps: &[HistoryStep]) -> TestCaseResult {
    let table = Table::created(version, table_type, batch(&[(0, 0, 1, 1)]).schema_ref());
    table.write(WriteOperation::Upsert, batch(&[(0, 0, 1, 1), (1, 1, 1, 2)]), &GIVEN);
    for step in steps {
        run(&table, step);
    }
    let context = format!("version {version}, {table_type:?}, {steps:#?}");
    let kept = contents(&table);
    let located = kept.locations.iter().map(|(key, (partition, _))| (key.clone(), partition.clone()));
    let rows = rows(&table);
    let keys = rows.iter().map(|(key, partition, _)| (key.clone(), partition.clone()));
    prop_assert_eq!(located.collect::<Vec<_>>(), keys.collect::<Vec<_>>(), "{}", context);
    // Before version 8 there are no statistics of partitions.
    let bounds = (version > 6).then(|| bounds_of_partitions(table.open(true).metadata_table().unwrap()));
    for (_, partition, ts) in rows.iter().filter(|_| version > 6) {
        let (least, greatest) = bounds.as_ref().unwrap()[partition];
        prop_assert!((least..=greatest).contains(ts), "{} {} {:?}", context, partition, bounds);
    }
    let checks = VerifyOptions { contents: true, keys: true, ..VerifyOptions::default() };
    let findings = verify(&table.location(), &checks).unwrap().findings;
    prop_assert!(findings.is_empty(), "{} {:?}", context, findings);
    let rebuild = MetadataBuildRequest { rebuilds: true, ..MetadataBuildRequest::default() };
    run_metadata_build(&table.location(), &rebuild, &options(&GIVEN)).unwrap();
    let built = contents(&table);
    prop_assert_eq!(&kept.files, &built.files, "{}", context);
    prop_assert_eq!(&kept.locations, &built.locations, "{}", context);
    let records = |contents: &Contents| contents.statistics.clone().into_iter().map(|one| format!("{one:?}")).collect();
    let [kept_ones, built_ones]: [BTreeSet<String>; 2] = [records(&kept), records(&built)];
    let differences: Vec<&String> = kept_ones.symmetric_difference(&built_ones).collect();
    prop_assert!(differences.is_empty(), "{} {:#?}", context, differences);
    prop_assert_eq!(&kept.filters, &built.filters, "{}", context);
    Ok(())
}

#[test]
fn a_history_leaves_what_a_build_from_a_listing_finds() {
    let tables = prop_oneof![Just(6_u8), Just(8), Just(9)];
    let types = prop_oneof![Just(TableType::MergeOnRead), Just(TableType::CopyOnWrite)];
    check(3, &(tables, types, steps()), |(version, table_type, steps)| check_history(version, table_type, &steps));
}
