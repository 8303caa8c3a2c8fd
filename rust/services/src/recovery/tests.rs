//! What cleans have deleted, on tables made by hand: restores, savepoints, rollbacks and queries that need it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::requested_restore::{RestoreResult, plan_restore, run_restore};
use super::requested_rollback::plan_rollback;
use super::savepoint::{SavepointRequest, plan_savepoint, run_savepoint};
use mortice_base::error::{ErrorKind, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_formats::filter::Filter;
use mortice_merge::config::ReadOptions;
use mortice_storage::interrupted_store::InterruptedStore;
use mortice_storage::{FileStore, FolderEntry, LocalStorage, Storage, StorageOptions};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::metadata::{
    HoodieCleanFileInfo, HoodieCleanMetadata, HoodieCleanerPlan, HoodieReplaceCommitMetadata, HoodieSavepointMetadata,
    HoodieSavepointPartitionMetadata, OrderedMap, TimelineMetadata,
};

fn time(day: u8) -> String {
    format!("202401{day:02}000000000")
}

fn base(file_id: &str, day: u8) -> String {
    format!("{file_id}_0-1-2_{}.parquet", time(day))
}

struct Table {
    root: tempfile::TempDir,
    version: u8,
}

impl Table {
    /// Writes of the first three days. The third has replaced the file group `f` of the others by `g`.
    fn new(version: u8) -> Self {
        let table = Self { root: tempfile::tempdir().unwrap(), version };
        let layout = if version < 8 { 1 } else { 2 };
        let properties = format!(
            "hoodie.table.name=t\nhoodie.table.version={version}\nhoodie.timeline.layout.version={layout}\n\
             hoodie.table.type=COPY_ON_WRITE\nhoodie.table.timeline.timezone=UTC\nhoodie.table.partition.fields=p\n\
             hoodie.table.recordkey.fields=id\n"
        );
        table.put(".hoodie/hoodie.properties", properties.as_bytes());
        table.put("p/.hoodie_partition_metadata", b"");
        for (file_id, day) in [("f", 1), ("f", 2), ("g", 3)] {
            table.put(&format!("p/{}", base(file_id, day)), b"rows");
        }
        table.complete(1, "commit", b"", b"");
        table.complete(2, "commit", b"", b"");
        let replace = HoodieReplaceCommitMetadata {
            partition_to_replace_file_ids: Some(OrderedMap::from_iter([("p", vec!["f".to_owned()])])),
            operation_type: Some("INSERT_OVERWRITE".to_owned()),
            ..HoodieReplaceCommitMetadata::default()
        };
        let content = if version < 8 { replace.to_json() } else { replace.to_avro().unwrap() };
        table.complete(3, "replacecommit", b"", &content);
        table
    }

    fn local(&self) -> LocalStorage {
        LocalStorage::new(&self.uri(), true)
    }

    fn location(&self) -> TableLocation {
        TableLocation::new(&self.uri(), &StorageOptions::default())
    }

    fn uri(&self) -> String {
        self.root.path().to_string_lossy().into_owned()
    }

    fn put(&self, path: &str, content: &[u8]) {
        self.local().put(path, &Bytes::copy_from_slice(content), None).unwrap();
    }

    fn folder(&self) -> &'static str {
        if self.version < 8 { ".hoodie" } else { ".hoodie/timeline" }
    }

    fn complete(&self, day: u8, action: &str, plan: &[u8], content: &[u8]) {
        let (time, folder) = (time(day), self.folder());
        let completion =
            if self.version < 8 { String::new() } else { format!("_{}", time.replace("000000000", "000001000")) };
        self.put(&format!("{folder}/{time}.{action}.requested"), plan);
        self.put(&format!("{folder}/{time}.{action}.inflight"), b"");
        self.put(&format!("{folder}/{time}{completion}.{action}"), content);
    }

    /// The plan of a clean.
    fn clean_plan(&self, names: &[String]) -> Vec<u8> {
        let file = |name: &String| HoodieCleanFileInfo {
            file_path: Some(format!("{}/p/{name}", self.uri())),
            is_bootstrap_base_file: Some(false),
            ..HoodieCleanFileInfo::default()
        };
        let plan = HoodieCleanerPlan {
            version: Some(2),
            file_paths_to_be_deleted_per_partition: Some(OrderedMap::from_iter([(
                "p",
                names.iter().map(file).collect::<Vec<_>>(),
            )])),
            ..HoodieCleanerPlan::default()
        };
        plan.to_avro().unwrap()
    }

    /// A clean on a day that deletes files, without those that it fails to delete.
    fn clean(&self, day: u8, retained: Option<u8>, names: &[String], failed: &[String]) {
        let clean = HoodieCleanMetadata {
            earliest_commit_to_retain: retained.map_or_else(String::new, time),
            ..HoodieCleanMetadata::default()
        };
        self.complete(day, "clean", &self.clean_plan(names), &clean.to_avro().unwrap());
        for name in names.iter().filter(|name| !failed.contains(name)) {
            self.local().delete(&format!("p/{name}")).unwrap();
        }
    }

    fn keep(&self, day: u8, names: &[String]) {
        let kept = HoodieSavepointPartitionMetadata {
            partition_path: "p".into(),
            savepoint_data_file: names.to_vec(),
            ..HoodieSavepointPartitionMetadata::default()
        };
        let savepoint = HoodieSavepointMetadata {
            partition_metadata: OrderedMap::from_iter([("p", kept)]),
            version: Some(1),
            ..HoodieSavepointMetadata::default()
        };
        self.complete(day, "savepoint", b"", &savepoint.to_avro().unwrap());
    }

    /// The names of the files that a query reads.
    fn read(&self, day: u8) -> std::result::Result<Vec<String>, ErrorKind> {
        let table = OpenTable::open(&self.uri(), &StorageOptions::default(), ReadOptions::default()).unwrap();
        let slices = table.file_slices(Some(&time(day)), &Filter::default()).map_err(|error| error.kind())?;
        Ok(slices.iter().flat_map(|slice| slice.names().map(str::to_owned)).collect())
    }

    fn savepoint(&self, day: u8) -> std::result::Result<usize, ErrorKind> {
        let request = SavepointRequest { instant: time(day), ..SavepointRequest::default() };
        let created = plan_savepoint(&self.location(), &request, &options());
        created.map(|created| created.files.values().map(BTreeMap::len).sum()).map_err(|error| error.kind())
    }

    fn restore(&self, day: u8, is_dry_run: bool) -> Result<RestoreResult> {
        let restore = if is_dry_run { plan_restore } else { run_restore };
        restore(&self.location(), &time(day), &options())
    }

    fn roll_back(&self, day: u8) -> std::result::Result<(), ErrorKind> {
        let undone = plan_rollback(&self.location(), &time(day), &options());
        undone.map(drop).map_err(|error| error.kind())
    }
}

fn options() -> BTreeMap<String, String> {
    BTreeMap::from([("hoodie.metadata.enable".to_owned(), "false".to_owned())])
}

#[test]
fn what_a_clean_by_versions_deleted_is_missed() {
    for version in [6, 8, 9] {
        let table = Table::new(version);
        assert_eq!((table.savepoint(2), table.restore(2, true).unwrap().undone.len()), (Ok(1), 1));
        table.clean(5, None, &[base("f", 1), base("f", 2)], &[]);
        for day in [1, 2] {
            assert_eq!(table.read(day), Err(ErrorKind::FileCleaned), "version {version}, day {day}");
            assert_eq!(table.savepoint(day), Err(ErrorKind::FileCleaned), "version {version}, day {day}");
            let error = table.restore(day, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::FileCleaned, "version {version}, day {day}");
        }
        assert_eq!((table.read(3), table.savepoint(3)), (Ok(vec![base("g", 3)]), Ok(1)), "version {version}");
        assert_eq!(table.restore(3, true).unwrap().undone.len(), 0, "version {version}");
    }
}

#[test]
fn slices_that_are_there_can_be_read_after_any_clean() {
    for version in [6, 9] {
        // Only the older slice is gone.
        let table = Table::new(version);
        table.clean(5, None, &[base("f", 1)], &[]);
        assert_eq!((table.read(1), table.read(2)), (Err(ErrorKind::FileCleaned), Ok(vec![base("f", 2)])));
        assert_eq!(table.restore(2, true).unwrap().undone.len(), 1);
        // The clean could not delete the file.
        let table = Table::new(version);
        table.clean(5, None, &[base("f", 1), base("f", 2)], &[base("f", 2)]);
        assert_eq!((table.read(2), table.savepoint(2)), (Ok(vec![base("f", 2)]), Ok(1)));
    }
}

#[test]
fn a_replace_commit_whose_groups_lost_their_newest_slice_is_not_rolled_back() {
    for version in [6, 8, 9] {
        let table = Table::new(version);
        assert_eq!(table.roll_back(3), Ok(()), "version {version}");
        // A savepoint keeps the older slice.
        table.keep(1, &[base("f", 1)]);
        table.clean(5, None, &[base("f", 2)], &[]);
        assert_eq!(table.roll_back(3), Err(ErrorKind::InvalidArgument), "version {version}");
        let table = Table::new(version);
        table.clean(5, None, &[base("f", 1)], &[]);
        assert_eq!(table.roll_back(3), Ok(()), "version {version}");
        table.clean(6, None, &[base("f", 2)], &[]);
        assert_eq!(table.roll_back(3), Err(ErrorKind::InvalidArgument), "version {version}");
    }
}

#[test]
fn a_table_restored_below_what_a_clean_retained_is_read_by_time() {
    for version in [6, 9] {
        let table = Table::new(version);
        table.keep(2, &[base("f", 2)]);
        table.clean(5, Some(3), &[base("f", 1)], &[]);
        let before = (table.read(1), table.read(2));
        assert_eq!(before, (Err(ErrorKind::FileCleaned), Ok(vec![base("f", 2)])), "version {version}");
        table.restore(2, false).unwrap();
        assert_eq!(table.read(2), Ok(vec![base("f", 2)]), "version {version}");
        let store = table.local();
        let folder = table.folder();
        let names = store.list(folder).unwrap().unwrap();
        for name in names.iter().map(FolderEntry::name).filter(|name| name.contains("savepoint")) {
            store.delete(&format!("{folder}/{name}")).unwrap();
        }
        let after = (table.read(1), table.read(2), table.savepoint(2));
        assert_eq!(after, (Err(ErrorKind::FileCleaned), Ok(vec![base("f", 2)]), Ok(1)), "version {version}");
    }
}

/// Makes a savepoint of the second write, and stalls before it is completed. Returns the savepoints that the table has
/// then.
fn savepoint_beside(
    table: &Arc<Table>,
    meanwhile: impl FnOnce(&Table) + Send + 'static,
) -> (std::result::Result<(), ErrorKind>, usize) {
    let others = Arc::clone(table);
    let store = InterruptedStore::new(
        Arc::new(table.local()),
        |path| path.ends_with(".savepoint"),
        vec![Box::new(move || meanwhile(&others))],
    );
    let request = SavepointRequest { instant: time(2), ..SavepointRequest::default() };
    let location = TableLocation::in_store(Arc::clone(&store) as _, &table.uri());
    let done = run_savepoint(&location, &request, &options()).map(drop).map_err(|error| error.kind());
    assert!(store.was_interrupted());
    let names = table.local().list(table.folder()).unwrap().unwrap();
    (done, names.iter().filter(|entry| entry.name().contains("savepoint")).count())
}

#[test]
fn a_savepoint_that_stalled_while_its_files_were_deleted_is_none() {
    const REFUSED: (std::result::Result<(), ErrorKind>, usize) = (Err(ErrorKind::WriteConflict), 0);
    const MADE: (std::result::Result<(), ErrorKind>, usize) = (Ok(()), 2);
    for version in [6, 8, 9] {
        let table = || Arc::new(Table::new(version));
        assert_eq!(savepoint_beside(&table(), |_| ()), MADE, "version {version}");
        let cleaned = |day| move |table: &Table| table.clean(5, None, &[base("f", day)], &[]);
        assert_eq!(savepoint_beside(&table(), cleaned(2)), REFUSED, "version {version}, its file");
        assert_eq!(savepoint_beside(&table(), cleaned(1)), MADE, "version {version}, another file");
        let planned = |table: &Table| {
            table.put(&format!("{}/{}.clean.requested", table.folder(), time(5)), &table.clean_plan(&[base("f", 2)]));
        };
        assert_eq!(savepoint_beside(&table(), planned), REFUSED, "version {version}, a clean under way");
        let undone = |table: &Table| {
            let files = table.local().list_recursively("").unwrap().into_iter().map(|(path, _)| path);
            let of_write = |path: &String| path.contains(&time(2)) && !path.contains("savepoint");
            files.filter(of_write).for_each(|path| table.local().delete(&path).unwrap());
            table.complete(5, "rollback", b"", b"");
        };
        assert_eq!(savepoint_beside(&table(), undone), REFUSED, "version {version}, a rollback of its write");
    }
}
