//! Selects the file slices of an incremental query, from files that commits of its range wrote.
//!
//! ```text
//! range        ├──────────────────────────────┤
//! base   b0        log d1      b2 (compaction)   log d3
//! read                          b2       +       log d3: the rows of d1 are in b2 with the time of d1
//! ```
//! For each file group, the newest base file and the logs of its slice and of later ones are read; without a base file,
//! all logs. A later slice has no base file in the range if its compaction is pending, outside the range, or skipped;
//! the logs before it still have the records that it was to merge. A base file from before the range has no row of the
//! range.
//!
//! Below table version 8, Hudi (`HoodieFileGroup.isFileSliceCommitted`) loses rows while a compaction is pending: its
//! timeline is then that of the range with the pending compaction, and slices begun between the two count as
//! uncommitted. Their rows are read here: they are rows that the range wrote, and Hudi returns them as well once the
//! compaction is completed.

use std::collections::HashSet;

use super::file_slice::{FileSlice, LogFile, SliceDraft, Slices};
use super::partition_files::{ListedBase, ListedLog, PartitionFiles};
use super::view::{ByGroup, FileSystemView, instant_of_group, pending_compactions};
use super::{by_completion, by_name};
use crate::timeline::{CompletionStatus, ReplacedFileGroup, Timeline};
use mortice_base::error::Result;
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_merge::config::{TableConfig, TimelineLayout};

impl<'a> FileSystemView<'a> {
    /// Returns the view of an incremental query. `replaced` are the file groups that commits of the range have
    /// replaced.
    ///
    /// # Errors
    /// Errors of reading the plans of pending compactions.
    pub fn in_range(timeline: &'a Timeline, config: &TableConfig, replaced: Vec<ReplacedFileGroup>) -> Result<Self> {
        let mut groups = ByGroup::new();
        for group in replaced {
            groups.entry(group.partition).or_default().insert(group.file_id, group.instant);
        }
        Ok(Self::from_parts(timeline, config, None, pending_compactions(timeline)?, groups))
    }

    /// Returns all slices of one partition with files of the range, by file group, oldest first. A query of changes
    /// needs each change, not only the last one.
    ///
    /// # Errors
    /// As for [`FileSystemView::slices`].
    pub fn all_slices_in_range(&self, files: &PartitionFiles) -> Result<Vec<FileSlice>> {
        let mut all = Vec::new();
        for (file_id, group) in self.live_groups(files) {
            for (instant, draft) in self.slices_of_group(files, &file_id, group)? {
                all.extend(self.slice(files, file_id.clone(), instant, draft)?);
            }
        }
        Ok(all)
    }

    fn slices_of_group(
        &self,
        files: &PartitionFiles,
        file_id: &str,
        (bases, logs): (Vec<ListedBase>, Vec<ListedLog>),
    ) -> Result<Slices> {
        match self.layout {
            TimelineLayout::V1 => Ok(by_name::build(bases, logs, None)),
            TimelineLayout::V2 => {
                let pending = instant_of_group(&self.pending_compactions, &files.partition, file_id);
                by_completion::build(bases, logs, pending, self.timeline)
                    .map_err(|error| error.in_file(&files.partition))
            }
        }
    }

    /// Returns the slices of one partition, by file id, from the files that were written in the range.
    ///
    /// # Errors
    /// As for [`FileSystemView::slices`].
    pub fn slices_in_range(&self, files: &PartitionFiles) -> Result<Vec<FileSlice>> {
        let mut chosen = Vec::new();
        for (file_id, group) in self.live_groups(files) {
            let slices = self.slices_of_group(files, &file_id, group)?;
            let mut read = SliceDraft::default();
            let mut base_instant = None;
            for (key, mut draft) in slices.into_iter().rev() {
                read.logs.append(&mut draft.logs);
                let has_base = !draft.bases.is_empty();
                read.bases = draft.bases;
                base_instant = Some(key);
                if has_base {
                    break;
                }
            }
            if let Some(instant) = base_instant {
                chosen.extend(self.slice(files, file_id, instant, read)?);
            }
        }
        Ok(chosen)
    }

    /// Returns the file slice before the log files of `slice`: the base file of the slice that the first of them
    /// belongs to, and the logs of commits that completed before those of `slice` did. `None` if there is none.
    ///
    /// # Errors
    /// As for [`FileSystemView::slices`].
    pub fn slice_before(&self, files: &PartitionFiles, slice: &FileSlice) -> Result<Option<FileSlice>> {
        let own: HashSet<&str> = slice.log_files.iter().map(LogFile::name).collect();
        let is_own = |log: &ListedLog| own.contains(log.name.name.as_str());
        let mut groups = self.groups(files, |log| !log.name.cdc);
        let Some(group) = groups.remove(&slice.file_id) else { return Ok(None) };
        let first = self.first_written(group.1.iter().filter(|log| is_own(log)))?;
        let slices = self.slices_of_group(files, &slice.file_id, group)?;
        let Some((last, _)) = slices.iter().find(|(_, draft)| draft.logs.iter().any(is_own)) else { return Ok(None) };
        let (last, mut before) = (last.clone(), SliceDraft::default());
        for (key, mut draft) in slices.into_iter().rev().skip_while(|(key, _)| *key > last) {
            draft.bases.retain(|base| self.timeline.is_completed(&base.name.instant));
            for log in draft.logs.into_iter().filter(|log| !is_own(log)) {
                if self.written(&log)? < first {
                    before.logs.push(log);
                }
            }
            if !draft.bases.is_empty() {
                before.bases = draft.bases;
                return self.slice(files, slice.file_id.clone(), key, before);
            }
        }
        self.slice(files, slice.file_id.clone(), last, before)
    }

    fn first_written<'l>(&self, logs: impl Iterator<Item = &'l ListedLog>) -> Result<WrittenAt> {
        let mut first = None;
        for log in logs {
            let written = self.written(log)?;
            first = first.into_iter().chain([written]).min();
        }
        Ok(first.unwrap_or_default())
    }

    /// Returns when a log file became part of the table. The commits of archived times were before all others.
    fn written(&self, log: &ListedLog) -> Result<WrittenAt> {
        let completed = match (self.layout, self.timeline.completion_time(&log.name.instant)?) {
            (TimelineLayout::V2, CompletionStatus::At(time)) => Some(time.clone()),
            (TimelineLayout::V2, CompletionStatus::Archived) | (TimelineLayout::V1, _) => None,
            (TimelineLayout::V2, CompletionStatus::Pending) => return Ok(WrittenAt::LATER),
        };
        Ok(WrittenAt { is_later: false, completed, instant: Some(log.name.instant.clone()), version: log.name.version })
    }
}

/// When a log file became part of the table: by completion, or by name where that is not known.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct WrittenAt {
    is_later: bool,
    completed: Option<CompletionTime>,
    instant: Option<RequestedTime>,
    version: i64,
}

impl WrittenAt {
    /// Of a commit that is not completed.
    const LATER: Self = Self { is_later: true, completed: None, instant: None, version: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_group::view::tests::{Table, listed, shown};

    const OLD: &str = "f_0-1-2_20.parquet";

    fn chosen(version: &str, instants: &[&str], names: &[&str], replaced: &[&str]) -> Vec<String> {
        let table = Table::new(version, instants);
        let group = |file_id: &&str| ReplacedFileGroup {
            partition: "p".into(),
            file_id: (*file_id).to_owned(),
            instant: "30".into(),
        };
        let view =
            FileSystemView::in_range(&table.timeline, &table.config, replaced.iter().map(group).collect()).unwrap();
        shown(&view.slices_in_range(&listed(names)).unwrap())
    }

    #[test]
    fn the_newest_base_file_and_what_was_logged_upon_it() {
        for (version, instants, logs) in [
            (
                "6",
                ["10.commit", "12.deltacommit", "20.commit", "25.deltacommit"],
                [".f_10.log.1_0-1-2", ".f_20.log.1_0-1-2"],
            ),
            (
                "9",
                ["10_11.commit", "12_13.deltacommit", "20_22.commit", "25_26.deltacommit"],
                [".f_12.log.1_0-1-2", ".f_25.log.1_0-1-2"],
            ),
        ] {
            let [before, after] = logs;
            assert_eq!(chosen(version, &instants, &[before, OLD, after], &[]), [format!("20: {OLD} {after}")]);
            // The compaction is outside the range or skipped: its base file is not listed.
            let unmerged = chosen(version, &instants, &[before, after], &[]);
            assert!(unmerged.len() == 1 && unmerged[0].ends_with(&format!("{before} {after}")), "{unmerged:?}");
            assert!(chosen(version, &instants, &[after], &[])[0].ends_with(after));
        }
    }

    #[test]
    fn a_change_log_is_of_every_slice() {
        let table = Table::new("6", &["10.commit", "15.deltacommit", "20.commit", "25.deltacommit"]);
        let view = FileSystemView::in_range(&table.timeline, &table.config, Vec::new()).unwrap();
        let names = ["f_0-1-2_10.parquet", ".f_10.log.1_0-1-2", OLD, ".f_20.log.1_0-1-2"];
        let slices = shown(&view.all_slices_in_range(&listed(&names)).unwrap());
        assert_eq!(slices, [format!("10: {} {}", names[0], names[1]), format!("20: {} {}", names[2], names[3])]);
    }

    #[test]
    fn logs_around_a_pending_compaction_are_read_as_one() {
        let names = [".f_12.log.1_0-1-2", ".f_25.log.1_0-1-2"];
        let instants = ["12_13.deltacommit", "20.compaction.requested", "25_26.deltacommit"];
        assert_eq!(chosen("9", &instants, &names, &[]), [format!("12: {} {}", names[0], names[1])]);
    }

    #[test]
    fn slices_begun_after_a_pending_compaction_and_before_the_range_are_read() {
        let instants = ["10.commit", "20.compaction.requested", "30.deltacommit", "40.deltacommit"];
        let log = ".f_30.log.1_0-1-2";
        assert_eq!(chosen("6", &instants, &[log], &[]), [format!("30: {log}")]);
    }

    fn before(version: &str, instants: &[&str], names: &[&str], own: &[&str]) -> Vec<String> {
        let table = Table::new(version, instants);
        let view = FileSystemView::in_range(&table.timeline, &table.config, Vec::new()).unwrap();
        let log = |name: &&str| LogFile { path: format!("p/{name}"), len: 1, etag: None };
        let slice = FileSlice {
            partition: "p".into(),
            file_id: "f".into(),
            base_instant: "0".into(),
            base_file: None,
            log_files: own.iter().map(log).collect(),
        };
        shown(&view.slice_before(&listed(names), &slice).unwrap().into_iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_file_group_before_some_of_its_logs() {
        let log = |instant: &str| format!(".f_{instant}.log.1_0-1-2");
        let (early, first, second, last) = (log("12"), log("14"), log("16"), log("25"));
        let base = "f_0-1-2_10.parquet";
        let completed = ["10_11.commit", "12_13.deltacommit", "14_15.deltacommit", "16_17.deltacommit"];
        let names = [base, &early, &first, &second];
        assert_eq!(before("9", &completed, &names, &[&first, &second]), [format!("10: {base} {early}")]);
        assert_eq!(before("9", &completed, &names, &[&second]), [format!("10: {base} {early} {first}")]);
        assert_eq!(before("9", &completed, &names, &[&early]), [format!("10: {base}")]);
        assert_eq!(before("9", &completed, &[&early, &first], &[&early]), [""; 0]);
        assert_eq!(before("9", &completed, &names, &[&last]), [""; 0]);
        // A commit that was requested later and completed before is part of it; one that completed later is not.
        let crossed = ["10_11.commit", "12_19.deltacommit", "14_15.deltacommit", "16_18.deltacommit"];
        assert_eq!(before("9", &crossed, &names, &[&early]), [format!("10: {base} {first} {second}")]);
        assert_eq!(before("9", &crossed, &names, &[&second]), [format!("10: {base} {first}")]);
        // The base file is that of the slice of the first log, whether a compaction after it is completed or pending.
        let compacted = [&completed[..], &["20_22.commit", "25_26.deltacommit"]].concat();
        let with_compaction = [base, &early, &first, OLD, &last];
        assert_eq!(before("9", &compacted, &with_compaction, &[&first, &last]), [format!("10: {base} {early}")]);
        assert_eq!(before("9", &compacted, &with_compaction, &[&last]), [format!("20: {OLD}")]);
        let pending = [&completed[..], &["20.compaction.requested", "25_26.deltacommit"]].concat();
        assert_eq!(
            before("9", &pending, &[base, &early, &first, &last], &[&last]),
            [format!("10: {base} {early} {first}")]
        );
    }

    #[test]
    fn replaced_groups_and_change_logs_are_left_out() {
        let names = [OLD, "g_0-1-2_20.parquet", ".g_20.log.1_0-1-2.cdc"];
        assert_eq!(chosen("6", &["20.commit"], &names, &["f"]), ["20: g_0-1-2_20.parquet"]);
    }
}
