//! The delta commit of the metadata table: which files it has, in what order, and what it is refused for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::by_hand::{ALL, ByHand, Written, time};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::commit::{CleanedFiles, TimelineWriter};
use mortice_formats::log::LogFile;
use mortice_merge::config::TableConfig;
use mortice_storage::{FileStore, LocalStorage, PutOutcome, RenameOutcome, StoreWrapper, SubfolderStorage};
use mortice_table::timeline::metadata::{HoodieCommitMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, WriteOperation};

/// A store that notes the files that are created.
struct NotedStore {
    inner: Arc<dyn FileStore>,
    noted: Mutex<Vec<String>>,
}

impl NotedStore {
    fn note(&self, path: &str) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }
}

impl StoreWrapper for NotedStore {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.inner
    }

    fn create(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        if self.inner.list(".hoodie/metadata/.hoodie/.heartbeat")?.is_some_and(|beats| !beats.is_empty()) {
            self.note("a heartbeat");
        }
        self.note(path);
        self.inner.put_if_absent(path, bytes)
    }

    fn move_file(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.note(to);
        self.inner.rename(from, to)
    }
}

/// A commit of a new file group, begun in the table.
fn begun(by_hand: &ByHand, minute: usize, keys: &[&str]) -> Written {
    by_hand.begin(&time(minute), Action::DeltaCommit);
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let statuses = vec![by_hand.base_file(("x", minute), &time(minute), &keys, None)];
    Written { statuses, ..Written::default() }
}

/// The logs of the metadata table that have blocks of an instant, with the keys of records and of deletes.
fn logs_of(by_hand: &ByHand, instant: &str) -> BTreeMap<String, u64> {
    let files = by_hand.store().list_recursively(".hoodie/metadata").unwrap();
    let logs = files.into_iter().filter(|(path, _)| path.contains(".log.") && !path.contains(".temp"));
    let wrote = |path: &str| {
        let log = LogFile::new(by_hand.store().open(path).unwrap());
        log.blocks(false).any(|block| block.unwrap().header.instant_time().is_some_and(|time| time == instant))
    };
    let own = logs.filter(|(path, _)| wrote(path));
    own.map(|(path, status)| (path.strip_prefix(".hoodie/metadata/").unwrap().to_owned(), status.len)).collect()
}

/// Readers take a delta commit for complete by its instant, and writers find the logs of one that is not by their
/// markers: so each file comes after what announces it.
#[test]
fn files_come_after_what_announces_them() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &ALL);
        let written = begun(&by_hand, 1, &["a", "b", "c"]);
        let inner = by_hand.store();
        let store = Arc::new(NotedStore { inner, noted: Mutex::default() });
        let upkeep = by_hand.upkeep_in(Arc::clone(&store) as _).unwrap();
        by_hand.write(&upkeep, &time(1), WriteOperation::Insert, &written).unwrap();
        let noted = store.noted.lock().unwrap().clone();
        // Where files are renamed the name that they have before is noted, too.
        let names: Vec<&str> = noted.iter().map(String::as_str).filter(|path| !path.ends_with(".tmp")).collect();
        let at = |part: &str| names.iter().position(|path| path.contains(part));
        let requested = at("deltacommit.requested").unwrap();
        let heartbeat = at("a heartbeat");
        assert_eq!(heartbeat.is_some(), version > 6, "{names:?}");
        assert!(heartbeat.is_none_or(|heartbeat| heartbeat < requested), "{names:?}");
        let inflight = at(".inflight").unwrap();
        assert!(requested < inflight, "{names:?}");
        let logs: Vec<usize> =
            (0..names.len()).filter(|at| names[*at].contains(".log.") && !names[*at].contains("/.temp/")).collect();
        assert!(logs.len() >= 4, "{names:?}");
        for log in &logs {
            let name = names[*log].rsplit('/').next().unwrap();
            let marker = names.iter().position(|path| path.contains(&format!("{name}.marker"))).unwrap();
            assert!(inflight < marker && marker < *log, "{name}: {names:?}");
        }
        let last = names.last().unwrap();
        assert!(last.ends_with(".deltacommit") && last.contains(time(1).as_str()), "{names:?}");
        assert!(logs.iter().all(|log| *log < names.len() - 1));
    }
}

/// Compactions of the metadata table read which logs it has from its commits; readers of Hudi the schema of the
/// records.
#[test]
fn the_commit_names_the_logs_that_it_wrote_and_no_others() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &ALL);
        by_hand.insert(1, "x", &["a"]);
        let before = by_hand.files_below(".hoodie/metadata");
        by_hand.insert(2, "y", &["b"]);
        for (path, bytes) in before.iter().filter(|(path, _)| path.contains(".log.") || path.ends_with(".hfile")) {
            assert_eq!(by_hand.files_below(".hoodie/metadata").get(path), Some(bytes), "{path} was changed");
        }
        let place = Arc::new(SubfolderStorage::new(by_hand.store(), ".hoodie/metadata"));
        let config = TableConfig::load(place.as_ref()).unwrap();
        let timeline = TimelineWriter::below(by_hand.store(), ".hoodie/metadata", &config);
        let completed = timeline.files().unwrap();
        let own = completed.iter().find(|file| file.requested_time == time(2) && file.is_completed()).unwrap();
        let bytes = timeline.read(&own.file_name).unwrap().unwrap();
        let metadata = HoodieCommitMetadata::from_bytes(&bytes).unwrap().unwrap();
        assert_eq!(metadata.operation_type.as_deref(), Some("UPSERT_PREPPED"));
        let schema = metadata.extra_metadata.unwrap().get("schema").unwrap().clone();
        assert!(schema.contains("HoodieMetadataRecord") && !schema.contains("_hoodie_commit_time"));
        let stats = metadata.partition_to_write_stats.unwrap();
        let mut named = BTreeMap::new();
        let mut partitions = BTreeSet::new();
        for (partition, stats) in stats.iter() {
            partitions.insert(partition.to_owned());
            for stat in stats {
                let path = stat.path.clone().unwrap();
                let name = path.rsplit('/').next().unwrap().to_owned();
                assert_eq!(stat.log_files.as_ref().unwrap().last(), Some(&name));
                assert!(stat.num_writes.unwrap() + stat.num_deletes.unwrap() > 0, "{path} has no records");
                named.insert(path, u64::try_from(stat.file_size_in_bytes.unwrap()).unwrap());
            }
        }
        assert_eq!(named, logs_of(&by_hand, time(2).as_str()), "version {version}");
        let expected = by_hand.table.partitions();
        assert_eq!(partitions, expected, "version {version}: each partition has records of a new file");
        // Up to version 7 each is the next log of its slice.
        let next = |path: &String| path.contains(".log.2_");
        assert_eq!(named.keys().any(next), version == 6, "{named:?}");
    }
}

/// A partition of the metadata table without records of a commit gets no files by it, as file groups of other keys do
/// not.
#[test]
fn only_file_groups_with_records_get_logs() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &ALL[..2]);
        let index =
            |paths: BTreeMap<String, u64>| paths.into_keys().filter(|path| path.starts_with("record_index/")).count();
        by_hand.insert(1, "x", &["a"]);
        assert_eq!(index(logs_of(&by_hand, time(1).as_str())), 1, "one of ten file groups has the key");
        let keys = BTreeSet::from(["a".to_owned()]);
        let log = by_hand.deletes(("x", 1), &time(2), &keys, (&time(1), 0));
        by_hand.commit(&time(2), WriteOperation::Delete, &Written { statuses: vec![log], ..Written::default() });
        assert_eq!(index(logs_of(&by_hand, time(2).as_str())), 1, "a log of deletes alone");
        assert!(by_hand.locations().is_empty());
        let log = by_hand.deletes(("x", 1), &time(3), &BTreeSet::new(), (&time(1), 1));
        by_hand.commit(&time(3), WriteOperation::Delete, &Written { statuses: vec![log], ..Written::default() });
        assert_eq!(index(logs_of(&by_hand, time(3).as_str())), 0);
        assert!(by_hand.listed()["x"].iter().any(|name| name.contains(".log.")), "the file is listed none the less");
    }
}

/// Two writers of one instant: the second must not add to what the first one writes.
#[test]
fn an_instant_that_is_there_is_refused_and_stays_as_it_was() {
    for version in [6, 9] {
        for is_completed in [false, true] {
            let by_hand = ByHand::new(version, &ALL);
            let written = begun(&by_hand, 1, &["a"]);
            let (one, other) = (by_hand.upkeep(), by_hand.upkeep());
            let fails = || Err(Error::new(ErrorKind::WriteConflict, "taken for dead"));
            let first = (WriteOperation::Insert, &written);
            match is_completed {
                true => by_hand.write_checked(&one, &time(1), first, &|| Ok(())).unwrap(),
                false => drop(by_hand.write_checked(&one, &time(1), first, &fails).unwrap_err()),
            }
            let before = by_hand.files_below(".hoodie/metadata");
            let error = by_hand.write(&other, &time(1), WriteOperation::Insert, &written).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
            assert_eq!(by_hand.files_below(".hoodie/metadata"), before, "version {version}, completed: {is_completed}");
        }
    }
}

/// With a later commit the metadata table would look complete, and hide the rows of the one that it lacks.
#[test]
fn a_commit_to_a_metadata_table_that_is_behind_is_refused() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &ALL[..2]);
        by_hand.insert(1, "x", &["a"]);
        let lacking = begun(&by_hand, 2, &["b"]);
        by_hand.complete(&time(2), WriteOperation::Insert, &lacking);
        let written = begun(&by_hand, 3, &["c"]);
        let before = by_hand.files_below(".hoodie/metadata");
        let error = by_hand.write(&by_hand.upkeep(), &time(3), WriteOperation::Insert, &written).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidTable && error.to_string().contains(time(2).as_str()), "{error}");
        assert_eq!(by_hand.files_below(".hoodie/metadata"), before);
        // Queries list the storage then.
        assert_eq!(by_hand.table.rows(true), by_hand.table.rows(false));
        assert_eq!(by_hand.table.rows(false).len(), 2);
    }
}

/// The check that the instant is still the writer's comes after the logs, and before the delta commit is complete.
#[test]
fn a_writer_that_was_taken_for_dead_does_not_complete_its_delta_commit() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &ALL[..2]);
        by_hand.insert(1, "x", &["a"]);
        let (before, written) = (by_hand.records(), begun(&by_hand, 2, &["b"]));
        let dead = || {
            assert!(!logs_of(&by_hand, time(2).as_str()).is_empty(), "the check is too early");
            Err(Error::new(ErrorKind::WriteConflict, "taken for dead"))
        };
        let update = (WriteOperation::Insert, &written);
        let error = by_hand.write_checked(&by_hand.upkeep(), &time(2), update, &dead).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict);
        let left: BTreeSet<String> =
            ["deltacommit.requested", "deltacommit.inflight"].map(str::to_owned).into_iter().collect();
        assert_eq!(by_hand.metadata_instants(time(2).as_str()), left, "version {version}");
        assert_eq!(by_hand.records(), before, "version {version}: readers see the logs of no completed instant");
    }
}

/// A log of another writer under the name of the next one, up to version 7: its records must not be replaced.
#[test]
fn a_log_that_another_writer_puts_meanwhile_is_not_replaced() {
    let by_hand = ByHand::new(6, &ALL[..2]);
    by_hand.insert(1, "x", &["a"]);
    let names = |version: u32| {
        let logs = by_hand.files_below(".hoodie/metadata/files").into_keys();
        logs.filter(|path| path.contains(&format!(".log.{version}_"))).collect::<Vec<_>>()
    };
    let last = names(2).pop().unwrap();
    let next = last.replace(".log.2_", ".log.3_");
    let written = begun(&by_hand, 2, &["b"]);
    let (path, upkeep) = (by_hand.path(&next), by_hand.upkeep());
    let put = mortice_storage::interrupted_store::InterruptedStore::new(
        Arc::new(LocalStorage::new(&by_hand.table.uri(), true)),
        move |path| path.ends_with(".log.3_0-0-0"),
        vec![Box::new(move || std::fs::write(path, b"theirs").unwrap())],
    );
    drop(upkeep);
    let upkeep = by_hand.upkeep_in(put).unwrap();
    let error = by_hand.write(&upkeep, &time(2), WriteOperation::Insert, &written).unwrap_err();
    assert!(error.kind() == ErrorKind::AlreadyExists && error.to_string().contains("log file exists"), "{error}");
    assert_eq!(std::fs::read(by_hand.path(&next)).unwrap(), b"theirs");
    assert!(!by_hand.metadata_instants(time(2).as_str()).contains("deltacommit"));
}

/// Markers and the heartbeat are the writer's until its instant is complete in the table.
#[test]
fn a_writer_removes_its_markers_and_its_heartbeat_after_its_commit() {
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &ALL[..2]);
        let written = begun(&by_hand, 1, &["a"]);
        let upkeep = by_hand.upkeep();
        by_hand.write(&upkeep, &time(1), WriteOperation::Insert, &written).unwrap();
        let (markers, heartbeat) = (
            by_hand.path(&format!(".hoodie/metadata/.hoodie/.temp/{}", time(1))),
            by_hand.path(&format!(".hoodie/metadata/.hoodie/.heartbeat/{}", time(1))),
        );
        assert!(markers.exists() && heartbeat.exists() == (version > 6), "version {version}");
        by_hand.complete(&time(1), WriteOperation::Insert, &written);
        upkeep.clean_up(&time(1)).unwrap();
        assert!(!markers.exists() && !heartbeat.exists(), "version {version}");
        upkeep.clean_up(&time(1)).unwrap();
        // A commit without any change is one, too: readers ask for it.
        by_hand.commit(&time(2), WriteOperation::Upsert, &Written::default());
        assert!(by_hand.metadata_instants(time(2).as_str()).contains("deltacommit"));
        assert!(by_hand.upkeep().write_clean(&time(2), &CleanedFiles::default()).is_ok(), "it is written already");
        assert_eq!(by_hand.listed()["x"].len(), 1);
    }
}
