//! Commits of Hudi's, written to the metadata table again.

use std::collections::BTreeMap;

use mortice::avro::Value;
use mortice::config::ReadOptions;
use mortice::metadata_upkeep::{CommitUpdate, MetadataOptions, MetadataUpkeep};
use mortice::write::WriteStatus;

use super::hudi_commit::{HudiCommit, commits};
use super::metadata_records::{PartitionRecords, member, records_of};
use super::table_copy::{TableCopy, check_listing};

/// The table as it was before a commit, and what the commit is to write.
pub struct Replay {
    pub table: TableCopy,
    pub theirs: BTreeMap<String, PartitionRecords>,
    statuses: Vec<WriteStatus>,
    completed: (String, Vec<u8>),
}

impl Replay {
    pub fn new(name: &str, commit: &HudiCommit) -> Self {
        let table = TableCopy::new(name);
        let theirs = records_of(&table, &commit.instant);
        let files = table.instant_files("").into_iter();
        let mut completed = files.filter(|file| {
            file.starts_with(&commit.instant) && !file.ends_with(".requested") && !file.ends_with(".inflight")
        });
        let path = format!("{}/{}", table.timeline(""), completed.next().unwrap());
        let content = table.read(&path);
        let statuses = commit.statuses(&table, theirs.get("column_stats"));
        table.cut_before(&commit.instant);
        Self { table, theirs, statuses, completed: (path, content) }
    }

    pub fn upkeep(&self) -> MetadataUpkeep {
        let table = self.table.open(ReadOptions::default());
        MetadataUpkeep::open(self.table.store(), &table, &MetadataOptions::default()).unwrap().unwrap()
    }

    /// Writes the commit to the metadata table.
    pub fn write(&self, commit: &HudiCommit) -> MetadataUpkeep {
        let upkeep = self.upkeep();
        let update = CommitUpdate {
            operation: commit.operation,
            statuses: &self.statuses,
            replaced: &commit.replaced,
            schema: &commit.schema,
        };
        upkeep.write_commit(&commit.instant.parse().unwrap(), &update, &|| Ok(())).unwrap();
        upkeep
    }

    /// Completes the commit in the table.
    pub fn complete(&self) {
        std::fs::write(self.table.root().join(&self.completed.0), &self.completed.1).unwrap();
    }
}

/// Writes a commit to the metadata table as it was before the commit. Returns Hudi's records and ours.
fn replayed(name: &str, commit: &HudiCommit) -> (TableCopy, [BTreeMap<String, PartitionRecords>; 2]) {
    let replay = Replay::new(name, commit);
    let upkeep = replay.write(commit);
    replay.complete();
    upkeep.clean_up(&commit.instant.parse().unwrap()).unwrap();
    let ours = records_of(&replay.table, &commit.instant);
    (replay.table, [replay.theirs, ours])
}

fn order(one: &Value<'static>, other: &Value<'static>) -> std::cmp::Ordering {
    match (one, other) {
        (Value::Branch(a, one), Value::Branch(b, other)) if a == b => {
            match (member(one, "value"), member(other, "value")) {
                (Value::Int(one), Value::Int(other)) => one.cmp(other),
                (Value::Double(one), Value::Double(other)) => one.total_cmp(other),
                (Value::String(one), Value::String(other)) => one.cmp(other),
                (Value::Boolean(one), Value::Boolean(other)) => one.cmp(other),
                (Value::Bytes(one), Value::Bytes(other)) => {
                    let number = |bytes: &[u8]| {
                        bytes
                            .iter()
                            .fold(if bytes[0] < 128 { 0 } else { -1_i128 }, |n, byte| n << 8 | i128::from(*byte))
                    };
                    number(one).cmp(&number(other))
                }
                pair => panic!("{pair:?}"),
            }
        }
        (Value::Null, Value::Null) => std::cmp::Ordering::Equal,
        pair => panic!("{pair:?}"),
    }
}

/// Whether the statistics of a partition hold for all rows that Hudi's hold for.
fn check_covers(ours: &Value<'static>, theirs: &Value<'static>, what: &str) {
    let [ours, theirs] = [ours, theirs].map(|record| member(record, "ColumnStatsMetadata"));
    for name in ["columnName", "fileName", "isDeleted", "valueType"] {
        assert_eq!(member(ours, name), member(theirs, name), "{what}");
    }
    if *member(theirs, "minValue") == Value::Null {
        return;
    }
    assert!(order(member(ours, "minValue"), member(theirs, "minValue")).is_le(), "{what}: {ours:?} {theirs:?}");
    assert!(order(member(ours, "maxValue"), member(theirs, "maxValue")).is_ge(), "{what}: {ours:?} {theirs:?}");
    for name in ["valueCount", "nullCount"] {
        let [Value::Int(ours), Value::Int(theirs)] = [member(ours, name), member(theirs, name)] else { panic!() };
        assert!(ours >= theirs, "{what}: {name}");
    }
}

fn check_table(name: &str) -> usize {
    let all = commits(&TableCopy::new(name));
    let mut compared = 0;
    for commit in &all {
        let (table, [theirs, ours]) = replayed(name, commit);
        let what = format!("{name} {} {:?}", commit.instant, commit.operation);
        let none = PartitionRecords::default();
        let partitions: std::collections::BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
        for partition in partitions {
            let what = format!("{what} {partition}");
            let (theirs, ours) = (theirs.get(partition).unwrap_or(&none), ours.get(partition).unwrap_or(&none));
            assert_eq!(ours.deletes, theirs.deletes, "{what}");
            let keys =
                |records: &PartitionRecords| records.groups.keys().cloned().collect::<std::collections::BTreeSet<_>>();
            let missing: Vec<_> =
                keys(theirs).difference(&keys(ours)).map(|key| theirs.upserts.get(key).cloned()).collect();
            let extra: Vec<_> =
                keys(ours).difference(&keys(theirs)).map(|key| ours.upserts.get(key).cloned()).collect();
            assert!(missing.is_empty() && extra.is_empty(), "{what}: missing {missing:?}, more {extra:?}");
            assert_eq!(ours.groups, theirs.groups, "{what}");
            for (key, record) in &ours.upserts {
                let what = format!("{what} {key}");
                compared += 1;
                match partition.as_str() {
                    "partition_stats" => check_covers(record, &theirs.upserts[key], &what),
                    _ => assert_eq!(record, &theirs.upserts[key], "{what}"),
                }
            }
        }
        check_listing(&table, &what);
    }
    compared
}

#[test]
fn commits_of_version_9_are_written_as_hudi_writes_them() {
    for name in ["h11_record_index_move", "h12_column_stats", "h12_moved_partitions", "h12_test_jar_vector_mor"] {
        assert!(check_table(name) > 0, "{name}");
    }
}

#[test]
fn commits_of_version_6_are_written_as_hudi_writes_them() {
    assert!(check_table("h015_mdt_hfile") > 0);
}

/// A clean of Hudi's has deleted the key of the partition, over a base record with two files.
#[test]
fn a_removed_partition_that_is_written_to_again_has_its_old_files_as_deleted() {
    let name = "h12_removed_partition";
    check_listing(&TableCopy::new(name), name);
    let commit = commits(&TableCopy::new(name)).pop().unwrap();
    let (table, [theirs, ours]) = replayed(name, &commit);
    let files = |records: &BTreeMap<String, PartitionRecords>| {
        let Value::Object(files) = member(&records["files"].upserts["oslo"], "filesystemMetadata") else { panic!() };
        let entry = |info: &Value<'static>| (member(info, "size").clone(), member(info, "isDeleted").clone());
        files.iter().map(|(name, info)| (name.clone().into_owned(), entry(info))).collect::<BTreeMap<_, _>>()
    };
    let (theirs, ours) = (files(&theirs), files(&ours));
    assert_eq!(theirs.len(), 1);
    let added: BTreeMap<_, _> = ours.iter().filter(|(name, _)| !theirs.contains_key(*name)).collect();
    assert!(added.len() == 2 && ours.len() == 3, "{ours:?}");
    assert!(added.values().all(|entry| **entry == (Value::Int(0), Value::Boolean(true))), "{added:?}");
    check_listing(&table, name);
}
