//! A rollback in the metadata table, of a write that was stopped at any of its changes, by one that is stopped at any
//! of its own: readers find the records of before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::by_hand::{ALL, ByHand, Written, group, time, write_options};
use crate::tests::stops;
use mortice_base::error::ErrorKind;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{HeartbeatOptions, RolledBackFiles, RolledBackPartition};
use mortice_storage::LocalStorage;
use mortice_storage::failing_store::FailingStore;
use mortice_table::timeline::metadata::{HoodieRollbackMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, WriteOperation};

/// Tables of two commits, and the third as it is written.
fn begun(version: u8, given: &[(&'static str, &'static str)]) -> (ByHand, Written) {
    let by_hand = ByHand::new(version, given);
    by_hand.insert(1, "x", &["a", "b"]);
    by_hand.insert(2, "y", &["c"]);
    by_hand.begin(&time(3), Action::DeltaCommit);
    let keys = ["d", "e"].map(str::to_owned).into();
    let statuses = vec![by_hand.base_file(("z", 3), &time(3), &keys, None)];
    (by_hand, Written { statuses, ..Written::default() })
}

fn failing(by_hand: &ByHand, limit: usize, is_lost: bool) -> Arc<FailingStore> {
    Arc::new(FailingStore::new(LocalStorage::new(&by_hand.table.uri(), true), limit, is_lost))
}

/// Takes the failed instant off the table's timeline, as the last step of its rollback does.
fn take_off(by_hand: &ByHand, failed: &RequestedTime) {
    by_hand.timeline().delete_instant(failed, Action::DeltaCommit).unwrap();
}

#[test]
fn a_write_that_was_stopped_anywhere_leaves_no_records() {
    for (version, is_lost) in [(6, false), (9, false), (9, true)] {
        let (origin, written) = begun(version, &ALL[..2]);
        let (before, files) = (origin.records(), origin.files_below(".hoodie/metadata/files"));
        for stopped in stops(12) {
            let context = format!("version {version}, stopped at {stopped}, lost: {is_lost}");
            let by_hand = origin.copy();
            let store = failing(&by_hand, stopped, is_lost);
            let upkeep = by_hand.upkeep_in(Arc::clone(&store) as _).unwrap();
            let done = by_hand.write(&upkeep, &time(3), WriteOperation::Insert, &written);
            by_hand.upkeep().roll_back(&time(3), &time(4), &RolledBackFiles::default()).unwrap();
            assert!(by_hand.metadata_instants(time(3).as_str()).is_empty(), "{context}");
            take_off(&by_hand, &time(3));
            assert_eq!(by_hand.records(), before, "{context}");
            assert!(version == 6 || by_hand.files_below(".hoodie/metadata/files") == files, "{context}");
            // The next write of these keys is not undone with it.
            by_hand.insert(5, "z", &["d"]);
            assert_eq!(by_hand.locations()["d"], ("z".to_owned(), group(5)), "{context}");
            assert_eq!(by_hand.locations().len(), 4, "{context}");
            if done.is_ok() && store.changes() <= stopped {
                break;
            }
        }
    }
}

#[test]
fn a_rollback_that_was_stopped_anywhere_is_repeated() {
    for (version, is_lost) in [(6, false), (9, false), (9, true)] {
        let (origin, written) = begun(version, &ALL[..2]);
        let before = origin.records();
        origin.write(&origin.upkeep(), &time(3), WriteOperation::Insert, &written).unwrap();
        for stopped in stops(12) {
            let context = format!("version {version}, stopped at {stopped}, lost: {is_lost}");
            let by_hand = origin.copy();
            let store = failing(&by_hand, stopped, is_lost);
            let upkeep = by_hand.upkeep_in(Arc::clone(&store) as _).unwrap();
            let touched = RolledBackFiles::default();
            let done = upkeep.roll_back(&time(3), &time(4), &touched);
            assert_eq!(by_hand.records(), before, "{context}: the failed instant is pending in the table");
            by_hand.upkeep().roll_back(&time(3), &time(4), &touched).unwrap();
            take_off(&by_hand, &time(3));
            assert_eq!(by_hand.records(), before, "{context}");
            assert!(by_hand.metadata_instants(time(3).as_str()).is_empty(), "{context}");
            let own = if version == 6 { format!("{}006", time(4)) } else { time(4).to_string() };
            let rolled_back = by_hand.metadata_instants(&own);
            assert!(rolled_back.contains("rollback"), "{context}: {rolled_back:?}");
            // Up to version 7 the next writer removes markers of what is off the timeline.
            let upkeep = by_hand.upkeep();
            let (found, timeline) = (upkeep.leftovers().unwrap(), by_hand.table.open(false).timeline.clone());
            assert!(version == 6 || !upkeep.may_have_left(&found), "{context}");
            upkeep
                .remove_leftovers(&found, &timeline, HeartbeatOptions::resolve(&write_options(&[])).unwrap())
                .unwrap();
            for left in [".temp", ".heartbeat"] {
                let left = by_hand.files_below(&format!(".hoodie/metadata/.hoodie/{left}"));
                assert!(left.is_empty(), "{context}: {left:?}");
            }
            if done.is_ok() && store.changes() <= stopped {
                break;
            }
        }
    }
}

/// Tools and Hudi's archive read what was rolled back, and which files are gone.
#[test]
fn the_rollback_says_what_it_did() {
    for version in [6, 9] {
        let (by_hand, written) = begun(version, &ALL[..2]);
        let before: BTreeSet<String> = by_hand.files_below(".hoodie/metadata").into_keys().collect();
        by_hand.write(&by_hand.upkeep(), &time(3), WriteOperation::Insert, &written).unwrap();
        let after = by_hand.files_below(".hoodie/metadata").into_keys();
        let is_log = |path: &String| path.contains(".log.") && !path.contains("/.hoodie/.temp/");
        let logs: BTreeSet<String> = after.filter(|path| is_log(path) && !before.contains(path)).collect();
        assert!(logs.len() >= 2);
        by_hand.upkeep().roll_back(&time(3), &time(4), &RolledBackFiles::default()).unwrap();
        let files = by_hand.files_below(".hoodie/metadata/.hoodie");
        let (_, bytes) = files.iter().find(|(path, _)| path.ends_with(".rollback")).unwrap();
        let metadata = HoodieRollbackMetadata::from_bytes(bytes).unwrap().unwrap();
        assert_eq!(metadata.commits_rollback, [time(3).to_string()]);
        let local = |path: &str| format!(".hoodie/metadata/{}", path.split(".hoodie/metadata/").nth(1).unwrap());
        let (mut deleted, mut kept, mut appended) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (partition, one) in metadata.partition_metadata.iter() {
            assert_eq!(partition, one.partition_path);
            deleted.extend(one.success_delete_files.iter().map(|path| local(path)));
            kept.extend(
                one.log_files_from_failed_commit.iter().flat_map(|logs| logs.iter().map(|(one, _)| local(one))),
            );
            appended.extend(one.rollback_log_files.iter().flat_map(|logs| logs.iter().map(|(one, _)| local(one))));
        }
        let is_there = |path: &String| by_hand.path(path).exists();
        let groups = |paths: &BTreeSet<String>| -> BTreeSet<String> {
            paths.iter().map(|path| path.rsplit('/').next().unwrap().split('_').next().unwrap().to_owned()).collect()
        };
        if version == 6 {
            assert_eq!((&kept, deleted.len()), (&logs, 0));
            assert!(kept.iter().all(is_there) && appended.iter().all(is_there));
            assert_eq!(groups(&appended), groups(&kept), "each file group that it wrote to has a rollback block");
        } else {
            assert_eq!((&deleted, kept.len(), appended.len()), (&logs, 0, 0));
            assert!(!deleted.iter().any(is_there));
            assert_eq!(metadata.total_files_deleted, i32::try_from(logs.len()).unwrap());
        }
    }
}

/// Up to version 7 logs of the failed instant stay, with logs of rollback blocks: both are listed. Files that are gone
/// are not, nor is a partition that the failed instant alone wrote to.
#[test]
fn logs_that_a_rollback_leaves_in_the_table_are_listed_up_to_version_7() {
    let log = |number: usize, version: u32| format!(".{}_{}.log.{version}_0-0-0", group(number), time(number));
    let partition = |number: usize, gone: &[String], is_kept: bool| {
        let logs = |name: String| BTreeMap::from([(name, 7)]).into_iter().filter(|_| is_kept).collect();
        let (failed_logs, rollback_logs) = (logs(log(number, 2)), logs(log(number, 3)));
        RolledBackPartition { deleted: gone.to_vec(), rollback_logs, failed_logs }
    };
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &[]);
        by_hand.insert(1, "x", &["a"]);
        by_hand.insert(2, "y", &["b"]);
        let deleted = by_hand.deletes(("y", 2), &time(3), &BTreeSet::new(), (&time(2), 0));
        by_hand.commit(&time(3), WriteOperation::Delete, &Written { statuses: vec![deleted], ..Written::default() });
        let before = by_hand.listed();
        by_hand.begin(&time(4), Action::DeltaCommit);
        let statuses = vec![by_hand.base_file(("z", 4), &time(4), &["c".to_owned()].into(), None)];
        let base = statuses[0].file.as_ref().unwrap().path.strip_prefix("z/").unwrap().to_owned();
        let written = Written { statuses, ..Written::default() };
        by_hand.write(&by_hand.upkeep(), &time(4), WriteOperation::Insert, &written).unwrap();
        let partitions = [
            ("x".to_owned(), partition(1, &[], true)),
            // A log that an earlier rollback has listed, of a slice that goes with the instant that began it.
            ("y".to_owned(), partition(2, &[log(2, 1)], false)),
            ("z".to_owned(), partition(4, &[base], true)),
        ];
        let touched = RolledBackFiles { partitions: partitions.into() };
        let upkeep = by_hand.upkeep();
        upkeep.roll_back(&time(4), &time(5), &touched).unwrap();
        let files = by_hand.files_below(".hoodie/metadata");
        by_hand.upkeep().roll_back(&time(4), &time(5), &touched).unwrap();
        assert_eq!(by_hand.files_below(".hoodie/metadata"), files, "version {version}: it is written once");
        take_off(&by_hand, &time(4));
        let mut expected = before.clone();
        if version == 6 {
            by_hand.begin(&time(5), Action::Rollback);
            expected.get_mut("x").unwrap().extend([log(1, 2), log(1, 3)]);
            assert!(expected.get_mut("y").unwrap().remove(&log(2, 1)));
        }
        // Records of an instant count once it is complete in the table.
        let content = bytes::Bytes::from(HoodieRollbackMetadata::default().to_avro().unwrap());
        let completion = mortice_base::names::CompletionTime::from_metadata("t", "20990101000000000").unwrap();
        by_hand.timeline().complete_or_fail(&time(5), Action::Rollback, &completion, &content).unwrap();
        assert_eq!(by_hand.listed(), expected, "version {version}");
    }
}

/// From table version 8 on the heartbeat comes first: it is all that is left of a writer that was stopped after it.
#[test]
fn a_writer_that_was_stopped_before_its_instant_leaves_nothing() {
    let (origin, written) = begun(9, &[]);
    let before = origin.files_below(".hoodie/metadata");
    for stopped in 0..4 {
        let by_hand = origin.copy();
        let upkeep = by_hand.upkeep_in(failing(&by_hand, stopped, false)).unwrap();
        by_hand.write(&upkeep, &time(3), WriteOperation::Insert, &written).unwrap_err();
        assert_eq!(by_hand.files_below(".hoodie/metadata") == before, stopped == 0, "{stopped}");
        by_hand.upkeep().roll_back(&time(3), &time(4), &RolledBackFiles::default()).unwrap();
        let left = by_hand.files_below(".hoodie/metadata").into_keys();
        let left: Vec<String> =
            left.filter(|path| !before.contains_key(path) && !path.contains(time(4).as_str())).collect();
        assert!(left.is_empty(), "{stopped}: {left:?}");
    }
}

/// The rollback of one instant leaves those of others that are pending, or complete.
#[test]
fn other_instants_stay() {
    for version in [6, 9] {
        let (by_hand, written) = begun(version, &ALL[..2]);
        by_hand.write(&by_hand.upkeep(), &time(3), WriteOperation::Insert, &written).unwrap();
        // Another writer, whose instant is pending in the table, too.
        by_hand.begin(&time(4), Action::DeltaCommit);
        let other = vec![by_hand.base_file(("z", 4), &time(4), &["f".to_owned()].into(), None)];
        let other = Written { statuses: other, ..Written::default() };
        by_hand.write(&by_hand.upkeep(), &time(4), WriteOperation::Insert, &other).unwrap();
        by_hand.begin(&time(5), Action::Rollback);
        by_hand.upkeep().roll_back(&time(3), &time(5), &RolledBackFiles::default()).unwrap();
        take_off(&by_hand, &time(3));
        assert!(by_hand.metadata_instants(time(4).as_str()).contains("deltacommit"), "version {version}");
        by_hand.complete(&time(4), WriteOperation::Insert, &other);
        let keys: Vec<String> = by_hand.locations().into_keys().collect();
        assert_eq!(keys, ["a", "b", "c", "f"], "version {version}");
        assert_eq!(by_hand.listed()["z"].len(), 1, "version {version}");
    }
}

/// Nothing is to be undone of an instant that the metadata table does not know, nor is one refused that is not in a
/// base file.
#[test]
fn an_instant_that_is_not_there_is_in_no_base_file() {
    for version in [6, 9] {
        let (by_hand, _) = begun(version, &[]);
        let before = by_hand.files_below(".hoodie/metadata");
        let upkeep = by_hand.upkeep();
        upkeep.check_not_compacted(&time(3)).unwrap();
        upkeep.roll_back(&time(3), &time(4), &RolledBackFiles::default()).unwrap();
        let new: BTreeSet<String> = by_hand.files_below(".hoodie/metadata").into_keys().collect();
        let new: Vec<&String> = new.iter().filter(|path| !before.contains_key(*path)).collect();
        // Up to version 7 the rollback has a delta commit of its own.
        let is_own = |path: &&String| path.contains(time(4).as_str()) && path.contains("deltacommit");
        assert!(new.iter().all(|path| version == 6 && is_own(path)), "version {version}: {new:?}");
        assert_eq!(by_hand.listed().len(), 2);
        let error =
            by_hand.upkeep_in(failing(&by_hand, 0, false)).unwrap().roll_back(&time(3), &time(4), &Default::default());
        assert!(error.is_ok() || error.unwrap_err().kind() == ErrorKind::Unreachable);
    }
}
