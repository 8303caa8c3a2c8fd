//! Table services that are stopped at their changes to the storage, before or after the change takes place: readers see
//! the same rows, with the metadata table and without, and the service is repeated, at once or after another write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::Schema;

use super::stops;
use crate::{WriteInput, write};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{NewTable, create_table};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_formats::filter::Filter;
use mortice_merge::config::{ReadOptions, TableType, TableVersion};
use mortice_services::{
    Cleaning, FindingKind, MetadataBuildRequest, SavepointRequest, ServiceRequest, VerifyOptions, VerifyReport,
    run_log_compaction, run_metadata_build, run_restore, run_rollback, run_savepoint, verify,
};
use mortice_storage::failing_store::FailingStore;
use mortice_storage::{FileStore, LocalStorage, StorageOptions};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};
use mortice_table::timeline::WriteOperation;

pub(super) type Options = BTreeMap<String, String>;
pub(super) type Row = (&'static str, &'static str, i64);

pub(super) const FIRST: [Row; 3] = [("a", "x", 1), ("b", "x", 1), ("c", "y", 1)];
const NEXT: Row = ("n", "x", 1);
const THRESHOLD: [(&str, &str); 1] = [("hoodie.log.compaction.blocks.threshold", "2")];
const NO_METADATA: [(&str, &str); 1] = [("hoodie.metadata.enable", "false")];

pub(super) fn options(entries: &[(&str, &str)]) -> Options {
    entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn batch(rows: &[Row]) -> RecordBatch {
    let text = |column: Vec<&str>| Arc::new(StringArray::from(column)) as ArrayRef;
    let columns = [
        ("id", text(rows.iter().map(|row| row.0).collect())),
        ("city", text(rows.iter().map(|row| row.1).collect())),
        ("ts", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))) as ArrayRef),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

pub(super) struct Table {
    pub(super) folder: Rc<tempfile::TempDir>,
    pub(super) version: u8,
    /// What it is changed through, if not its folder.
    pub(super) store: Option<Arc<dyn FileStore>>,
}

impl Table {
    pub(super) fn new(version: u8) -> Self {
        Self::of_type(version, TableType::MergeOnRead)
    }

    pub(super) fn of_type(version: u8, table_type: TableType) -> Self {
        Self::created(version, table_type, batch(&FIRST).schema_ref())
    }

    /// With other columns, `id`, `city` and `ts` among them.
    pub(super) fn of_columns(version: u8, columns: &Schema) -> Self {
        Self::created(version, TableType::MergeOnRead, columns)
    }

    pub(super) fn created(version: u8, table_type: TableType, columns: &Schema) -> Self {
        let table = Self { folder: Rc::new(tempfile::tempdir().unwrap()), version, store: None };
        let new = NewTable {
            name: "t".into(),
            version: TableVersion::for_new_table(version).unwrap(),
            table_type,
            record_key: vec!["id".into()],
            partition_by: vec!["city".into()],
            ordering: vec!["ts".into()],
            properties: BTreeMap::new(),
        };
        create_table(&LocalStorage::new(&table.uri(), true), &new, columns).unwrap();
        table
    }

    /// A base file and two logs in one partition, a base file in the other.
    pub(super) fn with_logs(self, given: &[(&str, &str)]) -> Self {
        self.upsert(&FIRST, given);
        self.upsert(&[("a", "x", 3)], given);
        self.upsert(&[("a", "x", 2), ("b", "x", 2)], given);
        self
    }

    pub(super) fn copy(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy_files(self.folder.path(), folder.path());
        Self { folder: Rc::new(folder), version: self.version, store: None }
    }

    /// The same table, changed through a store whose changes fail from one of them on.
    pub(super) fn failing(&self, limit: usize, is_lost: bool) -> (Self, Arc<FailingStore>) {
        let store = Arc::new(FailingStore::new(LocalStorage::new(&self.uri(), true), limit, is_lost));
        let (folder, changed) = (Rc::clone(&self.folder), Arc::clone(&store) as Arc<dyn FileStore>);
        (Self { folder, version: self.version, store: Some(changed) }, store)
    }

    pub(super) fn location(&self) -> TableLocation {
        match &self.store {
            Some(store) => TableLocation::in_store(Arc::clone(store), &self.uri()),
            None => TableLocation::new(&self.uri(), &StorageOptions::new()),
        }
    }

    pub(super) fn uri(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    pub(super) fn upsert(&self, rows: &[Row], given: &[(&str, &str)]) -> RequestedTime {
        self.write(WriteOperation::Upsert, batch(rows), given)
    }

    pub(super) fn write(&self, operation: WriteOperation, rows: RecordBatch, given: &[(&str, &str)]) -> RequestedTime {
        let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
        let input =
            WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &options(given), validator: None };
        write(&self.location(), operation, input).unwrap().committed.instant
    }

    pub(super) fn open(&self, metadata: bool) -> Arc<OpenTable> {
        let options = ReadOptions { metadata, ..ReadOptions::default() };
        Arc::new(OpenTable::open(&self.uri(), &StorageOptions::new(), options).unwrap())
    }

    pub(super) fn rows(&self, metadata: bool) -> BTreeSet<(String, i64)> {
        self.all_rows(metadata).into_iter().collect()
    }

    /// The rows, sorted; those of a key that is there twice as well.
    pub(super) fn all_rows(&self, metadata: bool) -> Vec<(String, i64)> {
        let scan = self.open(metadata).snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
        let rows = scan.stream().flat_map(|batch| {
            let batch = batch.unwrap();
            let ids = batch.column_by_name("id").unwrap().as_string::<i32>().clone();
            let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>().clone();
            let row = |at: usize| (ids.value(at).to_owned(), times.value(at));
            (0..batch.num_rows()).map(row).collect::<Vec<_>>()
        });
        let mut rows: Vec<(String, i64)> = rows.collect();
        rows.sort();
        rows
    }

    /// The partitions of the metadata table that the table's properties name.
    pub(super) fn partitions(&self) -> BTreeSet<String> {
        self.open(false).config.metadata_partitions.iter().cloned().collect()
    }

    pub(super) fn check_rows(&self, expected: &BTreeSet<(String, i64)>, context: &str) {
        let slices = |metadata| self.open(metadata).file_slices(None, &Filter::default()).unwrap();
        // Up to version 7 storage has logs whose blocks are of no completed instant.
        assert!(self.version < 8 || slices(true) == slices(false), "{context}");
        assert_eq!(self.rows(true), *expected, "{context}");
        assert_eq!(self.rows(false), *expected, "{context}");
    }

    pub(super) fn verify(&self) -> VerifyReport {
        let options = VerifyOptions { contents: true, ..VerifyOptions::default() };
        verify(&self.location(), &options).unwrap()
    }

    /// Nothing is pending in the table or its metadata table, and nothing was left behind.
    pub(super) fn check_clean(&self, context: &str) {
        for root in ["", ".hoodie/metadata"] {
            let below = if self.version < 8 { ".hoodie" } else { ".hoodie/timeline" };
            let pending = pending_instants(&self.folder.path().join(root).join(below));
            assert!(pending.is_empty(), "{context}: pending below {root:?}: {pending:?}");
        }
        let mut findings = self.verify().findings;
        // The next write removes markers and heartbeats that a completed service left in the metadata table.
        findings.retain(|one| {
            let passes = matches!(one.kind, FindingKind::StaleMarkers | FindingKind::DeadHeartbeat);
            !(passes && one.path.starts_with(".hoodie/metadata/"))
        });
        assert!(findings.is_empty(), "{context}: {findings:?}");
        let listed = self.partitions();
        for partition in ["files", "column_stats", "partition_stats", "record_index", "bloom_filters"] {
            let left = files_below(&self.folder.path().join(".hoodie/metadata").join(partition));
            assert!(listed.contains(partition) || left.is_empty(), "{context}: {partition}: {left:?}");
        }
    }
}

pub(super) fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_files(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files_below(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// The requested times of a timeline that have no completed file.
fn pending_instants(folder: &Path) -> Vec<String> {
    let names = files_below(folder);
    let is_pending = |name: &str| name.ends_with(".requested") || name.ends_with(".inflight");
    let time = |name: &str| name.split(['.', '_']).next().unwrap_or_default().to_owned();
    let completed: BTreeSet<String> =
        names.iter().filter(|name| !name.starts_with('.') && !is_pending(name)).map(|name| time(name)).collect();
    names.into_iter().filter(|name| is_pending(name) && !completed.contains(&time(name))).collect()
}

/// A service on a table.
struct StoppedService<'a> {
    name: &'a str,
    run: &'a dyn Fn(&Table) -> Result<()>,
    /// Options of other writers.
    others: &'a [(&'a str, &'a str)],
    /// The rows after it.
    after: BTreeSet<(String, i64)>,
    /// The partitions of the metadata table after it.
    partitions: BTreeSet<String>,
    /// Whether the rows are the same before it, and other writers may write while it is stopped.
    has_others: bool,
}

/// Stops a service at its changes, each time at another one. Returns the number of changes.
fn stop_everywhere(origin: &Table, service: &StoppedService<'_>, is_lost: bool) -> usize {
    for stopped in stops(5) {
        let context = format!("{}, version {}, stopped at {stopped}, lost {is_lost}", service.name, origin.version);
        let table = origin.copy();
        let (failing, store) = table.failing(stopped, is_lost);
        let done = (service.run)(&failing);
        let changes = store.changes();
        let is_done = changes <= stopped;
        // Once it is complete, what is left is the next writer's.
        assert!(done.is_ok() || !is_done, "{context}: {:?}", done.err());
        let mut after = service.after.clone();
        assert_eq!(table.rows(true), table.rows(false), "{context}");
        if service.has_others {
            let findings = table.verify().findings;
            let differs = [FindingKind::StoredNotListed, FindingKind::ListedNotStored];
            assert!(!findings.iter().any(|one| differs.contains(&one.kind)), "{context}: {findings:?}");
            table.check_rows(&after, &context);
            if stopped % 2 == 1 {
                table.upsert(&[NEXT], service.others);
                after.insert((NEXT.0.to_owned(), NEXT.2));
                table.check_rows(&after, &format!("{context}, then a write"));
            }
        }
        (service.run)(&table).unwrap_or_else(|error| panic!("{context}, repeated: {error}"));
        table.check_rows(&after, &format!("{context}, repeated"));
        assert_eq!(table.partitions(), service.partitions, "{context}");
        table.check_clean(&context);
        if is_done {
            return changes;
        }
    }
    unreachable!()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn log_compact_table(table: &Table) -> Result<()> {
    let request = ServiceRequest::BOTH;
    run_log_compaction(&table.location(), request, &options(&THRESHOLD)).map(drop)
}

#[test]
fn a_log_compaction_goes_on_wherever_it_was_stopped() {
    for (version, is_lost) in [(6, false), (9, false), (9, true)] {
        let table = Table::new(version).with_logs(&[]);
        let (after, partitions) = (table.rows(false), table.partitions());
        let service = StoppedService {
            name: "log compaction",
            run: &log_compact_table,
            others: &[],
            after,
            partitions,
            has_others: true,
        };
        assert!(stop_everywhere(&table, &service, is_lost) > 10);
    }
}

#[test]
fn a_clean_goes_on_wherever_it_was_stopped() {
    let keep = [("hoodie.clean.commits.retained", "1")];
    let others = [("hoodie.clean.automatic", "false"), ("hoodie.parquet.small.file.limit", "0")];
    let compacting = [others[0], ("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")];
    for (version, is_lost) in [(6, false), (9, false), (9, true)] {
        let table = Table::new(version).with_logs(&compacting);
        let (after, partitions) = (table.rows(false), table.partitions());
        let run = |table: &Table| {
            let target = WritableTable::open(&table.location(), &options(&keep), "clean")?;
            Cleaning::new(&target)?.run().map(drop)
        };
        let service = StoppedService { name: "clean", run: &run, others: &others, after, partitions, has_others: true };
        assert!(stop_everywhere(&table, &service, is_lost) > 10);
    }
}

fn change_metadata(table: &Table, request: &MetadataBuildRequest) -> Result<()> {
    run_metadata_build(&table.location(), request, &Options::new()).map(drop)
}

/// Stops a change of the metadata table at each of its changes.
fn stop_metadata_changes(
    table: &Table,
    name: &str,
    request: &MetadataBuildRequest,
    partitions: &[&str],
    is_lost: bool,
) {
    let others: &[(&str, &str)] = if request.deletes { &NO_METADATA } else { &[] };
    let service = StoppedService {
        name,
        run: &|table| change_metadata(table, request),
        others,
        after: table.rows(false),
        partitions: set(partitions),
        has_others: true,
    };
    let changes = stop_everywhere(table, &service, is_lost);
    assert!(changes > 7, "{name}: {changes}");
}

fn adding(names: &[&str]) -> MetadataBuildRequest {
    MetadataBuildRequest { added: set(names).into_iter().collect(), ..MetadataBuildRequest::default() }
}

fn dropping(names: &[&str]) -> MetadataBuildRequest {
    MetadataBuildRequest { dropped: set(names).into_iter().collect(), ..MetadataBuildRequest::default() }
}

/// Other partitions than a new metadata table gets: those that are added and dropped, and what it has then.
fn other_partitions(version: u8) -> (MetadataBuildRequest, &'static [&'static str]) {
    match version {
        6 => (adding(&["column_stats"]), &["files", "column_stats"]),
        _ => (dropping(&["column_stats", "partition_stats"]), &["files"]),
    }
}

#[test]
fn a_metadata_table_is_built_wherever_that_was_stopped() {
    for (version, is_lost) in [(6, false), (9, true)] {
        let table = Table::new(version).with_logs(&NO_METADATA);
        let (request, partitions) = other_partitions(version);
        stop_metadata_changes(&table, "build", &request, partitions, is_lost);
    }
}

#[test]
fn a_metadata_table_is_built_again_with_its_partitions_wherever_that_was_stopped() {
    for version in [6, 9] {
        let table = Table::new(version).with_logs(&NO_METADATA);
        let (request, partitions) = other_partitions(version);
        change_metadata(&table, &request).unwrap();
        let request = MetadataBuildRequest { rebuilds: true, ..MetadataBuildRequest::default() };
        stop_metadata_changes(&table, "rebuild", &request, partitions, false);
    }
}

#[test]
fn indexes_are_added_and_dropped_and_a_metadata_table_is_deleted_wherever_that_was_stopped() {
    for (version, is_lost) in [(6, false), (9, true)] {
        let table = Table::new(version).with_logs(&NO_METADATA);
        change_metadata(&table, &MetadataBuildRequest::default()).unwrap();
        let (request, partitions) = other_partitions(version);
        stop_metadata_changes(&table, "add or drop", &request, partitions, is_lost);
        let request = MetadataBuildRequest { deletes: true, ..MetadataBuildRequest::default() };
        stop_metadata_changes(&table, "delete", &request, &[], is_lost);
    }
}

#[test]
fn statistics_of_other_columns_are_built_wherever_that_was_stopped() {
    let table = Table::new(9).with_logs(&[]);
    let columns = options(&[("hoodie.metadata.index.column.stats.column.list", "ts")]);
    let run =
        |table: &Table| run_metadata_build(&table.location(), &MetadataBuildRequest::default(), &columns).map(drop);
    let (after, partitions) = (table.rows(false), set(&["files", "column_stats", "partition_stats"]));
    let service = StoppedService { name: "columns", run: &run, others: &[], after, partitions, has_others: true };
    assert!(stop_everywhere(&table, &service, false) > 10);
}

/// Whether the metadata table was rolled back: a new one has no rollbacks.
fn is_rolled_back(table: &Table) -> bool {
    let names = files_below(&table.folder.path().join(".hoodie/metadata/.hoodie/timeline"));
    names.iter().any(|name| name.ends_with(".rollback"))
}

#[test]
fn a_rollback_goes_on_wherever_it_was_stopped() {
    // The metadata table is built again where it got an index after the write.
    for (version, is_kept, is_lost) in [(6, true, false), (6, false, false), (9, true, true), (9, false, false)] {
        let table = Table::new(version).with_logs(&[]);
        let after = table.rows(false);
        let undone = table.upsert(&[("a", "x", 5), ("d", "z", 1)], &[]);
        if !is_kept {
            change_metadata(&table, &adding(&["bloom_filters"])).unwrap();
        }
        let run = |table: &Table| {
            let done = run_rollback(&table.location(), undone.as_str(), &Options::new());
            match done {
                // Nothing is left of it but, maybe, a metadata table to build.
                Err(error) if error.kind() == mortice_base::ErrorKind::InvalidArgument => {
                    change_metadata(table, &MetadataBuildRequest::default())
                }
                done => done.map(drop),
            }
        };
        let partitions = table.partitions();
        let service = StoppedService { name: "rollback", run: &run, others: &[], after, partitions, has_others: false };
        let changes = stop_everywhere(&table, &service, is_lost);
        assert!(changes > 10, "{changes}");
        run(&table).unwrap();
        assert!(version < 8 || is_rolled_back(&table) == is_kept, "{version} {is_kept}");
        table.upsert(&[NEXT], &[]);
        table.check_clean("after the rollback");
    }
}

#[test]
fn a_restore_goes_on_wherever_it_was_stopped() {
    // The metadata table is built again up to version 7, and where it got an index after the savepoint.
    let index = [("hoodie.metadata.record.index.enable", "true")];
    #[expect(clippy::type_complexity, reason = "a table of cases")]
    let cases: [(u8, &[(&str, &str)], bool, bool); 3] =
        [(6, &[], false, false), (9, &[], true, true), (9, &index, false, false)];
    for (version, given, is_kept, is_lost) in cases {
        let table = Table::new(version).with_logs(&[]);
        let kept = table.upsert(&[("a", "x", 4)], &[("hoodie.metadata.index.bloom.filter.enable", "false")]);
        let (location, none) = (table.location(), Options::new());
        run_savepoint(&location, &SavepointRequest { instant: kept.to_string(), ..SavepointRequest::default() }, &none)
            .unwrap();
        let after = table.rows(false);
        let never = ("hoodie.metadata.compact.max.delta.commits", "100");
        table.upsert(&[("a", "x", 5), ("d", "z", 1)], &[never]);
        table.upsert(&[("b", "x", 6)], &[given, &[never]].concat());
        table.upsert(&[("b", "x", 7), ("e", "y", 1)], &[never, ("hoodie.compact.inline", "true")]);
        let run = |table: &Table| run_restore(&table.location(), kept.as_str(), &Options::new()).map(drop);
        let partitions = table.partitions();
        let service = StoppedService { name: "restore", run: &run, others: &[], after, partitions, has_others: false };
        let changes = stop_everywhere(&table, &service, is_lost);
        assert!(changes > 20, "{changes}");
        run(&table).unwrap();
        assert_eq!(is_rolled_back(&table), is_kept, "{version} {given:?}");
        table.upsert(&[NEXT], &[]);
        assert!(table.rows(true).contains(&(NEXT.0.to_owned(), NEXT.2)));
        table.check_clean("after the restore");
    }
}
