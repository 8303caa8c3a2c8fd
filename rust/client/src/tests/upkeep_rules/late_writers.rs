//! Writers that go on after they were rolled back, or were stopped: what they leave in the metadata table is taken off,
//! and what belongs to writers that are alive stays.

use std::collections::BTreeSet;
use std::time::Duration;

use super::by_hand::{ALL, ByHand, Written, time};
use mortice_base::error::{Error, ErrorKind};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{HeartbeatOptions, RolledBackFiles, TimelineWriter};
use mortice_commit::metadata_upkeep::MetadataLeftovers;
use mortice_merge::config::TableConfig;
use mortice_storage::SubfolderStorage;
use mortice_table::timeline::{Action, WriteOperation};

const LIMIT: HeartbeatOptions = HeartbeatOptions { interval: Duration::from_secs(60), tolerable_misses: 2 };
const FOLDER: &str = ".hoodie/metadata/.hoodie";

/// A table with a commit, and another one as it is written.
fn begun(version: u8) -> (ByHand, Written) {
    let by_hand = ByHand::new(version, &ALL[..2]);
    by_hand.insert(1, "x", &["a"]);
    by_hand.begin(&time(2), Action::DeltaCommit);
    let statuses = vec![by_hand.base_file(("y", 2), &time(2), &["b".to_owned()].into(), None)];
    (by_hand, Written { statuses, ..Written::default() })
}

fn take_off(by_hand: &ByHand) {
    by_hand.timeline().delete_instant(&time(2), Action::DeltaCommit).unwrap();
}

/// How far a late writer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Late {
    Nothing,
    /// It is stopped before the delta commit is complete.
    Logs,
    /// The other writer took its instant off while it wrote them.
    LogsAlone,
    Completed,
}

#[test]
fn what_a_late_writer_adds_is_undone() {
    for version in [6, 9] {
        let (origin, written) = begun(version);
        let before = origin.records();
        let before_files: Vec<String> = origin.files_below(".hoodie/metadata/files").into_keys().collect();
        for late in [Late::Nothing, Late::Logs, Late::LogsAlone, Late::Completed] {
            let context = format!("version {version}, {late:?}");
            let by_hand = origin.copy();
            let writer = by_hand.upkeep();
            // Another writer has taken it for dead.
            by_hand.upkeep().roll_back(&time(2), &time(3), &RolledBackFiles::default()).unwrap();
            take_off(&by_hand);
            let dead = || Err(Error::new(ErrorKind::WriteConflict, "rolled back"));
            let update = (WriteOperation::Insert, &written);
            match late {
                Late::Nothing => {}
                Late::Logs => drop(by_hand.write_checked(&writer, &time(2), update, &dead).unwrap_err()),
                Late::LogsAlone => {
                    by_hand.write_checked(&writer, &time(2), update, &dead).unwrap_err();
                    metadata_timeline(&by_hand).delete_instant(&time(2), Action::DeltaCommit).unwrap();
                }
                Late::Completed => by_hand.write_checked(&writer, &time(2), update, &|| Ok(())).unwrap(),
            }
            for _ in 0..2 {
                by_hand.upkeep().undo_late(&time(2), &time(4)).unwrap();
                assert_eq!(by_hand.records(), before, "{context}");
            }
            assert!(by_hand.metadata_instants(time(2).as_str()).is_empty(), "{context}");
            // Up to version 7 logs stay, and blocks behind them undo theirs.
            let files: Vec<String> = by_hand.files_below(".hoodie/metadata/files").into_keys().collect();
            assert!(version == 6 || files == before_files, "{context}: {files:?}");
            by_hand.insert(5, "y", &["b"]);
            assert_eq!(by_hand.locations().len(), 2, "{context}");
            assert_eq!(by_hand.listed()["y"].len(), 1, "{context}");
        }
    }
}

fn remove(by_hand: &ByHand, found: &MetadataLeftovers) {
    by_hand.upkeep().remove_leftovers(found, &by_hand.table.open(false).timeline, LIMIT).unwrap();
}

/// What the folders of markers and heartbeats have.
fn left(by_hand: &ByHand) -> BTreeSet<String> {
    let of_folder = |folder: &str| {
        let entries = std::fs::read_dir(by_hand.path(&format!("{FOLDER}/{folder}"))).into_iter().flatten();
        let entries = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
    };
    [".temp", ".heartbeat"].into_iter().flat_map(of_folder).collect()
}

fn expire(by_hand: &ByHand, instant: &RequestedTime) {
    let path = by_hand.path(&format!("{FOLDER}/.heartbeat/{instant}"));
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified - Duration::from_secs(200)).unwrap();
}

fn metadata_timeline(by_hand: &ByHand) -> TimelineWriter {
    let place = SubfolderStorage::new(by_hand.store(), ".hoodie/metadata");
    TimelineWriter::below(by_hand.store(), ".hoodie/metadata", &TableConfig::load(&place).unwrap())
}

/// A delta commit that was not completed, by whether the table has its instant, and whether its writer is alive.
#[test]
fn a_delta_commit_is_taken_off_once_its_writer_is_gone_from_the_table_and_dead() {
    for (is_in_table, is_alive) in [(true, true), (true, false), (false, true), (false, false)] {
        let context = format!("in the table: {is_in_table}, alive: {is_alive}");
        let (by_hand, written) = begun(9);
        let before = by_hand.files_below(".hoodie/metadata/files");
        let dead = || Err(Error::new(ErrorKind::WriteConflict, "stopped"));
        let update = (WriteOperation::Insert, &written);
        by_hand.write_checked(&by_hand.upkeep(), &time(2), update, &dead).unwrap_err();
        if !is_in_table {
            take_off(&by_hand);
        }
        if !is_alive {
            expire(&by_hand, &time(2));
        }
        let upkeep = by_hand.upkeep();
        let found = upkeep.leftovers().unwrap();
        assert!(upkeep.may_have_left(&found));
        remove(&by_hand, &found);
        let is_removed = !is_in_table && !is_alive;
        assert_eq!(left(&by_hand).is_empty(), is_removed, "{context}: {:?}", left(&by_hand));
        assert_eq!(by_hand.metadata_instants(time(2).as_str()).is_empty(), is_removed, "{context}");
        assert_eq!(by_hand.files_below(".hoodie/metadata/files") == before, is_removed, "{context}");
        if is_removed {
            let upkeep = by_hand.upkeep();
            assert!(!upkeep.may_have_left(&upkeep.leftovers().unwrap()), "{context}");
        }
        // It can be repeated, with what was listed before.
        remove(&by_hand, &found);
    }
}

/// Markers and the heartbeat of a commit that is complete in both tables: its writer was stopped before it removed
/// them.
#[test]
fn markers_of_a_completed_commit_are_removed_and_those_of_a_pending_one_stay() {
    for version in [6, 9] {
        let (by_hand, written) = begun(version);
        by_hand.write(&by_hand.upkeep(), &time(2), WriteOperation::Insert, &written).unwrap();
        let all = left(&by_hand);
        assert_eq!(all.len(), if version == 6 { 1 } else { 2 });
        let found = by_hand.upkeep().leftovers().unwrap();
        assert_eq!(found.marked, [time(2)]);
        remove(&by_hand, &found);
        assert_eq!(left(&by_hand), all, "version {version}: the instant is pending in the table");
        by_hand.complete(&time(2), WriteOperation::Insert, &written);
        let records = by_hand.records();
        remove(&by_hand, &found);
        assert!(left(&by_hand).is_empty(), "version {version}");
        assert_eq!(by_hand.records(), records, "version {version}");
        assert_eq!(by_hand.listed()["y"].len(), 1);
    }
}

/// Delta commits that no writer of the table began: initialisations, which have no heartbeat, and those of before the
/// table's first instant, which may be archived there.
#[test]
fn initialisations_and_instants_before_the_table_stay() {
    let by_hand = ByHand::new(9, &[]);
    // Nothing is before the first instant of a table that has none.
    let first = RequestedTime::from("00000000000000041");
    metadata_timeline(&by_hand).request(&first, Action::DeltaCommit, &bytes::Bytes::new()).unwrap();
    remove(&by_hand, &by_hand.upkeep().leftovers().unwrap());
    assert!(!by_hand.metadata_instants(first.as_str()).is_empty(), "an initialisation has no heartbeat");
    by_hand.insert(5, "x", &["a"]);
    let timeline = metadata_timeline(&by_hand);
    let (init, early, later) = (RequestedTime::from("00000000000000042"), time(1), time(9));
    for instant in [&init, &early, &later] {
        timeline.request(instant, Action::DeltaCommit, &bytes::Bytes::new()).unwrap();
    }
    let upkeep = by_hand.upkeep();
    let found = upkeep.leftovers().unwrap();
    assert!(found.marked.is_empty() && found.heartbeats.instants().next().is_none());
    assert!(upkeep.may_have_left(&found), "instants without markers and heartbeats");
    remove(&by_hand, &found);
    let is_left = |instant: &RequestedTime| !by_hand.metadata_instants(instant.as_str()).is_empty();
    assert!(is_left(&init), "an initialisation has no heartbeat");
    assert!(is_left(&early), "the table may have archived it");
    assert!(!is_left(&later), "no writer of the table has it");
}

/// Instants of the metadata table's own services have a suffix behind that of the table.
#[test]
fn markers_of_a_service_belong_to_the_instant_of_the_table() {
    let (by_hand, _) = begun(6);
    let of_pending = RequestedTime::from(format!("{}001", time(2)).as_str());
    let of_none = RequestedTime::from(format!("{}001", time(7)).as_str());
    for instant in [&of_pending, &of_none] {
        let folder = by_hand.path(&format!("{FOLDER}/.temp/{instant}/files"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.hfile.marker.CREATE"), b"").unwrap();
    }
    let found = by_hand.upkeep().leftovers().unwrap();
    assert_eq!(found.marked.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&of_pending, &of_none]));
    remove(&by_hand, &found);
    assert_eq!(left(&by_hand), BTreeSet::from([format!(".temp/{of_pending}")]));
}
