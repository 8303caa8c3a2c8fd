//! Changes to `hoodie.properties` that other writers, a stopped process or the storage come in between.

use std::collections::BTreeSet;

use bytes::Bytes;
use chrono::DateTime;
use proptest::prelude::*;

use super::scripted_store::{Call, Event, ScriptedStore};
use crate::commit::update_properties;
use mortice_base::error::{Error, ErrorKind};
use mortice_merge::config::PropertiesFile;
use mortice_storage::failing_store::FailingStore;
use mortice_storage::{FileStore, LocalStorage};

const MAIN: &str = ".hoodie/hoodie.properties";
const BACKUP: &str = ".hoodie/hoodie.properties.backup";

fn local(folder: &tempfile::TempDir) -> LocalStorage {
    LocalStorage::new(&folder.path().to_string_lossy(), true)
}

fn file(entries: &[(&str, &str)]) -> PropertiesFile {
    let mut file = PropertiesFile::default();
    file.set("hoodie.table.name", "t");
    entries.iter().for_each(|(name, value)| file.set(name, value));
    file.update_checksum().unwrap();
    file
}

fn put(folder: &tempfile::TempDir, path: &str, file: &PropertiesFile) {
    local(folder).put(path, &Bytes::from(file.to_bytes()), None).unwrap();
}

fn table(entries: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(&folder, MAIN, &file(entries));
    folder
}

fn read(folder: &tempfile::TempDir, path: &str) -> PropertiesFile {
    PropertiesFile::parse(&std::fs::read(folder.path().join(path)).unwrap()).unwrap()
}

fn is_there(folder: &tempfile::TempDir, path: &str) -> bool {
    folder.path().join(path).exists()
}

fn entries(file: &PropertiesFile) -> BTreeSet<(String, String)> {
    let properties = file.properties();
    properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Another writer, which sets `other` to a number.
fn other_writer(folder: &tempfile::TempDir, number: usize) -> Box<dyn FnOnce() + Send> {
    let store = local(folder);
    Box::new(move || {
        let mut file = PropertiesFile::parse(&store.get(MAIN).unwrap().0).unwrap();
        file.set("other", &number.to_string());
        file.update_checksum().unwrap();
        store.put(MAIN, &Bytes::from(file.to_bytes()), None).unwrap();
    })
}

fn set(file: &mut PropertiesFile) -> mortice_base::error::Result<()> {
    file.set("own", "1");
    file.update_checksum()
}

#[test]
fn writers_that_always_come_first_are_an_error_and_their_changes_stay() {
    let folder = table(&[]);
    let events = (0..8).map(|number| (Call::Put, Event::Before(other_writer(&folder, number))));
    let store = ScriptedStore::new(&folder, events);
    let mut calls = 0;
    let change = |file: &mut PropertiesFile| {
        calls += 1;
        set(file)
    };
    let error = update_properties(&*store, change).unwrap_err();
    assert_eq!((error.kind(), calls, store.left()), (ErrorKind::Io, 8, 0));
    assert!(error.to_string().contains("8 times") && error.to_string().contains(MAIN), "{error}");
    let found = read(&folder, MAIN);
    assert_eq!((found.get("other"), found.get("own")), (Some("7"), None));
    // The next attempt is the first one after them.
    update_properties(&*store, set).unwrap();
    assert_eq!(read(&folder, MAIN).get("own"), Some("1"));
}

/// The file is read three times in an attempt: the last time to compare it with what was read first.
#[test]
fn storage_without_versions_finds_a_change_of_another_writer_before_the_file_is_replaced() {
    let folder = table(&[]);
    let pass = || (Call::Get, Event::Before(Box::new(|| {})));
    let events = [pass(), pass(), (Call::Get, Event::Before(other_writer(&folder, 3)))];
    let store = ScriptedStore::without_versions(&folder, events);
    let mut calls = 0;
    let change = |file: &mut PropertiesFile| {
        calls += 1;
        set(file)
    };
    update_properties(&*store, change).unwrap();
    assert_eq!((calls, store.left()), (2, 0));
    let found = read(&folder, MAIN);
    assert_eq!((found.get("other"), found.get("own")), (Some("3"), Some("1")));
}

#[test]
fn a_change_of_another_writer_after_the_backup_was_put_back_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    put(&folder, BACKUP, &file(&[("kept", "yes")]));
    let store = ScriptedStore::new(&folder, [(Call::Delete, Event::Before(other_writer(&folder, 5)))]);
    update_properties(&*store, set).unwrap();
    assert_eq!(store.left(), 0);
    let found = read(&folder, MAIN);
    assert_eq!([found.get("kept"), found.get("other"), found.get("own")], [Some("yes"), Some("5"), Some("1")]);
}

#[test]
fn a_change_that_fails_leaves_the_file_as_it_is() {
    let folder = table(&[("own", "0")]);
    let before = std::fs::read(folder.path().join(MAIN)).unwrap();
    let error = update_properties(&local(&folder), |file| {
        set(file)?;
        Err(Error::invalid_argument("no"))
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(std::fs::read(folder.path().join(MAIN)).unwrap(), before);
}

/// Hudi writes the backup before it touches the file: one that is whole is newer than, or the same as, its backup.
#[test]
fn a_backup_beside_a_whole_file_is_deleted() {
    for backup in [Some(file(&[("own", "old")])), None] {
        let folder = table(&[("kept", "yes")]);
        match backup {
            Some(backup) => put(&folder, BACKUP, &backup),
            // Hudi was stopped while it wrote the backup: nobody needs it.
            None => std::fs::write(folder.path().join(BACKUP), b"hoodie.table.na").unwrap(),
        }
        let is_whole = PropertiesFile::parse(&std::fs::read(folder.path().join(BACKUP)).unwrap())
            .is_ok_and(|backup| backup.is_whole());
        let found = update_properties(&local(&folder), set).unwrap();
        assert_eq!((found.get("kept"), found.get("own")), (Some("yes"), Some("1")));
        assert_eq!(entries(&read(&folder, MAIN)), entries(&found));
        assert_eq!(is_there(&folder, BACKUP), !is_whole);
    }
}

/// Hudi was stopped while it wrote the file: the entries that it has are some of the table's. Where the name is among
/// them and the checksum is not, the backup says that the table has one.
#[test]
fn a_file_that_ends_before_its_checksum_is_put_back_from_the_backup() {
    let whole = file(&[("kept", "yes"), ("hoodie.table.type", "MERGE_ON_READ"), ("hoodie.table.version", "9")]);
    let text = whole.to_hudi_bytes(DateTime::UNIX_EPOCH).unwrap();
    let checksum = format!("hoodie.table.checksum={}", whole.get("hoodie.table.checksum").unwrap());
    let end = String::from_utf8(text.clone()).unwrap().find(&checksum).unwrap() + checksum.len();
    for len in 0..end {
        let folder = tempfile::tempdir().unwrap();
        put(&folder, BACKUP, &whole);
        std::fs::write(folder.path().join(MAIN), &text[..len]).unwrap();
        let found = update_properties(&local(&folder), set).unwrap();
        let has_all = entries(&whole).is_subset(&entries(&found));
        assert!(has_all, "{:?}", String::from_utf8_lossy(&text[..len]));
        assert!(!is_there(&folder, BACKUP));
    }
    // Tables of old releases have no checksum, and no writer of theirs a backup with one.
    let folder = tempfile::tempdir().unwrap();
    local(&folder).put(MAIN, &Bytes::from_static(b"hoodie.table.name=t\nkept=yes\n"), None).unwrap();
    local(&folder).put(BACKUP, &Bytes::from_static(b"hoodie.table.name=t\n"), None).unwrap();
    assert_eq!(update_properties(&local(&folder), set).unwrap().get("kept"), Some("yes"));
}

/// A process that stops at any of its changes leaves a file or a backup that is whole, and the next one ends the work.
#[test]
fn a_process_that_is_stopped_leaves_a_table_whose_properties_can_be_changed() {
    for is_lost in [false, true] {
        // What Hudi left: the file alone, a backup beside it, or the backup alone.
        for left in [&[MAIN][..], &[MAIN, BACKUP], &[BACKUP]] {
            let mut limit = 0;
            loop {
                let folder = tempfile::tempdir().unwrap();
                left.iter().for_each(|path| put(&folder, path, &file(&[("kept", "yes")])));
                let store = FailingStore::new(local(&folder), limit, is_lost);
                let done = update_properties(&store, set);
                let is_whole = |path| is_there(&folder, path) && read(&folder, path).is_whole();
                assert!(is_whole(MAIN) || is_whole(BACKUP), "{left:?}, {limit} changes");
                if done.is_ok() {
                    assert!(limit > 0, "nothing was changed");
                    break;
                }
                let found = update_properties(&local(&folder), set).unwrap();
                assert_eq!(
                    (found.get("kept"), found.get("own")),
                    (Some("yes"), Some("1")),
                    "{left:?}, {limit} changes"
                );
                assert_eq!(entries(&read(&folder, MAIN)), entries(&found), "{left:?}, {limit} changes");
                assert!(!is_there(&folder, BACKUP), "{left:?}, {limit} changes");
                limit += 1;
            }
        }
    }
}

#[test]
fn without_an_answer_nothing_is_taken_for_missing() {
    let folder = table(&[]);
    put(&folder, BACKUP, &file(&[("own", "old")]));
    let store = ScriptedStore::new(&folder, [(Call::Get, Event::Fails)]);
    assert_eq!(update_properties(&*store, set).unwrap_err().kind(), ErrorKind::Unreachable);
    assert!(read(&folder, MAIN).get("own").is_none() && is_there(&folder, BACKUP));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is written is what was there with what was set, and readers find it whole.
    #[test]
    fn entries_that_are_not_set_stay(
        before in proptest::collection::btree_map("[a-z]{1,3}", "[ -~]{0,8}|\\PC{0,3}", 0..6),
        changed in proptest::collection::btree_map("[a-z]{1,3}", "[ -~]{0,8}|\\PC{0,3}", 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let entries: Vec<(&str, &str)> = before.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        put(&folder, MAIN, &file(&entries));
        let returned = update_properties(&local(&folder), |file| {
            changed.iter().for_each(|(name, value)| file.set(name, value));
            file.update_checksum()
        });
        let (returned, found) = (returned.unwrap(), read(&folder, MAIN));
        prop_assert!(found.is_whole());
        let expected = before.iter().filter(|(name, _)| !changed.contains_key(*name)).chain(&changed);
        for (name, value) in expected {
            prop_assert_eq!(found.get(name), Some(value.as_str()));
            prop_assert_eq!(returned.get(name), Some(value.as_str()));
        }
        prop_assert_eq!(found.get("hoodie.table.name"), Some("t"));
    }
}
