//! Upgrades and downgrades that are stopped at their changes to the storage: readers see the same rows, of one version
//! or the other, and the service is repeated, at once or after a write.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::stopped_services::{FIRST, Table};
use super::stops;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::writable_table::WritableTable;
use mortice_merge::config::TableType;
use mortice_services::transaction::{CommitExtra, Transaction};
use mortice_services::{UpgradeRequest, UpgradeResult, VersionChange, plan_upgrade, run_upgrade};
use mortice_storage::LocalStorage;
use mortice_storage::failing_store::FailingStore;
use mortice_table::timeline::WriteOperation;

const NEXT: (&str, &str, i64) = ("n", "x", 1);
/// A metadata table with all indexes, and an archive.
const WRITES: [(&str, &str); 6] = [
    ("hoodie.metadata.record.index.enable", "true"),
    ("hoodie.metadata.index.column.stats.enable", "true"),
    ("hoodie.keep.min.commits", "2"),
    ("hoodie.keep.max.commits", "3"),
    ("hoodie.clean.commits.retained", "1"),
    ("hoodie.metadata.compact.max.delta.commits", "2"),
];

fn request(from: u8, to: u8) -> UpgradeRequest {
    UpgradeRequest { change: if from < to { VersionChange::Upgrade } else { VersionChange::Downgrade }, to }
}

fn change(table: &Table, request: UpgradeRequest) -> Result<UpgradeResult> {
    run_upgrade(&table.location(), &request, &BTreeMap::new())
}

/// The table, as one of the version that it has now.
fn now(table: &Table) -> Table {
    let version = table.open(false).config.version.number();
    Table { folder: Rc::clone(&table.folder), version, store: None }
}

fn written(version: u8, table_type: TableType) -> Table {
    let table = Table::of_type(version, table_type).with_logs(&WRITES);
    for time in 10..14 {
        table.upsert(&[("b", "x", time)], &WRITES);
    }
    assert!(!table.open(false).timeline.archived().unwrap().is_empty());
    table
}

/// The requested times and actions of completed instants, active and archived.
fn instants(table: &Table) -> BTreeSet<(String, String)> {
    let timeline = &table.open(false).timeline;
    let all = timeline.instants().iter().chain(timeline.archived().unwrap());
    all.map(|one| (one.requested_time.to_string(), one.action.to_string())).collect()
}

/// Makes an older table of one of version 6.
fn set_version(table: &Table, version: u8) {
    let path = table.folder.path().join(".hoodie/hoodie.properties");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, text.replace("hoodie.table.version=6", &format!("hoodie.table.version={version}"))).unwrap();
}

fn stop_everywhere(from: u8, to: u8, table_type: TableType, is_lost: bool) -> usize {
    let origin = written(from.max(6), table_type);
    if from < 6 {
        set_version(&origin, from);
    }
    let (rows, before) = (origin.rows(false), instants(&origin));
    for stopped in stops(97) {
        let context = format!("{from} to {to}, {table_type:?}, stopped at {stopped}, lost {is_lost}");
        let table = origin.copy();
        let (failing, store) = table.failing(stopped, is_lost);
        let done = change(&failing, request(from, to));
        let (changes, mut expected) = (store.changes(), rows.clone());
        let is_done = changes <= stopped;
        assert!(done.is_ok() || !is_done, "{context}: {:?}", done.err());
        // A table below version 6 is brought to 6 first.
        assert!([from, from.max(6), to].contains(&now(&table).version), "{context}");
        now(&table).check_rows(&expected, &context);
        if stopped % 2 == 1 && now(&table).version >= 6 {
            now(&table).upsert(&[NEXT], &[]);
            expected.insert((NEXT.0.to_owned(), NEXT.2));
            now(&table).check_rows(&expected, &format!("{context}, then a write"));
        }
        change(&table, request(from, to)).unwrap_or_else(|error| panic!("{context}, repeated: {error}"));
        let table = now(&table);
        assert_eq!(table.version, to, "{context}");
        table.check_rows(&expected, &format!("{context}, repeated"));
        assert!(instants(&table).is_superset(&before), "{context}");
        let mut partitions = origin.partitions();
        partitions.retain(|partition| to > 6 || partition != "partition_stats");
        assert_eq!(table.partitions(), partitions, "{context}");
        table.check_clean(&context);
        table.upsert(&[("later", "y", 1)], &[]);
        expected.insert(("later".to_owned(), 1));
        table.check_rows(&expected, &format!("{context}, then a write of the new version"));
        if is_done {
            return changes;
        }
    }
    unreachable!()
}

#[test]
fn a_change_of_the_layout_goes_on_wherever_it_was_stopped() {
    assert!(stop_everywhere(6, 9, TableType::MergeOnRead, true) > 40);
    assert!(stop_everywhere(9, 6, TableType::CopyOnWrite, false) > 40);
}

#[test]
fn a_change_of_properties_goes_on_wherever_it_was_stopped() {
    assert!(stop_everywhere(8, 9, TableType::MergeOnRead, false) > 10);
    assert!(stop_everywhere(9, 8, TableType::MergeOnRead, true) > 10);
}

#[test]
fn a_table_below_version_6_goes_on_wherever_it_was_stopped() {
    assert!(stop_everywhere(5, 9, TableType::MergeOnRead, true) > 40);
    assert!(stop_everywhere(3, 6, TableType::CopyOnWrite, false) > 10);
}

#[test]
fn a_dry_run_changes_nothing_and_names_what_would_be_done() {
    let table = written(6, TableType::MergeOnRead);
    let planned = plan_upgrade(&table.location(), &request(6, 9), &BTreeMap::new()).unwrap();
    assert_eq!((planned.from, planned.to, now(&table).version), (6, 9, 6));
    assert!(planned.log_files > 0 && planned.timeline_files > 0 && planned.archived > 0, "{planned:?}");
    let of = |name: &str| planned.properties.iter().find(|one| one.name == name).map(|one| one.after.clone());
    assert_eq!(of("hoodie.table.version"), Some(Some("9".to_owned())));
    assert_eq!(of("hoodie.compaction.payload.class"), Some(None));
    let done = change(&table, request(6, 9)).unwrap();
    assert_eq!((done.properties, done.log_files), (planned.properties, planned.log_files));
    assert_eq!(done.compactions.len(), 1);
}

#[test]
fn the_other_direction_and_other_versions_are_refused() {
    let table = Table::new(8).with_logs(&[]);
    let to = |change, to| run_upgrade(&table.location(), &UpgradeRequest { change, to }, &BTreeMap::new()).unwrap_err();
    assert_eq!(to(VersionChange::Upgrade, 6).kind(), ErrorKind::InvalidArgument);
    assert_eq!(to(VersionChange::Downgrade, 9).kind(), ErrorKind::InvalidArgument);
    assert_eq!(to(VersionChange::Downgrade, 7).kind(), ErrorKind::Unsupported);
    assert_eq!(now(&table).version, 8);
}

#[test]
fn a_write_that_began_before_does_not_go_on_after() {
    for (from, to) in [(8, 9), (6, 8)] {
        let table = Table::new(from).with_logs(&[]);
        let target = Arc::new(WritableTable::open(&table.location(), &BTreeMap::new(), "upsert").unwrap());
        // It was rolled back by the upgrade, as the only writer of the table.
        let begun = Transaction::begin(&target, WriteOperation::Upsert).unwrap();
        assert_eq!(change(&table, request(from, to)).unwrap().rolled_back, [begun.instant().clone()]);
        let error = begun.commit(Vec::new(), &CommitExtra::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
        let error = Transaction::begin(&target, WriteOperation::Upsert).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
        assert!(error.to_string().contains(&format!("version {from} when")), "{error}");
        now(&table).check_rows(&Table::new(to).with_logs(&[]).rows(false), "after");
        now(&table).check_clean("after");
    }
}

#[test]
fn a_writer_that_is_alive_is_waited_for() {
    let shared = [
        ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
        ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ];
    let table = Table::new(8).with_logs(&[]);
    let options: BTreeMap<String, String> =
        shared.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let target = Arc::new(WritableTable::open(&table.location(), &options, "upsert").unwrap());
    let begun = Transaction::begin(&target, WriteOperation::Upsert).unwrap();
    let error = run_upgrade(&table.location(), &request(8, 9), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
    begun.abort(&Error::internal("stop")).unwrap();
    run_upgrade(&table.location(), &request(8, 9), &options).unwrap();
    assert_eq!((now(&table).version, now(&table).rows(true).len()), (9, FIRST.len()));
}

#[test]
fn logs_keep_a_table_of_remote_storage_at_8() {
    let table = Table::new(8).with_logs(&[]);
    let store = FailingStore::new(LocalStorage::new(&table.uri(), true), usize::MAX, false).remote();
    let remote = Table { folder: Rc::clone(&table.folder), version: 8, store: Some(Arc::new(store)) };
    let plan = |table: &Table| plan_upgrade(&table.location(), &request(8, 6), &BTreeMap::new());
    let error = plan(&remote).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("times of files"), "{error}");
    assert!(plan(&table).is_ok());
}
