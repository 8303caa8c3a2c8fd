//! Files that a query needs and cleans have deleted.
//!
//! If a slice has lost its files, an older or a newer one would be selected in its place, or none, without a trace. So
//! deleted files are put back into the listing, and a slice that needs one of them is an error.
//!
//! | query | deleted files that are put back |
//! |---|---|
//! | any | of cleans since the table was opened, and of pending ones: they may be there still |
//! | of an instant | also those of later cleans that are not there: a clean that keeps versions has no instant that it retained |

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::partition_filter::PartitionFilter;
use crate::file_group::{FileSlice, PartitionFiles};
use crate::plan::open_table::OpenTable;
use crate::timeline::{RemovedFiles, Timeline, TimelineRange};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;

/// The files that were put back into a listing.
pub(in crate::plan) struct LostFiles<'a> {
    /// Those of cleans since the table was opened.
    since: RemovedFiles,
    /// Those of earlier cleans.
    before: RemovedFiles,
    as_of: Option<&'a RequestedTime>,
}

impl OpenTable {
    /// Adds deleted files to a listing.
    ///
    /// # Errors
    /// Those of [`Timeline::removed_since`].
    pub(in crate::plan) fn add_lost_files<'a>(
        &self,
        listed: &mut Vec<PartitionFiles>,
        as_of: Option<&'a RequestedTime>,
        wanted: Option<&PartitionFilter>,
    ) -> Result<LostFiles<'a>> {
        let now = Timeline::load(&self.storage, &self.config)?;
        let since = self.timeline.removed_since(&now).map_err(|error| error.in_file(&self.uri))?;
        let mut before = RemovedFiles::default();
        if let Some(as_of) = as_of {
            before = self.timeline.files_of_cleans_after(as_of).map_err(|error| error.in_file(&self.uri))?;
            for files in listed.iter() {
                if let Some(names) = before.0.get_mut(&files.partition) {
                    // A clean may fail to delete some of its files.
                    let there: BTreeSet<&str> = files.names().collect();
                    names.retain(|name, _| !there.contains(name.as_str()));
                }
            }
            let is_visible = |instant: &RequestedTime| instant <= as_of && self.timeline.is_completed(instant);
            put_back(listed, &before, wanted, |files, names| files.add_deleted(names, is_visible))?;
        }
        put_back(listed, &since, wanted, |files, names| files.add_missing(names))?;
        Ok(LostFiles { since, before, as_of })
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
        self.timeline.visit_archived_writes_in(&TimelineRange { begin: None, end: None }, &mut |write, metadata| {
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

/// Adds files to the partitions of a listing that are asked for.
fn put_back(
    listed: &mut Vec<PartitionFiles>,
    removed: &RemovedFiles,
    wanted: Option<&PartitionFilter>,
    add: impl Fn(&mut PartitionFiles, Vec<&str>),
) -> Result<()> {
    let partitions: Vec<&str> = removed.0.keys().map(String::as_str).collect();
    let matching = wanted.map_or_else(|| Ok(vec![true; partitions.len()]), |wanted| wanted.may_match(&partitions))?;
    let places: HashMap<String, usize> = match removed.0.is_empty() {
        true => HashMap::new(),
        false => listed.iter().enumerate().map(|(at, files)| (files.partition.clone(), at)).collect(),
    };
    for ((partition, names), _) in removed.0.iter().zip(matching).filter(|(_, matches)| *matches) {
        let names = names.keys().map(String::as_str).collect();
        if let Some(files) = places.get(partition).and_then(|at| listed.get_mut(*at)) {
            add(files, names);
        } else {
            let mut files = PartitionFiles::new(partition, []);
            add(&mut files, names);
            listed.push(files);
        }
    }
    Ok(())
}
