//! The record index after random commits that are put together by hand: each key is where the rules of the files say.

use std::collections::{BTreeMap, BTreeSet};

use super::super::simulation::{Random, seeds};
use super::by_hand::{ALL, ByHand, Written, group, time};
use mortice_base::error::ErrorKind;
use mortice_base::names::RequestedTime;
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::write::{WriteStatus, WrittenFile};

const PARTITIONS: [&str; 2] = ["x", "y"];

/// A file group: what its base file has, and what of that its logs have deleted.
#[derive(Debug, Clone)]
struct Group {
    partition: &'static str,
    number: usize,
    base: (RequestedTime, String),
    stored: BTreeSet<String>,
    deleted: BTreeSet<String>,
    logs: u32,
}

impl Group {
    fn live(&self) -> BTreeSet<String> {
        self.stored.difference(&self.deleted).cloned().collect()
    }
}

/// Commits and what they leave, without a look at the metadata table.
struct History {
    by_hand: ByHand,
    random: Random,
    groups: Vec<Group>,
    minute: usize,
    new_keys: usize,
    context: String,
}

impl History {
    fn new_keys(&mut self) -> BTreeSet<String> {
        let count = 1 + self.random.below(4);
        self.new_keys += count;
        (self.new_keys - count..self.new_keys).map(|key| format!("k{key}é")).collect()
    }

    /// Some of these keys.
    fn some(&mut self, keys: &BTreeSet<String>) -> BTreeSet<String> {
        keys.iter().filter(|_| self.random.below(2) == 0).cloned().collect()
    }

    fn new_group(&mut self, keys: BTreeSet<String>) -> (Group, WriteStatus) {
        let (instant, number, partition) = (time(self.minute), self.groups.len() + self.minute * 10, self.partition());
        let status = self.by_hand.base_file((partition, number), &instant, &keys, None);
        let base = (instant, name_of(&status));
        (Group { partition, number, base, stored: keys, deleted: BTreeSet::new(), logs: 0 }, status)
    }

    fn partition(&mut self) -> &'static str {
        PARTITIONS[self.random.below(2)]
    }

    /// A new base file of a group with these keys.
    fn rewrite(&mut self, chosen: usize, keys: BTreeSet<String>) -> WriteStatus {
        let (instant, group) = (time(self.minute), &mut self.groups[chosen]);
        let before = (&group.base.0, group.base.1.as_str());
        let status = self.by_hand.base_file((group.partition, group.number), &instant, &keys, Some(before));
        (group.base, group.stored) = ((instant, name_of(&status)), keys);
        (group.deleted, group.logs) = (BTreeSet::new(), 0);
        status
    }

    fn delete(&mut self, chosen: usize, keys: BTreeSet<String>) -> WriteStatus {
        let (instant, group) = (time(self.minute), &mut self.groups[chosen]);
        let place = (group.partition, group.number);
        let status = self.by_hand.deletes(place, &instant, &keys, (&group.base.0, group.logs));
        group.deleted.extend(keys);
        group.logs += 1;
        status
    }

    fn step(&mut self) {
        self.minute += 1;
        let mut replaced = BTreeMap::new();
        let chosen = self.random.below(self.groups.len().max(1));
        let choice = if self.groups.is_empty() { 0 } else { self.random.below(6) };
        let (operation, statuses) = match choice {
            0 => {
                let keys = self.new_keys();
                let (group, status) = self.new_group(keys);
                self.groups.push(group);
                (WriteOperation::Insert, vec![status])
            }
            // New keys in an old group, of which some are gone.
            1 if self.groups[chosen].logs == 0 => {
                let live = self.groups[chosen].live();
                let kept = self.some(&live);
                let new = self.new_keys();
                (WriteOperation::Upsert, vec![self.rewrite(chosen, kept.into_iter().chain(new).collect())])
            }
            2 => {
                let live = self.groups[chosen].live();
                let keys = self.some(&live);
                (WriteOperation::Delete, vec![self.delete(chosen, keys)])
            }
            // Keys that move, in any order of the files of a commit.
            3 => {
                let live = self.groups[chosen].live();
                let moved = self.some(&live);
                let (group, new) = self.new_group(moved.clone());
                let left = self.delete(chosen, moved);
                self.groups.push(group);
                let is_first = self.random.below(2) == 0;
                (WriteOperation::Upsert, if is_first { vec![new, left] } else { vec![left, new] })
            }
            // The group's keys are gone, but for those that the new files have.
            4 => {
                let old = self.groups.remove(chosen);
                let mut keys = self.some(&old.live());
                keys.extend(self.new_keys());
                replaced.insert(old.partition.to_owned(), vec![group(old.number)]);
                let (group, status) = self.new_group(keys);
                self.groups.push(group);
                (WriteOperation::InsertOverwrite, vec![status])
            }
            _ => {
                let live = self.groups[chosen].live();
                (WriteOperation::Compact, vec![self.rewrite(chosen, live)])
            }
        };
        self.context += &format!("; {operation:?} {statuses:?} {replaced:?}");
        self.by_hand.commit(&time(self.minute), operation, &Written { statuses, replaced });
    }

    fn check(&self) {
        let expected: BTreeMap<String, (String, String)> = self
            .groups
            .iter()
            .flat_map(|one| one.live().into_iter().map(|key| (key, (one.partition.to_owned(), group(one.number)))))
            .collect();
        assert_eq!(self.by_hand.locations(), expected, "{}", self.context);
    }
}

fn name_of(status: &WriteStatus) -> String {
    status.file.as_ref().unwrap().path.rsplit('/').next().unwrap().to_owned()
}

fn history(seed: u64, version: u8) -> History {
    let context = format!("MORTICE_TEST_SEED={seed}, version {version}");
    let (by_hand, random) = (ByHand::new(version, &ALL[..2]), Random::new(seed));
    History { by_hand, random, groups: Vec::new(), minute: 0, new_keys: 0, context }
}

#[test]
fn keys_are_where_the_files_of_commits_say() {
    for seed in seeds(2) {
        let mut history = history(seed, [6, 9][usize::try_from(seed % 2).unwrap()]);
        for _ in 0..6 {
            history.step();
            history.check();
        }
    }
}

/// Each row of the table in `record_index.rs`, in turn.
#[test]
fn each_kind_of_file_moves_its_keys() {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<String>>();
    for version in [6, 9] {
        let by_hand = ByHand::new(version, &ALL[..2]);
        let check = |expected: &[(&str, &str, usize)], what: &str| {
            let expected = expected.iter().map(|(key, path, number)| (*key, ((*path).to_owned(), group(*number))));
            let found = by_hand.locations();
            let found: BTreeMap<&str, _> = found.iter().map(|(key, place)| (key.as_str(), place.clone())).collect();
            assert_eq!(found, expected.collect(), "version {version}: {what}");
        };
        let commit = |minute: usize, operation, statuses: Vec<WriteStatus>, replaced: &[(&str, usize)]| {
            let replaced = replaced.iter().map(|(path, number)| ((*path).to_owned(), vec![group(*number)])).collect();
            by_hand.commit(&time(minute), operation, &Written { statuses, replaced });
        };
        let first = by_hand.insert(1, "x", &["a", "b"]);
        check(&[("a", "x", 1), ("b", "x", 1)], "a new file group");
        let name = name_of(&first.statuses[0]);
        let rewritten = by_hand.base_file(("x", 1), &time(2), &owned(&["b", "c"]), Some((&time(1), &name)));
        let name = name_of(&rewritten);
        commit(2, WriteOperation::Upsert, vec![rewritten], &[]);
        check(&[("b", "x", 1), ("c", "x", 1)], "a base file that lacks a key, and has another");
        let log = by_hand.deletes(("x", 1), &time(3), &owned(&["b"]), (&time(2), 0));
        commit(3, WriteOperation::Delete, vec![log], &[]);
        check(&[("c", "x", 1)], "a log that deletes a key");
        let compacted = by_hand.base_file(("x", 1), &time(4), &owned(&["c"]), Some((&time(2), &name)));
        let name = name_of(&compacted);
        commit(4, WriteOperation::Compact, vec![compacted], &[]);
        check(&[("c", "x", 1)], "a compaction");
        let left = by_hand.base_file(("x", 1), &time(5), &owned(&["d"]), Some((&time(4), &name)));
        let moved = by_hand.base_file(("y", 5), &time(5), &owned(&["c"]), None);
        commit(5, WriteOperation::Upsert, vec![moved, left], &[]);
        check(&[("c", "y", 5), ("d", "x", 1)], "a key that moves, and its old file group last");
        let new = by_hand.base_file(("x", 6), &time(6), &owned(&["c", "e"]), None);
        commit(6, WriteOperation::Cluster, vec![new], &[("y", 5), ("x", 1)]);
        check(&[("c", "x", 6), ("e", "x", 6)], "file groups that are replaced by one with a key of theirs");
        commit(7, WriteOperation::DeletePartition, Vec::new(), &[("x", 6)]);
        check(&[], "a partition that is deleted");
    }
}

/// An index of a table that has rows already is built of the same places.
#[test]
fn an_index_that_is_built_from_files_has_the_keys_of_the_commits() {
    for seed in seeds(2) {
        let mut history = history(seed, [6, 9][usize::try_from(seed % 2).unwrap()]);
        (0..6).for_each(|_| history.step());
        let options = super::by_hand::metadata_options(&ALL[..2]);
        let store = history.by_hand.store();
        let open = history.by_hand.table.open(true);
        let again = mortice_commit::metadata_upkeep::MetadataUpkeep::drop_to_rebuild(&store, &open, &options).unwrap();
        history.by_hand.given = ALL[..2].to_vec();
        let open = history.by_hand.table.open(true);
        assert!(mortice_commit::metadata_upkeep::MetadataUpkeep::initialize(&store, &open, &again).unwrap());
        history.check();
    }
}

/// Rows that are inserted into a log are not found there: an index without them would let them be inserted again.
#[test]
fn a_log_with_inserts_is_refused_by_the_record_index_alone() {
    for given in [&ALL[..2], &ALL[2..]] {
        let by_hand = ByHand::new(9, given);
        by_hand.insert(1, "x", &["a"]);
        let mut log = by_hand.deletes(("x", 1), &time(2), &BTreeSet::new(), (&time(1), 0));
        log.inserts = 1;
        by_hand.begin(&time(2), Action::DeltaCommit);
        let written = Written { statuses: vec![log], ..Written::default() };
        let done = by_hand.write(&by_hand.upkeep(), &time(2), WriteOperation::Upsert, &written);
        if given[0] == ALL[0] {
            let error = done.unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(".log."), "{error}");
            assert!(by_hand.metadata_instants(time(2).as_str()).is_empty(), "refused before anything is written");
        } else {
            done.unwrap();
        }
    }
}

/// The commit would complete without its keys otherwise.
#[test]
fn a_damaged_log_of_the_commit_and_a_file_without_keys_are_refused() {
    let by_hand = ByHand::new(9, &ALL[..2]);
    by_hand.insert(1, "x", &["a", "b"]);
    let keys = BTreeSet::from(["a".to_owned()]);
    let log = by_hand.deletes(("x", 1), &time(2), &keys, (&time(1), 0));
    let path = by_hand.path(&log.file.as_ref().unwrap().path);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    by_hand.begin(&time(2), Action::DeltaCommit);
    let commit = |status: &WriteStatus| {
        let written = Written { statuses: vec![status.clone()], ..Written::default() };
        by_hand.write(&by_hand.upkeep(), &time(2), WriteOperation::Delete, &written).unwrap_err()
    };
    let error = commit(&log);
    assert!(error.kind() == ErrorKind::CorruptLog && error.to_string().contains("just written"), "{error}");
    let file = WrittenFile::new("x/none.parquet".to_owned(), 1);
    let missing = WriteStatus { file: Some(file), ..WriteStatus::new("x", &group(7)) };
    assert_eq!(commit(&missing).kind(), ErrorKind::NotFound);
    assert_eq!(by_hand.locations().len(), 2);
}
