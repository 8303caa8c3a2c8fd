//! Services and writes that stall before one of their changes for longer than their lock and their heartbeats are valid, while other
//! writers write, clean, compact and archive. Nothing that was reported is lost, and the one that stalled succeeds or gives way.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::stopped_services::{FIRST, Table, options};
use super::undone_instants::{take_for_dead, upsert};
use crate::maintenance::{
    MetadataBuildRequest, SavepointRequest, ServiceRequest, VerifyOptions, run_clustering, run_compaction,
    run_metadata_build, run_savepoint, verify,
};
use crate::services::{Archival, Cleaning};
use crate::writable_table::{TableLocation, WritableTable};
use mortice_base::error::{ErrorKind, Result};
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_storage::{LocalStorage, StorageOptions};

const SHARED: [(&str, &str); 7] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.parquet.small.file.limit", "0"),
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.metadata.compact.max.delta.commits", "3"),
];
const FEW: [(&str, &str); 3] =
    [("hoodie.keep.min.commits", "2"), ("hoodie.keep.max.commits", "3"), ("hoodie.clean.commits.retained", "1")];
/// The changes that are tried: one in so many.
const STEP: usize = 9;

fn clean(location: &TableLocation) -> Result<()> {
    let target = WritableTable::open(location, &options(&[SHARED.as_slice(), &FEW].concat()), "clean")?;
    Cleaning::new(&target)?.run().map(drop)
}

fn archive(location: &TableLocation) -> Result<()> {
    let target = WritableTable::open(location, &options(&[SHARED.as_slice(), &FEW].concat()), "archive")?;
    Archival::new(&target)?.run().map(drop)
}

fn compact(location: &TableLocation) -> Result<()> {
    run_compaction(location, ServiceRequest::BOTH, &options(&SHARED)).map(drop)
}

fn cluster(location: &TableLocation) -> Result<()> {
    run_clustering(location, ServiceRequest::BOTH, &options(&SHARED)).map(drop)
}

fn savepoint(location: &TableLocation) -> Result<()> {
    let table = location.open_table(mortice_merge::config::ReadOptions::default())?;
    let writes: Vec<String> = table.timeline.completed_writes().map(|write| write.requested_time.to_string()).collect();
    let instant = writes.into_iter().rev().nth(1).unwrap();
    run_savepoint(location, &SavepointRequest { instant, ..SavepointRequest::default() }, &options(&SHARED)).map(drop)
}

fn rebuild(location: &TableLocation) -> Result<()> {
    let request = MetadataBuildRequest { rebuilds: true, ..MetadataBuildRequest::default() };
    run_metadata_build(location, &request, &options(&SHARED)).map(drop)
}

fn write_with_services(location: &TableLocation) -> Result<()> {
    let inline = [("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")];
    let given: Vec<(&str, &str)> =
        SHARED.iter().chain(&FEW).chain(&inline).filter(|(name, _)| !name.contains("automatic")).copied().collect();
    upsert(location, ("own", "y", 1), &given)
}

type NamedService = (&'static str, fn(&TableLocation) -> Result<()>);

const SERVICES: [NamedService; 7] = [
    ("archival", archive),
    ("savepoint", savepoint),
    ("clean", clean),
    ("compaction", compact),
    ("clustering", cluster),
    ("metadata build", rebuild),
    ("write with services", write_with_services),
];

/// Requested times of completed writes, on the timeline and in the archive.
fn completed(location: &TableLocation) -> BTreeSet<String> {
    let timeline = location.open_table(mortice_merge::config::ReadOptions::default()).unwrap().timeline.clone();
    let archived = timeline.archived().unwrap().to_vec();
    let writes = archived.iter().filter(|write| write.is_completed_write()).chain(timeline.completed_writes());
    writes.map(|write| write.requested_time.to_string()).collect()
}

/// What others do meanwhile. Those that find the table changed by the one that stalled give way.
fn go_on(location: &TableLocation, folder: &std::path::Path) {
    take_for_dead(folder);
    upsert(location, ("n", "x", 1), &SHARED).unwrap();
    for service in [clean, archive] {
        let _ = service(location);
    }
    for row in [("n", "x", 2), ("o", "y", 2)] {
        upsert(location, row, &SHARED).unwrap();
    }
    for service in [compact, clean, archive] {
        let _ = service(location);
    }
}

/// Stalls a service before a change. Returns whether there was that change.
fn stall_at(origin: &Table, (name, run): NamedService, change: usize, context: &str) -> bool {
    let table = origin.copy();
    let before = table.rows(false);
    let (location, folder) =
        (TableLocation::new(&table.uri(), &StorageOptions::new()), table.folder.path().to_path_buf());
    let known = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (others, noted) = (location.clone(), Arc::clone(&known));
    let meanwhile: Meanwhile = Box::new(move || {
        go_on(&others, &folder);
        *noted.lock().unwrap() = completed(&others);
    });
    let seen = AtomicUsize::new(0);
    let is_change = move |path: &str| {
        !path.ends_with("/lock") && !path.contains(".heartbeat") && seen.fetch_add(1, Ordering::SeqCst) == change
    };
    let store = InterruptedStore::new(Arc::new(LocalStorage::new(&table.uri(), true)), is_change, vec![meanwhile]);
    let done = run(&TableLocation::in_store(Arc::clone(&store) as _, &table.uri()));
    if !store.was_interrupted() {
        done.unwrap();
        return false;
    }
    let is_written = name == "write with services"
        && done.as_ref().map_or_else(|error| error.kind() == ErrorKind::TableService, |()| true);
    take_for_dead(table.folder.path());
    upsert(&location, ("p", "x", 3), &SHARED).unwrap_or_else(|error| panic!("{context}: {error}; first: {done:?}"));
    let mut expected = before;
    expected.extend([("n", 2), ("o", 2), ("p", 3)].map(|(key, value)| (key.to_owned(), value)));
    expected.extend(is_written.then(|| ("own".to_owned(), 1)));
    assert_eq!(table.rows(true), expected, "{context}: {done:?}");
    assert_eq!(table.rows(false), expected, "{context}: {done:?}");
    let known = known.lock().unwrap();
    let lost: Vec<&String> = known.iter().filter(|time| !completed(&location).contains(*time)).collect();
    assert!(lost.is_empty(), "{context}: {lost:?} are nowhere; {done:?}");
    let findings = verify(&location, &VerifyOptions::default()).unwrap().findings;
    assert!(findings.is_empty(), "{context}: {findings:?}; {done:?}");
    true
}

#[test]
fn nothing_is_lost_at_any_change_that_a_service_stalls_before() {
    let is_every = std::env::var("MORTICE_EVERY_STOP").is_ok_and(|every| every == "1");
    for (version, service) in [6, 9].into_iter().flat_map(|version| SERVICES.map(|service| (version, service))) {
        let table = Table::new(version);
        table.upsert(&FIRST, &SHARED);
        for value in 2..7 {
            table.upsert(&[("a", "x", value), ("c", "y", value)], &SHARED);
        }
        let first = if is_every { 0 } else { usize::from(version) % STEP };
        for change in (first..).step_by(if is_every { 1 } else { STEP }) {
            let context = format!("version {version}, {}, stalled before change {change}", service.0);
            if !stall_at(&table, service, change, &context) {
                break;
            }
        }
    }
}
