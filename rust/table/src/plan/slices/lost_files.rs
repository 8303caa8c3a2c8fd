//! Files that a query needs and cleans have deleted.
//!
//! If a slice has lost its files, an older or a newer one would be selected in its place, or none, without a trace. So
//! deleted files are put back into the listing, and a slice that needs one of them is an error.
//!
//! | query | deleted files that are put back |
//! |---|---|
//! | any | of cleans since the table was opened, and of pending ones: they may be there still |
//! | of an instant | also those of later cleans that are not there: a clean that keeps versions has no instant that it retained |

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::file_group::{FileSlice, PartitionFiles};
use crate::plan::open_table::OpenTable;
use crate::timeline::{RemovedFiles, Timeline, TimelineRange};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;

/// The deleted files that are put back into a listing.
pub(in crate::plan) struct LostFiles<'a> {
    timeline: &'a Timeline,
    /// Those of cleans since the table was opened.
    since: RemovedFiles,
    /// Those of earlier cleans.
    before: RemovedFiles,
    as_of: Option<&'a RequestedTime>,
}

impl LostFiles<'_> {
    /// Puts the deleted files of a partition back into its listing. Returns the names of those of earlier cleans that
    /// are listed: a clean may fail to delete some of its files.
    pub(in crate::plan) fn put_back(&self, files: &mut PartitionFiles) -> Vec<String> {
        let mut there = Vec::new();
        if let (Some(before), Some(as_of)) = (self.before.0.get(&files.partition), self.as_of) {
            there.extend(files.names().filter(|name| before.contains_key(*name)).map(str::to_owned));
            let is_visible = |instant: &RequestedTime| instant <= as_of && self.timeline.is_completed(instant);
            files.add_deleted(before.keys().map(String::as_str), is_visible);
        }
        if let Some(since) = self.since.0.get(&files.partition) {
            files.add_missing(since.keys().map(String::as_str));
        }
        there
    }

    /// Forgets files of earlier cleans that are there.
    pub(in crate::plan) fn forget(&mut self, partition: &str, there: &[String]) {
        if let Some(names) = self.before.0.get_mut(partition).filter(|_| !there.is_empty()) {
            names.retain(|name, _| !there.contains(name));
        }
    }

    /// Returns the partitions with such files.
    pub(in crate::plan) fn partitions(&self) -> impl Iterator<Item = &String> {
        self.before.0.keys().chain(self.since.0.keys())
    }
}

impl OpenTable {
    /// Returns the files that cleans have deleted, or are about to delete, as far as the timeline of the table has
    /// these cleans.
    pub(in crate::plan) fn lost_files<'a>(&'a self, as_of: Option<&'a RequestedTime>) -> Result<LostFiles<'a>> {
        let timeline = &self.timeline;
        // Pending cleans may be gone since. `lost_since` reads those that are left.
        let since = timeline.files_of_pending_cleans().unwrap_or_default();
        let before = as_of.map_or_else(|| Ok(RemovedFiles::default()), |as_of| timeline.files_of_cleans_after(as_of));
        Ok(LostFiles { timeline, since, before: before.map_err(|error| error.in_file(&self.uri))?, as_of })
    }

    /// Adds the files of cleans that have begun in the meantime. Returns the partitions that have other deleted files
    /// than before, which have to be listed again.
    pub(in crate::plan) fn lost_since(&self, lost: &mut LostFiles<'_>) -> Result<BTreeSet<String>> {
        let now = Timeline::load(&self.storage, &self.config)?;
        let since = self.timeline.removed_since(&now).map_err(|error| error.in_file(&self.uri))?;
        let known = std::mem::replace(&mut lost.since, since);
        let partitions = known.0.keys().chain(lost.since.0.keys());
        Ok(partitions.filter(|partition| known.0.get(*partition) != lost.since.0.get(*partition)).cloned().collect())
    }

    /// Fails if one of the slices has lost a file.
    pub(in crate::plan) fn check_there(&self, slices: &mut Vec<Arc<FileSlice>>, lost: &LostFiles<'_>) -> Result<()> {
        let mut cleaned = BTreeSet::new();
        for slice in slices.iter() {
            if let Some((path, clean)) = lost_file(slice, &lost.since) {
                let message = format!(
                    "the clean {clean} has removed the file, or is about to, since the table was opened; open the table again"
                );
                return Err(self.cleaned(message, path, slice));
            }
            if lost_file(slice, &lost.before).is_some() {
                cleaned.insert((slice.partition.clone(), slice.file_id.clone()));
            }
        }
        let Some(as_of) = lost.as_of.filter(|_| !cleaned.is_empty()) else { return Ok(()) };
        let replaced = self.replaced_in_archive(as_of)?;
        slices.retain(|slice| {
            let group = (slice.partition.clone(), slice.file_id.clone());
            !(cleaned.contains(&group) && replaced.contains(&group))
        });
        for slice in slices.iter() {
            if let Some((path, clean)) = lost_file(slice, &lost.before) {
                let message = format!(
                    "the clean {clean} has removed the file, which the table had as of {as_of}; use a later instant"
                );
                return Err(self.cleaned(message, path, slice));
            }
        }
        Ok(())
    }

    fn cleaned(&self, message: String, path: &str, slice: &FileSlice) -> Error {
        let error = Error::new(ErrorKind::FileCleaned, message);
        error.in_file(self.storage.full_path(path)).at_instant(&slice.base_instant)
    }

    /// The file groups that archived commits up to an instant have replaced. The clean that deleted their files may be
    /// active still.
    fn replaced_in_archive(&self, as_of: &RequestedTime) -> Result<BTreeSet<(String, String)>> {
        let mut groups = BTreeSet::new();
        self.timeline.visit_archived_writes_in(&TimelineRange::default(), &mut |write, metadata| {
            if write.requested_time <= *as_of {
                for (partition, ids) in metadata.replaced {
                    groups.extend(ids.into_iter().map(|id| (partition.clone(), id)));
                }
            }
            Ok(())
        })?;
        Ok(groups)
    }
}

/// The path of the first file of a slice that was deleted, and the clean.
fn lost_file<'a>(slice: &'a FileSlice, removed: &'a RemovedFiles) -> Option<(&'a str, &'a RequestedTime)> {
    let names = slice.base_file.iter().map(|base| (base.name(), &base.path));
    let mut names = names.chain(slice.log_files.iter().map(|log| (log.name(), &log.path)));
    names.find_map(|(name, path)| Some((path.as_str(), removed.by(&slice.partition, name)?)))
}
