//! Writers that are taken for dead between a check and the change that it was made for: another one takes the lock over
//! and rolls them back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use mortice_storage::failing_store::FailingStore;
use mortice_storage::interrupted_store::InterruptedStore;

fn shared(version: u8, has_metadata: bool) -> Arc<Table> {
    let mut table = Table::shared(version);
    if has_metadata {
        table.options.remove("hoodie.metadata.enable");
    }
    table.insert(table.store(), "f", &["a"]).unwrap();
    Arc::new(table)
}

/// Lets the heartbeats of all writers expire, and the lock.
fn take_for_dead(table: &Table) {
    for entry in std::fs::read_dir(table.folder.path().join(".hoodie/.heartbeat")).unwrap() {
        let file = std::fs::File::options().write(true).open(entry.unwrap().path()).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.set_modified(modified - Duration::from_secs(200)).unwrap();
    }
    let _ = std::fs::remove_file(table.folder.path().join(".hoodie/lock"));
}

const METADATA: &str = ".hoodie/metadata/";

/// Completed instants of the table, or of its metadata table.
fn is_completed(path: &str, of_metadata: bool) -> bool {
    path.ends_with(".deltacommit") && path.starts_with(METADATA) == of_metadata
}

fn is_requested_in_metadata(path: &str) -> bool {
    path.starts_with(METADATA) && path.ends_with(".deltacommit.requested")
}

fn is_metadata_log(path: &str) -> bool {
    path.starts_with(METADATA) && path.contains("/files/") && path.contains(".log.") && !path.contains(".marker")
}

/// A change that a writer stalls before: its name, whether the table has a metadata table, and whether it is at a path.
type Point = (&'static str, bool, fn(&str) -> bool);

#[test]
fn a_write_that_is_rolled_back_just_before_a_change_is_not_part_of_the_table() {
    let points: [Point; 6] = [
        ("completed", false, |path| is_completed(path, false)),
        ("completed, with a metadata table", true, |path| is_completed(path, false)),
        ("completed in the metadata table", true, |path| is_completed(path, true)),
        ("log of the metadata table", true, is_metadata_log),
        ("requested in the metadata table", true, is_requested_in_metadata),
        ("inflight", true, |path| path.ends_with(".deltacommit.inflight") && !path.starts_with(METADATA)),
    ];
    for (version, (point, has_metadata, is_wanted)) in
        [6, 8, 9].into_iter().flat_map(|version| points.map(|point| (version, point)))
    {
        let context = format!("version {version}, {point}");
        let table = shared(version, has_metadata);
        let meanwhile = Arc::clone(&table);
        let stalled = InterruptedStore::new(
            table.store(),
            is_wanted,
            vec![Box::new(move || {
                take_for_dead(&meanwhile);
                meanwhile.insert(meanwhile.store(), "v", &["v"]).unwrap();
            })],
        );
        let transaction = table.begin_at(Arc::clone(&stalled) as _, WriteOperation::Insert).unwrap();
        let instant = transaction.instant().clone();
        let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
        let error = commit_rows(transaction, "g", &["b"], &extra).unwrap_err();
        assert!(stalled.was_interrupted(), "{context}");
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
        assert_eq!(table.keys(), set(&["a", "v"]), "{context}");
        table.check_clean(&context);
        let left = table.local().list_recursively(".hoodie/metadata").unwrap();
        let of_instant = |(path, _): &&(String, _)| {
            let name = path.rsplit('/').next().unwrap();
            name.starts_with(instant.as_str()) || (version > 6 && name.contains(instant.as_str()))
        };
        let left: Vec<_> = left.iter().filter(of_instant).collect();
        assert!(left.is_empty(), "{context}: {left:?}");
        table.insert(table.store(), "h", &["c"]).unwrap();
        assert_eq!(table.keys(), set(&["a", "c", "v"]), "{context}");
        table.check_clean(&context);
    }
}

#[test]
fn a_write_that_loses_its_lock_just_before_its_completed_instant_is_not_completed_or_compared_again() {
    let cases = [("file group", ("g", "b"), ("g", "c")), ("key", ("g", "b"), ("h", "b")), ("", ("g", "b"), ("h", "c"))];
    let tables = [(6, true), (8, true), (9, true), (6, false), (9, false)];
    for ((version, is_remote), (common, (group, key), (other_group, other_key))) in
        tables.into_iter().flat_map(|table| cases.map(|case| (table, case)))
    {
        let context = format!("version {version}, remote: {is_remote}, {common}");
        let table = shared(version, true);
        let mut other = table.begin(WriteOperation::Upsert).unwrap();
        other.inflight(&HoodieCommitMetadata::default()).unwrap();
        let statuses = write_rows(&other, other_group, &[other_key], 0).unwrap();
        let lock = table.folder.path().join(".hoodie/lock");
        let store = FailingStore::new(table.local(), usize::MAX, false);
        let stalled = InterruptedStore::new(
            Arc::new(if is_remote { store.remote() } else { store }),
            |path| is_completed(path, false),
            vec![Box::new(move || {
                std::fs::remove_file(&lock).unwrap();
                let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
                other.commit(statuses, &extra).unwrap();
            })],
        );
        let transaction = table.begin_at(Arc::clone(&stalled) as _, WriteOperation::Upsert).unwrap();
        let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
        let written = commit_rows(transaction, group, &[key], &extra);
        assert!(stalled.was_interrupted(), "{context}");
        // On a local disk the other writer deletes what this one has prepared.
        let common = if is_remote { common } else { "took the lock over" };
        let expected = match common {
            "" => written.map(|_| set(&["a", "b", "c"])).unwrap(),
            _ => {
                let error = written.unwrap_err();
                let is_named = error.kind() == ErrorKind::WriteConflict && error.to_string().contains(common);
                assert!(is_named, "{context}: {error}");
                set(&["a", other_key])
            }
        };
        assert_eq!(table.keys(), expected, "{context}");
        table.check_clean(&context);
        table.insert(table.store(), "k", &["d"]).unwrap();
        assert_eq!(table.keys().len(), expected.len() + 1, "{context}");
        table.check_clean(&context);
    }
}

#[test]
fn a_write_that_takes_its_instant_off_again_is_undone_though_others_saw_it_completed() {
    for version in [6, 9] {
        let context = format!("version {version}");
        let mut table = Table::shared(version);
        table.options.remove("hoodie.metadata.enable");
        table.options.insert("hoodie.metadata.compact.max.delta.commits".into(), "1".into());
        table.insert(table.store(), "f", &["a"]).unwrap();
        let table = Arc::new(table);
        let mut other = table.begin(WriteOperation::Upsert).unwrap();
        other.inflight(&HoodieCommitMetadata::default()).unwrap();
        let statuses = write_rows(&other, "g", &["c"], 0).unwrap();
        let lock = table.folder.path().join(".hoodie/lock");
        let (has_completed, later) = (AtomicBool::new(false), Arc::clone(&table));
        let stalled = InterruptedStore::new(
            Arc::new(FailingStore::new(table.local(), usize::MAX, false).remote()),
            // Before its completed instant, and before it has the lock again.
            move |path| {
                let is_completed = is_completed(path, false);
                let is_lock = path.ends_with("/lock") && has_completed.load(Ordering::SeqCst);
                has_completed.fetch_or(is_completed, Ordering::SeqCst);
                is_completed || is_lock
            },
            vec![
                Box::new(move || {
                    std::fs::remove_file(&lock).unwrap();
                    let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
                    other.commit(statuses, &extra).unwrap();
                }),
                // It removes the markers of completed writes, and compacts the metadata table.
                Box::new(move || drop(later.insert(later.store(), "v", &["v"]).unwrap())),
            ],
        );
        let transaction = table.begin_at(Arc::clone(&stalled) as _, WriteOperation::Upsert).unwrap();
        let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
        let error = commit_rows(transaction, "g", &["b"], &extra).unwrap_err();
        assert!(stalled.was_interrupted(), "{context}");
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
        take_for_dead(&table);
        table.insert(table.store(), "k", &["d"]).unwrap();
        assert_eq!(table.keys(), set(&["a", "c", "d", "v"]), "{context}");
        table.check_clean(&context);
    }
}

#[test]
fn a_write_that_loses_its_lock_in_a_compaction_of_the_metadata_table_can_be_repeated() {
    for version in [6, 9] {
        let mut table = Table::shared(version);
        table.options.remove("hoodie.metadata.enable");
        table.options.insert("hoodie.metadata.compact.max.delta.commits".into(), "1".into());
        table.insert(table.store(), "f", &["a"]).unwrap();
        let table = Arc::new(table);
        let meanwhile = Arc::clone(&table);
        let stalled = InterruptedStore::new(
            table.store(),
            |path| path.starts_with(METADATA) && path.ends_with(".commit"),
            vec![Box::new(move || {
                take_for_dead(&meanwhile);
                meanwhile.insert(meanwhile.store(), "v", &["v"]).unwrap();
            })],
        );
        let written = table.insert(Arc::clone(&stalled) as _, "g", &["b"]);
        assert!(stalled.was_interrupted(), "version {version}");
        if let Err(error) = written {
            assert_eq!(error.kind(), ErrorKind::WriteConflict, "version {version}: {error}");
            table.insert(table.store(), "g", &["b"]).unwrap();
        }
        assert_eq!(table.keys(), set(&["a", "b", "v"]), "version {version}");
        table.check_clean(&format!("version {version}"));
    }
}

#[test]
fn a_rollback_is_given_up_if_the_write_was_completed_before_the_plan_is_published() {
    for version in [6, 9] {
        let table = shared(version, true);
        let mut late = table.begin(WriteOperation::Insert).unwrap();
        late.inflight(&HoodieCommitMetadata::default()).unwrap();
        let statuses = write_rows(&late, "g", &["b"], 0).unwrap();
        take_for_dead(&table);
        let meanwhile = Arc::clone(&table);
        let other = InterruptedStore::new(
            table.store(),
            |path| path.ends_with(".rollback.requested") && !path.starts_with(METADATA),
            vec![Box::new(move || {
                let _ = std::fs::remove_file(meanwhile.folder.path().join(".hoodie/lock"));
                let extra = CommitExtra { schema: SCHEMA.into(), ..CommitExtra::default() };
                late.commit(statuses, &extra).unwrap();
            })],
        );
        let written = table.insert(Arc::clone(&other) as _, "v", &["v"]);
        assert!(other.was_interrupted(), "version {version}");
        let mut expected = set(&["a", "b"]);
        expected.extend(written.is_ok().then(|| "v".to_owned()));
        assert_eq!(table.keys(), expected, "version {version}");
        table.insert(table.store(), "h", &["c"]).unwrap();
        expected.insert("c".into());
        assert_eq!(table.keys(), expected, "version {version}");
        table.check_clean(&format!("version {version}"));
    }
}

#[test]
fn no_file_is_begun_after_the_heartbeat_has_expired() {
    let table = Table::shared(9);
    let mut options = table.options.clone();
    options.insert("hoodie.client.heartbeat.interval_in_ms".into(), "1".into());
    options.insert("hoodie.client.heartbeat.tolerable.misses".into(), "1".into());
    let location = TableLocation::in_store(table.store(), &table.uri());
    let target = Arc::new(WritableTable::open(&location, &options, "insert").unwrap());
    let transaction = Transaction::begin(&target, WriteOperation::Insert).unwrap();
    while transaction.check_alive().is_ok() {
        std::thread::yield_now();
    }
    let error = write_rows(&transaction, "g", &["b"], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
    assert!(error.to_string().contains("heartbeat"), "{error}");
}
