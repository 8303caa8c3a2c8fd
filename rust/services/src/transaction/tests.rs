//! Whole writes, failed ones, ones that are stopped after each change, and several at once.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::later_clean::{LATER, put_later_clean};
use super::service::schedule;
use super::{CommitExtra, Committed, Transaction};
use mortice_avro as avro;
use mortice_base::ErrorKind;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, RequestedTime, meta_columns};
use mortice_commit::commit::{CommitValidator, NewTable, create_table};
use mortice_commit::metadata_upkeep::CommitUpdate;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_formats::filter::Filter;
use mortice_merge::config::{ReadOptions, TableType, TableVersion, TimelineLayout, WriteOptions};
use mortice_storage::failing_store::FailingStore;
use mortice_storage::{FileStore, LocalStorage, Storage, StorageOptions};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};
use mortice_table::timeline::metadata::HoodieCommitMetadata;
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::write::{
    BaseFileOptions, CreateHandle, CreateTarget, MarkerKind, Markers, MetaColumns, WriteStatus, WriteToken,
};

const SCHEMA: &str = r#"{"type":"record","name":"t_record","fields":[{"name":"id","type":"string"}]}"#;

mod stalled;

struct Table {
    folder: tempfile::TempDir,
    options: BTreeMap<String, String>,
}

impl Table {
    fn new(version: u8) -> Self {
        let options = BTreeMap::from([("hoodie.metadata.enable".to_owned(), "false".to_owned())]);
        let table = Self { folder: tempfile::tempdir().unwrap(), options };
        let new = NewTable {
            name: "t".into(),
            version: TableVersion::for_new_table(version).unwrap(),
            table_type: TableType::MergeOnRead,
            record_key: vec!["id".into()],
            partition_by: Vec::new(),
            ordering: Vec::new(),
            properties: BTreeMap::new(),
        };
        create_table(&table.local(), &new, &Schema::new(vec![Field::new("id", DataType::Utf8, false)])).unwrap();
        table
    }

    /// The same, with a metadata table.
    fn with_metadata(version: u8) -> Self {
        let mut table = Self::new(version);
        table.options.clear();
        table
    }

    /// A table with several writers.
    fn shared(version: u8) -> Self {
        let mut table = Self::new(version);
        for (name, value) in [
            ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
            ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
            ("hoodie.time.generator.max_expected_clock_skew_ms", "2"),
        ] {
            table.options.insert(name.into(), value.into());
        }
        table
    }

    fn uri(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    fn local(&self) -> LocalStorage {
        LocalStorage::new(&self.uri(), true)
    }

    fn store(&self) -> Arc<dyn FileStore> {
        Arc::new(self.local())
    }

    fn begin(&self, operation: WriteOperation) -> Result<Transaction> {
        self.begin_at(self.store(), operation)
    }

    fn begin_at(&self, store: Arc<dyn FileStore>, operation: WriteOperation) -> Result<Transaction> {
        let location = TableLocation::in_store(store, &self.uri());
        Transaction::begin(&Arc::new(WritableTable::open(&location, &self.options, "insert")?), operation)
    }

    /// Inserts keys into a new file group.
    fn insert(&self, store: Arc<dyn FileStore>, group: &str, keys: &[&str]) -> Result<Committed> {
        let transaction = self.begin_at(store, WriteOperation::Insert)?;
        commit_rows(transaction, group, keys, &CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() })
    }

    fn keys(&self) -> BTreeSet<String> {
        let table = OpenTable::open(&self.uri(), &StorageOptions::new(), ReadOptions::default()).unwrap();
        if table.timeline.latest_visible().is_none() {
            return BTreeSet::new();
        }
        let scan = Arc::new(table).snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
        let keys = scan.stream().flat_map(|batch| {
            let batch = batch.unwrap();
            let column = batch.column_by_name("id").unwrap();
            let column = column.as_any().downcast_ref::<StringArray>().unwrap();
            column.iter().map(|key| key.unwrap().to_owned()).collect::<Vec<_>>()
        });
        keys.collect()
    }

    /// The files that the metadata table lists are those in storage.
    fn check_metadata(&self, context: &str) {
        let options = |metadata| ReadOptions { metadata, ..ReadOptions::default() };
        let files = |metadata| {
            let table = OpenTable::open(&self.uri(), &StorageOptions::new(), options(metadata)).unwrap();
            Arc::new(table).file_slices(None, &Filter::default()).unwrap()
        };
        assert_eq!(files(true), files(false), "{context}");
    }

    /// Nothing is pending, and there is no file that is not part of the table.
    fn check_clean(&self, context: &str) {
        let table = OpenTable::open(&self.uri(), &StorageOptions::new(), ReadOptions::default()).unwrap();
        let pending: Vec<String> =
            table.timeline.instants().iter().filter(|i| !i.is_completed()).map(ToString::to_string).collect();
        assert!(pending.is_empty(), "{context}: {pending:?}");
        for (path, _) in self.local().list_recursively("").unwrap() {
            assert!(!path.ends_with(".tmp"), "{context}: {path}");
            if let Some(name) = BaseFileName::parse(&path) {
                assert!(table.timeline.is_completed(&name.instant), "{context}: {path}");
            }
        }
        for folder in [".hoodie/.temp", ".hoodie/.heartbeat"] {
            let left = self.local().list(folder).unwrap().unwrap_or_default();
            assert!(left.is_empty(), "{context}: {left:?}");
        }
        assert!(!self.folder.path().join(".hoodie/lock").exists(), "{context}");
        self.check_metadata(context);
    }
}

fn write_rows(transaction: &Transaction, group: &str, keys: &[&str], attempt: u64) -> Result<Vec<WriteStatus>> {
    let schema = avro::Schema::parse(SCHEMA)?.with_leading_nullable_strings(&meta_columns::ALL)?;
    let target = CreateTarget {
        partition: String::new(),
        file_id_prefix: group.to_owned(),
        instant: transaction.instant().clone(),
        token: WriteToken { task: 0, stage: 1, attempt },
    };
    let options = BaseFileOptions::resolve(&WriteOptions::default(), TimelineLayout::V2).unwrap();
    let options = BaseFileOptions { bloom: None, ..options };
    let mut handle = CreateHandle::new(Arc::clone(transaction.store()), &schema, target, options, false);
    let keys = StringArray::from_iter_values(keys);
    let rows = RecordBatch::try_from_iter([("id", Arc::new(keys.clone()) as ArrayRef)]).unwrap();
    handle.insert(&rows, MetaColumns::Computed { record_keys: &keys })?;
    handle.finish()
}

fn commit_rows(mut transaction: Transaction, group: &str, keys: &[&str], extra: &CommitExtra) -> Result<Committed> {
    let written =
        transaction.inflight(&HoodieCommitMetadata::default()).and_then(|()| write_rows(&transaction, group, keys, 0));
    match written {
        Ok(statuses) => transaction.commit(statuses, extra),
        Err(error) => {
            let _ = transaction.abort(&error);
            Err(error)
        }
    }
}

fn set(keys: &[&str]) -> BTreeSet<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[test]
fn commits_are_read_in_all_versions() {
    for version in [6, 8, 9] {
        let table = Table::new(version);
        let first = table.insert(table.store(), "f", &["a", "b"]).unwrap();
        let second = table.insert(table.store(), "g", &["c"]).unwrap();
        assert!(second.instant > first.instant);
        assert_eq!(second.completion_time.is_some(), version > 6);
        assert_eq!(table.keys(), set(&["a", "b", "c"]));
        table.check_clean("");
        let metadata = second.metadata.partition_to_write_stats.unwrap();
        assert_eq!(metadata.get("").unwrap()[0].num_writes, Some(1));
        let names = table.local().list_recursively(".hoodie").unwrap();
        let of_second = names.iter().filter(|(path, _)| path.contains(second.instant.as_str()));
        assert_eq!(of_second.count(), 3, "{names:?}");
    }
}

#[test]
fn replaced_file_groups_are_gone() {
    for version in [6, 9] {
        let table = Table::new(version);
        table.insert(table.store(), "f", &["a", "b"]).unwrap();
        let overwrite = table.begin(WriteOperation::InsertOverwriteTable).unwrap();
        let replaced = BTreeMap::from([(String::new(), vec!["f-0".to_owned()])]);
        let extra = CommitExtra { schema: SCHEMA.into(), replaced, ..CommitExtra::default() };
        commit_rows(overwrite, "g", &["c"], &extra).unwrap();
        assert_eq!(table.keys(), set(&["c"]));
        table.check_clean("");
    }
}

#[test]
fn a_write_that_is_aborted_or_dropped_leaves_nothing() {
    for version in [6, 9] {
        let table = Table::new(version);
        table.insert(table.store(), "f", &["a"]).unwrap();
        let mut aborted = table.begin(WriteOperation::Insert).unwrap();
        aborted.inflight(&HoodieCommitMetadata::default()).unwrap();
        write_rows(&aborted, "g", &["b"], 0).unwrap();
        aborted.abort(&Error::invalid_argument("a row is wrong")).unwrap();
        assert_eq!(table.keys(), set(&["a"]));
        table.check_clean("");
        let dropped = table.begin(WriteOperation::Insert).unwrap();
        write_rows(&dropped, "g", &["b"], 0).unwrap();
        drop(dropped);
        assert_eq!(table.keys(), set(&["a"]));
        table.insert(table.store(), "h", &["c"]).unwrap();
        assert_eq!(table.keys(), set(&["a", "c"]));
        table.check_clean("");
    }
}

#[test]
fn files_of_other_attempts_are_deleted() {
    let table = Table::new(9);
    let transaction = table.begin(WriteOperation::Insert).unwrap();
    write_rows(&transaction, "f", &["a"], 0).unwrap();
    let statuses = write_rows(&transaction, "f", &["a"], 1).unwrap();
    let unfinished = format!("g-0_1-1-0_{}.parquet", transaction.instant());
    Markers::new(table.store(), transaction.instant()).create(&unfinished, MarkerKind::Create).unwrap();
    let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
    transaction.commit(statuses, &extra).unwrap();
    assert_eq!(table.keys(), set(&["a"]));
    let files = table.local().list_recursively("").unwrap();
    assert_eq!(files.iter().filter(|(path, _)| path.ends_with(".parquet")).count(), 1);
    table.check_clean("");
}

/// Stops a write at each of its changes, before or after the change takes place, and has another writer go on.
fn stop_everywhere(version: u8, is_lost: bool, has_metadata: bool) {
    let mut stopped = 0;
    loop {
        let context =
            format!("version {version}, stopped at change {stopped}, lost {is_lost}, metadata {has_metadata}");
        let table = if has_metadata { Table::with_metadata(version) } else { Table::new(version) };
        table.insert(table.store(), "f", &["a"]).unwrap();
        let failing = Arc::new(FailingStore::new(table.local(), stopped, is_lost));
        let store: Arc<dyn FileStore> = Arc::<FailingStore>::clone(&failing);
        let written = table.insert(store, "g", &["b"]);
        let expected: &[&str] = if written.is_ok() { &["a", "b"] } else { &["a"] };
        assert_eq!(table.keys(), set(expected), "{context}");
        table.insert(table.store(), "h", &["c"]).unwrap();
        let expected: &[&str] = if written.is_ok() { &["a", "b", "c"] } else { &["a", "c"] };
        assert_eq!(table.keys(), set(expected), "{context}");
        table.check_clean(&context);
        if failing.changes() <= stopped {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 6, "{stopped} changes");
}

#[test]
fn a_write_of_version_9_is_whole_or_nothing() {
    stop_everywhere(9, false, false);
}

#[test]
fn a_write_of_version_9_whose_answers_are_lost_is_whole_or_nothing() {
    stop_everywhere(9, true, false);
}

#[test]
fn a_write_of_version_6_is_whole_or_nothing() {
    stop_everywhere(6, false, false);
}

#[test]
fn a_write_of_version_9_with_a_metadata_table_is_whole_or_nothing() {
    stop_everywhere(9, false, true);
}

#[test]
fn a_write_of_version_6_with_a_metadata_table_is_whole_or_nothing() {
    stop_everywhere(6, false, true);
}

#[test]
fn a_completion_without_an_answer_is_not_rolled_back() {
    let table = Table::new(9);
    // Requested, inflight, partition metadata, marker, data file: the next change completes the instant.
    let failing = FailingStore::new(table.local(), 5, false).remote();
    let error = table.insert(Arc::new(failing), "f", &["a"]).unwrap_err();
    assert!(error.to_string().contains("it is not known whether it is"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let files = table.local().list_recursively("").unwrap();
    assert!(files.iter().any(|(path, _)| path.ends_with(".parquet")));
    table.insert(table.store(), "g", &["b"]).unwrap();
    assert_eq!(table.keys(), set(&["b"]));
    table.check_clean("");
}

#[test]
fn the_first_of_two_writers_of_a_file_group_wins() {
    for version in [6, 9] {
        let table = Table::shared(version);
        let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
        let one = table.begin(WriteOperation::Upsert).unwrap();
        let other = table.begin(WriteOperation::Upsert).unwrap();
        let apart = table.begin(WriteOperation::Upsert).unwrap();
        assert!(one.instant() < other.instant() && other.instant() < apart.instant());
        commit_rows(other, "f", &["a"], &extra).unwrap();
        let error = commit_rows(one, "f", &["b"], &extra).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
        assert!(error.to_string().contains("/f-0"), "{error}");
        commit_rows(apart, "g", &["c"], &extra).unwrap();
        assert_eq!(table.keys(), set(&["a", "c"]));
        table.check_clean("");
    }
}

#[test]
fn a_writer_that_was_rolled_back_finds_out() {
    for (mut table, word) in [(Table::shared(9), "heartbeat"), (Table::new(9), "took this write for dead")] {
        let mut late = table.begin(WriteOperation::Upsert).unwrap();
        late.inflight(&HoodieCommitMetadata::default()).unwrap();
        let statuses = write_rows(&late, "f", &["a"], 0).unwrap();
        // Another writer that believes to be the only one.
        table.options.retain(|name, _| name == "hoodie.metadata.enable");
        table.insert(table.store(), "g", &["b"]).unwrap();
        let error =
            late.commit(statuses, &CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(table.keys(), set(&["b"]));
        table.insert(table.store(), "h", &["c"]).unwrap();
        table.check_clean("");
    }
}

/// Writes to the table while another write is validated, as the only writer. The other one is on storage without locks.
struct WritesMeanwhile(Arc<Table>);

impl CommitValidator for WritesMeanwhile {
    fn validate(&self, _: OpenTable) -> Result<()> {
        self.0.insert(self.0.store(), "v", &["v"]).map(drop)
    }
}

#[test]
fn a_write_that_was_rolled_back_while_it_was_validated_is_not_completed() {
    for version in [6, 9] {
        for table in [Table::new(version), Table::with_metadata(version)] {
            let table = Arc::new(table);
            table.insert(table.store(), "f", &["a"]).unwrap();
            let validator: Arc<dyn CommitValidator> = Arc::new(WritesMeanwhile(Arc::clone(&table)));
            let remote = Arc::new(FailingStore::new(table.local(), usize::MAX, false).remote());
            let transaction = table.begin_at(remote, WriteOperation::Insert).unwrap();
            let transaction = transaction.with_validator(Some(validator));
            let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
            let error = commit_rows(transaction, "g", &["b"], &extra).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
            assert_eq!(table.keys(), set(&["a", "v"]), "{version}");
            table.check_clean(&format!("version {version}"));
            table.insert(table.store(), "h", &["c"]).unwrap();
            assert_eq!(table.keys(), set(&["a", "c", "v"]), "{version}");
            table.check_clean(&format!("version {version}"));
        }
    }
}

/// Two writers that are each configured to be the only one and to leave the pending write of the other alone.
#[test]
fn of_two_writes_without_a_lock_one_is_refused() {
    for version in [6, 9] {
        let mut table = Table::with_metadata(version);
        table.options.insert("hoodie.clean.failed.writes.policy".into(), "NEVER".into());
        table.insert(table.store(), "f", &["a"]).unwrap();
        let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
        let (one, other) = (table.begin(WriteOperation::Insert).unwrap(), table.begin(WriteOperation::Insert).unwrap());
        let refused = commit_rows(one, "g", &["b"], &extra).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WriteConflict, "{refused}");
        assert!(refused.to_string().contains("without a lock"), "{refused}");
        commit_rows(other, "h", &["c"], &extra).unwrap();
        assert_eq!(table.keys(), set(&["a", "c"]), "{version}");
        // Other file groups, but one write was completed while the other was under way.
        let late = table.begin(WriteOperation::Insert).unwrap();
        table.insert(table.store(), "i", &["d"]).unwrap();
        let refused = commit_rows(late, "k", &["e"], &extra).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WriteConflict, "{refused}");
        assert_eq!(table.keys(), set(&["a", "c", "d"]), "{version}");
        table.check_clean(&format!("version {version}"));
    }
}

#[test]
fn a_write_that_was_rolled_back_before_it_wrote_the_metadata_table_leaves_nothing_there() {
    for version in [6, 9] {
        let table = Table::with_metadata(version);
        table.insert(table.store(), "f", &["a"]).unwrap();
        let mut late = table.begin(WriteOperation::Insert).unwrap();
        late.inflight(&HoodieCommitMetadata::default()).unwrap();
        let statuses = write_rows(&late, "g", &["b"], 0).unwrap();
        late.check_pending().unwrap();
        table.insert(table.store(), "v", &["v"]).unwrap();
        let now = late.target.reopen().unwrap();
        let upkeep = late.target.metadata(&now).unwrap().unwrap();
        let schema = avro::Schema::parse(SCHEMA).unwrap();
        let (operation, replaced) = (WriteOperation::Insert, BTreeMap::new());
        let update = CommitUpdate { operation, statuses: &statuses, replaced: &replaced, schema: &schema };
        late.is_in_metadata = true;
        upkeep.write_commit(late.instant(), &update, &|| Ok(())).unwrap();
        let error = late.check_pending().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
        late.undo_metadata(&late.target.state().unwrap()).unwrap();
        let folder = if version < 8 { ".hoodie/metadata/.hoodie" } else { ".hoodie/metadata/.hoodie/timeline" };
        let left = table.local().list(folder).unwrap().unwrap();
        assert!(!left.iter().any(|entry| entry.name().starts_with(late.instant().as_str())), "{left:?}");
        drop(late);
        table.check_metadata(&format!("version {version}"));
        table.insert(table.store(), "h", &["c"]).unwrap();
        assert_eq!(table.keys(), set(&["a", "c", "v"]), "{version}");
        table.check_clean(&format!("version {version}"));
    }
}

#[test]
fn instants_are_later_than_those_of_the_metadata_table() {
    for version in [6, 9] {
        let table = Table::with_metadata(version);
        table.insert(table.store(), "f", &["a"]).unwrap();
        let mut failed = table.begin(WriteOperation::Insert).unwrap();
        failed.inflight(&HoodieCommitMetadata::default()).unwrap();
        drop(failed);
        put_later_clean(&table.local(), version);
        let planned = Cell::new(None);
        let location = TableLocation::new(&table.uri(), &StorageOptions::new());
        let target = WritableTable::open(&location, &table.options, "compact").unwrap();
        let plan = |_: &OpenTable, instant: &RequestedTime| {
            planned.set(Some(instant.clone()));
            Ok(None)
        };
        assert!(schedule(&target, Action::Compaction, &plan).unwrap().is_none());
        assert!(planned.take().is_some_and(|instant| instant.as_str() > LATER), "version {version}");
        let timeline = &target.reopen().unwrap().timeline;
        let mut rollbacks = timeline.instants().iter().filter(|instant| instant.action == Action::Rollback);
        assert!(rollbacks.all(|rollback| rollback.requested_time.as_str() > LATER), "{:?}", timeline.instants());
        let late = table.insert(table.store(), "g", &["b"]).unwrap();
        assert!(late.instant.as_str() > LATER, "version {version}");
        table.check_metadata(&format!("version {version}"));
    }
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let table = Table::shared(9);
    let keys: Vec<String> = (0..6).map(|writer| format!("k{writer}")).collect();
    std::thread::scope(|scope| {
        for key in &keys {
            let table = &table;
            scope.spawn(move || table.insert(table.store(), key, &[key.as_str()]).unwrap());
        }
    });
    assert_eq!(table.keys(), keys.iter().cloned().collect());
    table.check_clean("");
}

#[test]
fn tables_that_cannot_be_written_are_refused() {
    let table = Table::new(9);
    let place = table.local();
    let path = ".hoodie/timeline/20240101000000000.restore.requested";
    place.put(path, &bytes::Bytes::new(), None).unwrap();
    let error = table.begin(WriteOperation::Upsert).err().unwrap();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("restore"), "{error}");
}
