//! Heartbeats of storage that does not answer, of clocks that differ, and of tables within others.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::scripted_store::{Call, Event, ScriptedStore};
use crate::commit::{Heartbeat, HeartbeatOptions, Heartbeats, delete_heartbeat};
use mortice_base::error::ErrorKind;
use mortice_base::names::RequestedTime;
use mortice_storage::FileStore;

const INSTANT: &str = "20260101000000000";
const OPTIONS: HeartbeatOptions = HeartbeatOptions { interval: Duration::from_secs(60), tolerable_misses: 2 };

fn start(store: &Arc<ScriptedStore>, options: HeartbeatOptions) -> mortice_base::error::Result<Heartbeat> {
    Heartbeat::start(Arc::clone(store) as Arc<dyn FileStore>, &INSTANT.into(), options)
}

fn path(folder: &tempfile::TempDir) -> std::path::PathBuf {
    folder.path().join(".hoodie/.heartbeat").join(INSTANT)
}

fn modified(folder: &tempfile::TempDir) -> SystemTime {
    std::fs::metadata(path(folder)).unwrap().modified().unwrap()
}

fn set_modified(folder: &tempfile::TempDir, time: SystemTime) {
    std::fs::File::options().write(true).open(path(folder)).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_write_without_a_first_heartbeat_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, [(Call::Put, Event::Fails)]);
    assert_eq!(start(&store, OPTIONS).err().unwrap().kind(), ErrorKind::Unreachable);
    assert!(!path(&folder).exists());
}

#[test]
fn a_heartbeat_goes_on_after_storage_that_did_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let options = HeartbeatOptions { tolerable_misses: 5, ..OPTIONS };
    let heartbeat = start(&store, options).unwrap();
    store.add((0..3).map(|_| (Call::Put, Event::Fails)));
    let first = modified(&folder);
    store.time.advance(options.interval * 3);
    assert_eq!((store.left(), modified(&folder)), (0, first));
    store.time.advance(options.interval);
    assert_eq!(modified(&folder), store.time.file_time());
    store.time.advance(options.interval);
    heartbeat.check().unwrap();
}

/// The writer has to give up no later than others take it for dead.
#[test]
fn a_writer_whose_heartbeats_all_fail_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let heartbeat = start(&store, OPTIONS).unwrap();
    store.add((0..10).map(|_| (Call::Put, Event::Fails)));
    let is_expired = || Heartbeats::list(&*store).unwrap().is_expired(&INSTANT.into(), OPTIONS);
    store.time.advance(OPTIONS.limit() - Duration::from_millis(1));
    heartbeat.check().unwrap();
    store.time.advance(Duration::from_millis(1));
    heartbeat.check().unwrap_err();
    assert!(!is_expired(), "others take it for dead no earlier than it knows");
    let error = heartbeat.watch().check().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteConflict);
    assert!(error.to_string().contains(INSTANT) && error.to_string().contains("interval_in_ms"), "{error}");
    store.time.advance(Duration::from_millis(1));
    assert!(is_expired());
}

#[test]
fn a_view_does_not_keep_a_heartbeat_alive() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let heartbeat = start(&store, OPTIONS).unwrap();
    let watch = heartbeat.watch();
    drop(heartbeat);
    let last = modified(&folder);
    store.time.advance(OPTIONS.limit());
    watch.check().unwrap_err();
    assert_eq!(modified(&folder), last, "the file is neither written nor deleted");
}

#[test]
fn heartbeats_of_a_table_within_another_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let put = |path: &str| std::mem::drop(store.put(path, &bytes::Bytes::new(), None).unwrap());
    put(".hoodie/.heartbeat/20260101000000000");
    put(".hoodie/metadata/.hoodie/.heartbeat/20260202000000000");
    // No heartbeats: a checksum file, what another program left, a folder.
    put(".hoodie/.heartbeat/.20260303000000000.crc");
    put(".hoodie/.heartbeat/notes");
    std::fs::create_dir(folder.path().join(".hoodie/.heartbeat/20260404000000000")).unwrap();
    let instants = |found: Heartbeats| found.instants().map(RequestedTime::to_string).collect::<Vec<_>>();
    assert_eq!(instants(Heartbeats::list(&*store).unwrap()), ["20260101000000000"]);
    let below = |root: &str| instants(Heartbeats::list_below(&*store, root).unwrap());
    assert_eq!(below(".hoodie/metadata"), ["20260202000000000"]);
    assert_eq!(below("elsewhere"), [""; 0], "a table without heartbeats");
    delete_heartbeat(&*store, &"20260101000000000".into()).unwrap();
    delete_heartbeat(&*store, &"20260101000000000".into()).unwrap();
    assert_eq!(instants(Heartbeats::list(&*store).unwrap()), [""; 0]);
    // Without an answer nobody is taken for dead.
    store.add([(Call::List, Event::Fails)]);
    assert_eq!(Heartbeats::list(&*store).unwrap_err().kind(), ErrorKind::Unreachable);
}

/// Otherwise each write would be rolled back by the next one that looks.
#[test]
fn a_heartbeat_of_storage_without_times_is_alive() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    start(&store, OPTIONS).unwrap().stop().unwrap();
    set_modified(&folder, SystemTime::UNIX_EPOCH);
    assert!(!Heartbeats::list(&*store).unwrap().is_expired(&INSTANT.into(), OPTIONS));
}

#[test]
fn a_limit_beyond_all_times_is_never_reached() {
    let options = HeartbeatOptions { interval: Duration::MAX, tolerable_misses: u32::MAX };
    assert_eq!(options.limit(), Duration::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A heartbeat from the future is of a writer whose clock is ahead, or of a clock that was set back.
    #[test]
    fn a_write_is_dead_once_its_heartbeat_is_older_than_all_tolerable_misses(
        interval in 20_u64..100, misses in 0_u32..5, beyond in -10_000_i64..10_000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = ScriptedStore::new(&folder, []);
        start(&store, OPTIONS).unwrap().stop().unwrap();
        let options = HeartbeatOptions { interval: Duration::from_secs(interval), tolerable_misses: misses };
        let age = i64::try_from(interval).unwrap() * i64::from(misses) + beyond;
        let (distance, now) = (Duration::from_secs(age.unsigned_abs()), store.time.file_time());
        set_modified(&folder, if age < 0 { now + distance } else { now - distance });
        let found = Heartbeats::list(&*store).unwrap();
        prop_assert_eq!(found.is_expired(&INSTANT.into(), options), beyond > 0);
        prop_assert!(found.is_expired(&"20260101000000001".into(), options), "a write without a heartbeat");
    }
}
