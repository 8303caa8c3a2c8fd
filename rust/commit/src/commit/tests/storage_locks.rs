//! The lock that is an object: what is free, two writers at once, answers that are lost, and time that goes on.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::scripted_store::{Call, Event, ScriptedStore};
use crate::commit::{HeldLock, LockValidity, StorageLock, TableLock};
use mortice_base::error::ErrorKind;
use mortice_base::time::{SimulatedTime, Time};
use mortice_storage::{FileStore, PutOutcome};

const PATH: &str = ".hoodie/.locks/table_lock.json";
const USUAL: LockValidity = LockValidity { validity: Duration::from_secs(300), renewal: Duration::from_secs(100) };

fn lock(store: &Arc<ScriptedStore>, owner: &str, validity: LockValidity) -> StorageLock {
    StorageLock::new(Arc::clone(store) as Arc<dyn FileStore>, owner, validity)
}

fn write(folder: &tempfile::TempDir, text: &str) {
    let path = folder.path().join(PATH);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn text(folder: &tempfile::TempDir) -> String {
    std::fs::read_to_string(folder.path().join(PATH)).unwrap()
}

fn object(folder: &tempfile::TempDir) -> serde_json::Value {
    serde_json::from_str(&text(folder)).unwrap()
}

fn valid_until(folder: &tempfile::TempDir) -> u64 {
    object(folder)["validUntil"].as_u64().unwrap()
}

/// So many milliseconds after the time at which all stores here begin.
fn millis_from_now(after: i64) -> u64 {
    u64::try_from(SimulatedTime::default().now().timestamp_millis() + after).unwrap()
}

fn held_by(owner: &str) -> String {
    format!(r#"{{"expired":false,"validUntil":{},"owner":"{owner}"}}"#, millis_from_now(300_000))
}

fn conflict(held: &mut Box<dyn HeldLock>) -> String {
    let error = held.check().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
    error.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Members of other releases are left out.
    #[test]
    fn a_lock_is_free_once_it_has_expired_or_its_time_is_past(
        is_expired in any::<bool>(),
        after in prop_oneof![-100_000_i64..-500, -500_i64..100_000],
        more in prop_oneof![Just(""), Just(r#","fence":7"#)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let valid_until = millis_from_now(after);
        let found = format!(r#"{{"expired":{is_expired},"validUntil":{valid_until},"owner":"other"{more}}}"#);
        write(&folder, &found);
        let taken = lock(&ScriptedStore::new(&folder, []), "own", USUAL).try_acquire().unwrap();
        prop_assert_eq!(taken.is_some(), is_expired || after < -500);
        match taken {
            None => prop_assert_eq!(text(&folder), found),
            Some(held) => {
                let now = object(&folder);
                prop_assert_eq!(&now["owner"], "own");
                prop_assert_eq!(&now["expired"], false);
                prop_assert_eq!(now["validUntil"].as_u64().unwrap(), millis_from_now(300_000));
                held.release().unwrap();
                prop_assert_eq!(&object(&folder)["expired"], true);
            }
        }
    }

    /// Nobody knows whose a lock is that was written in part: only a person can.
    #[test]
    fn a_lock_that_was_written_in_part_is_an_error(len in 0_usize..60) {
        let folder = tempfile::tempdir().unwrap();
        let whole = held_by("other");
        write(&folder, &whole[..len]);
        let error = lock(&ScriptedStore::new(&folder, []), "own", USUAL).try_acquire().err().unwrap();
        prop_assert_eq!(error.kind(), ErrorKind::InvalidTable);
        prop_assert_eq!(text(&folder), &whole[..len]);
    }
}

#[test]
fn of_two_that_take_a_lock_at_once_one_has_it() {
    let expired = r#"{"expired":true,"validUntil":1,"owner":"before"}"#;
    for (before, call) in [(None, Call::Create), (Some(expired), Call::Put)] {
        let folder = tempfile::tempdir().unwrap();
        before.into_iter().for_each(|before| write(&folder, before));
        let (sender, taken) = std::sync::mpsc::channel();
        let faster = lock(&ScriptedStore::new(&folder, []), "faster", USUAL);
        let takes = Event::Before(Box::new(move || sender.send(faster.try_acquire().unwrap().unwrap()).unwrap()));
        let store = ScriptedStore::new(&folder, [(call, takes)]);
        assert!(lock(&store, "slower", USUAL).try_acquire().unwrap().is_none(), "{before:?}");
        assert_eq!(store.left(), 0, "{before:?}");
        taken.recv().unwrap().check().unwrap();
        assert_eq!(object(&folder)["owner"], "faster");
    }
}

/// Otherwise nobody would have the lock until its time is up.
#[test]
fn a_lock_that_was_taken_without_an_answer_is_held_and_given_back() {
    let expired = r#"{"expired":true,"validUntil":1,"owner":"before"}"#;
    for (before, call) in [(None, Call::Create), (Some(expired), Call::Put)] {
        let folder = tempfile::tempdir().unwrap();
        before.into_iter().for_each(|before| write(&folder, before));
        let store = ScriptedStore::new(&folder, [(call, Event::AnswerIsLost)]);
        let mut held = lock(&store, "own", USUAL).try_acquire().unwrap().unwrap();
        held.check().unwrap();
        held.release().unwrap();
        assert_eq!(object(&folder)["expired"], true);
        // Nothing was taken: the failure is one.
        for (call, is_own) in [(Call::Put, false), (Call::Put, true)] {
            if is_own {
                write(&folder, r#"{"expired":false,"validUntil":1,"owner":"own"}"#);
            }
            store.add([(call, Event::Fails)]);
            let error = lock(&store, "own", USUAL).try_acquire().err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Unreachable, "{before:?}");
        }
    }
}

/// The next renewal finds a version that the holder does not know, of a lock that is its own.
#[test]
fn a_renewal_whose_answer_is_lost_does_not_lose_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let mut held = lock(&store, "own", USUAL).try_acquire().unwrap().unwrap();
    store.add([(Call::Put, Event::AnswerIsLost)]);
    let before = valid_until(&folder);
    for renewals in 1..=2 {
        store.time.advance(USUAL.renewal);
        assert_eq!(store.left(), 0, "a renewal whose answer is lost");
        held.check().unwrap();
        assert_eq!(valid_until(&folder), before + 100_000 * renewals);
    }
    held.release().unwrap();
    assert_eq!(object(&folder)["expired"], true);
}

/// Otherwise others would wait for as long as the lock is valid.
#[test]
fn a_lock_is_given_back_after_a_renewal_whose_answer_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let held = lock(&store, "own", USUAL).try_acquire().unwrap().unwrap();
    store.add([(Call::Put, Event::AnswerIsLost)]);
    store.time.advance(USUAL.renewal);
    assert_eq!(store.left(), 0, "a renewal whose answer is lost");
    held.release().unwrap();
    assert_eq!(object(&folder)["expired"], true);
    lock(&store, "next", USUAL).try_acquire().unwrap().unwrap().release().unwrap();
}

#[test]
fn a_storage_that_does_not_answer_for_a_while_does_not_lose_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let mut held = lock(&store, "own", USUAL).try_acquire().unwrap().unwrap();
    let before = valid_until(&folder);
    store.add((0..2).map(|_| (Call::Put, Event::Fails)));
    store.time.advance(USUAL.renewal * 2);
    held.check().unwrap();
    assert_eq!((store.left(), valid_until(&folder)), (0, before));
    // The last moment at which a renewal is in time.
    store.time.advance(USUAL.renewal);
    held.check().unwrap();
    assert_eq!(valid_until(&folder), before + 300_000);
}

#[test]
fn a_lock_that_cannot_be_renewed_ends_with_its_time_and_is_another_writers_then() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let mut held = lock(&store, "own", USUAL).try_acquire().unwrap().unwrap();
    store.add((0..10).map(|_| (Call::Put, Event::Fails)));
    store.time.advance(USUAL.validity - Duration::from_millis(1));
    held.check().unwrap();
    store.time.advance(Duration::from_millis(1));
    assert!(conflict(&mut held).contains("validity.timeout"));
    // Its clock may be ahead of the holder's.
    let other = lock(&ScriptedStore::in_time(&store.time, &folder, []), "other", USUAL);
    store.time.advance(Duration::from_millis(500));
    assert!(other.try_acquire().unwrap().is_none());
    store.time.advance(Duration::from_millis(1));
    let mut taken = other.try_acquire().unwrap().unwrap();
    // The first one gives nothing back: the object is no longer its own.
    drop(held);
    taken.check().unwrap();
    assert_eq!(object(&folder)["owner"], "other");
}

/// The holder does not have to wait for its next renewal to find out.
#[test]
fn a_lock_that_is_gone_or_another_writers_is_not_held() {
    let of_other = held_by("other");
    let given_back = r#"{"expired":true,"validUntil":1,"owner":"own"}"#;
    for (other, is_renewed) in
        [(None, false), (Some(of_other.as_str()), false), (Some(&of_other), true), (Some(given_back), false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let store = ScriptedStore::new(&folder, []);
        let mut held = lock(&store, "own", USUAL).try_acquire().unwrap().unwrap();
        match other {
            None => store.delete(PATH).unwrap(),
            Some(other) => {
                assert!(matches!(store.put(PATH, &other.to_owned().into(), None), Ok(PutOutcome::Written(_))))
            }
        }
        if is_renewed {
            store.time.advance(USUAL.renewal);
        }
        assert!(conflict(&mut held).contains("lost"), "{other:?}");
        held.release().unwrap();
        match other {
            None => assert!(!folder.path().join(PATH).exists()),
            Some(other) => assert_eq!(text(&folder), other),
        }
    }
}

#[test]
fn whether_a_lock_is_held_is_not_known_without_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = ScriptedStore::new(&folder, []);
    let mut held = lock(&store, "own", USUAL).try_acquire().unwrap().unwrap();
    store.add([(Call::Get, Event::Fails)]);
    assert_eq!(held.check().unwrap_err().kind(), ErrorKind::Unreachable);
    held.check().unwrap();
    store.add([(Call::Get, Event::Fails)]);
    let error = lock(&store, "other", USUAL).try_acquire().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
}
