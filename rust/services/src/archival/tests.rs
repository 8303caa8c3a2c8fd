//! Archival of timelines made by hand: nothing is lost wherever it is stopped, and the archive stays small.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::run::{Archival, ArchivedInstant};
use mortice_base::ErrorKind;
use mortice_base::error::Result;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::TableConfig;
use mortice_storage::failing_store::FailingStore;
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_storage::{FileStore, LocalStorage, Storage};
use mortice_table::timeline::metadata::{
    HoodieCleanMetadata, HoodieCommitMetadata, HoodieReplaceCommitMetadata, OrderedMap, TimelineMetadata,
};
use mortice_table::timeline::{MetadataPart, Timeline};

pub(super) struct Table {
    folder: tempfile::TempDir,
    pub(super) version: u8,
}

impl Table {
    pub(super) fn new(version: u8) -> Self {
        let table = Self { folder: tempfile::tempdir().unwrap(), version };
        let layout = if version < 8 { 1 } else { 2 };
        let properties = format!(
            "hoodie.table.name=t\nhoodie.table.version={version}\nhoodie.timeline.layout.version={layout}\n\
             hoodie.table.type=COPY_ON_WRITE\nhoodie.table.timeline.timezone=UTC\nhoodie.table.recordkey.fields=id\n"
        );
        table.put(&table.store(), ".hoodie/hoodie.properties", properties.as_bytes());
        table
    }

    /// A commit on each of these days, and a clean on the third.
    pub(super) fn with_commits(self, days: std::ops::RangeInclusive<u8>) -> Self {
        self.add_commits(days);
        self
    }

    fn add_commits(&self, days: std::ops::RangeInclusive<u8>) {
        for day in days {
            let operation_type = Some(format!("DAY_{day}"));
            let commit = HoodieCommitMetadata { operation_type, ..HoodieCommitMetadata::default() };
            let content = if self.version < 8 { commit.to_json() } else { commit.to_avro().unwrap() };
            self.complete(day, "000000000", "commit", &content);
            if day == 3 {
                let clean = HoodieCleanMetadata { start_clean_time: time(3, "1"), ..HoodieCleanMetadata::default() };
                self.complete(day, "120000000", "clean", &clean.to_avro().unwrap());
            }
        }
    }

    pub(super) fn store(&self) -> LocalStorage {
        LocalStorage::new(&self.folder.path().to_string_lossy(), true)
    }

    pub(super) fn put(&self, store: &LocalStorage, path: &str, content: &[u8]) {
        store.put(path, &Bytes::copy_from_slice(content), None).unwrap();
    }

    pub(super) fn complete(&self, day: u8, clock: &str, action: &str, content: &[u8]) {
        let (folder, time) = (self.folder(), time(day, clock));
        let completed = match self.version < 8 {
            true => format!("{time}.{action}"),
            false => format!("{time}_{}.{action}", time.replace("000000", "001000")),
        };
        let inflight =
            if action == "commit" { format!("{time}.inflight") } else { format!("{time}.{action}.inflight") };
        for (name, content) in
            [(format!("{time}.{action}.requested"), b"".as_slice()), (inflight, b""), (completed, content)]
        {
            self.put(&self.store(), &format!("{folder}/{name}"), content);
        }
    }

    pub(super) fn folder(&self) -> &'static str {
        if self.version < 8 { ".hoodie" } else { ".hoodie/timeline" }
    }

    pub(super) fn archive(&self, store: Arc<dyn FileStore>) -> Result<Vec<ArchivedInstant>> {
        let options = [
            ("hoodie.keep.min.commits", "3"),
            ("hoodie.keep.max.commits", "4"),
            ("hoodie.clean.commits.retained", "1"),
            ("hoodie.timeline.compaction.batch.size", "2"),
        ];
        let options: BTreeMap<String, String> =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let uri = self.folder.path().to_string_lossy().into_owned();
        let target = WritableTable::open(&TableLocation::in_store(store, &uri), &options, "archive")?;
        Archival::new(&target)?.run()
    }

    pub(super) fn timeline(&self) -> Timeline {
        let storage: Arc<dyn Storage> = Arc::new(self.store());
        Timeline::load(&storage, &TableConfig::load(&*storage).unwrap()).unwrap()
    }

    /// The days of commits by their metadata: archived ones, and active ones.
    pub(super) fn days(&self) -> (Vec<String>, Vec<String>) {
        let timeline = self.timeline();
        let operation = |instant: &mortice_table::timeline::Instant| {
            timeline.commit_metadata(instant, MetadataPart::Header).unwrap().unwrap_or_default().operation
        };
        let archived = timeline.archived().unwrap().iter().filter(|instant| instant.action.is_write());
        (archived.map(operation).collect(), timeline.completed_writes().map(operation).collect())
    }

    fn names(&self, folder: &str) -> BTreeSet<String> {
        let entries = self.store().list(folder).unwrap().unwrap_or_default();
        entries.iter().map(|entry| entry.name().to_owned()).collect()
    }
}

pub(super) fn time(day: u8, clock: &str) -> String {
    format!("202401{day:02}{clock}")
}

fn expected(days: std::ops::RangeInclusive<u8>) -> Vec<String> {
    days.map(|day| format!("DAY_{day}")).collect()
}

#[test]
fn old_commits_move_to_the_archive() {
    for version in [6, 8, 9] {
        let table = Table::new(version).with_commits(1..=4);
        assert!(table.archive(Arc::new(table.store())).unwrap().is_empty(), "not more than the most");
        let table = table.with_commits(5..=8);
        let archived = table.archive(Arc::new(table.store())).unwrap();
        assert_eq!(archived.len(), 5, "{version}");
        assert_eq!(table.days(), (expected(1..=5), expected(6..=8)), "{version}");
        // The last clean stays.
        let left = table.names(table.folder());
        assert!(left.contains(&format!("{}.clean.requested", time(3, "120000000"))), "{left:?}");
        assert_eq!(left.iter().filter(|name| name.contains("commit") || name.contains("inflight")).count(), 3 * 3 + 1);
        assert!(table.archive(Arc::new(table.store())).unwrap().is_empty());
    }
}

#[test]
fn nothing_is_lost_wherever_it_is_stopped() {
    for version in [6, 9] {
        for limit in 0.. {
            let table = Table::new(version).with_commits(1..=8);
            let store = Arc::new(FailingStore::new(table.store(), limit, false));
            let stopped = table.archive(Arc::clone(&store) as Arc<dyn FileStore>);
            let (archived, active) = table.days();
            assert_eq!([archived, active].concat(), expected(1..=8), "{version} {limit}");
            table.archive(Arc::new(table.store())).unwrap();
            assert_eq!(table.days(), (expected(1..=5), expected(6..=8)), "{version} {limit}");
            if stopped.is_ok() {
                assert!(limit > 10 && store.changes() <= limit);
                break;
            }
        }
    }
}

/// Archives with a store in which other archivers go on before one of the changes. Returns whether there was that
/// change.
fn archive_stalled_at(table: &Arc<Table>, change: usize, context: &str) -> bool {
    let (other, seen) = (Arc::clone(table), AtomicUsize::new(0));
    let meanwhile: Meanwhile = Box::new(move || {
        for days in [9..=12, 13..=16] {
            other.add_commits(days);
            other.archive(Arc::new(other.store())).unwrap();
        }
    });
    let is_change = move |_: &str| seen.fetch_add(1, Ordering::SeqCst) == change;
    let store = InterruptedStore::new(Arc::new(table.store()), is_change, vec![meanwhile]);
    let stalled = table.archive(Arc::clone(&store) as _);
    if let Err(error) = stalled {
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
    }
    store.was_interrupted()
}

#[test]
fn an_archiver_that_stalls_before_any_change_loses_nothing_that_others_have_archived() {
    for (version, has_archive) in [(6, false), (6, true), (8, false), (9, false), (9, true)] {
        for change in 0.. {
            let context = format!("version {version}, archive {has_archive}, stalled before change {change}");
            let table = Table::new(version).with_commits(1..=6);
            if has_archive {
                table.archive(Arc::new(table.store())).unwrap();
            }
            let table = Arc::new(table.with_commits(7..=8));
            if !archive_stalled_at(&table, change, &context) {
                assert!(change > if version == 6 { 0 } else { 2 }, "{context}");
                break;
            }
            for _ in 0..2 {
                let (archived, active) = table.days();
                assert_eq!([archived, active].concat(), expected(1..=16), "{context}");
                table.archive(Arc::new(table.store())).unwrap();
            }
        }
    }
}

#[test]
fn what_a_stopped_archiver_has_put_is_neither_replaced_nor_in_the_way() {
    let table = Table::new(9).with_commits(1..=8);
    let folder = ".hoodie/timeline/history";
    let put = |name: &str, content: &str| table.put(&table.store(), &format!("{folder}/{name}"), content.as_bytes());
    let get = |name: &str| table.store().get(&format!("{folder}/{name}")).unwrap().0;
    let name = format!("{}_{}_0.parquet", time(1, "000000000"), time(5, "000000000"));
    let none = "{\"files\":[]}";
    for (name, content) in [(name.as_str(), "x"), ("manifest_1", none), ("_version_", "1"), ("manifest_7", "x")] {
        put(name, content);
    }
    table.archive(Arc::new(table.store())).unwrap();
    assert_eq!(table.days(), (expected(1..=5), expected(6..=8)));
    assert_eq!((get("_version_"), get("manifest_7"), get("manifest_1")), ("8".into(), "x".into(), none.into()));
    assert_eq!(get(&name), "x");
}

#[test]
fn the_archive_has_few_files() {
    for (version, folder, most) in [(6, ".hoodie/archived", 1), (9, ".hoodie/timeline/history", 20)] {
        let mut table = Table::new(version).with_commits(1..=3);
        for day in 4..=28 {
            table = table.with_commits(day..=day);
            table.archive(Arc::new(table.store())).unwrap();
        }
        let (archived, active) = table.days();
        assert_eq!([archived, active.clone()].concat(), expected(1..=28), "{version}");
        assert!(active.len() <= 4 && table.names(folder).len() <= most, "{:?}", table.names(folder));
    }
}

/// Eight commits; the second replaced file group `f` of partition `p`. The clean of the third day retained what was
/// after it, and kept files of these savepoints.
fn with_replaced_group(version: u8, savepoints: &str) -> Table {
    let table = Table::new(version).with_commits(1..=1);
    let replaced = HoodieReplaceCommitMetadata {
        operation_type: Some("DAY_2".into()),
        partition_to_replace_file_ids: Some(OrderedMap::from_iter([("p", vec!["f".to_owned()])])),
        ..HoodieReplaceCommitMetadata::default()
    };
    let content = if version < 8 { replaced.to_json() } else { replaced.to_avro().unwrap() };
    table.complete(2, "000000000", "replacecommit", &content);
    let table = table.with_commits(3..=8);
    let clean = HoodieCleanMetadata {
        start_clean_time: time(3, "120000000"),
        earliest_commit_to_retain: time(3, "000000000"),
        extra_metadata: Some(OrderedMap::from_iter([("savepointed_timestamps", savepoints.to_owned())])),
        ..HoodieCleanMetadata::default()
    };
    table.complete(3, "120000000", "clean", &clean.to_avro().unwrap());
    table
}

#[test]
fn a_replace_commit_stays_as_long_as_its_replaced_group_has_files() {
    for version in [6, 9] {
        for name in
            [format!("f_0-1-2_{}.parquet", time(1, "000000000")), format!(".f_{}.log.1_0-1-2", time(1, "000000000"))]
        {
            let table = with_replaced_group(version, "");
            let path = format!("p/{name}");
            table.put(&table.store(), "p/.hoodie_partition_metadata", b"");
            table.put(&table.store(), &path, b"rows");
            table.put(&table.store(), &format!("p/g_0-1-2_{}.parquet", time(2, "000000000")), b"rows");
            table.archive(Arc::new(table.store())).unwrap();
            assert_eq!(table.days(), (expected(1..=1), expected(2..=8)), "{version} {name}");
            table.store().delete(&path).unwrap();
            table.archive(Arc::new(table.store())).unwrap();
            assert_eq!(table.days(), (expected(1..=5), expected(6..=8)), "{version} {name}");
        }
    }
}

#[test]
fn a_replace_commit_stays_until_a_clean_no_longer_names_a_savepoint_before_it() {
    for version in [6, 9] {
        let kept = |savepoints: &str| {
            let table = with_replaced_group(version, savepoints);
            table.archive(Arc::new(table.store())).unwrap();
            table.days().0
        };
        assert_eq!(kept(&format!("{},{}", time(5, "000000000"), time(1, "000000000"))), expected(1..=1), "{version}");
        assert_eq!(kept(&time(3, "000000000")), expected(1..=5), "{version}: nothing was replaced after it");
        assert_eq!(kept(""), expected(1..=5), "{version}");
    }
}
