//! Conflicts of random timelines with the table of `conflicts`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::commit::{ConflictCheck, ConflictUnit, TimelineWriter, WrittenGroups};
use mortice_base::error::{ErrorKind, Result};
use mortice_merge::config::{Properties, TableConfig, TimelineLayout};
use mortice_storage::{FileStore, LocalStorage, Storage};
use mortice_table::timeline::Timeline;
use mortice_table::timeline::metadata::{
    HoodieClusteringGroup, HoodieClusteringPlan, HoodieCompactionOperation, HoodieCompactionPlan, HoodieInstantInfo,
    HoodieRequestedReplaceMetadata, HoodieRollbackPlan, HoodieSliceInfo, TimelineMetadata,
};

const OWN: &str = "20240105000000000";

/// Partition and file id.
type Group = (String, String);
type Groups = BTreeSet<Group>;

/// What another writer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherAction {
    Write,
    Replace,
    Compaction,
    PendingWrite,
    PendingClustering,
    PendingReplace,
    PendingCompaction,
    RollbackOfOwn,
    RollbackOfAnother,
}

/// The state when the write began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Absent,
    Pending,
    Completed,
}

#[derive(Debug, Clone)]
struct Other {
    kind: OtherAction,
    is_later: bool,
    before: Before,
    /// Whether it is one of those to compare with, where they are named.
    is_among: bool,
    written: Groups,
    replaced: Groups,
}

impl Other {
    fn is_rollback(&self) -> bool {
        matches!(self.kind, OtherAction::RollbackOfOwn | OtherAction::RollbackOfAnother)
    }

    fn is_completed(&self) -> bool {
        matches!(self.kind, OtherAction::Write | OtherAction::Replace | OtherAction::Compaction)
    }

    fn time(&self, number: usize) -> String {
        let day = if self.is_later || self.is_rollback() { 6 } else { 4 };
        format!("202401{day:02}000000{number:03}")
    }
}

#[derive(Debug, Clone)]
struct Case {
    version: &'static str,
    unit: ConflictUnit,
    names_others: bool,
    own: Groups,
    merged: Groups,
    others: Vec<Other>,
}

fn groups() -> impl Strategy<Value = Groups> {
    let file_ids = vec!["00000001-a-0", "00000001-b-0", "00000002-a-0", "0000000a-a-0"];
    let group = (select(vec!["p", "q"]), select(file_ids));
    btree_set(group.prop_map(|(partition, file_id)| (partition.to_owned(), file_id.to_owned())), 0..3)
}

fn other() -> impl Strategy<Value = Other> {
    let kinds = vec![
        OtherAction::Write,
        OtherAction::Replace,
        OtherAction::Compaction,
        OtherAction::PendingWrite,
        OtherAction::PendingClustering,
        OtherAction::PendingReplace,
        OtherAction::PendingCompaction,
        OtherAction::RollbackOfOwn,
        OtherAction::RollbackOfAnother,
    ];
    let before = select(vec![Before::Absent, Before::Pending, Before::Completed]);
    (select(kinds), any::<bool>(), before, any::<bool>(), groups(), groups()).prop_map(
        |(kind, is_later, before, is_among, written, replaced)| {
            let replaced = if kind == OtherAction::Replace { replaced } else { Groups::new() };
            let mut other = Other { kind, is_later, before, is_among, written, replaced };
            // What is pending now was not completed then.
            if !other.is_completed() && !other.is_rollback() && before == Before::Completed {
                other.before = Before::Pending;
            }
            other
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let unit = select(vec![ConflictUnit::FileGroup, ConflictUnit::Bucket]);
    (select(vec!["6", "8", "9"]), unit, any::<bool>(), groups(), any::<u8>(), vec(other(), 0..4)).prop_map(
        |(version, unit, names_others, own, mask, others)| {
            let merged = own.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, group)| group.clone());
            Case { version, unit, names_others, merged: merged.collect(), own, others }
        },
    )
}

impl Case {
    /// Whether the other instant conflicts, by the table.
    fn conflicts_with(&self, other: &Other) -> bool {
        if other.is_rollback() {
            return other.kind == OtherAction::RollbackOfOwn && other.before != Before::Completed;
        }
        if self.names_others && !other.is_among {
            return false;
        }
        let is_old = self.version == "6";
        let matches = |own: &Groups| {
            other.written.iter().chain(&other.replaced).any(|(partition, file_id)| {
                own.iter().any(|(own_partition, own_id)| {
                    let same = match self.unit {
                        ConflictUnit::FileGroup => file_id == own_id,
                        ConflictUnit::Bucket => file_id == own_id || (is_bucket(own_id) && file_id[..8] == own_id[..8]),
                    };
                    partition == own_partition && same
                })
            })
        };
        match other.kind {
            OtherAction::Write | OtherAction::Replace => other.before != Before::Completed && matches(&self.own),
            OtherAction::Compaction if is_old => {
                other.before != Before::Completed && other.is_later && matches(&self.own)
            }
            OtherAction::Compaction => other.before != Before::Completed && matches(&self.merged),
            OtherAction::PendingClustering => matches(&self.own),
            OtherAction::PendingReplace => other.is_later && matches(&self.own),
            OtherAction::PendingCompaction if is_old => other.before == Before::Absent && matches(&self.own),
            OtherAction::PendingCompaction => other.before == Before::Absent && matches(&self.merged),
            OtherAction::PendingWrite | OtherAction::RollbackOfOwn | OtherAction::RollbackOfAnother => false,
        }
    }
}

/// Bucket numbers are decimal.
fn is_bucket(file_id: &str) -> bool {
    file_id[..8].bytes().all(|byte| byte.is_ascii_digit())
}

struct Table {
    folder: tempfile::TempDir,
    config: TableConfig,
}

impl Table {
    fn new(version: &str) -> Self {
        let entries =
            [("hoodie.table.name", "t"), ("hoodie.table.version", version), ("hoodie.table.type", "MERGE_ON_READ")];
        let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
        let table = Self { folder: tempfile::tempdir().unwrap(), config };
        table.complete("20240101000000000", "deltacommit", b"{}");
        table.put(&format!("{OWN}.deltacommit.requested"), b"");
        table.put(&format!("{OWN}.deltacommit.inflight"), b"");
        table
    }

    fn storage(&self) -> LocalStorage {
        LocalStorage::new(&self.folder.path().to_string_lossy(), true)
    }

    fn timeline(&self) -> Timeline {
        let storage: Arc<dyn Storage> = Arc::new(self.storage());
        Timeline::load(&storage, &self.config).unwrap()
    }

    fn put(&self, name: &str, content: &[u8]) {
        let path = format!("{}/{name}", self.config.timeline_folder);
        self.storage().put(&path, &Bytes::copy_from_slice(content), None).unwrap();
    }

    fn complete(&self, time: &str, action: &str, content: &[u8]) {
        match self.config.layout() {
            TimelineLayout::V1 => self.put(&format!("{time}.{action}"), content),
            TimelineLayout::V2 => self.put(&format!("{time}_20240107000000000.{action}"), content),
        }
    }

    /// The files of an instant while it is pending.
    fn begin(&self, time: &str, other: &Other) {
        let put = |name: &str, content: &[u8]| self.put(&format!("{time}.{name}"), content);
        match other.kind {
            OtherAction::Write | OtherAction::PendingWrite => {
                put("deltacommit.requested", b"");
                put("deltacommit.inflight", &stats(other));
            }
            OtherAction::Replace | OtherAction::PendingReplace => {
                put("replacecommit.requested", &HoodieRequestedReplaceMetadata::default().to_avro().unwrap());
                put("replacecommit.inflight", &stats(other));
            }
            OtherAction::Compaction | OtherAction::PendingCompaction => {
                put("compaction.requested", &compaction_plan(&other.written))
            }
            OtherAction::PendingClustering => {
                let action = if self.config.layout() == TimelineLayout::V1 { "replacecommit" } else { "clustering" };
                put(&format!("{action}.requested"), &clustering_plan(&other.written));
            }
            OtherAction::RollbackOfOwn => put("rollback.requested", &rollback_plan(OWN)),
            OtherAction::RollbackOfAnother => put("rollback.requested", &rollback_plan("20240103000000000")),
        }
    }

    fn finish(&self, time: &str, other: &Other) {
        match other.kind {
            OtherAction::Write => self.complete(time, "deltacommit", &stats(other)),
            OtherAction::Replace => self.complete(time, "replacecommit", &stats(other)),
            OtherAction::Compaction => self.complete(time, "commit", &stats(other)),
            OtherAction::RollbackOfOwn | OtherAction::RollbackOfAnother => self.complete(time, "rollback", b"{}"),
            _ => {}
        }
    }

    /// The check of a write that began with `before`.
    fn check(&self, case: &Case, before: &Timeline) -> Result<()> {
        let among = case.others.iter().enumerate().filter(|(_, other)| other.is_among);
        let among = among.map(|(number, other)| other.time(number).as_str().into()).collect();
        let check = ConflictCheck {
            writer: &TimelineWriter::new(Arc::new(self.storage()), &self.config),
            config: &self.config,
            before,
            now: &self.timeline(),
            instant: &OWN.into(),
            groups: &WrittenGroups { all: case.own.clone(), merged: case.merged.clone() },
            unit: case.unit,
            among: case.names_others.then_some(&among),
        };
        check.run()
    }
}

fn by_partition(groups: &Groups) -> BTreeMap<&str, Vec<&str>> {
    let mut found = BTreeMap::<&str, Vec<&str>>::new();
    for (partition, file_id) in groups {
        found.entry(partition).or_default().push(file_id);
    }
    found
}

/// The metadata of a commit, or of one that announces what it writes: also a group that has no file id yet.
fn stats(other: &Other) -> Vec<u8> {
    let mut written = BTreeMap::from([("p", vec![serde_json::json!({"fileId": ""})])]);
    for (partition, file_ids) in by_partition(&other.written) {
        let stats = file_ids.into_iter().map(|file_id| serde_json::json!({"fileId": file_id}));
        written.entry(partition).or_default().extend(stats);
    }
    let operation = match other.kind {
        OtherAction::Compaction => "COMPACT",
        OtherAction::Replace | OtherAction::PendingReplace => "INSERT_OVERWRITE",
        _ => "UPSERT",
    };
    let metadata = serde_json::json!({
        "partitionToWriteStats": written,
        "partitionToReplaceFileIds": by_partition(&other.replaced),
        "operationType": operation,
    });
    metadata.to_string().into_bytes()
}

fn compaction_plan(groups: &Groups) -> Vec<u8> {
    let operation = |(partition, file_id): &Group| HoodieCompactionOperation {
        file_id: Some(file_id.clone()),
        partition_path: Some(partition.clone()),
        ..Default::default()
    };
    let operations = Some(groups.iter().map(operation).collect());
    HoodieCompactionPlan { operations, ..Default::default() }.to_avro().unwrap()
}

fn clustering_plan(groups: &Groups) -> Vec<u8> {
    let slice = |(partition, file_id): &Group| HoodieSliceInfo {
        file_id: Some(file_id.clone()),
        partition_path: Some(partition.clone()),
        ..Default::default()
    };
    // A group of slices for each.
    let group = |group: &Group| HoodieClusteringGroup { slices: Some(vec![slice(group)]), ..Default::default() };
    let plan = HoodieClusteringPlan { input_groups: Some(groups.iter().map(group).collect()), ..Default::default() };
    let requested = HoodieRequestedReplaceMetadata {
        operation_type: Some("CLUSTER".to_owned()),
        clustering_plan: Some(plan),
        ..Default::default()
    };
    requested.to_avro().unwrap()
}

fn rollback_plan(target: &str) -> Vec<u8> {
    let target = HoodieInstantInfo { commit_time: target.to_owned(), ..Default::default() };
    HoodieRollbackPlan { instant_to_rollback: Some(target), ..Default::default() }.to_avro().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_write_conflicts_with_what_the_table_says(case in case()) {
        let table = Table::new(case.version);
        let instants = || case.others.iter().enumerate().map(|(number, other)| (other.time(number), other));
        for (time, other) in instants().filter(|(_, other)| other.before != Before::Absent) {
            table.begin(&time, other);
            if other.before == Before::Completed {
                table.finish(&time, other);
            }
        }
        let before = table.timeline();
        for (time, other) in instants() {
            if other.before == Before::Absent {
                table.begin(&time, other);
            }
            if other.is_completed() && other.before != Before::Completed {
                table.finish(&time, other);
            }
        }
        let conflicting: Vec<String> =
            instants().filter(|(_, other)| case.conflicts_with(other)).map(|(time, _)| time).collect();
        match table.check(&case, &before) {
            Ok(()) => prop_assert!(conflicting.is_empty(), "no conflict with {conflicting:?}"),
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::WriteConflict, "{}", error);
                prop_assert!(conflicting.iter().any(|time| error.to_string().contains(time)), "{error}: {conflicting:?}");
            }
        }
    }
}
