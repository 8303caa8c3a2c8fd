//! Whether another writer wrote to the same file groups while a write was under way
//! (`SimpleConcurrentFileWritesConflictResolutionStrategy`), or, with a bucket index, to the same buckets.
//!
//! | the other instant | is compared |
//! |---|---|
//! | completed since this write began | its file groups, written and replaced |
//! | the same, a compaction, from table version 8 on | only with base files that this write merged into existing groups |
//! | the same, a compaction, up to version 7 | if its requested time is later than this write's |
//! | pending clustering | the groups of its plan |
//! | pending replacement, requested since this write began | the groups that it announced |
//! | pending compaction, planned since this write began | up to version 7 all groups; from 8 on as above |
//! | a rollback of this write | conflicts in any case |
//! | completed and archived since this write began | as one that is active (`gone_writes`) |
//! | gone: neither active nor archived nor, if it was pending, rolled back | conflicts in any case |
//!
//! Hudi takes completed instants by requested time and those that were pending when the write began; here they are
//! those that the timeline at the beginning did not have as completed, which is the same set.

use std::collections::BTreeSet;

use super::conflict_unit::ConflictUnit;
use super::timeline_writer::TimelineWriter;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{TableConfig, TableType, TimelineLayout};
use mortice_table::timeline::metadata::{
    HoodieCommitMetadata, HoodieRequestedReplaceMetadata, HoodieSliceInfo, TimelineMetadata,
};
use mortice_table::timeline::{Action, CommitMetadata, Instant, Timeline};

/// File groups that an error names; of more it names the first.
const NAMED: usize = 5;

/// Partition and file id of file groups.
type Groups = BTreeSet<(String, String)>;

/// The file groups of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenGroups {
    /// All that it writes or replaces.
    pub all: Groups,
    /// Those among them that get a base file which is merged from an earlier slice.
    pub merged: Groups,
}

/// What is checked before a write is completed, under the lock.
pub struct ConflictCheck<'a> {
    /// The timeline's files.
    pub writer: &'a TimelineWriter,
    /// The table.
    pub config: &'a TableConfig,
    /// The timeline when the write began.
    pub before: &'a Timeline,
    /// The timeline as it is now.
    pub now: &'a Timeline,
    /// The write.
    pub instant: &'a RequestedTime,
    /// Its file groups.
    pub groups: &'a WrittenGroups,
    /// What is compared.
    pub unit: ConflictUnit,
    /// The requested times of the writes to compare with; none: all.
    pub among: Option<&'a BTreeSet<RequestedTime>>,
}

impl ConflictCheck<'_> {
    /// Makes sure that no other writer wrote to the same file groups.
    ///
    /// # Errors
    /// `WriteConflict`, naming the other instant and the file groups; those of reading the timeline.
    pub fn run(&self) -> Result<()> {
        self.check_own_instant()?;
        let completed = self.compare_groups()?;
        self.check_gone(&completed)
    }

    /// As [`Self::run`], of a write that may be completed. Returns the requested times of the writes that were
    /// completed since it began.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn compare_groups(&self) -> Result<BTreeSet<RequestedTime>> {
        let mut completed = BTreeSet::new();
        self.visit_completed_since(&mut |other, metadata| {
            completed.insert(other.requested_time.clone());
            self.check_written(other, &metadata)
        })?;
        self.check_pending_replacements()?;
        self.check_pending_compactions()?;
        Ok(completed)
    }

    /// Whether an instant of another writer is to be compared.
    pub(super) fn is_other(&self, time: &RequestedTime) -> bool {
        time != self.instant && self.among.is_none_or(|among| among.contains(time))
    }

    /// Makes sure that the write is still pending, and that nobody has begun to roll it back.
    ///
    /// # Errors
    /// `WriteConflict` otherwise; those of reading the timeline.
    pub fn check_own_instant(&self) -> Result<()> {
        if self.now.writes_at(self.instant).any(Instant::is_completed) {
            let message =
                "another writer took this execution of a plan for dead, rolled it back, and completed the plan";
            return Err(Error::new(ErrorKind::WriteConflict, message).at_instant(self.instant));
        }
        self.check_not_rolled_back()?;
        if self.now.writes_at(self.instant).any(|instant| !instant.is_completed()) {
            return Ok(());
        }
        Err(self.rolled_back("a rollback that is complete"))
    }

    /// Makes sure that nobody has begun to roll the write back since it began, whether it is completed or not.
    ///
    /// # Errors
    /// `WriteConflict` otherwise; those of reading the timeline.
    pub fn check_not_rolled_back(&self) -> Result<()> {
        for rollback in self.now.instants().iter().filter(|instant| instant.action == Action::Rollback) {
            // One that was complete when this began undid an earlier execution of the same plan.
            let is_earlier = self.before.instants_at(&rollback.requested_time).iter().any(Instant::is_completed);
            if rollback.requested_time < *self.instant || is_earlier {
                continue;
            }
            if self.writer.rollback_targets(rollback)?.iter().any(|target| *self.instant == target.as_str()) {
                return Err(self.rolled_back(&rollback.to_string()));
            }
        }
        Ok(())
    }

    /// The error of a write that `by` has rolled back.
    pub fn rolled_back(&self, by: &str) -> Error {
        let message = format!(
            "another writer took this write for dead and rolled it back ({by}): its heartbeat had expired, or the other writer is \
             configured to be the only one; write again"
        );
        Error::new(ErrorKind::WriteConflict, message).at_instant(self.instant)
    }

    /// Compares the file groups of a completed instant.
    fn check_written(&self, other: &Instant, metadata: &CommitMetadata) -> Result<()> {
        let is_merge_on_read = self.config.table_type == TableType::MergeOnRead;
        let own = match self.config.layout() {
            TimelineLayout::V2 if is_merge_on_read && other.action == Action::Commit => &self.groups.merged,
            TimelineLayout::V1 if metadata.is_compaction() && other.requested_time < *self.instant => {
                return Ok(());
            }
            _ => &self.groups.all,
        };
        let written = metadata.write_stats.iter().flat_map(|(partition, stats)| {
            stats.iter().filter_map(|stat| Some((partition.clone(), stat.file_id.clone()?)))
        });
        let replaced = metadata
            .replaced
            .iter()
            .flat_map(|(partition, file_ids)| file_ids.iter().map(|file_id| (partition.clone(), file_id.clone())));
        self.compare(own, written.chain(replaced), other)
    }

    fn check_pending_replacements(&self) -> Result<()> {
        let clustering = self.now.pending_clustering()?;
        for other in self.now.pending_writes() {
            let time = &other.requested_time;
            if !self.is_other(time) {
                continue;
            }
            if clustering.iter().any(|instant| instant.is_same(other)) {
                // It was rolled back since the timeline was read.
                let Some(bytes) = self.writer.read_requested(time, other.action)? else { continue };
                let plan = HoodieRequestedReplaceMetadata::from_bytes(&bytes)?.unwrap_or_default();
                self.compare(&self.groups.all, clustered(plan)?.into_iter(), other)?;
            } else if other.action == Action::ReplaceCommit && time > self.instant {
                let Some(bytes) = self.writer.read(&format!("{time}.{}.inflight", other.action))? else { continue };
                let profile = HoodieCommitMetadata::from_bytes(&bytes)?.unwrap_or_default();
                self.compare(&self.groups.all, announced(profile), other)?;
            }
        }
        Ok(())
    }

    fn check_pending_compactions(&self) -> Result<()> {
        let own = if self.config.layout() == TimelineLayout::V1 { &self.groups.all } else { &self.groups.merged };
        let is_new = |instant: &&Instant| {
            let time = &instant.requested_time;
            self.is_other(time) && !self.before.pending(Action::Compaction).any(|known| known.requested_time == *time)
        };
        let new: Vec<&Instant> = self.now.pending(Action::Compaction).filter(is_new).collect();
        if own.is_empty() || new.is_empty() {
            return Ok(());
        }
        for plan in self.now.pending_compactions()? {
            let Some(other) = new.iter().find(|instant| instant.requested_time == plan.instant) else { continue };
            let groups = plan.operations.into_iter().map(|operation| (operation.partition, operation.file_id));
            self.compare(own, groups, other)?;
        }
        Ok(())
    }

    fn compare(&self, own: &Groups, others: impl Iterator<Item = (String, String)>, other: &Instant) -> Result<()> {
        let bucket = |(partition, file_id): &(String, String)| Some((partition.clone(), self.unit.bucket_of(file_id)?));
        let own_buckets: BTreeSet<(String, u32)> = own.iter().filter_map(bucket).collect();
        let is_common = |group: &(String, String)| {
            own.contains(group) || bucket(group).is_some_and(|one| own_buckets.contains(&one))
        };
        let common: Groups = others.filter(is_common).collect();
        let Some((partition, file_id)) = common.first() else { return Ok(()) };
        let what = match own.contains(&(partition.clone(), file_id.clone())) {
            true => "the same file groups",
            false => "file groups of the same buckets",
        };
        let named: Vec<String> =
            common.iter().take(NAMED).map(|(partition, file_id)| format!("{partition}/{file_id}")).collect();
        let more = common.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let state = if other.is_completed() { "completed" } else { "pending" };
        let message = format!(
            "write {} and {other} ({state}) of another writer wrote to {what}: {}{more}; nothing was committed, write again",
            self.instant,
            named.join(", ")
        );
        Err(Error::new(ErrorKind::WriteConflict, message).at_instant(self.instant))
    }
}

fn clustered(plan: HoodieRequestedReplaceMetadata) -> Result<Vec<(String, String)>> {
    let groups = plan.clustering_plan.and_then(|plan| plan.input_groups).into_iter().flatten();
    let slices = groups.flat_map(|group| group.slices.into_iter().flatten());
    let group = |slice: HoodieSliceInfo| {
        let file_id = slice.file_id;
        let file_id = file_id.ok_or_else(|| Error::invalid_table("a file slice of a clustering plan has no fileId"))?;
        // Null, its default, for a table without partitions.
        Ok((slice.partition_path.unwrap_or_default(), file_id))
    };
    slices.map(group).collect()
}

/// The groups of a workload profile. New groups have no file id there.
fn announced(profile: HoodieCommitMetadata) -> impl Iterator<Item = (String, String)> {
    let stats = profile.partition_to_write_stats.unwrap_or_default();
    stats.into_iter().flat_map(|(partition, stats)| {
        stats
            .into_iter()
            .filter_map(move |stat| Some((partition.clone(), stat.file_id.filter(|file_id| !file_id.is_empty())?)))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use mortice_merge::config::Properties;
    use mortice_storage::{FileStore, LocalStorage, Storage};
    use mortice_table::timeline::metadata::{
        HoodieClusteringGroup, HoodieClusteringPlan, HoodieCompactionOperation, HoodieCompactionPlan,
        HoodieInstantInfo, HoodieRollbackPlan,
    };

    const OWN: &str = "20240105000000000";

    struct Table {
        folder: tempfile::TempDir,
        config: TableConfig,
    }

    impl Table {
        /// With a commit of before, and this write under way.
        fn new(version: &str) -> Self {
            let entries =
                [("hoodie.table.name", "t"), ("hoodie.table.version", version), ("hoodie.table.type", "MERGE_ON_READ")];
            let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
            let table = Self { folder: tempfile::tempdir().unwrap(), config };
            table.commit("20240101000000000", "deltacommit", "UPSERT", "f-0");
            table.put(&format!("{OWN}.deltacommit.requested"), b"");
            table.put(&format!("{OWN}.deltacommit.inflight"), b"");
            table
        }

        fn put(&self, name: &str, content: &[u8]) {
            let path = format!("{}/{name}", self.config.timeline_folder);
            self.storage().put(&path, &Bytes::copy_from_slice(content), None).unwrap();
        }

        /// A completed commit that wrote one file group.
        fn commit(&self, time: &str, action: &str, operation: &str, file_id: &str) {
            let content = format!(
                r#"{{"partitionToWriteStats":{{"p":[{{"fileId":"{file_id}"}}]}},"operationType":"{operation}",
                "partitionToReplaceFileIds":{{"q":["{file_id}"]}}}}"#
            );
            let completed = match self.config.layout() {
                TimelineLayout::V1 => format!("{time}.{action}"),
                TimelineLayout::V2 => format!("{time}_20240106000000000.{action}"),
            };
            self.put(&completed, content.as_bytes());
        }

        fn storage(&self) -> LocalStorage {
            LocalStorage::new(&self.folder.path().to_string_lossy(), true)
        }

        fn timeline(&self) -> Timeline {
            let storage: Arc<dyn Storage> = Arc::new(self.storage());
            Timeline::load(&storage, &self.config).unwrap()
        }

        /// Checks a write of `p/f-0`, which merges it or not, that began with the timeline `before`.
        fn check(&self, before: &Timeline, is_merged: bool) -> Result<()> {
            self.check_group(before, ("f-0", is_merged), ConflictUnit::FileGroup)
        }

        fn check_group(&self, before: &Timeline, (own, is_merged): (&str, bool), unit: ConflictUnit) -> Result<()> {
            let all = Groups::from([("p".to_owned(), own.to_owned())]);
            let merged = if is_merged { all.clone() } else { Groups::new() };
            self.check_with(before, &WrittenGroups { all, merged }, unit, |check| check.run())
        }

        /// Checks that no other write was under way beside one that began with the timeline `before`.
        fn alone(&self, before: &Timeline) -> Result<()> {
            self.check_with(before, &WrittenGroups::default(), ConflictUnit::FileGroup, |check| check.check_alone())
        }

        fn check_with(
            &self,
            before: &Timeline,
            groups: &WrittenGroups,
            unit: ConflictUnit,
            check: impl Fn(&ConflictCheck<'_>) -> Result<()>,
        ) -> Result<()> {
            let writer = TimelineWriter::new(Arc::new(self.storage()), &self.config);
            check(&ConflictCheck {
                writer: &writer,
                config: &self.config,
                before,
                now: &self.timeline(),
                instant: &OWN.into(),
                groups,
                unit,
                among: None,
            })
        }

        /// Checks as [`Self::check`] after `change`: the message of the conflict, if there is one.
        fn conflict(&self, is_merged: bool, change: impl FnOnce()) -> Option<String> {
            let before = self.timeline();
            self.check(&before, is_merged).unwrap();
            change();
            let error = self.check(&before, is_merged).err()?;
            assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
            Some(error.to_string())
        }
    }

    fn compaction(file_id: &str) -> Vec<u8> {
        let operation = HoodieCompactionOperation {
            file_id: Some(file_id.to_owned()),
            partition_path: Some("p".to_owned()),
            ..Default::default()
        };
        HoodieCompactionPlan { operations: Some(vec![operation]), ..Default::default() }.to_avro().unwrap()
    }

    fn clustering(file_id: &str) -> Vec<u8> {
        let slice = HoodieSliceInfo {
            file_id: Some(file_id.to_owned()),
            partition_path: Some("p".to_owned()),
            ..Default::default()
        };
        let group = HoodieClusteringGroup { slices: Some(vec![slice]), ..Default::default() };
        let plan = HoodieClusteringPlan { input_groups: Some(vec![group]), ..Default::default() };
        let requested = HoodieRequestedReplaceMetadata {
            operation_type: Some("CLUSTER".to_owned()),
            clustering_plan: Some(plan),
            ..Default::default()
        };
        requested.to_avro().unwrap()
    }

    #[test]
    fn commits_that_were_completed_since_conflict() {
        for version in ["6", "9"] {
            // Before and after this write was requested.
            for time in ["20240104000000000", "20240106000000000"] {
                let table = Table::new(version);
                let message = table.conflict(false, || table.commit(time, "deltacommit", "UPSERT", "f-0")).unwrap();
                assert!(message.contains(time) && message.contains("p/f-0") && message.contains(OWN), "{message}");
                let table = Table::new(version);
                assert_eq!(table.conflict(false, || table.commit(time, "deltacommit", "UPSERT", "g-0")), None);
            }
        }
    }

    #[test]
    fn compactions_conflict_with_merged_base_files_from_version_8_on() {
        let compact = |table: &Table| table.commit("20240106000000000", "commit", "COMPACT", "f-0");
        let plan = |table: &Table| table.put("20240106000000000.compaction.requested", &compaction("f-0"));
        for change in [&compact as &dyn Fn(&Table), &plan] {
            for (is_merged, conflicts) in [(true, true), (false, false)] {
                let table = Table::new("9");
                assert_eq!(table.conflict(is_merged, || change(&table)).is_some(), conflicts);
            }
        }
    }

    #[test]
    fn compactions_up_to_version_7_conflict_if_they_are_later() {
        for (time, conflicts) in [("20240104000000000", false), ("20240106000000000", true)] {
            let table = Table::new("6");
            let change = || table.commit(time, "commit", "COMPACT", "f-0");
            assert_eq!(table.conflict(false, change).is_some(), conflicts, "{time}");
        }
        let table = Table::new("6");
        table.put("20240104000000000.compaction.requested", &compaction("f-0"));
        assert_eq!(
            table.conflict(false, || table.put("20240106000000000.compaction.requested", &compaction("g-0"))),
            None
        );
        assert!(
            table.conflict(false, || table.put("20240107000000000.compaction.requested", &compaction("f-0"))).is_some()
        );
    }

    #[test]
    fn pending_clustering_and_replacements_conflict() {
        let table = Table::new("9");
        assert_eq!(
            table.conflict(false, || table.put("20240106000000000.clustering.requested", &clustering("g-0"))),
            None
        );
        assert!(
            table.conflict(false, || table.put("20240104000000000.clustering.requested", &clustering("f-0"))).is_some()
        );
        for (time, conflicts) in [("20240104000000000", false), ("20240106000000000", true)] {
            let table = Table::new("9");
            let change = || {
                let empty = HoodieRequestedReplaceMetadata::default().to_avro().unwrap();
                table.put(&format!("{time}.replacecommit.requested"), &empty);
                let profile = r#"{"partitionToWriteStats":{"p":[{"fileId":""},{"fileId":"f-0"}]}}"#;
                table.put(&format!("{time}.replacecommit.inflight"), profile.as_bytes());
            };
            assert_eq!(table.conflict(false, change).is_some(), conflicts, "{time}");
        }
    }

    #[test]
    fn without_a_lock_any_other_write_conflicts() {
        for version in ["6", "9"] {
            for (operation, conflicts) in [("UPSERT", true), ("DELETE_PARTITION", true), ("COMPACT", false)] {
                let table = Table::new(version);
                let before = table.timeline();
                table.commit("20240104000000000", "deltacommit", operation, "g-0");
                assert_eq!(table.alone(&before).is_err(), conflicts, "{version} {operation}");
                table.alone(&table.timeline()).unwrap();
            }
            let table = Table::new(version);
            let before = table.timeline();
            for (name, conflicts) in [
                ("20240106000000000.compaction.requested", false),
                ("20240107000000000.rollback.requested", false),
                ("20240104000000000.deltacommit.requested", true),
            ] {
                table.put(name, b"");
                assert_eq!(table.alone(&before).is_err(), conflicts, "{version} {name}");
            }
            // It was pending when this write began.
            table.alone(&table.timeline()).unwrap();
        }
    }

    #[test]
    fn a_rollback_of_the_write_conflicts() {
        let plan = |time: &str| {
            let target = HoodieInstantInfo { commit_time: time.to_owned(), ..Default::default() };
            HoodieRollbackPlan { instant_to_rollback: Some(target), ..Default::default() }.to_avro().unwrap()
        };
        let table = Table::new("9");
        assert_eq!(
            table.conflict(false, || table.put("20240106000000000.rollback.requested", &plan("20240104000000000"))),
            None
        );
        let message = table.conflict(false, || table.put("20240107000000000.rollback.requested", &plan(OWN))).unwrap();
        assert!(message.contains("20240107000000000.rollback"), "{message}");
        // The execution of a plan that was rolled back earlier does not.
        table.put("20240107000000000_20240107000000001.rollback", b"{}");
        table.check(&table.timeline(), false).unwrap();
        let table = Table::new("6");
        let remove = |name: &str| table.storage().delete(&format!(".hoodie/{OWN}.deltacommit.{name}")).unwrap();
        assert!(table.conflict(false, || ["inflight", "requested"].map(remove).into_iter().collect()).is_some());
    }

    #[test]
    fn a_plan_that_another_process_completed_conflicts() {
        for version in ["6", "9"] {
            let table = Table::new(version);
            let message = table.conflict(false, || table.commit(OWN, "deltacommit", "UPSERT", "g-0")).unwrap();
            assert!(message.contains("completed the plan"), "{message}");
        }
    }

    #[test]
    fn new_file_groups_of_one_bucket_conflict() {
        for version in ["6", "9"] {
            for (file_id, unit, conflicts) in [
                ("00000001-b-0", ConflictUnit::Bucket, true),
                ("00000001-b-0", ConflictUnit::FileGroup, false),
                ("00000002-b-0", ConflictUnit::Bucket, false),
                ("0000000a-b-0", ConflictUnit::Bucket, false),
            ] {
                let table = Table::new(version);
                let before = table.timeline();
                table.commit("20240104000000000", "deltacommit", "UPSERT", file_id);
                let checked = table.check_group(&before, ("00000001-a-0", false), unit);
                assert_eq!(checked.is_err(), conflicts, "{version} {file_id} {unit:?}");
                if let Err(error) = checked {
                    let named = error.to_string().contains("of the same buckets: p/00000001-b-0");
                    assert!(error.kind() == ErrorKind::WriteConflict && named, "{error}");
                }
            }
        }
    }

    #[test]
    fn errors_name_some_of_many_file_groups() {
        let table = Table::new("9");
        let writer = TimelineWriter::new(Arc::new(table.storage()), &table.config);
        let (now, groups) = (table.timeline(), WrittenGroups::default());
        let check = ConflictCheck {
            writer: &writer,
            config: &table.config,
            before: &now,
            now: &now,
            instant: &OWN.into(),
            groups: &groups,
            unit: ConflictUnit::FileGroup,
            among: None,
        };
        let own: Groups = (0..7).map(|group| ("p".to_owned(), format!("f-{group}"))).collect();
        let other = now.instants().first().unwrap();
        let error = check.compare(&own, own.clone().into_iter(), other).unwrap_err();
        assert!(error.to_string().contains("p/f-4 and 2 more"), "{error}");
    }
}
