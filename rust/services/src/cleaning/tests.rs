//! Cleans of tables made by hand: what each policy deletes, plans that must not be trusted, and cleans that are stopped
//! after each change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::run::{Clean, Cleaning};
use mortice_base::ErrorKind;
use mortice_base::error::Result;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_storage::failing_store::FailingStore;
use mortice_storage::interrupted_store::InterruptedStore;
use mortice_storage::{FileStore, LocalStorage, Storage};
use mortice_table::timeline::metadata::{
    HoodieCleanFileInfo, HoodieCleanMetadata, HoodieCleanerPlan, HoodieReplaceCommitMetadata, HoodieSavepointMetadata,
    HoodieSavepointPartitionMetadata, OrderedMap, TimelineMetadata,
};

const PENDING: &str = "20240105000000000";

fn time(day: u8) -> String {
    format!("202401{day:02}000000000")
}

fn base(file_id: &str, day: u8) -> String {
    format!("{file_id}_0-1-2_{}.parquet", time(day))
}

struct Table {
    folder: tempfile::TempDir,
    version: u8,
}

impl Table {
    /// Four writes. File group `f` of partition `p` has a base file of each, `g` of the first.
    fn new(version: u8) -> Self {
        let table = Self { folder: tempfile::tempdir().unwrap(), version };
        let layout = if version < 8 { 1 } else { 2 };
        let properties = format!(
            "hoodie.table.name=t\nhoodie.table.version={version}\nhoodie.timeline.layout.version={layout}\n\
             hoodie.table.type=MERGE_ON_READ\nhoodie.table.timeline.timezone=UTC\nhoodie.table.partition.fields=p\n\
             hoodie.table.recordkey.fields=id\n"
        );
        table.put(".hoodie/hoodie.properties", properties.as_bytes());
        table.put("p/.hoodie_partition_metadata", b"");
        for day in 1..=4 {
            table.complete(&time(day), "deltacommit", b"");
            table.put(&format!("p/{}", base("f", day)), b"rows");
        }
        table.put(&format!("p/{}", base("g", 1)), b"rows");
        table
    }

    fn store(&self) -> LocalStorage {
        LocalStorage::new(&self.folder.path().to_string_lossy(), true)
    }

    fn put(&self, path: &str, content: &[u8]) {
        self.store().put(path, &Bytes::copy_from_slice(content), None).unwrap();
    }

    /// Makes the files of the timeline older.
    fn make_older(&self) {
        for entry in std::fs::read_dir(self.folder.path().join(self.timeline())).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                let file = std::fs::File::options().write(true).open(entry.path()).unwrap();
                let modified = entry.metadata().unwrap().modified().unwrap();
                file.set_modified(modified - std::time::Duration::from_secs(1)).unwrap();
            }
        }
    }

    fn timeline(&self) -> &'static str {
        if self.version < 8 { ".hoodie" } else { ".hoodie/timeline" }
    }

    fn complete(&self, time: &str, action: &str, content: &[u8]) {
        let completion =
            if self.version < 8 { String::new() } else { format!("_{}", time.replace("000000000", "000001000")) };
        for (name, content) in [
            (format!("{time}.{action}.requested"), b"".as_slice()),
            (format!("{time}.{action}.inflight"), b""),
            (format!("{time}{completion}.{action}"), content),
        ] {
            self.put(&format!("{}/{name}", self.timeline()), content);
        }
    }

    /// Completes a write again, after the pending one was requested.
    fn complete_late(&self, day: u8) {
        let (folder, time) = (self.timeline(), time(day));
        if self.version >= 8 {
            let early = format!("{folder}/{time}_{}.deltacommit", time.replace("000000000", "000001000"));
            self.store().delete(&early).unwrap();
        }
        let late =
            if self.version < 8 { String::new() } else { format!("_{}", PENDING.replace("000000000", "000001000")) };
        self.put(&format!("{folder}/{time}{late}.deltacommit"), b"");
    }

    fn request(&self, action: &str, plan: &[u8]) {
        self.put(&format!("{}/{PENDING}.{action}.requested", self.timeline()), plan);
    }

    fn writable(&self, store: Arc<dyn FileStore>, options: &[(&str, &str)]) -> WritableTable {
        let options: BTreeMap<String, String> =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let uri = self.folder.path().to_string_lossy().into_owned();
        WritableTable::open(&TableLocation::in_store(store, &uri), &options, "clean").unwrap()
    }

    fn clean(&self, options: &[(&str, &str)]) -> Result<Vec<Clean>> {
        Cleaning::new(&self.writable(Arc::new(self.store()), options))?.run()
    }

    /// The data files.
    fn files(&self) -> BTreeSet<String> {
        let files = self.store().list_recursively("").unwrap().into_iter().map(|(path, _)| path);
        files.filter(|path| !path.starts_with(".hoodie/") && path.ends_with(".parquet")).collect()
    }

    fn days(&self, file_id: &str) -> Vec<u8> {
        let files = self.files();
        (1..=4).filter(|day| files.contains(&format!("p/{}", base(file_id, *day)))).collect()
    }

    fn pending_cleans(&self) -> usize {
        let entries = self.store().list(self.timeline()).unwrap().unwrap();
        let names: Vec<&str> = entries.iter().map(mortice_storage::FolderEntry::name).collect();
        let states = |suffix: &str| names.iter().filter(|name| name.ends_with(suffix)).count();
        states(".clean.requested") - states(".clean")
    }

    fn last_clean(&self) -> HoodieCleanMetadata {
        let entries = self.store().list(self.timeline()).unwrap().unwrap();
        let name =
            entries.iter().map(mortice_storage::FolderEntry::name).rfind(|name| name.ends_with(".clean")).unwrap();
        let bytes = self.store().get(&format!("{}/{name}", self.timeline())).unwrap().0;
        HoodieCleanMetadata::from_avro(&bytes).unwrap()
    }
}

/// The options that keep as little as possible, by each policy.
const LEAST: [&[(&str, &str)]; 2] = [
    &[("hoodie.clean.commits.retained", "1")],
    &[("hoodie.clean.policy", "KEEP_LATEST_FILE_VERSIONS"), ("hoodie.clean.fileversions.retained", "1")],
];

#[test]
fn slices_stay_that_a_pending_write_reads() {
    for version in [6, 8, 9] {
        for options in LEAST {
            let table = Table::new(version);
            // Names say nothing up to version 7, where times of files are compared.
            table.make_older();
            table.request("deltacommit", b"");
            for day in [3, 4] {
                table.complete_late(day);
            }
            table.clean(options).unwrap();
            assert_eq!(table.days("f"), [2, 3, 4], "{version} {options:?}");
        }
    }
}

fn plan(partition: &str, paths: &[&str]) -> Vec<u8> {
    let file = |path: &&str| HoodieCleanFileInfo {
        file_path: Some((*path).to_owned()),
        is_bootstrap_base_file: Some(false),
        ..HoodieCleanFileInfo::default()
    };
    let files: Vec<HoodieCleanFileInfo> = paths.iter().map(file).collect();
    let plan = HoodieCleanerPlan {
        policy: "KEEP_LATEST_COMMITS".to_owned(),
        version: Some(2),
        file_paths_to_be_deleted_per_partition: Some(OrderedMap::from_iter([(partition, files)])),
        ..HoodieCleanerPlan::default()
    };
    plan.to_avro().unwrap()
}

#[test]
fn policies_keep_what_they_say() {
    for version in [6, 8, 9] {
        for (options, earliest, kept) in [
            ([("hoodie.clean.commits.retained", "1")], time(4), vec![3, 4]),
            ([("hoodie.clean.commits.retained", "2")], time(3), vec![2, 3, 4]),
            ([("hoodie.clean.commits.retained", "4")], String::new(), vec![1, 2, 3, 4]),
            ([("hoodie.clean.fileversions.retained", "1")], String::new(), vec![4]),
            ([("hoodie.clean.fileversions.retained", "3")], String::new(), vec![2, 3, 4]),
            ([("hoodie.clean.hours.retained", "1")], String::new(), vec![1, 2, 3, 4]),
        ] {
            let table = Table::new(version);
            let cleans = table.clean(&options).unwrap();
            assert_eq!((table.days("f"), table.days("g")), (kept.clone(), vec![1]), "{version} {options:?}");
            assert_eq!(cleans.len(), usize::from(kept.len() < 4), "{version} {options:?}");
            if let [clean] = cleans.as_slice() {
                assert_eq!(clean.files.len(), 4 - kept.len());
                let metadata = table.last_clean();
                assert_eq!(
                    (metadata.earliest_commit_to_retain, metadata.last_completed_commit_timestamp),
                    (earliest, time(4))
                );
                let partition = metadata.partition_metadata.get("p").unwrap();
                assert_eq!(partition.success_delete_files, partition.delete_path_patterns);
                assert_eq!(partition.success_delete_files.len(), metadata.total_files_deleted as usize);
            }
            assert!(table.clean(&options).unwrap().is_empty() && table.pending_cleans() == 0);
        }
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    let table = Table::new(9);
    let target = table.writable(Arc::new(table.store()), &[("hoodie.clean.commits.retained", "1")]);
    let before = table.store().list_recursively("").unwrap();
    let [clean] = &Cleaning::new(&target).unwrap().plan().unwrap()[..] else { panic!() };
    let files: Vec<(&str, u64)> = clean.files.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
    let expected = [1, 2].map(|day| format!("p/{}", base("f", day)));
    assert_eq!(files, [(expected[0].as_str(), 4), (expected[1].as_str(), 4)]);
    assert_eq!(table.store().list_recursively("").unwrap().len(), before.len());
}

#[test]
fn slices_that_pending_plans_and_savepoints_need_stay() {
    let table = Table::new(9);
    let kept = HoodieSavepointPartitionMetadata {
        partition_path: "p".to_owned(),
        savepoint_data_file: vec![base("f", 1)],
        ..HoodieSavepointPartitionMetadata::default()
    };
    let savepoint = HoodieSavepointMetadata {
        partition_metadata: OrderedMap::from_iter([("p", kept)]),
        version: Some(1),
        ..HoodieSavepointMetadata::default()
    };
    table.complete(&time(1), "savepoint", &savepoint.to_avro().unwrap());
    let cleans = table.clean(&[("hoodie.clean.fileversions.retained", "1")]).unwrap();
    assert_eq!((cleans[0].files.len(), table.days("f")), (2, vec![1, 4]));
    // A write that is pending may read what was there when it began.
    let table = Table::new(9);
    table.put(&format!("{}/20240102120000000.deltacommit.requested", table.timeline()), b"");
    table.clean(&[("hoodie.clean.commits.retained", "1")]).unwrap();
    assert_eq!(table.days("f"), [1, 2, 3, 4]);
}

#[test]
fn replaced_file_groups_and_empty_partitions_are_deleted() {
    for version in [6, 9] {
        let table = Table::new(version);
        let replaced = HoodieReplaceCommitMetadata {
            partition_to_replace_file_ids: Some(OrderedMap::from_iter([("p", vec!["f".to_owned(), "g".to_owned()])])),
            operation_type: Some("DELETE_PARTITION".to_owned()),
            ..HoodieReplaceCommitMetadata::default()
        };
        let content = if version == 6 { replaced.to_json() } else { replaced.to_avro().unwrap() };
        table.complete(&time(5), "replacecommit", &content);
        table.clean(&[("hoodie.clean.commits.retained", "1")]).unwrap();
        assert_eq!(table.files().len(), 5, "queries at the earliest instant read them");
        table.complete(&time(6), "deltacommit", b"");
        let cleans = table.clean(&[("hoodie.clean.commits.retained", "1")]).unwrap();
        assert_eq!((cleans[0].files.len(), cleans[0].partitions.as_slice()), (5, ["p".to_owned()].as_slice()));
        assert!(table.files().is_empty() && !table.folder.path().join("p").exists());
        assert_eq!(table.last_clean().partition_metadata.get("p").unwrap().is_partition_deleted, Some(true));
    }
}

#[test]
fn a_plan_that_leads_elsewhere_deletes_nothing() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join(base("f", 1));
    std::fs::write(&victim, "kept").unwrap();
    let (victim, good) = (victim.to_string_lossy().into_owned(), base("f", 1));
    for (partition, path) in [
        ("p", victim.as_str()),
        ("p", "../f_0-1-2_20240101000000000.parquet"),
        ("p/..", good.as_str()),
        ("../p", good.as_str()),
        ("/p", good.as_str()),
        (".hoodie", good.as_str()),
        ("p", "p/.."),
        ("p", "hoodie.properties"),
        ("p", ".hoodie_partition_metadata"),
        ("p", "s3://bucket/q/f_0-1-2_20240101000000000.parquet"),
        ("", ""),
    ] {
        let table = Table::new(9);
        table.request("clean", &plan(partition, &[&base("f", 2), path]));
        let error = table.clean(&[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTable, "{partition} {path}: {error}");
        assert_eq!((table.files().len(), table.pending_cleans()), (5, 1), "{partition} {path}");
    }
    assert!(std::path::Path::new(&victim).exists());
}

#[test]
fn symbolic_links_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    // The newest file of each group is needed, and would be left for that.
    std::fs::write(outside.path().join(base("f", 1)), "kept").unwrap();
    std::fs::write(outside.path().join(base("f", 2)), "kept").unwrap();
    let table = Table::new(9);
    table.put(&format!("p/{}", base("h", 2)), b"rows");
    std::os::unix::fs::symlink(outside.path(), table.folder.path().join("q")).unwrap();
    std::os::unix::fs::symlink(outside.path().join(base("f", 1)), table.folder.path().join("p").join(base("h", 1)))
        .unwrap();
    for (partition, name) in [("q", base("f", 1)), ("p", base("h", 1))] {
        table.request("clean", &plan(partition, &[&name]));
        assert_eq!(table.clean(&[]).unwrap_err().kind(), ErrorKind::InvalidTable, "{partition}");
        assert!(outside.path().join(base("f", 1)).exists() && table.days("f").len() == 4);
    }
}

#[test]
fn a_pending_clean_is_completed_first() {
    for version in [6, 9] {
        let table = Table::new(version);
        // The newest file of a group is needed.
        table.request("clean", &plan("p", &[&format!("/elsewhere/p/{}", base("f", 1)), &base("f", 4)]));
        let cleans = table.clean(&[("hoodie.clean.commits.retained", "10")]).unwrap();
        assert_eq!((cleans.len(), table.days("f"), table.pending_cleans()), (1, vec![2, 3, 4], 0));
        assert_eq!(table.last_clean().partition_metadata.get("p").unwrap().failed_delete_files, [base("f", 4)]);
        // Its writer died while it wrote the file.
        let table = Table::new(version);
        table.request("clean", b"");
        assert!(table.clean(&[]).unwrap().is_empty() && table.pending_cleans() == 0);
    }
}

#[test]
fn a_clean_that_was_stopped_is_completed_by_the_next() {
    let options = [("hoodie.clean.commits.retained", "1")];
    for version in [6, 9] {
        for limit in 0.. {
            let table = Table::new(version);
            let store = Arc::new(FailingStore::new(table.store(), limit, false));
            let target = table.writable(Arc::clone(&store) as Arc<dyn FileStore>, &options);
            let stopped = Cleaning::new(&target).unwrap().run();
            let is_planned = table.pending_cleans() == 1;
            assert!(table.days("f").ends_with(&[3, 4]) && table.days("g") == [1], "{version} {limit}");
            let again = table.clean(&options).unwrap();
            assert_eq!(table.days("f"), [3, 4], "{version} {limit}");
            assert_eq!(again.len(), usize::from(is_planned || stopped.is_err()), "{version} {limit}");
            assert_eq!(table.pending_cleans(), 0, "{version} {limit}");
            if stopped.is_ok() {
                assert!(limit > 4 && store.changes() <= limit);
                break;
            }
        }
    }
}

/// Stalls a clean before its plan is on the timeline. Names the files that it was to delete and has kept.
fn clean_beside(table: &Arc<Table>, meanwhile: impl FnOnce(&Table) + Send + 'static) -> Vec<String> {
    let others = Arc::clone(table);
    let store = InterruptedStore::new(
        Arc::new(table.store()),
        |path| path.ends_with(".clean.requested"),
        vec![Box::new(move || meanwhile(&others))],
    );
    let target = table.writable(Arc::clone(&store) as _, &[("hoodie.clean.commits.retained", "1")]);
    assert_eq!(Cleaning::new(&target).unwrap().run().unwrap().len(), 1);
    assert!(store.was_interrupted() && table.pending_cleans() == 0);
    table.last_clean().partition_metadata.get("p").unwrap().failed_delete_files.clone()
}

#[test]
fn a_clean_that_stalled_before_its_plan_keeps_what_is_needed_since() {
    for version in [6, 9] {
        let table = Arc::new(Table::new(version));
        assert_eq!((clean_beside(&table, |_| ()), table.days("f")), (Vec::new(), vec![3, 4]), "version {version}");
        let table = Arc::new(Table::new(version));
        let kept = clean_beside(&table, |table| {
            let kept = HoodieSavepointPartitionMetadata {
                partition_path: "p".to_owned(),
                savepoint_data_file: vec![base("f", 1)],
                ..HoodieSavepointPartitionMetadata::default()
            };
            let savepoint = HoodieSavepointMetadata {
                partition_metadata: OrderedMap::from_iter([("p", kept)]),
                version: Some(1),
                ..HoodieSavepointMetadata::default()
            };
            table.complete(&time(1), "savepoint", &savepoint.to_avro().unwrap());
        });
        assert_eq!((kept, table.days("f")), (vec![base("f", 1)], vec![1, 3, 4]), "version {version}, a savepoint");
        let table = Arc::new(Table::new(version));
        let kept = clean_beside(&table, |table| {
            for day in [3, 4] {
                let of_day = |path: &String| path.contains(&time(day));
                let files = table.store().list_recursively("").unwrap().into_iter().map(|(path, _)| path);
                files.filter(of_day).for_each(|path| table.store().delete(&path).unwrap());
            }
        });
        assert_eq!((kept, table.days("f")), (vec![base("f", 2)], vec![2]), "version {version}, two rollbacks");
    }
}
