//! Writers and executions of plans that are taken for dead and go on: they leave what another process makes of a plan
//! alone, and nothing of their own. Hudi's compactions are the same from here: they roll back an execution without a
//! look at its heartbeat.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::StringArray;
use bytes::Bytes;

use super::stopped_services::{Options, Row, Table, batch, options};
use crate::distributed::{abort_task_insert, begin_task_insert};
use crate::{WriteInput, write};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_base::time::{SimulatedTime, Time};
use mortice_commit::commit::epoch_millis;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::{TimelineLayout, WriteOptions};
use mortice_services::compaction::write_base_files;
use mortice_services::transaction::{CommitExtra, Transaction, begin_service, give_up};
use mortice_services::{ServiceRequest, run_clustering, run_compaction, run_log_compaction};
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_storage::{LocalStorage, Storage};
use mortice_table::plan::WriteView;
use mortice_table::timeline::metadata::HoodieCommitMetadata;
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::assign::log_naming;
use mortice_write::rows::WriteSchema;
use mortice_write::write::{
    AppendHandle, AppendOptions, LogRows, LogTarget, MarkerKind, Markers, MetaColumns, WriteStatus, WriteToken,
};

const SHARED: [(&str, &str); 4] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "2"),
    ("hoodie.log.compaction.blocks.threshold", "2"),
];

/// What is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StalledService {
    Compaction,
    LogCompaction,
    Clustering,
}

impl StalledService {
    const ALL: [Self; 3] = [Self::Compaction, Self::LogCompaction, Self::Clustering];

    fn operation(self) -> WriteOperation {
        match self {
            Self::Compaction => WriteOperation::Compact,
            Self::LogCompaction => WriteOperation::LogCompact,
            Self::Clustering => WriteOperation::Cluster,
        }
    }

    fn options(self) -> Options {
        let mut options = options(&SHARED);
        if self != Self::LogCompaction {
            options.remove("hoodie.log.compaction.blocks.threshold");
        }
        options
    }

    /// Plans it, or executes what is planned.
    fn run(self, table: &Table, schedule: bool) -> Result<usize> {
        let (location, options) = (table.location(), self.options());
        let request = ServiceRequest { schedule, run: !schedule };
        Ok(match self {
            Self::Compaction => run_compaction(&location, request, &options)?.committed.len(),
            Self::LogCompaction => run_log_compaction(&location, request, &options)?.committed.len(),
            Self::Clustering => {
                let steps = ServiceRequest { schedule, run: !schedule };
                run_clustering(&location, steps, &options)?.commits.len()
            }
        })
    }
}

fn upsert(location: &TableLocation, row: Row) -> Result<()> {
    let rows = batch(&[row]);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(&SHARED);
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Upsert, input).map(drop)
}

/// A table with a plan that a process executes.
struct Stalled {
    table: Table,
    service: StalledService,
    options: Options,
    instant: RequestedTime,
}

impl Stalled {
    fn new(version: u8, service: StalledService) -> Self {
        let table = Table::new(version).with_logs(&SHARED);
        service.run(&table, true).unwrap();
        let timeline = &table.open(false).timeline;
        let pending: Vec<_> = timeline.pending_writes().map(|instant| instant.requested_time.clone()).collect();
        let [instant] = pending.try_into().unwrap();
        Self { table, service, options: service.options(), instant }
    }

    fn target(&self) -> Arc<WritableTable> {
        Arc::new(WritableTable::open(&self.table.location(), &self.options, "compact").unwrap())
    }

    fn begin(&self) -> Option<Transaction> {
        begin_service(&self.target(), self.service.operation(), &self.instant).unwrap()
    }

    fn begin_write(&self) -> Transaction {
        Transaction::begin(&self.target(), WriteOperation::Upsert).unwrap()
    }

    /// Lets the heartbeat of the process that executes the plan expire.
    fn stall(&self) {
        expire_heartbeat(&self.table, &self.instant);
    }

    /// Base files and logs.
    fn files(&self) -> BTreeSet<String> {
        let storage = LocalStorage::new(&self.table.uri(), true);
        let files = storage.list_recursively("").unwrap().into_iter().map(|(path, _)| path);
        files.filter(|path| !path.starts_with(".hoodie/") && is_data_file(path)).collect()
    }

    /// What a process writes after it was taken for dead: a base file of its own, whose marker another process has
    /// deleted or not.
    fn write_late(&self, late: &Transaction, has_marker: bool) {
        let path = format!("x/{}_0-0-77_{}.parquet", "late-0", self.instant);
        let content = self.files().into_iter().find(|path| Path::new(path).extension().is_some_and(|e| e == "parquet"));
        let content = std::fs::read(self.table.folder.path().join(content.unwrap())).unwrap();
        if has_marker {
            Markers::new(Arc::clone(late.store()), &self.instant).create(&path, MarkerKind::Create).unwrap();
        }
        let mut upload = late.store().upload(&path).unwrap();
        upload.write(Bytes::from(content)).unwrap();
        upload.finish().unwrap();
    }

    fn rows(&self) -> [BTreeSet<(String, i64)>; 2] {
        [self.table.rows(true), self.table.rows(false)]
    }
}

fn expire_heartbeat(table: &Table, instant: &RequestedTime) {
    let path = table.folder.path().join(".hoodie/.heartbeat").join(instant.as_str());
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified - Duration::from_secs(200)).unwrap();
}

fn is_data_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap();
    BaseFileName::parse(name).is_some() || LogFileName::parse(name).is_some()
}

fn failure() -> Error {
    Error::new(ErrorKind::Io, "a file is gone")
}

#[test]
fn a_stalled_execution_leaves_the_completed_one_of_another_process_alone() {
    for (version, service) in
        [6, 9].into_iter().flat_map(|version| StalledService::ALL.map(|service| (version, service)))
    {
        for (has_marker, commits) in [(true, false), (false, false), (true, true)] {
            let context = format!("version {version}, {service:?}, marker {has_marker}, commits {commits}");
            let stalled = Stalled::new(version, service);
            let before = stalled.rows();
            let late = stalled.begin().unwrap();
            assert!(stalled.begin().is_none(), "{context}");
            stalled.stall();
            assert_eq!(stalled.service.run(&stalled.table, false).unwrap(), 1, "{context}");
            stalled.table.upsert(&[("n", "x", 1), ("a", "x", 9)], &SHARED);
            let (rows, files) = (stalled.rows(), stalled.files());
            assert!(rows[0] == rows[1] && rows[0].len() == before[0].len() + 1, "{context}");
            stalled.write_late(&late, has_marker);
            if commits {
                let error = late.commit(Vec::new(), &CommitExtra::default()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
            } else {
                let error = late.abort(&failure()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
                assert!(error.to_string().contains("a file is gone"), "{context}: {error}");
            }
            assert_eq!(stalled.rows(), rows, "{context}");
            assert_eq!(stalled.files(), files, "{context}");
            stalled.table.check_clean(&context);
        }
    }
}

#[test]
fn a_stalled_execution_that_is_killed_leaves_no_rows_to_the_completed_one() {
    for version in [6, 9] {
        let stalled = Stalled::new(version, StalledService::Clustering);
        let late = stalled.begin().unwrap();
        stalled.stall();
        stalled.service.run(&stalled.table, false).unwrap();
        let files = stalled.files();
        stalled.write_late(&late, true);
        drop(late);
        stalled.table.upsert(&[("n", "z", 1)], &SHARED);
        let left: Vec<_> = stalled.files().difference(&files).cloned().collect();
        assert!(left.iter().all(|path| !path.contains(stalled.instant.as_str())), "{left:?}");
        stalled.table.check_clean("");
    }
}

#[test]
fn a_stalled_execution_leaves_that_of_another_process_under_way_alone() {
    for version in [6, 9] {
        for commits in [false, true] {
            let context = format!("version {version}, commits {commits}");
            let stalled = Stalled::new(version, StalledService::Compaction);
            let rows = stalled.rows();
            let late = stalled.begin().unwrap();
            stalled.stall();
            let other = stalled.begin().unwrap();
            let (statuses, schema) = write_base_files(&other).unwrap();
            let files = stalled.files();
            stalled.write_late(&late, false);
            if commits {
                let error = late.commit(Vec::new(), &CommitExtra::default()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
            } else {
                let error = late.abort(&failure()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
                assert!(error.to_string().contains("a file is gone"), "{context}: {error}");
            }
            assert_eq!(stalled.files(), files, "{context}");
            let extra = CommitExtra { schema: schema.json().to_owned(), ..CommitExtra::default() };
            other.commit(statuses, &extra).unwrap();
            assert_eq!((stalled.rows(), stalled.files()), (rows, files), "{context}");
            stalled.table.check_clean(&context);
        }
    }
}

/// A write of an existing slice that has written nothing yet.
struct BegunWrite {
    write: Transaction,
    view: WriteView,
}

impl BegunWrite {
    fn new(table: &Table) -> Self {
        let target = Arc::new(WritableTable::open(&table.location(), &options(&SHARED), "upsert").unwrap());
        let mut write = Transaction::begin(&target, WriteOperation::Upsert).unwrap();
        let view = write.table().write_view(None).unwrap();
        write.inflight(&HoodieCommitMetadata::default()).unwrap();
        Self { write, view }
    }

    /// Writes a log file.
    fn append(&self) -> Vec<WriteStatus> {
        let Self { write, view } = self;
        let slice = view.slices.iter().find(|slice| slice.partition == "x").unwrap();
        let target = LogTarget {
            partition: slice.partition.clone(),
            file_id: slice.file_id.clone(),
            instant: write.instant().clone(),
            token: WriteToken { task: 0, stage: 0, attempt: 77 },
            naming: log_naming(view, &write.table().config, slice),
        };
        let schema = WriteSchema::of_table(write.table()).unwrap().stored;
        let store = Arc::clone(write.store());
        let options = AppendOptions::resolve(&WriteOptions::default(), TimelineLayout::V2).unwrap();
        let mut handle = AppendHandle::new(store, &schema, target, None, options).unwrap();
        let (rows, keys) = (batch(&[("a", "x", 777)]), StringArray::from(vec!["a"]));
        let meta = MetaColumns::Computed { record_keys: &keys };
        handle.upsert(&LogRows { data: &rows, meta, inserts: None, positions: None }).unwrap();
        handle.finish().unwrap()
    }
}

/// A write that another writer takes for dead and rolls back, before it has written the log file that it writes now.
fn rolled_back_write(table: &Table) -> (Transaction, Vec<WriteStatus>) {
    let late = BegunWrite::new(table);
    expire_heartbeat(table, late.write.instant());
    table.upsert(&[("c", "y", 4)], &SHARED);
    let statuses = late.append();
    (late.write, statuses)
}

#[test]
fn a_log_that_is_begun_while_its_write_is_rolled_back_is_undone() {
    for version in [6, 9] {
        for moment in [".rollback.inflight", ".rollback"] {
            let context = format!("version {version}, before {moment}");
            let table = Table::new(version).with_logs(&SHARED);
            let late = BegunWrite::new(&table);
            expire_heartbeat(&table, late.write.instant());
            let is_moment = move |path: &str| path.ends_with(moment) && !path.contains("metadata");
            let inner = Arc::new(LocalStorage::new(&table.uri(), true));
            // Its writer is alive, and is killed then.
            let meanwhile: Meanwhile = Box::new(move || drop(late.append()));
            let store = InterruptedStore::new(inner, is_moment, vec![meanwhile]);
            let location = TableLocation::in_store(Arc::clone(&store) as _, &table.uri());
            upsert(&location, ("c", "y", 4)).unwrap();
            assert!(store.was_interrupted(), "{context}");
            table.upsert(&[("b", "x", 5)], &SHARED);
            assert!(table.rows(true) == table.rows(false), "{context}");
            assert!(!table.rows(false).contains(&("a".to_owned(), 777)), "{context}");
            table.check_clean(&context);
        }
    }
}

#[test]
fn a_write_that_was_rolled_back_leaves_no_log() {
    for version in [6, 9] {
        for end in ["commit", "abort", "abort without markers", "kill"] {
            let context = format!("version {version}, {end}");
            let table = Table::new(version).with_logs(&SHARED);
            let (late, statuses) = rolled_back_write(&table);
            let log = table.folder.path().join(&statuses[0].file.as_ref().unwrap().path);
            assert!(log.exists(), "{context}");
            match end {
                "commit" => {
                    let error = late.commit(statuses, &CommitExtra::default()).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
                }
                "kill" => {
                    drop(late);
                    table.upsert(&[("c", "y", 5)], &SHARED);
                }
                _ => {
                    if end == "abort without markers" {
                        Markers::new(Arc::clone(late.store()), late.instant()).remove().unwrap();
                    }
                    let error = late.abort(&failure()).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
                }
            }
            assert!(!log.exists(), "{context}");
            assert!(table.rows(true) == table.rows(false), "{context}");
            assert!(!table.rows(false).contains(&("a".to_owned(), 777)), "{context}");
            table.check_clean(&context);
        }
    }
}

#[test]
fn a_write_is_not_undone_if_it_is_not_known_whether_it_is_committed() {
    let table = Table::new(9).with_logs(&[]);
    let columns = batch(&[("n", "x", 1)]).schema();
    let (state, _) = begin_task_insert(&table.location(), WriteOperation::Insert, &columns, &Options::new()).unwrap();
    let folder = table.folder.path().join(".hoodie/.aux/open_writes");
    let [mark] =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    // A link to itself can be deleted and not be read.
    std::fs::remove_file(&mark).unwrap();
    std::os::unix::fs::symlink(&mark, &mark).unwrap();
    let pending = || table.open(false).timeline.pending_writes().count();
    let error = abort_task_insert(&state, &failure()).unwrap_err();
    assert_ne!(error.kind(), ErrorKind::WriteConflict, "{error}");
    assert_eq!(pending(), 1);
    std::fs::remove_file(&mark).unwrap();
    abort_task_insert(&state, &failure()).unwrap();
    assert_eq!(pending(), 1, "the second process has begun");
    std::fs::write(&mark, "").unwrap();
    abort_task_insert(&state, &failure()).unwrap();
    assert_eq!(pending(), 0);
}

#[test]
fn a_service_that_fails_after_a_write_says_that_the_write_is_committed() {
    let table = Table::new(9).with_logs(&[]);
    table.upsert(&[("c", "y", 2)], &[]);
    let logs = std::fs::read_dir(table.folder.path().join("y")).unwrap().map(|entry| entry.unwrap().path());
    for log in logs.filter(|path| path.to_string_lossy().contains(".log.")) {
        std::fs::remove_file(log).unwrap();
    }
    let rows = batch(&[("n", "x", 1)]);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(&[("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")]);
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    let error = write(&table.location(), WriteOperation::Upsert, input).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TableService, "{error}");
    let instant = RequestedTime::from(error.location().instant.clone().unwrap().as_str());
    assert!(table.open(false).timeline.is_completed(&instant), "{error}");
    assert!(error.to_string().contains("compaction") && error.to_string().contains(".log."), "{error}");
}

/// What brings the times of rollbacks onto the timeline, and its name.
type Undoing = (&'static str, fn(&Stalled));

/// Every way in which the times of rollbacks come onto the timeline.
const UNDOINGS: [Undoing; 5] = [
    ("an execution is begun after one that was stopped", |stalled| {
        let late = stalled.begin().unwrap();
        stalled.stall();
        assert!(stalled.begin().is_some());
        drop(late);
    }),
    ("a plan is given up", |stalled| give_up(&stalled.target(), &stalled.instant).unwrap()),
    ("a write rolls a plan back", |stalled| {
        let write = stalled.begin_write();
        write.roll_back_plans(&BTreeSet::from([stalled.instant.clone()])).unwrap();
    }),
    ("an execution is given up", |stalled| stalled.begin().unwrap().abort(&failure()).unwrap()),
    ("a write is given up", |stalled| stalled.begin_write().abort(&failure()).unwrap()),
];

#[test]
fn the_lock_is_held_until_all_clocks_are_past_the_times_of_rollbacks() {
    let skew = 500;
    for (what, undo) in UNDOINGS {
        let mut stalled = Stalled::new(9, StalledService::Compaction);
        stalled.options.insert("hoodie.time.generator.max_expected_clock_skew_ms".into(), skew.to_string());
        // The time of the last instant.
        let timeline = stalled.table.folder.path().join(".hoodie/timeline");
        let time = SimulatedTime::starting_at(timeline.metadata().unwrap().modified().unwrap().into());
        let store = LocalStorage::new(&stalled.table.uri(), true).in_time(Arc::new(time.clone()));
        stalled.table.store = Some(Arc::new(store));
        undo(&stalled);
        let now = time.now().timestamp_millis();
        let table = stalled.table.open(false);
        let rollbacks = table.timeline.instants().iter().filter(|instant| instant.action == Action::Rollback);
        let newest = rollbacks.map(|instant| instant.completion_time.as_ref().unwrap().to_string()).max().expect(what);
        let waited = now - epoch_millis(&newest, table.config.timeline_zone).unwrap();
        assert!(waited >= skew, "{what}: {waited} ms");
    }
}
