//! What a rollback of the table does to the metadata table (`HoodieBackedTableMetadataWriter.update` of a rollback).
//!
//! | | table version 8 and later | up to 7 |
//! |---|---|---|
//! | 1 | | delta commit at the rollback's instant: logs with rollback blocks, and logs that stay |
//! | 2 | with the failed instant in the metadata table: a rollback at the rollback's instant | the same, at that instant with the suffix 006 |
//! | 3 | its logs are deleted | a rollback block is appended to each file group that it wrote to |
//! | 4 | the rollback is completed, then the failed instant taken off the timeline | the same |
//!
//! Each step can be repeated: a rollback that was stopped is run again by the next writer.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::delta_commit::{heartbeat, write_delta_commit};
use super::log_files::{Written, write_log};
use super::metadata_folder::{MetadataFolder, ROOT};
use super::partition_kind::PartitionKind;
use super::records::files;
use super::records::partition_records::{PartitionRecords, Records};
use super::records::record_bytes::{Entries, FileEntry};
use super::records::removed_partitions::mark_removed;
use super::upkeep::MetadataUpkeep;
use crate::commit::{RolledBackFiles, TimelineWriter};
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_formats::log::LogFile;
use mortice_formats::log::writer::rollback_block;
use mortice_merge::config::TimelineLayout;
use mortice_storage::Storage;
use mortice_table::metadata_table::{ALL_PARTITIONS, has_write, partition_name};
use mortice_table::timeline::metadata::{
    HoodieInstantInfo, HoodieRollbackMetadata, HoodieRollbackPartitionMetadata, HoodieRollbackPlan,
    HoodieRollbackRequest, OrderedMap, TimelineMetadata,
};
use mortice_table::timeline::{Action, Instant, InstantState};

/// The suffix of rollbacks in metadata tables up to version 7 (`HoodieTableMetadataUtil.OperationSuffix`).
const ROLLBACK_SUFFIX: &str = "006";

/// Files of the failed instant in one partition of the metadata table.
struct FailedFiles {
    partition: String,
    /// Names with lengths.
    files: BTreeMap<String, u64>,
}

impl MetadataUpkeep {
    /// Undoes in the metadata table what the instant `failed` wrote, in the course of its rollback `rollback`, which
    /// did to data files what `touched` says. It can be repeated.
    ///
    /// # Errors
    /// As for [`Self::check_not_compacted`]; those of the storage.
    pub fn roll_back(&self, failed: &RequestedTime, rollback: &RequestedTime, touched: &RolledBackFiles) -> Result<()> {
        let writer = self.folder.timeline_writer();
        self.check_not_compacted(failed)?;
        writer.delete_unfinished(failed)?;
        let has_failed = writer
            .files()?
            .iter()
            .any(|file| file.requested_time == *failed && file.action.completes_as() == Action::DeltaCommit);
        match self.folder.config.layout() {
            TimelineLayout::V2 if has_failed => self.delete_failed(failed, rollback, &writer),
            // The heartbeat comes before the requested instant.
            TimelineLayout::V2 => self.clean_up(failed),
            TimelineLayout::V1 => self.roll_back_v1(has_failed, failed, rollback, touched, &writer),
        }
    }

    /// Undoes in the metadata table what a writer wrote for `failed` after another writer had rolled the instant back:
    /// the instant is off the table's timeline, so that no later rollback finds it. `rollback` is a time that neither
    /// timeline has.
    ///
    /// Compactions of the metadata table do not have it: at the time of the other rollback it was in none, and since
    /// then the instant is not valid there.
    ///
    /// # Errors
    /// Those of the storage, after which it can be repeated.
    pub fn undo_late(&self, failed: &RequestedTime, rollback: &RequestedTime) -> Result<()> {
        let writer = self.folder.timeline_writer();
        let is_failed =
            |file: &Instant| file.requested_time == *failed && file.action.completes_as() == Action::DeltaCommit;
        let has_failed = writer.files()?.iter().any(is_failed);
        let found = files_of_instant(&self.folder, failed)?;
        match self.folder.config.layout() {
            TimelineLayout::V2 if has_failed => self.delete_failed(failed, rollback, &writer),
            TimelineLayout::V2 => {
                self.delete_logs(&found)?;
                self.clean_up(failed)
            }
            TimelineLayout::V1 if has_failed || !found.is_empty() => {
                self.roll_back_v1(true, failed, rollback, &RolledBackFiles::default(), &writer)
            }
            TimelineLayout::V1 => self.clean_up(failed),
        }
    }

    fn delete_logs(&self, found: &[FailedFiles]) -> Result<()> {
        for FailedFiles { partition, files } in found {
            for name in files.keys() {
                self.folder.store().delete(&format!("{ROOT}/{partition}/{name}"))?;
            }
        }
        Ok(())
    }

    fn delete_failed(&self, failed: &RequestedTime, rollback: &RequestedTime, writer: &TimelineWriter) -> Result<()> {
        let found = files_of_instant(&self.folder, failed)?;
        let plan = plan(&self.folder, failed, &found);
        writer.request(rollback, Action::Rollback, &Bytes::from(plan.to_avro()?))?;
        writer.start(rollback, Action::Rollback, &Bytes::new())?;
        self.delete_logs(&found)?;
        self.complete_rollback(failed, rollback, &found, BTreeMap::new(), writer)?;
        writer.delete_instant(failed, Action::DeltaCommit)?;
        self.folder.markers(failed).remove()?;
        self.folder.store().delete(&heartbeat(failed))
    }

    fn roll_back_v1(
        &self,
        has_failed: bool,
        failed: &RequestedTime,
        rollback: &RequestedTime,
        touched: &RolledBackFiles,
        writer: &TimelineWriter,
    ) -> Result<()> {
        let is_recorded = writer.files()?.iter().any(|file| {
            file.requested_time == *rollback
                && file.action == Action::DeltaCommit
                && file.state == InstantState::Completed
        });
        if !is_recorded {
            writer.delete_instant(rollback, Action::DeltaCommit)?;
            let records = self.records_of_rollback(touched)?;
            write_delta_commit(&self.folder, rollback, records, &self.clock, &self.table.timeline)?;
        }
        self.clean_up(rollback)?;
        if !has_failed {
            return Ok(());
        }
        let time = RequestedTime::from_metadata("rollback instant", &format!("{rollback}{ROLLBACK_SUFFIX}"))?;
        let found = files_of_instant(&self.folder, failed)?;
        let plan = plan(&self.folder, failed, &found);
        writer.request(&time, Action::Rollback, &Bytes::from(plan.to_avro()?))?;
        writer.start(&time, Action::Rollback, &Bytes::new())?;
        let mut appended = BTreeMap::new();
        for FailedFiles { partition, files } in &found {
            appended.insert(partition.clone(), self.append_blocks(partition, files, &time, failed)?);
        }
        self.folder.markers(&time).remove()?;
        self.complete_rollback(failed, &time, &found, appended, writer)?;
        writer.delete_instant(failed, Action::DeltaCommit)?;
        self.folder.markers(failed).remove()
    }

    /// The files of a rollback up to table version 7: logs with rollback blocks, those of the failed instant that stay,
    /// and those that are gone.
    fn records_of_rollback(&self, touched: &RolledBackFiles) -> Result<Records> {
        let mut all: BTreeMap<String, Entries> = BTreeMap::new();
        for (partition, files) in &touched.partitions {
            let logs = files.failed_logs.iter().chain(&files.rollback_logs);
            let mut entries: Entries = logs.map(|(name, length)| (name.clone(), FileEntry::live(*length))).collect();
            // Earlier rollbacks have listed the logs of a slice that goes with the instant that began it.
            let gone = files.deleted.iter().filter(|name| LogFileName::parse(name).is_some());
            entries.extend(gone.map(|name| (name.clone(), FileEntry::DELETED)));
            if !entries.is_empty() {
                all.insert(partition_name(partition).to_owned(), entries);
            }
        }
        if all.is_empty() {
            return Ok(Records::new());
        }
        let partitions = all.keys().cloned().collect();
        mark_removed(&mut all, partitions, || self.metadata_table())?;
        let mut records: PartitionRecords = files::of_listing(self.folder.schema(), &all);
        // The partitions are known, unless the failed instant alone wrote to them.
        records.upserts.remove(ALL_PARTITIONS);
        Ok(Records::from([(PartitionKind::Files, records)]))
    }

    /// Whether [`Self::roll_back`] of an instant, the table's newest write, leaves the metadata table as it was before
    /// it. Compactions, and partitions that were built from a listing of the table since, have what it wrote in base
    /// files.
    #[must_use]
    pub fn can_roll_back(&self, target: &Instant) -> bool {
        if self.folder.config.layout() == TimelineLayout::V2 {
            return self.can_undo(std::slice::from_ref(target), &[]);
        }
        let time = target.requested_time.as_str();
        let written = self.folder.timeline.writes_at(&target.requested_time).any(Instant::is_completed);
        // Services and initialisations have the time of a write with a suffix: that of the newest one that is in their
        // base files.
        let is_before = |instant: &Instant| {
            let instant = instant.requested_time.as_str();
            instant.get(..time.len()).unwrap_or(instant) < time
        };
        let instants = self.folder.timeline.instants().iter();
        (written || !target.is_completed())
            && instants.filter(|instant| !is_before(instant)).all(|instant| self.has_logs_alone(instant))
    }

    /// Whether [`Self::roll_back`] of these instants, one after the other, leaves the metadata table as it was before
    /// them: from table version 8 on, if all it has of them is in logs. `gone` are instants that have left the table's
    /// timeline in the course of it.
    ///
    /// Cleans that were made since stay as they are: a restore does not bring back what they deleted.
    #[must_use]
    pub fn can_undo(&self, undone: &[Instant], gone: &[RequestedTime]) -> bool {
        let (metadata, table) = (&self.folder.timeline, &self.table.timeline);
        let is_undone = |time: &RequestedTime| undone.iter().any(|instant| instant.requested_time == *time);
        let has = |time: &RequestedTime| metadata.writes_at(time).any(Instant::is_completed);
        let left = table.completed_writes().rfind(|write| !is_undone(&write.requested_time));
        // Readers use it only if it has the newest write.
        if self.folder.config.layout() == TimelineLayout::V1 || left.is_some_and(|left| !has_write(metadata, left)) {
            return false;
        }
        let is_missing = |instant: &Instant| instant.is_completed() && !has(&instant.requested_time);
        if undone.iter().any(is_missing) || gone.iter().any(|time| metadata.writes_at(time).next().is_some()) {
            return false;
        }
        let undone_there = metadata.instants().iter().filter(|instant| is_undone(&instant.requested_time));
        let Some(first) = undone_there.filter_map(|instant| instant.completion_time.as_ref()).min() else {
            return true;
        };
        // No compaction, and no partition that was built, since: they have what is undone in base files.
        metadata.instants().iter().all(|instant| {
            instant.completion_time.as_ref().is_some_and(|completed| completed < first) || self.has_logs_alone(instant)
        })
    }

    /// Whether an instant of the metadata table has written nothing but logs, and in them what an instant of the table
    /// did.
    fn has_logs_alone(&self, instant: &Instant) -> bool {
        match instant.action {
            Action::DeltaCommit => !self.table.timeline.instants_at(&instant.requested_time).is_empty(),
            Action::Rollback | Action::Clean => true,
            _ => false,
        }
    }

    /// Makes sure that what a pending instant wrote to the metadata table is in no base file there, which cannot be
    /// undone (`HoodieBackedTableMetadataWriter.validateRollback`). Writers compact up to the first pending instant
    /// only.
    ///
    /// # Errors
    /// `Unsupported`, saying what to do, if it is.
    pub fn check_not_compacted(&self, failed: &RequestedTime) -> Result<()> {
        let timeline = &self.folder.timeline;
        let compactions = timeline.completed_writes().filter(|instant| instant.action == Action::Commit);
        let Some(latest) = compactions.map(|instant| &instant.requested_time).max() else { return Ok(()) };
        let is_compacted = match self.folder.config.layout() {
            // A compaction has the time of the last delta commit that it merges, with a suffix.
            TimelineLayout::V1 => latest.as_str().get(..failed.as_str().len()) >= Some(failed.as_str()),
            TimelineLayout::V2 => timeline
                .writes_at(failed)
                .filter_map(|instant| instant.completion_time.as_ref())
                .any(|completed| latest.compare_to_completion(completed).is_none_or(std::cmp::Ordering::is_ge)),
        };
        if !is_compacted {
            return Ok(());
        }
        let message = format!(
            "the instant was compacted in the metadata table ({latest}) and cannot be rolled back there: build the metadata table again, \
             with `mortice metadata build --rebuild`, which deletes it first"
        );
        Err(Error::unsupported(message).in_file(ROOT).at_instant(failed))
    }

    /// Appends rollback blocks to the file groups that have these logs. Returns the new logs with their lengths.
    fn append_blocks(
        &self,
        partition: &str,
        failed_logs: &BTreeMap<String, u64>,
        time: &RequestedTime,
        failed: &RequestedTime,
    ) -> Result<BTreeMap<String, u64>> {
        let kind = PartitionKind::named(partition);
        let kind = kind.ok_or_else(|| {
            Error::unsupported(format!("the rollback of the metadata table's partition {partition}")).at_instant(failed)
        })?;
        let block = rollback_block(time, failed)?;
        let mut appended = BTreeMap::new();
        for log in self.folder.next_logs(&kind, time)? {
            let wrote = |name: &String| LogFileName::parse(name).is_some_and(|name| name.file_id == log.file_id);
            if failed_logs.keys().any(wrote) {
                write_log(
                    &self.folder,
                    &kind,
                    &log,
                    Written { instant: time, upserts: 0, deletes: 0 },
                    std::slice::from_ref(&block),
                )?;
                appended.insert(log.name, block.bytes().len() as u64);
            }
        }
        Ok(appended)
    }

    fn complete_rollback(
        &self,
        failed: &RequestedTime,
        rollback: &RequestedTime,
        found: &[FailedFiles],
        mut appended: BTreeMap<String, BTreeMap<String, u64>>,
        writer: &TimelineWriter,
    ) -> Result<()> {
        let is_done = |file: &mortice_table::timeline::Instant| {
            file.requested_time == *rollback && file.action == Action::Rollback && file.state == InstantState::Completed
        };
        if writer.files()?.iter().any(is_done) {
            return Ok(());
        }
        let is_v1 = self.folder.config.layout() == TimelineLayout::V1;
        let partition = |FailedFiles { partition, files }: &FailedFiles| {
            let deleted = files.keys().map(|name| full_path(&self.folder, partition, name));
            let logs = |logs: BTreeMap<String, u64>| {
                let entry = |(name, length): (String, u64)| {
                    (full_path(&self.folder, partition, &name), i64::try_from(length).unwrap_or(i64::MAX))
                };
                Some(logs.into_iter().map(entry).collect::<OrderedMap<i64>>())
            };
            let metadata = HoodieRollbackPartitionMetadata {
                partition_path: partition.clone(),
                success_delete_files: if is_v1 { Vec::new() } else { deleted.collect() },
                rollback_log_files: logs(appended.remove(partition).unwrap_or_default()),
                log_files_from_failed_commit: logs(if is_v1 { files.clone() } else { BTreeMap::new() }),
                ..HoodieRollbackPartitionMetadata::default()
            };
            (partition.clone(), metadata)
        };
        let partition_metadata: OrderedMap<_> = found.iter().map(partition).collect();
        let deleted: usize = partition_metadata.values().map(|one| one.success_delete_files.len()).sum();
        let metadata = HoodieRollbackMetadata {
            start_rollback_time: rollback.to_string(),
            time_taken_in_millis: 0,
            total_files_deleted: i32::try_from(deleted).unwrap_or(i32::MAX),
            commits_rollback: vec![failed.to_string()],
            partition_metadata,
            version: Some(1),
            instants_rollback: vec![instant_info(failed)],
            ..HoodieRollbackMetadata::default()
        };
        let completion = self.clock.completion_time(rollback, &[&self.table.timeline, &self.folder.timeline])?;
        let content = Bytes::from(metadata.to_avro()?);
        writer.complete_or_fail(rollback, Action::Rollback, &completion, &content).map(|_| ())
    }
}

fn instant_info(failed: &RequestedTime) -> HoodieInstantInfo {
    HoodieInstantInfo {
        commit_time: failed.to_string(),
        action: Action::DeltaCommit.to_string(),
        ..HoodieInstantInfo::default()
    }
}

fn full_path(folder: &MetadataFolder, partition: &str, name: &str) -> String {
    folder.store().full_path(&format!("{ROOT}/{partition}/{name}"))
}

fn plan(folder: &MetadataFolder, failed: &RequestedTime, found: &[FailedFiles]) -> HoodieRollbackPlan {
    let is_v1 = folder.config.layout() == TimelineLayout::V1;
    let request = |partition: &str, (name, length): (&String, &u64)| {
        let path = full_path(folder, partition, name);
        let (deleted, appended) = if is_v1 {
            (Vec::new(), OrderedMap::from_iter([(path, i64::try_from(*length).unwrap_or(i64::MAX))]))
        } else {
            (vec![path], OrderedMap::new())
        };
        HoodieRollbackRequest {
            partition_path: partition.to_owned(),
            file_id: Some(String::new()),
            latest_base_instant: Some(String::new()),
            files_to_be_deleted: deleted,
            log_blocks_to_be_deleted: Some(appended),
            ..HoodieRollbackRequest::default()
        }
    };
    let requests = found.iter().flat_map(|one| one.files.iter().map(|file| request(&one.partition, file)));
    HoodieRollbackPlan {
        instant_to_rollback: Some(instant_info(failed)),
        rollback_requests: Some(requests.collect()),
        version: Some(1),
        ..HoodieRollbackPlan::default()
    }
}

/// The log files that an instant wrote to the metadata table, by listing: from table version 8 on by name, before that
/// by their blocks.
fn files_of_instant(folder: &MetadataFolder, instant: &RequestedTime) -> Result<Vec<FailedFiles>> {
    let mut found: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let store = folder.store();
    let is_v1 = folder.config.layout() == TimelineLayout::V1;
    for (path, status) in store.list_recursively(ROOT)? {
        let below = path.strip_prefix(ROOT).and_then(|path| path.strip_prefix('/')).unwrap_or(&path);
        let Some((partition, name)) = below.rsplit_once('/') else { continue };
        let Some(log) = LogFileName::parse(name).filter(|_| !partition.starts_with(".hoodie")) else { continue };
        let is_of_instant = if is_v1 { wrote(store.as_ref(), &path, instant)? } else { log.instant == *instant };
        if is_of_instant {
            found.entry(partition.to_owned()).or_default().insert(name.to_owned(), status.len);
        }
    }
    Ok(found.into_iter().map(|(partition, files)| FailedFiles { partition, files }).collect())
}

/// Whether a block of a log file is of an instant. A damaged log is none: its blocks are skipped.
fn wrote(place: &dyn Storage, path: &str, instant: &RequestedTime) -> Result<bool> {
    let log = LogFile::new(place.open(path)?);
    for block in log.blocks(false) {
        if block?.header.instant_time().is_some_and(|time| time == instant.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}
