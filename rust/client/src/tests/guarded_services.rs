//! Services that must keep away from each other's files: archival from file groups that were replaced but not cleaned,
//! and all services from a table whose restore was stopped.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use crate::{WriteInput, write};
use mortice_base::ErrorKind;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{NewTable, create_table};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::{ReadOptions, TableType, TableVersion};
use mortice_services::transaction::later_clean::{LATER, put_later_clean};
use mortice_services::{
    Archival, ArchivedInstant, Clean, Cleaning, FindingKind, SavepointRequest, ServiceRequest, VerifyOptions,
    run_clustering, run_compaction, run_log_compaction, run_repair, run_restore, run_savepoint, run_savepoint_deletion,
    verify,
};
use mortice_storage::failing_store::FailingStore;
use mortice_storage::{FileStore, LocalStorage, Storage, StorageOptions};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};
use mortice_table::timeline::{Action, WriteOperation};

type Options = BTreeMap<String, String>;
type Row = (&'static str, &'static str, i64);

const ROWS: [Row; 2] = [("a", "x", 1), ("b", "x", 1)];
const MANUAL: [(&str, &str); 3] = [
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.metadata.compact.max.delta.commits", "3"),
];
const FEW_COMMITS: [(&str, &str); 3] =
    [("hoodie.keep.min.commits", "3"), ("hoodie.keep.max.commits", "4"), ("hoodie.clean.commits.retained", "2")];

fn options(entries: &[(&str, &str)]) -> Options {
    entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let text = |column: Vec<&str>| Arc::new(StringArray::from(column)) as ArrayRef;
    let columns = [
        ("id", text(rows.iter().map(|row| row.0).collect())),
        ("city", text(rows.iter().map(|row| row.1).collect())),
        ("ts", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))) as ArrayRef),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

struct Table {
    folder: tempfile::TempDir,
    has_metadata: bool,
}

impl Table {
    fn new(version: u8, table_type: TableType, partition_by: &[&str], has_metadata: bool) -> Self {
        let table = Self { folder: tempfile::tempdir().unwrap(), has_metadata };
        let new = NewTable {
            name: "t".into(),
            version: TableVersion::for_new_table(version).unwrap(),
            table_type,
            record_key: vec!["id".into()],
            partition_by: partition_by.iter().map(|column| (*column).to_owned()).collect(),
            ordering: vec!["ts".into()],
            properties: BTreeMap::new(),
        };
        create_table(&table.local(), &new, batch(&ROWS).schema_ref()).unwrap();
        table
    }

    fn location(&self) -> TableLocation {
        TableLocation::new(&self.uri(), &StorageOptions::new())
    }

    fn uri(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    fn local(&self) -> LocalStorage {
        LocalStorage::new(&self.uri(), true)
    }

    fn options(&self, given: &[(&str, &str)]) -> Options {
        let mut options = options(given);
        options.insert("hoodie.metadata.enable".into(), self.has_metadata.to_string());
        options
    }

    fn try_write(&self, operation: WriteOperation, rows: &[Row]) -> Result<RequestedTime> {
        let rows = batch(rows);
        let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
        let input = WriteInput {
            schema,
            batches: &mut rows,
            is_in_memory: true,
            options: &self.options(&MANUAL),
            validator: None,
        };
        write(&self.location(), operation, input).map(|done| done.committed.instant)
    }

    fn write(&self, operation: WriteOperation, rows: &[Row]) -> RequestedTime {
        self.try_write(operation, rows).unwrap()
    }

    fn writable(&self, given: &[(&str, &str)], service: &str) -> WritableTable {
        WritableTable::open(&self.location(), &self.options(given), service).unwrap()
    }

    fn clean(&self, retained: &str) -> Result<Vec<Clean>> {
        Cleaning::new(&self.writable(&[("hoodie.clean.commits.retained", retained)], "clean"))?.run()
    }

    fn archive(&self) -> Result<Vec<ArchivedInstant>> {
        Archival::new(&self.writable(&FEW_COMMITS, "archive"))?.run()
    }

    fn open(&self) -> Arc<OpenTable> {
        Arc::new(OpenTable::open(&self.uri(), &StorageOptions::new(), ReadOptions::default()).unwrap())
    }

    /// The keys of all rows, sorted.
    fn keys(&self) -> Vec<String> {
        let scan = self.open().snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
        let keys = scan.stream().flat_map(|batch| {
            let ids = batch.unwrap().column_by_name("id").unwrap().as_string::<i32>().clone();
            ids.iter().map(|id| id.unwrap().to_owned()).collect::<Vec<_>>()
        });
        let mut keys: Vec<String> = keys.collect();
        keys.sort();
        keys
    }

    fn data_files(&self) -> Vec<String> {
        let files = self.local().list_recursively("").unwrap().into_iter().map(|(path, _)| path);
        files.filter(|path| !path.starts_with(".hoodie/") && path.ends_with(".parquet")).collect()
    }

    fn is_active(&self, instant: &RequestedTime) -> bool {
        self.open().timeline.writes_at(instant).next().is_some()
    }

    /// Kinds of what is wrong.
    fn findings(&self) -> Vec<FindingKind> {
        let report = verify(&self.location(), &VerifyOptions::default()).unwrap();
        report.findings.into_iter().map(|finding| finding.kind).collect()
    }
}

/// A table whose last clean kept the replaced files of a savepoint, which is deleted since. Returns the overwrite, and
/// a replaced file.
fn with_replaced_files(table: &Table) -> (RequestedTime, String) {
    let (location, options) = (table.location(), table.options(&[]));
    let kept = table.write(WriteOperation::BulkInsert, &ROWS);
    let replaced = table.data_files().pop().unwrap();
    run_savepoint(&location, &SavepointRequest { instant: kept.to_string(), ..SavepointRequest::default() }, &options)
        .unwrap();
    let overwrite = table.write(WriteOperation::InsertOverwrite, &[("a", "x", 2), ("c", "x", 2)]);
    for number in 0..8 {
        table.write(WriteOperation::Upsert, &[("d", "y", number)]);
    }
    table.clean("2").unwrap();
    assert!(table.data_files().contains(&replaced), "the savepoint keeps the file");
    run_savepoint_deletion(&location, kept.as_str(), &options).unwrap();
    (overwrite, replaced)
}

#[test]
fn a_replace_commit_stays_active_until_its_replaced_files_are_cleaned() {
    for (version, partition_by, has_metadata) in
        [(6, ["city"].as_slice(), false), (9, &["city"], true), (9, &[], false), (6, &[], true)]
    {
        let context = format!("version {version}, partitioned by {partition_by:?}, metadata {has_metadata}");
        let table = Table::new(version, TableType::MergeOnRead, partition_by, has_metadata);
        let (overwrite, replaced) = with_replaced_files(&table);
        let keys = table.keys();
        table.archive().unwrap();
        assert!(table.is_active(&overwrite), "{context}");
        assert_eq!(table.keys(), keys, "{context}");
        // Once the files are gone, nothing holds it back.
        table.clean("1").unwrap();
        assert!(!table.data_files().contains(&replaced), "{context}");
        table.archive().unwrap();
        assert!(!table.is_active(&overwrite), "{context}");
        assert_eq!((table.keys(), table.findings()), (keys, Vec::new()), "{context}");
    }
}

#[test]
fn replaced_file_groups_that_are_live_again_are_found_and_left() {
    for version in [6, 9] {
        let table = Table::new(version, TableType::CopyOnWrite, &["city"], false);
        let (overwrite, replaced) = with_replaced_files(&table);
        let (bytes, _) = table.local().get(&replaced).unwrap();
        assert_eq!(table.findings(), []);
        table.clean("1").unwrap();
        table.archive().unwrap();
        assert!(!table.is_active(&overwrite));
        table.local().put(&replaced, &bytes, None).unwrap();
        assert!(table.keys().windows(2).any(|keys| keys[0] == keys[1]), "{:?}", table.keys());
        assert_eq!(table.findings(), [FindingKind::LiveReplacedGroup]);
        let repaired = run_repair(&table.location(), &table.options(&[])).unwrap();
        assert!(repaired.repaired.is_empty());
        let [left] = repaired.left.as_slice() else { panic!("{:?}", repaired.left) };
        assert!(left.message.contains(overwrite.as_str()) && left.bytes == Some(bytes.len() as u64), "{left:?}");
    }
}

/// Restores a table and stops when some instants have been undone.
fn stop_restore(table: &Table, to: &RequestedTime) {
    let completed = || table.open().timeline.completed_writes().count();
    let before = completed();
    for changes in 3.. {
        let store = FailingStore::new(table.local(), changes, false);
        let failing = TableLocation::in_store(Arc::new(store), &table.uri());
        let stopped = run_restore(&failing, to.as_str(), &table.options(&[]));
        assert!(stopped.is_err());
        if completed() + 2 <= before {
            return;
        }
    }
}

fn refused<T>(done: Result<T>, service: &str) {
    let error: Error = done.err().unwrap_or_else(|| panic!("{service} is refused while a restore is pending"));
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{service}: {error}");
    assert!(error.to_string().contains("Table.restore"), "{service}: {error}");
}

#[test]
fn no_service_runs_while_a_restore_is_pending() {
    for (version, table_type) in [
        (6, TableType::CopyOnWrite),
        (9, TableType::CopyOnWrite),
        (6, TableType::MergeOnRead),
        (9, TableType::MergeOnRead),
    ] {
        let table = Table::new(version, table_type, &["city"], false);
        let instants: Vec<RequestedTime> = (0..8)
            .map(|number| table.write(WriteOperation::Upsert, &[("a", "x", number), ("b", "x", number)]))
            .collect();
        stop_restore(&table, &instants[2]);
        let files = table.data_files();
        refused(table.clean("1"), "clean");
        refused(table.archive(), "archive");
        refused(table.try_write(WriteOperation::Upsert, &ROWS), "upsert");
        let (location, given) = (table.location(), table.options(&[]));
        refused(run_clustering(&location, ServiceRequest::BOTH, &given), "cluster");
        refused(run_repair(&location, &given), "repair");
        if table_type == TableType::MergeOnRead {
            let request = ServiceRequest::BOTH;
            refused(run_compaction(&location, request, &given), "compact");
            refused(run_log_compaction(&location, request, &given), "log_compact");
        }
        assert_eq!(table.data_files(), files);
        run_restore(&location, instants[2].as_str(), &given).unwrap();
        assert_eq!(table.keys(), ["a", "b"]);
        table.write(WriteOperation::Upsert, &ROWS);
        table.clean("1").unwrap();
    }
}

#[test]
fn a_restore_that_was_stopped_fails_if_files_of_its_target_are_gone() {
    for version in [6, 9] {
        let table = Table::new(version, TableType::CopyOnWrite, &["city"], false);
        let (location, given) = (table.location(), table.options(&[]));
        table.write(WriteOperation::Upsert, &ROWS);
        let kept = table.write(WriteOperation::Upsert, &ROWS);
        run_savepoint(
            &location,
            &SavepointRequest { instant: kept.to_string(), ..SavepointRequest::default() },
            &given,
        )
        .unwrap();
        let saved = table.data_files().into_iter().find(|path| path.contains(kept.as_str())).unwrap();
        for number in 3..8 {
            table.write(WriteOperation::Upsert, &[("a", "x", number)]);
        }
        stop_restore(&table, &kept);
        let left = table.open().timeline.completed_writes().count();
        let (bytes, _) = table.local().get(&saved).unwrap();
        table.local().delete(&saved).unwrap();
        let error = run_restore(&location, kept.as_str(), &given).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileCleaned, "{error}");
        let timeline = &table.open().timeline;
        assert_eq!(timeline.completed_writes().count(), left, "nothing was undone");
        assert_eq!(timeline.pending(Action::Restore).count(), 1);
        table.local().put(&saved, &bytes, None).unwrap();
        run_restore(&location, kept.as_str(), &given).unwrap();
        assert_eq!(table.keys(), ["a", "b"]);
    }
}

/// Changes a table to one that is merged by a class of the user.
fn merge_by_a_user_defined_class(table: &Table, version: u8) {
    let path = ".hoodie/hoodie.properties";
    let (bytes, _) = table.local().get(path).unwrap();
    let mut text = String::from_utf8(bytes.to_vec()).unwrap();
    let is_of_merge = |line: &&str| !line.contains("payload.class") && !line.contains("merge.mode");
    text = text.lines().filter(is_of_merge).map(|line| format!("{line}\n")).collect();
    text.push_str("hoodie.compaction.payload.class=com.example.OwnPayload\n");
    if version > 6 {
        text.push_str("hoodie.record.merge.mode=CUSTOM\n");
    }
    table.local().put(path, &text.into(), None).unwrap();
}

#[test]
fn a_service_that_cannot_merge_leaves_no_plan() {
    for version in [6, 8] {
        let table = Table::new(version, TableType::MergeOnRead, &["city"], false);
        for number in 0..4 {
            table.write(WriteOperation::Upsert, &[("a", "x", number), ("b", "x", number)]);
        }
        merge_by_a_user_defined_class(&table, version);
        let location = table.location();
        let given = table.options(&[("hoodie.log.compaction.blocks.threshold", "2")]);
        let request = ServiceRequest::BOTH;
        let services: [(&str, Result<()>); 3] = [
            ("compact", run_compaction(&location, request, &given).map(drop)),
            ("log_compact", run_log_compaction(&location, request, &given).map(drop)),
            ("cluster", run_clustering(&location, ServiceRequest::BOTH, &given).map(drop)),
        ];
        for (service, done) in services {
            let error = done.expect_err(service);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{service}: {error}");
            assert!(error.to_string().contains("com.example.OwnPayload"), "{service}: {error}");
        }
        let pending: Vec<String> = table.open().timeline.pending_writes().map(ToString::to_string).collect();
        assert!(pending.is_empty(), "version {version}: {pending:?}");
    }
}

#[test]
fn a_clean_is_later_than_the_instants_of_the_metadata_table() {
    for version in [6, 9] {
        let table = Table::new(version, TableType::CopyOnWrite, &["city"], true);
        for number in 0..4 {
            table.write(WriteOperation::Upsert, &[("a", "x", number)]);
        }
        put_later_clean(&table.local(), version);
        let cleaned = table.clean("1").unwrap();
        assert!(cleaned.iter().all(|clean| clean.instant.as_ref().is_some_and(|instant| instant.as_str() > LATER)));
        assert_eq!((cleaned.len(), table.findings()), (1, Vec::new()), "version {version}");
    }
}
