//! The files that the commits of a range have written, from their metadata alone (`MergeOnReadIncrementalRelationV1`,
//! `V2`), so that the cost of planning depends on the commits of the range and not on the size of the table. Folders
//! are listed only to check whether all files still exist.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::file_group::PartitionFiles;
use crate::split::CommitRange;
use crate::timeline::{CommitMetadata, Instant, ReplacedFileGroup, Timeline, TimelineRange};
use mortice_base::error::Result;
use mortice_base::names::instant_range::InstantRange;
use mortice_base::names::{RequestedTime, TimelinePosition, is_registered};
use mortice_merge::config::TimelineLayout;
use mortice_storage::{FolderEntry, Storage, parallel};

/// Writes that an incremental query may skip, by their operation and not by their action: a `commit` can be a bulk
/// insert.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedWrites {
    /// Compactions and log compactions (`hoodie.datasource.read.incr.skip_compact`).
    pub compaction: bool,
    /// Clustering (`hoodie.datasource.read.incr.skip_cluster`).
    pub clustering: bool,
    /// Log compactions, so that their rows are not returned again to callers that had them from the commits. If the
    /// range has one, the other services are skipped with it: they contain the rows of the log compaction.
    pub log_compaction: bool,
}

/// The files that the commits of a range have written.
#[derive(Debug, Default)]
pub(in crate::plan) struct WrittenFiles {
    /// Requested times of the commits whose rows are returned.
    instants: BTreeSet<RequestedTime>,
    /// The commit with the greatest requested time.
    latest: Option<RequestedTime>,
    /// File names and sizes by folder; `None` if no commit reports the size.
    files: BTreeMap<String, BTreeMap<String, Option<u64>>>,
    /// File groups that were replaced.
    pub replaced: Vec<ReplacedFileGroup>,
    has_log_compaction: bool,
    /// Whether one of the commits has been archived.
    is_archived: bool,
}

impl WrittenFiles {
    /// Reads the metadata of the commits in a range.
    pub(in crate::plan) fn read(
        timeline: &Timeline,
        timeline_range: &TimelineRange,
        skip: SkippedWrites,
    ) -> Result<Self> {
        let mut written = Self::default();
        timeline.visit_writes_in(timeline_range, &mut |write, metadata| {
            written.add(write, metadata, skip);
            written.is_archived |= timeline.is_before_start(&write.requested_time);
            Ok(())
        })?;
        if written.has_log_compaction && skip.log_compaction {
            let skip = SkippedWrites { compaction: true, clustering: true, log_compaction: false };
            return Self::read(timeline, timeline_range, skip);
        }
        Ok(written)
    }

    /// Adds the files that one commit has written.
    pub(in crate::plan) fn add(&mut self, write: &Instant, metadata: CommitMetadata, skip: SkippedWrites) {
        // Log compaction of Hudi 1.2 gives the rows that it merges its own commit time, so without this they would be
        // returned again.
        let is_any_compaction = metadata.is_compaction() || metadata.is_log_compaction();
        let left_out = is_any_compaction && skip.compaction || metadata.is_clustering() && skip.clustering;
        self.has_log_compaction |= metadata.is_log_compaction();
        let time = &write.requested_time;
        if self.latest.as_ref().is_none_or(|latest| latest < time) {
            self.latest = Some(time.clone());
        }
        if left_out {
            return;
        }
        self.instants.insert(time.clone());
        for stat in metadata.write_stats.into_values().flatten() {
            let Some(path) = stat.path.filter(|path| !path.is_empty()) else { continue };
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
            let len = reported_len(stat.file_size_in_bytes);
            // The size of a log file that several commits have appended to is that after the last of them.
            let known = self.files.entry(folder.to_owned()).or_default().entry(name.to_owned()).or_default();
            *known = len.max(*known);
        }
        for (partition, file_ids) in metadata.replaced {
            self.replaced.extend(file_ids.into_iter().map(|file_id| ReplacedFileGroup {
                partition: partition.clone(),
                file_id,
                instant: time.clone(),
            }));
        }
    }

    /// Returns true if all commits were skipped.
    #[must_use]
    pub(in crate::plan) fn is_skipped(&self) -> bool {
        self.instants.is_empty()
    }

    /// Returns the greatest requested time of the range's commits; `None` if there is no commit.
    #[must_use]
    pub(in crate::plan) fn latest(&self) -> Option<&RequestedTime> {
        self.latest.as_ref()
    }

    /// Returns the commits whose blocks are read and whose rows are returned. Below table version 8, where commits may
    /// share a log file, Hudi also merges blocks that older commits have left in it: a late row loses against those.
    #[must_use]
    pub(in crate::plan) fn range(&self, layout: TimelineLayout, timeline_range: &TimelineRange) -> CommitRange {
        let rows = InstantRange::ExactMatch(self.instants.clone());
        let blocks = match layout {
            TimelineLayout::V1 => up_to(timeline_range.end.as_ref()),
            TimelineLayout::V2 => rows.clone(),
        };
        CommitRange { blocks, rows, own_base_rows: false }
    }

    /// Returns the range for a scan of all files of the table: in those, rows of later commits are merged, too.
    #[must_use]
    pub(in crate::plan) fn range_in_all_files(&self) -> CommitRange {
        let blocks = InstantRange::ClosedClosed { start: None, end: None };
        CommitRange { blocks, rows: InstantRange::ExactMatch(self.instants.clone()), own_base_rows: false }
    }

    /// Returns the range for reading without merging; `own_base_rows` as in [`CommitRange`].
    #[must_use]
    pub(in crate::plan) fn range_of_changes(&self, own_base_rows: bool) -> CommitRange {
        let rows = InstantRange::ExactMatch(self.instants.clone());
        CommitRange { blocks: rows.clone(), rows, own_base_rows }
    }

    /// Returns true if one of the commits has been archived.
    #[must_use]
    pub(in crate::plan) fn is_archived(&self) -> bool {
        self.is_archived
    }

    /// Returns true if one of the data files does not exist any more. Folders are listed in parallel.
    pub(in crate::plan) fn is_cleaned(&self, storage: &dyn Storage) -> Result<bool> {
        let is_cleaned = AtomicBool::new(false);
        parallel::work_through(self.files.iter().collect(), storage.requests_at_once(), |(folder, files)| {
            if !is_cleaned.load(Ordering::Relaxed) {
                let entries = storage.list(folder)?.unwrap_or_default();
                let there: HashSet<&str> = entries.iter().filter_map(name_of).collect();
                is_cleaned.fetch_or(files.keys().any(|name| !there.contains(name.as_str())), Ordering::Relaxed);
            }
            Ok(Vec::new())
        })?;
        Ok(is_cleaned.into_inner())
    }

    /// Returns a file that another tool has registered.
    #[must_use]
    pub(in crate::plan) fn registered(&self) -> Option<&str> {
        self.files.values().flat_map(BTreeMap::keys).find(|name| is_registered(name)).map(String::as_str)
    }

    /// Returns the size of the files in bytes, as far as commits report it.
    #[must_use]
    pub(in crate::plan) fn bytes(&self) -> u64 {
        self.files.values().flat_map(BTreeMap::values).flatten().fold(0, |sum, len| sum.saturating_add(*len))
    }

    /// Returns the partitions with data files, in order.
    #[must_use]
    pub(in crate::plan) fn partitions(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    /// Returns the data files of a partition. `len_of` returns the size of a file, given its path and the size that
    /// commits report, if any.
    pub(in crate::plan) fn files_in(
        &self,
        partition: &str,
        len_of: &dyn Fn(&str, Option<u64>) -> Result<u64>,
    ) -> Result<PartitionFiles> {
        let path = |name: &String| if partition.is_empty() { name.clone() } else { format!("{partition}/{name}") };
        let files = self.files.get(partition).into_iter().flatten();
        let files = files.map(|(name, len)| Ok((name.as_str(), len_of(&path(name), *len)?)));
        Ok(PartitionFiles::new(partition, files.collect::<Result<Vec<_>>>()?))
    }
}

/// Returns the range of all requested times up to a position of layout 1.
fn up_to(end: Option<&TimelinePosition>) -> InstantRange {
    match end.map(TimelinePosition::to_requested) {
        None => InstantRange::ClosedClosed { start: None, end: None },
        Some(Some(end)) => InstantRange::ClosedClosed { start: None, end: Some(end) },
        // The position before every instant.
        Some(None) => InstantRange::ExactMatch(BTreeSet::new()),
    }
}

/// Returns the size in a write statistic; `None` if it has none, as with some writers, or one that no data file can
/// have.
pub(in crate::plan) fn reported_len(bytes: Option<i64>) -> Option<u64> {
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).filter(|bytes| *bytes > 0)
}

fn name_of(entry: &FolderEntry) -> Option<&str> {
    match entry {
        FolderEntry::File(file) => Some(&file.name),
        FolderEntry::Folder(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Action, InstantState, MetadataPart};
    use mortice_base::error::Error;

    fn write(time: &str) -> Instant {
        Instant {
            requested_time: time.into(),
            completion_time: None,
            action: Action::DeltaCommit,
            state: InstantState::Completed,
            file_name: String::new(),
        }
    }

    fn written(commits: &[(&str, &str)], skip: SkippedWrites) -> WrittenFiles {
        let mut written = WrittenFiles::default();
        for (time, json) in commits {
            let metadata = CommitMetadata::parse(json.as_bytes(), MetadataPart::All).unwrap().unwrap();
            written.add(&write(time), metadata, skip);
        }
        written
    }

    const LOG: &str = ".f_0.log.1_0-1-2";

    fn upsert(len: u64) -> String {
        format!(
            r#"{{"partitionToWriteStats":{{"p":[{{"path":"p/{LOG}","fileSizeInBytes":{len}}},{{"path":null}},{{"path":"p/g_0-1-2_0.parquet","fileSizeInBytes":-1}}]}},"operationType":"UPSERT"}}"#
        )
    }

    #[test]
    fn files_are_those_of_the_commits() {
        let root = r#"{"partitionToWriteStats":{"":[{"path":"g_0-1-2_3.parquet","fileSizeInBytes":7}]}}"#;
        let written = written(&[("1", &upsert(20)), ("3", root), ("2", &upsert(30))], SkippedWrites::default());
        assert_eq!(written.partitions(), ["", "p"]);
        let measured = |path: &str, len: Option<u64>| match len {
            Some(len) => Ok(len),
            None if path == "p/g_0-1-2_0.parquet" => Ok(5),
            None => Err(Error::not_found(path)),
        };
        let files = written.partitions().into_iter().map(|one| written.files_in(one, &measured).unwrap());
        let files: Vec<_> = files.collect();
        assert_eq!((files[0].base_files[0].len, files[1].log_files[0].len), (7, 30));
        assert_eq!(files[1].base_files[0].len, 5, "measured, for no commit reports it");
        assert_eq!(written.bytes(), 37);
        assert_eq!(written.latest().unwrap(), "3");
        let timeline_range =
            TimelineRange { begin: Some("0".into()), end: Some("3".into()), ..TimelineRange::default() };
        let range = written.range(TimelineLayout::V2, &timeline_range);
        assert!(
            ["1", "2", "3"]
                .map(RequestedTime::from)
                .iter()
                .all(|time| range.rows.contains(time) && range.blocks.contains(time))
        );
        assert!(!range.blocks.contains(&"0".into()) && !range.rows.contains(&"0".into()));
        let shared = written.range(TimelineLayout::V1, &timeline_range);
        assert!(
            shared.blocks.contains(&"0".into())
                && !shared.blocks.contains(&"4".into())
                && !shared.rows.contains(&"0".into())
        );
    }

    #[test]
    fn table_services_are_left_out_where_that_is_asked() {
        let service = |operation: &str| {
            format!(
                r#"{{"partitionToWriteStats":{{"p":[{{"path":"p/g_0-1-2_5.parquet"}}]}},"partitionToReplaceFileIds":{{"p":["f"]}},"operationType":"{operation}"}}"#
            )
        };
        for (operation, skip, left_out) in [
            ("COMPACT", SkippedWrites::default(), false),
            ("COMPACT", SkippedWrites { compaction: true, ..SkippedWrites::default() }, true),
            ("COMPACT", SkippedWrites { clustering: true, ..SkippedWrites::default() }, false),
            ("CLUSTER", SkippedWrites::default(), false),
            ("CLUSTER", SkippedWrites { clustering: true, ..SkippedWrites::default() }, true),
            ("LOG_COMPACT", SkippedWrites::default(), false),
            ("LOG_COMPACT", SkippedWrites { compaction: true, ..SkippedWrites::default() }, true),
            ("BULK_INSERT", SkippedWrites { compaction: true, clustering: true, log_compaction: true }, false),
        ] {
            let written = written(&[("5", &service(operation))], skip);
            let skipped =
                (written.partitions().is_empty(), written.replaced.is_empty(), !written.instants.contains(&"5".into()));
            assert_eq!(skipped, (left_out, left_out, left_out), "{operation} {skip:?}");
        }
    }
}
