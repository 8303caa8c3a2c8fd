//! Services and writes that stall before one of their changes for longer than their lock and their heartbeats are
//! valid, while other writers write, clean, compact and archive. Nothing that was reported is lost, and the one that
//! stalled succeeds or gives way.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::stalling_services::{
    Effect, METADATA_CHANGES, RECOVERIES, SERVICES, SHARED, Stalling, TableRows, WRITES, archive, clean, compact,
};
use super::stopped_services::{FIRST, Row, Table};
use super::undone_instants::{take_for_dead, upsert};
use crate::alter_schema::stored_columns;
use mortice_base::error::{ErrorKind, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::ReadOptions;
use mortice_services::{VerifyOptions, verify};
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_storage::{LocalStorage, StorageOptions};
use mortice_table::timeline::{Action, Timeline};

fn timeline(location: &TableLocation) -> Timeline {
    location.open_table(ReadOptions::default()).unwrap().timeline.clone()
}

/// Requested times of completed writes, on the timeline and in the archive.
fn completed(location: &TableLocation) -> BTreeSet<String> {
    let timeline = timeline(location);
    let archived = timeline.archived().unwrap().to_vec();
    let writes = archived.iter().filter(|write| write.is_completed_write()).chain(timeline.completed_writes());
    writes.map(|write| write.requested_time.to_string()).collect()
}

/// Whether a change is one before which a service may stall: those of locks and heartbeats stay.
fn is_change(path: &str) -> bool {
    !path.ends_with("/lock") && !path.contains(".heartbeat")
}

fn is_restoring(location: &TableLocation) -> bool {
    timeline(location).pending(Action::Restore).next().is_some()
}

/// What others do meanwhile. Those that find the table changed by the one that stalled give way. Returns the rows that
/// were reported as written: while a restore is not completed, writes are refused.
fn go_on(location: &TableLocation, folder: &std::path::Path, context: &str) -> TableRows {
    take_for_dead(folder);
    let mut written = TableRows::new();
    let mut put = |row: Row| match upsert(location, row, &SHARED) {
        Ok(()) => {
            written.retain(|(key, _)| key != row.0);
            written.insert((row.0.to_owned(), row.2));
        }
        Err(error) => assert!(is_restoring(location) && error.kind() == ErrorKind::Unsupported, "{context}: {error}"),
    };
    put(("n", "x", 1));
    for service in [clean, archive] {
        let _ = service(location);
    }
    for row in [("n", "x", 2), ("o", "y", 2)] {
        put(row);
    }
    for service in [compact, clean, archive] {
        let _ = service(location);
    }
    written
}

/// The rows that a table may have once a service or write has ended.
fn possible_rows(before: &TableRows, effect: Effect, done: &Result<()>) -> Vec<TableRows> {
    let changed = |change: fn(&mut TableRows)| {
        let mut after = before.clone();
        change(&mut after);
        after
    };
    let is_written = done.as_ref().map_or_else(|error| error.kind() == ErrorKind::TableService, |()| true);
    match effect {
        Effect::Write(change) | Effect::Undoing(change) if is_written => vec![changed(change)],
        Effect::Undoing(change) => vec![before.clone(), changed(change)],
        Effect::Same | Effect::Write(_) => vec![before.clone()],
    }
}

/// Makes sure that savepoints have their files, and that the definitions of indexes are those of the partitions that
/// there are.
fn check_files(table: &Table, context: &str) {
    let open = table.open(false);
    for savepoint in open.timeline.savepoints() {
        for (partition, names) in open.timeline.files_of_savepoint(savepoint, true).unwrap() {
            let missing = names.iter().find(|name| !table.folder.path().join(&partition).join(name).exists());
            assert_eq!(missing, None, "{context}: {savepoint} lacks a file");
        }
    }
    let definitions = std::fs::read_to_string(table.folder.path().join(".hoodie/.index_defs/index.json"));
    let definitions = definitions.unwrap_or_default();
    let is_undefined = |name: &&&str| table.partitions().contains(**name) && !definitions.contains(**name);
    let undefined = ["column_stats", "record_index"].iter().find(is_undefined);
    assert!(open.config.version.number() < 8 || undefined.is_none(), "{context}: {undefined:?} is not defined");
}

/// Whether a file is the one before whose change a service stalls.
type IsWanted = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Stalls a service before a change, and checks what is there when it has ended. Returns whether there was that change.
fn stall_at(origin: &Table, stalling: &Stalling, is_wanted: IsWanted, context: &str) -> bool {
    let table = origin.copy();
    let before = table.rows(false);
    let (location, folder) =
        (TableLocation::new(&table.uri(), &StorageOptions::new()), table.folder.path().to_path_buf());
    let first = completed(&location);
    let known = Arc::new(Mutex::new((BTreeSet::new(), TableRows::new())));
    let (others, noted, what) = (location.clone(), Arc::clone(&known), context.to_owned());
    let meanwhile: Meanwhile = Box::new(move || {
        let written = go_on(&others, &folder, &what);
        *noted.lock().unwrap() = (completed(&others), written);
    });
    let store = InterruptedStore::with_all(Arc::new(LocalStorage::new(&table.uri(), true)), is_wanted, vec![meanwhile]);
    let done = (stalling.run)(&TableLocation::in_store(Arc::clone(&store) as _, &table.uri()));
    if !store.was_interrupted() {
        done.unwrap();
        return false;
    }
    take_for_dead(table.folder.path());
    if stalling.is_repeated && done.is_err() && (is_restoring(&location) || matches!(stalling.effect, Effect::Same)) {
        (stalling.run)(&location).unwrap_or_else(|error| panic!("{context}: {error}; first: {done:?}"));
    }
    upsert(&location, ("p", "x", 3), &SHARED).unwrap_or_else(|error| panic!("{context}: {error}; first: {done:?}"));
    let (known, mut written) = std::mem::take(&mut *known.lock().unwrap());
    written.insert(("p".to_owned(), 3));
    let rows = table.rows(true);
    let mut possible = possible_rows(&before, stalling.effect, &done);
    possible.iter_mut().for_each(|possible| possible.extend(written.iter().cloned()));
    assert!(possible.contains(&rows), "{context}: {rows:?} and not {possible:?}; {done:?}");
    assert_eq!(table.rows(false), rows, "{context}: {done:?}");
    let is_undone = |time: &String| matches!(stalling.effect, Effect::Undoing(_)) && first.contains(time);
    let now = completed(&location);
    let lost: Vec<&String> = known.iter().filter(|time| !now.contains(*time) && !is_undone(time)).collect();
    assert!(lost.is_empty(), "{context}: {lost:?} are nowhere; {done:?}");
    let findings = verify(&location, &VerifyOptions::default()).unwrap().findings;
    assert!(findings.is_empty(), "{context}: {findings:?}; {done:?}");
    check_files(&table, &format!("{context}: {done:?}"));
    if stalling.name.starts_with("change of columns") && done.is_ok() {
        let columns = stored_columns(&table.open(false)).unwrap().0;
        assert!(columns.contains("described"), "{context}: {columns}");
    }
    true
}

fn prepared(version: u8, stalling: &Stalling) -> Table {
    let table = Table::new(version);
    table.upsert(&FIRST, &SHARED);
    for value in 2..7 {
        table.upsert(&[("a", "x", value), ("c", "y", value)], &SHARED);
    }
    (stalling.prepare)(&table);
    table
}

/// The changes that a service makes which is not stalled.
fn count_changes(origin: &Table, stalling: &Stalling) -> usize {
    let (table, seen) = (origin.copy(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&seen);
    let is_wanted = move |path: &str| is_change(path) && count.fetch_add(1, Ordering::SeqCst) == usize::MAX;
    let store = InterruptedStore::with_all(Arc::new(LocalStorage::new(&table.uri(), true)), is_wanted, Vec::new());
    (stalling.run)(&TableLocation::in_store(store, &table.uri())).unwrap();
    seen.load(Ordering::SeqCst)
}

fn stall_everywhere(services: &[Stalling]) {
    let is_every = std::env::var("MORTICE_EVERY_STOP").is_ok_and(|every| every == "1");
    for (version, stalling) in [6, 9].into_iter().flat_map(|version| services.iter().map(move |one| (version, one))) {
        let table = prepared(version, stalling);
        let changes = count_changes(&table, stalling);
        let part = if version == 6 { [1, 5] } else { [3, 7] };
        let tried = if is_every { (0..changes).collect() } else { part.map(|part| changes * part / 8).to_vec() };
        for change in tried {
            let context = format!("version {version}, {}, stalled before change {change} of {changes}", stalling.name);
            let seen = AtomicUsize::new(0);
            let is_wanted = move |path: &str| is_change(path) && seen.fetch_add(1, Ordering::SeqCst) == change;
            stall_at(&table, stalling, Box::new(is_wanted), &context);
        }
    }
}

#[test]
fn nothing_is_lost_at_any_change_that_a_service_stalls_before() {
    stall_everywhere(&SERVICES);
}

#[test]
fn nothing_is_lost_at_any_change_that_a_change_of_the_metadata_table_stalls_before() {
    stall_everywhere(&METADATA_CHANGES);
}

#[test]
fn nothing_is_lost_at_any_change_that_a_write_stalls_before() {
    stall_everywhere(&WRITES);
}

#[test]
fn a_rollback_or_restore_that_stalls_is_done_or_not_and_takes_no_other_rows() {
    stall_everywhere(&RECOVERIES);
}

#[test]
fn the_moments_before_files_that_a_rollback_has_made_useless_lose_nothing() {
    let is_of_table = |path: &str| !path.starts_with(".hoodie/metadata/");
    let [write, rollback] = [&WRITES[0], &RECOVERIES[0]];
    for version in [6, 9] {
        let is_inflight = move |path: &str| is_of_table(path) && path.ends_with(".inflight");
        let context = format!("version {version}, stalled before it is inflight");
        assert!(stall_at(&prepared(version, write), write, Box::new(is_inflight), &context));
    }
    let is_log = |path: &str| !path.starts_with(".hoodie/") && path.contains(".log.");
    let context = "stalled before a log with a rollback block";
    assert!(stall_at(&prepared(6, rollback), rollback, Box::new(is_log), context));
}
