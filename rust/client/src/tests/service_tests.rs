//! Table services one after the other, and writes between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field};

use super::stopped_services::{FIRST, Row, Table, batch, options};
use crate::delete_partitions;
use mortice_base::ErrorKind;
use mortice_base::error::Result;
use mortice_commit::writable_table::WritableTable;
use mortice_merge::config::ReadOptions;
use mortice_services::{
    Clean, Cleaning, MetadataBuildRequest, RollbackResult, ServiceRequest, VerifyOptions, plan_clustering,
    plan_compaction, plan_log_compaction, plan_rollback, run_clustering, run_compaction, run_log_compaction,
    run_metadata_build, run_rollback, verify,
};
use mortice_storage::StorageOptions;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, WriteOperation};

const NO_SERVICES: [(&str, &str); 3] = [
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.parquet.small.file.limit", "0"),
];
const FILE_VERSIONS: [(&str, &str); 2] =
    [("hoodie.clean.policy", "KEEP_LATEST_FILE_VERSIONS"), ("hoodie.clean.fileversions.retained", "1")];

fn clean(table: &Table, given: &[(&str, &str)]) -> Vec<Clean> {
    let target = WritableTable::open(&table.location(), &options(given), "clean").unwrap();
    Cleaning::new(&target).unwrap().run().unwrap()
}

/// What verification of the files and keys of a table finds.
fn findings(table: &Table) -> Vec<String> {
    let checks = VerifyOptions { contents: true, keys: true, ..VerifyOptions::default() };
    let report = verify(&table.location(), &checks).unwrap();
    report.findings.iter().map(|finding| format!("{finding:?}")).collect()
}

fn keys(table: &Table) -> BTreeSet<String> {
    let (listed, stored) = (table.rows(true), table.rows(false));
    assert_eq!(listed, stored);
    listed.into_iter().map(|(key, _)| key).collect()
}

#[test]
fn a_partition_that_a_clean_removes_leaves_the_metadata_table_usable() {
    for version in [6, 8, 9] {
        let table = Table::new(version);
        let given = [NO_SERVICES.as_slice(), &[("hoodie.metadata.compact.max.delta.commits", "100")]].concat();
        let compacting = [NO_SERVICES.as_slice(), &[("hoodie.metadata.compact.max.delta.commits", "1")]].concat();
        table.upsert(&FIRST, &given);
        // Compacts before it writes: the base file lists the partition, and then a log does.
        table.upsert(&[("c", "y", 2)], &compacting);
        let y = ["y".to_owned()];
        delete_partitions(&table.location(), &y, &options(&given), None).unwrap();
        let cleaned = clean(&table, &[given.as_slice(), &FILE_VERSIONS].concat());
        assert_eq!(cleaned.iter().flat_map(|one| &one.partitions).collect::<Vec<_>>(), ["y"], "{version}");
        for (at, given) in [&given, &given, &compacting, &given].into_iter().enumerate() {
            let open = table.open(true);
            let listing = open.metadata_table().unwrap().list(None).unwrap();
            let files: Vec<_> = listing.files.iter().filter(|files| files.partition == "y").collect();
            assert!(files.iter().all(|files| files.base_files.is_empty() && files.log_files.is_empty()));
            // It stays in the list.
            assert_eq!(files.len(), 1, "{version} {at}");
            assert_eq!(findings(&table), [""; 0], "{version} {at}");
            assert_eq!(keys(&table), BTreeSet::from(["a".into(), "b".into()]), "{version} {at}");
            table.upsert(&[("a", "x", 3)], given);
        }
        table.upsert(&[("d", "y", 3)], &given);
        assert_eq!(findings(&table), [""; 0], "{version}");
        assert_eq!(keys(&table), BTreeSet::from(["a".into(), "b".into(), "d".into()]), "{version}");
    }
}

const NEW: [Row; 2] = [("n", "x", 1), ("m", "q", 1)];
const RECORD_INDEX: [(&str, &str); 3] = [
    ("hoodie.index.type", "RECORD_INDEX"),
    ("hoodie.metadata.record.index.enable", "true"),
    ("hoodie.metadata.global.record.level.index.enable", "true"),
];

fn undo(table: &Table, instant: &str, is_dry_run: bool) -> Result<RollbackResult> {
    let rollback = if is_dry_run { plan_rollback } else { run_rollback };
    rollback(&table.location(), instant, &options(&NO_SERVICES))
}

fn build(table: &Table, request: &MetadataBuildRequest, given: &[(&str, &str)]) {
    run_metadata_build(&table.location(), request, &options(given)).unwrap();
}

/// The actions on the timeline of the metadata table.
fn metadata_actions(table: &Table) -> Vec<Action> {
    let folder = table.folder.path().join(".hoodie/metadata");
    let options = ReadOptions { metadata: false, ..ReadOptions::default() };
    let metadata = OpenTable::open(&folder.to_string_lossy(), &StorageOptions::new(), options).unwrap();
    metadata.timeline.instants().iter().map(|instant| instant.action).collect()
}

/// A write that the metadata table has in base files, as `prepare` makes it, is rolled back, and its keys are inserted
/// again.
fn check_rolled_back(version: u8, context: &str, given: &[(&str, &str)], prepare: &dyn Fn(&Table)) {
    let context = format!("{context}, version {version}, {given:?}");
    let given = [NO_SERVICES.as_slice(), given].concat();
    let table = Table::new(version);
    table.upsert(&FIRST, &given);
    let undone = table.upsert(&NEW, &given);
    prepare(&table);
    let partitions = table.partitions();
    let expected = undo(&table, undone.as_str(), true).unwrap();
    let done = undo(&table, undone.as_str(), false).unwrap();
    assert_eq!((&done.deleted, &done.undone_logs), (&expected.deleted, &expected.undone_logs), "{context}");
    assert_eq!(table.partitions(), partitions, "{context}");
    assert_eq!(findings(&table), [""; 0], "{context}");
    assert_eq!(keys(&table), BTreeSet::from(["a", "b", "c"].map(String::from)), "{context}");
    table.upsert(&NEW, &given);
    table.upsert(&[("a", "x", 5)], &given);
    assert_eq!(findings(&table), [""; 0], "{context}");
    assert_eq!(keys(&table), BTreeSet::from(["a", "b", "c", "m", "n"].map(String::from)), "{context}");
}

#[test]
fn a_write_that_is_in_base_files_of_the_metadata_table_is_rolled_back() {
    for version in [6, 8, 9] {
        for given in [[].as_slice(), &RECORD_INDEX] {
            let rebuild = MetadataBuildRequest { rebuilds: true, ..MetadataBuildRequest::default() };
            check_rolled_back(version, "built again", given, &|table| build(table, &rebuild, given));
            let compacting = [given, &[("hoodie.metadata.compact.max.delta.commits", "1")]].concat();
            check_rolled_back(version, "compacted", given, &|table| {
                build(table, &MetadataBuildRequest::default(), &compacting);
                assert!(metadata_actions(table).contains(&Action::Commit));
            });
        }
        check_rolled_back(version, "index added", &RECORD_INDEX, &|table| {
            let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let dropping = MetadataBuildRequest { dropped: of(&["record_index"]), ..MetadataBuildRequest::default() };
            build(table, &dropping, &[]);
            let adding = MetadataBuildRequest { added: of(&["record_index", "bloom_filters"]), ..dropping };
            build(table, &MetadataBuildRequest { dropped: Vec::new(), ..adding }, &[]);
        });
    }
}

#[test]
fn writes_before_and_after_a_metadata_table_was_built_are_rolled_back() {
    for version in [6, 8, 9] {
        let table = Table::new(version);
        let without = [NO_SERVICES.as_slice(), &[("hoodie.metadata.enable", "false")]].concat();
        table.upsert(&FIRST, &without);
        let before = table.upsert(&NEW, &without);
        let after = table.upsert(&[("o", "x", 1)], &NO_SERVICES);
        undo(&table, after.as_str(), false).unwrap();
        // All that the metadata table had of it was in logs.
        assert!(metadata_actions(&table).contains(&Action::Rollback), "{version}");
        assert_eq!(findings(&table), [""; 0], "{version}");
        undo(&table, before.as_str(), false).unwrap();
        assert!(!metadata_actions(&table).contains(&Action::Rollback), "{version}");
        assert_eq!(findings(&table), [""; 0], "{version}");
        assert_eq!(keys(&table), BTreeSet::from(["a", "b", "c"].map(String::from)), "{version}");
    }
}

#[test]
fn the_first_write_is_rolled_back_in_the_metadata_table() {
    for version in [6, 8, 9] {
        let table = Table::new(version);
        let first = table.upsert(&FIRST, &NO_SERVICES);
        undo(&table, first.as_str(), false).unwrap();
        assert!(metadata_actions(&table).contains(&Action::Rollback), "{version}");
        table.upsert(&NEW, &NO_SERVICES);
        assert_eq!(findings(&table), [""; 0], "{version}");
        assert_eq!(keys(&table), BTreeSet::from(["m", "n"].map(String::from)), "{version}");
    }
}

const BOTH: ServiceRequest = ServiceRequest::BOTH;
const CLUSTER: ServiceRequest = ServiceRequest::BOTH;

#[test]
fn a_preview_of_a_compaction_does_not_wait_for_writes_that_failed() {
    let given = options(&[("hoodie.log.compaction.blocks.threshold", "2")]);
    for version in [6, 9] {
        for logs in [false, true] {
            let table = Table::new(version).with_logs(&NO_SERVICES);
            let last = table.open(false).timeline.completed_writes().next_back().unwrap().requested_time.clone();
            let failed = last.as_str().parse::<u64>().unwrap() + 5;
            let folder = table.folder.path().join(if version < 8 { ".hoodie" } else { ".hoodie/timeline" });
            for state in ["requested", "inflight"] {
                std::fs::write(folder.join(format!("{failed}.deltacommit.{state}")), b"").unwrap();
            }
            let location = table.location();
            let (planned, done) = match logs {
                false => (
                    plan_compaction(&location, BOTH, &given).unwrap(),
                    run_compaction(&location, BOTH, &given).unwrap(),
                ),
                true => (
                    plan_log_compaction(&location, BOTH, &given).unwrap(),
                    run_log_compaction(&location, BOTH, &given).unwrap(),
                ),
            };
            assert_eq!((planned.len(), done.committed.len()), (1, 1), "{version} {logs}");
        }
    }
}

#[test]
fn a_preview_of_a_clustering_refuses_what_the_clustering_refuses() {
    let table = Table::new(9);
    let bucket =
        [NO_SERVICES.as_slice(), &[("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", "2")]].concat();
    table.upsert(&FIRST, &bucket);
    let (location, given) = (table.location(), options(&bucket));
    let preview = plan_clustering(&location, CLUSTER, &given).unwrap_err();
    let refused = run_clustering(&location, CLUSTER, &given).unwrap_err();
    assert_eq!((preview.kind(), preview.text()), (ErrorKind::Unsupported, refused.text()));
}

/// Rows with columns of types that cannot be sorted by, in each way.
fn nested_rows(rows: &[Row]) -> RecordBatch {
    let rows = batch(rows);
    let numbers = Int64Array::from_iter_values(0..rows.num_rows() as i64);
    let mut lists = ListBuilder::new(Int64Builder::new());
    numbers.values().iter().for_each(|number| lists.append_value([Some(*number)]));
    let field = Arc::new(Field::new("x", DataType::Int64, true));
    let structs = StructArray::from(vec![(field, Arc::new(numbers.clone()) as ArrayRef)]);
    let bytes = BinaryArray::from_iter_values(numbers.values().iter().map(|number| number.to_be_bytes()));
    let schema = rows.schema();
    let columns = schema.fields().iter().map(|field| field.name().clone()).zip(rows.columns().to_vec());
    let more: [(&str, ArrayRef); 3] =
        [("l", Arc::new(lists.finish())), ("s", Arc::new(structs)), ("b", Arc::new(bytes))];
    let more = more.into_iter().map(|(name, column)| (name.to_owned(), column));
    RecordBatch::try_from_iter(columns.chain(more)).unwrap()
}

#[test]
fn a_clustering_that_could_not_be_executed_is_not_planned() {
    const SORT: &str = "hoodie.clustering.plan.strategy.sort.columns";
    const LAYOUT: &str = "hoodie.layout.optimize.strategy";
    let curve = [(LAYOUT, "z-order")];
    let sampled = [(LAYOUT, "hilbert"), ("hoodie.layout.optimize.curve.build.method", "sample")];
    let table = Table::of_columns(9, nested_rows(&FIRST).schema_ref());
    for rows in [&FIRST[..], &[("d", "x", 1), ("e", "x", 1)]] {
        table.write(WriteOperation::Insert, nested_rows(rows), &NO_SERVICES);
    }
    for (columns, layout, is_possible) in [
        ("s.nope", [].as_slice(), false),
        ("nope", &[], false),
        ("id.nope", &[], false),
        ("ts,s.nope", &sampled, false),
        ("ts,l", &curve, false),
        ("ts,b", &curve, false),
        ("ts,s", &curve, false),
        ("ts,id", &curve, true),
        ("ts,b", &sampled, true),
        ("s.x,ts", &[], true),
        ("l", &[], true),
        ("_hoodie_record_key", &[], true),
    ] {
        let given = options(&[NO_SERVICES.as_slice(), &[(SORT, columns)], layout].concat());
        let preview = plan_clustering(&table.location(), CLUSTER, &given);
        let done = run_clustering(&table.location(), CLUSTER, &given);
        assert_eq!(preview.is_ok(), is_possible, "{columns} {layout:?}: {:?}", preview.err());
        match done {
            Ok(done) => assert!(is_possible && done.commits.len() == 1, "{columns} {layout:?}"),
            Err(error) => assert_eq!((error.kind(), is_possible), (ErrorKind::InvalidArgument, false), "{error}"),
        }
        assert!(table.open(true).timeline.pending_writes().next().is_none(), "{columns} {layout:?}");
        // Another group, for the next clustering.
        table.write(WriteOperation::Insert, nested_rows(&[("f", "x", 1)]), &NO_SERVICES);
    }
}

#[test]
fn a_planned_compaction_of_replaced_groups_can_be_executed_after_a_clean() {
    let given = options(&[NO_SERVICES.as_slice(), &[("hoodie.log.compaction.blocks.threshold", "2")]].concat());
    for version in [6, 8, 9] {
        for logs in [false, true] {
            let context = format!("{version} {logs}");
            let table = Table::new(version).with_logs(&NO_SERVICES);
            let location = table.location();
            let run = |request| match logs {
                false => run_compaction(&location, request, &given).unwrap(),
                true => run_log_compaction(&location, request, &given).unwrap(),
            };
            assert!(run(ServiceRequest { schedule: true, run: false }).scheduled.is_some(), "{context}");
            table.write(WriteOperation::InsertOverwrite, batch(&[("z", "x", 1)]), &NO_SERVICES);
            let cleaning = [NO_SERVICES.as_slice(), &FILE_VERSIONS].concat();
            clean(&table, &cleaning);
            assert_eq!(run(ServiceRequest { schedule: false, run: true }).committed.len(), 1, "{context}");
            assert_eq!(keys(&table), BTreeSet::from(["c", "z"].map(String::from)), "{context}");
            // Now nothing needs the files any more.
            assert!(clean(&table, &cleaning).iter().any(|cleaned| !cleaned.files.is_empty()), "{context}");
            table.upsert(&[("z", "x", 2)], &NO_SERVICES);
            assert_eq!(findings(&table), [""; 0], "{context}");
            assert_eq!(keys(&table), BTreeSet::from(["c", "z"].map(String::from)), "{context}");
        }
    }
}

#[test]
fn a_compaction_whose_files_are_gone_says_what_to_do() {
    let table = Table::new(9).with_logs(&NO_SERVICES);
    let (location, none) = (table.location(), options(&NO_SERVICES));
    let plan =
        run_compaction(&location, ServiceRequest { schedule: true, run: false }, &none).unwrap().scheduled.unwrap();
    let planned = plan_compaction(&location, ServiceRequest { schedule: false, run: true }, &none).unwrap();
    let log = planned[0].slices[0].log_files[0].path.clone();
    let kept = std::fs::read(table.folder.path().join(&log)).unwrap();
    std::fs::remove_file(table.folder.path().join(&log)).unwrap();
    let error = run_compaction(&location, BOTH, &none).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidTable);
    assert!(error.to_string().contains("mortice rollback"), "{error}");
    undo(&table, plan.as_str(), false).unwrap();
    std::fs::write(table.folder.path().join(&log), kept).unwrap();
    assert_eq!(run_compaction(&location, BOTH, &none).unwrap().committed.len(), 1);
}
