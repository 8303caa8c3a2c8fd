//! Rollbacks of commits that are in the metadata table, and not in the table.

use std::collections::BTreeMap;

use mortice::commit::{RolledBackFiles, RolledBackPartition};
use mortice::log::{BlockKind, BlockType, LogFile};
use mortice::storage::MemoryFile;

use super::hudi_commit::commits;
use super::metadata_records::records_of;
use super::replay::Replay;
use super::table_copy::{METADATA, TableCopy, check_listing};

const ROLLBACK: &str = "20991231000000000";

/// The table's instant is taken off the timeline, as the last step of a rollback does.
fn take_off(replay: &Replay, instant: &str) {
    for name in replay.table.instant_files("") {
        if name.starts_with(instant) {
            std::fs::remove_file(replay.table.root().join(replay.table.timeline("")).join(name)).unwrap();
        }
    }
}

fn metadata_instants(table: &TableCopy, instant: &str) -> Vec<String> {
    let names = table.instant_files(METADATA).into_iter();
    names.filter(|name| name.starts_with(instant)).map(|name| name[instant.len()..].to_owned()).collect()
}

#[test]
fn files_of_a_failed_instant_are_deleted() {
    let name = "h12_moved_partitions";
    let commit = commits(&TableCopy::new(name)).pop().unwrap();
    let replay = Replay::new(name, &commit);
    let before = replay.table.metadata_files();
    drop(replay.write(&commit));
    assert!(replay.table.metadata_files().len() > before.len());
    let (failed, rollback) = (commit.instant.parse().unwrap(), ROLLBACK.parse().unwrap());
    for _ in 0..2 {
        replay.upkeep().roll_back(&failed, &rollback, &RolledBackFiles::default()).unwrap();
        assert_eq!(replay.table.metadata_files(), before);
        assert_eq!(metadata_instants(&replay.table, &commit.instant), [""; 0]);
        let rolled_back = metadata_instants(&replay.table, ROLLBACK);
        assert_eq!(rolled_back.len(), 3, "{rolled_back:?}");
    }
    take_off(&replay, &commit.instant);
    // Data files of the failed instant are still there; no reader lists them.
    let listed = replay.table.open(Default::default());
    assert!(listed.metadata_table().is_ok());
}

#[test]
fn an_instant_that_never_reached_the_metadata_table_leaves_nothing() {
    let name = "h12_moved_partitions";
    let commit = commits(&TableCopy::new(name)).pop().unwrap();
    let replay = Replay::new(name, &commit);
    let before = replay.table.files_below(METADATA);
    let (failed, rollback) = (commit.instant.parse().unwrap(), ROLLBACK.parse().unwrap());
    replay.upkeep().roll_back(&failed, &rollback, &RolledBackFiles::default()).unwrap();
    assert_eq!(replay.table.files_below(METADATA), before);
}

#[test]
fn blocks_of_a_failed_instant_are_undone_in_version_6() {
    let name = "h015_mdt_hfile";
    let commit = commits(&TableCopy::new(name)).pop().unwrap();
    let replay = Replay::new(name, &commit);
    drop(replay.write(&commit));
    let (failed, rollback) = (commit.instant.parse().unwrap(), ROLLBACK.parse().unwrap());
    // As if the failed instant's logs were undone: each is followed by a log with a rollback block.
    let mut touched = RolledBackFiles::default();
    for stat in commit.stats.iter().filter(|stat| stat.path.as_ref().unwrap().contains(".log.")) {
        let (partition, name) = stat.path.as_ref().unwrap().rsplit_once('/').unwrap();
        let (head, version) = name.rsplit_once(".log.").unwrap();
        let version: u32 = version.split('_').next().unwrap().parse().unwrap();
        let added = format!("{head}.log.{}_1-0-1", version + 1);
        std::fs::write(replay.table.root().join(partition).join(&added), b"").unwrap();
        let files: &mut RolledBackPartition = touched.partitions.entry(partition.to_owned()).or_default();
        files.failed_logs.insert(name.to_owned(), u64::try_from(stat.file_size_in_bytes.unwrap()).unwrap());
        files.rollback_logs.insert(added, 0);
    }
    assert!(!touched.partitions.is_empty());
    let mut files_after = Vec::new();
    for _ in 0..2 {
        replay.upkeep().roll_back(&failed, &rollback, &touched).unwrap();
        assert_eq!(metadata_instants(&replay.table, &commit.instant), [""; 0]);
        assert_eq!(metadata_instants(&replay.table, &format!("{ROLLBACK}006")).len(), 3);
        files_after.push(replay.table.metadata_files());
    }
    assert_eq!(files_after[0], files_after[1]);
    let written = records_of(&replay.table, ROLLBACK);
    let keys: BTreeMap<_, _> =
        written.iter().map(|(partition, records)| (partition.as_str(), records.upserts.len())).collect();
    assert_eq!(keys, BTreeMap::from([("files", touched.partitions.len())]));
    let undone = replay.table.metadata_files().into_iter().filter(|path| {
        let log = LogFile::new(std::sync::Arc::new(MemoryFile::new("log", replay.table.read(path))));
        path.contains(".log.")
            && log.blocks(false).any(|block| block.unwrap().kind == BlockKind::Sound(BlockType::Command))
    });
    assert!(undone.count() >= 2);
    take_off(&replay, &commit.instant);
    check_listing(&replay.table, "rolled back");
}
