//! Chooses the slices that a query reads (`HoodieTableFileSystemView.getLatestMergedFileSlicesBeforeOrOn`,
//! `getLatestBaseFilesBeforeOrOn`).
//!
//! For each file group: none where a replace commit has put others in its place; else the newest visible slice that begins at
//! the query instant or before. Where that slice was begun by a compaction that is still pending, it has no base file of its
//! own yet: the slice before it and its logs are read as one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use super::file_slice::{BaseFile, Draft, FileSlice, LogFile, Slices};
use super::partition_files::{ListedBase, ListedLog, PartitionFiles};
use super::{by_completion, by_name};
use crate::config::{TableConfig, TimelineLayout};
use crate::error::{Error, Result};
use crate::timeline::{Part, Timeline};

/// An instant for a file group, by partition and file id.
type ByGroup = HashMap<String, HashMap<String, String>>;

/// What a table looks like at an instant.
pub struct View<'a> {
    timeline: &'a Timeline,
    layout: TimelineLayout,
    base_extension: String,
    query_instant: Option<String>,
    pending_compactions: ByGroup,
    replaced: ByGroup,
    /// Paths that commits wrote, by requested time: read only where retried tasks left several base files.
    written: Mutex<HashMap<String, BTreeSet<String>>>,
}

impl<'a> View<'a> {
    /// The view of the latest state, or of the state as of an instant.
    ///
    /// # Errors
    /// What [`Timeline::check_as_of`] says of the instant; what reading plans and replace commits may fail with;
    /// `InvalidTable` where two compactions of one file group are pending.
    pub fn of(timeline: &'a Timeline, config: &TableConfig, as_of: Option<&str>) -> Result<Self> {
        if let Some(as_of) = as_of {
            timeline.check_as_of(as_of)?;
        }
        let query_instant = as_of.or(timeline.latest_visible()).map(str::to_owned);
        let replaced = match &query_instant {
            Some(instant) => replaced(timeline, instant)?,
            None => ByGroup::new(),
        };
        Ok(Self {
            timeline,
            layout: config.layout(),
            base_extension: config.base_file_extension(),
            query_instant,
            pending_compactions: pending_compactions(timeline)?,
            replaced,
            written: Mutex::default(),
        })
    }

    /// The instant that slices are chosen for; `None` for a table that nothing was written to.
    #[must_use]
    pub fn query_instant(&self) -> Option<&str> {
        self.query_instant.as_deref()
    }

    /// The slices of one partition, by file id.
    ///
    /// # Errors
    /// `Unsupported` where a chosen base file is of a format, or a log's slice hangs on a completion time, that cannot be read.
    pub fn slices(&self, files: &PartitionFiles) -> Result<Vec<FileSlice>> {
        let Some(query_instant) = self.query_instant() else { return Ok(Vec::new()) };
        let mut chosen = Vec::new();
        for (file_id, (bases, logs)) in self.live_groups(files) {
            let pending = of_group(&self.pending_compactions, &files.partition, &file_id);
            let slices = match self.layout {
                TimelineLayout::V1 => by_name::build(bases, logs, pending),
                TimelineLayout::V2 => by_completion::build(bases, logs, pending, self.timeline)
                    .map_err(|error| error.in_file(&files.partition))?,
            };
            if let Some((instant, draft)) = self.choose(slices, pending, query_instant) {
                chosen.extend(self.slice(files, file_id, instant, draft, query_instant)?);
            }
        }
        Ok(chosen)
    }

    /// The newest base files of one partition, by file id, as slices without logs: what a read-optimized query reads. File
    /// groups of logs alone are not among them.
    ///
    /// # Errors
    /// As for [`View::slices`].
    pub fn base_files(&self, files: &PartitionFiles) -> Result<Vec<FileSlice>> {
        let Some(query_instant) = self.query_instant() else { return Ok(Vec::new()) };
        let mut chosen = Vec::new();
        for (file_id, (mut bases, _)) in self.live_groups(files) {
            bases.retain(|base| {
                base.name.instant.as_str() <= query_instant && self.timeline.is_completed(&base.name.instant)
            });
            let Some(newest) = bases.iter().map(|base| base.name.instant.clone()).max() else { continue };
            bases.retain(|base| base.name.instant == newest);
            chosen.extend(self.slice(files, file_id, newest, Draft { bases, logs: Vec::new() }, query_instant)?);
        }
        Ok(chosen)
    }

    /// The files of each group that is not replaced.
    fn live_groups(&self, files: &PartitionFiles) -> BTreeMap<String, (Vec<ListedBase>, Vec<ListedLog>)> {
        let mut groups: BTreeMap<String, (Vec<ListedBase>, Vec<ListedLog>)> = BTreeMap::new();
        for base in &files.base_files {
            groups.entry(base.name.file_id.clone()).or_default().0.push(base.clone());
        }
        for log in files.log_files.iter().filter(|log| !log.name.cdc) {
            groups.entry(log.name.file_id.clone()).or_default().1.push(log.clone());
        }
        groups.retain(|file_id, _| of_group(&self.replaced, &files.partition, file_id).is_none());
        groups
    }

    fn choose(&self, mut slices: Slices, pending: Option<&str>, query_instant: &str) -> Option<(String, Draft)> {
        let newest_before = |slices: &Slices, limit: &str, inclusive: bool| {
            let mut keys = slices.keys().rev();
            let within = |key: &str| if inclusive { key <= limit } else { key < limit };
            keys.find(|key| within(key) && self.timeline.is_visible(key)).cloned()
        };
        let key = newest_before(&slices, query_instant, true)?;
        let mut draft = slices.remove(&key)?;
        if pending != Some(key.as_str()) {
            return Some((key, draft));
        }
        // What the compaction has written so far does not count.
        draft.bases.clear();
        let Some(previous) = newest_before(&slices, &key, false) else { return Some((key, draft)) };
        let mut merged = slices.remove(&previous)?;
        merged.logs.append(&mut draft.logs);
        Some((previous, merged))
    }

    /// The chosen slice, or none where nothing of it is left.
    fn slice(
        &self,
        files: &PartitionFiles,
        file_id: String,
        base_instant: String,
        mut draft: Draft,
        query_instant: &str,
    ) -> Result<Option<FileSlice>> {
        draft.bases.retain(|base| self.timeline.is_completed(&base.name.instant));
        if self.layout == TimelineLayout::V2 {
            // All that a later delta commit wrote lies in files of its own.
            draft.logs.retain(|log| log.name.instant.as_str() <= query_instant);
        }
        draft.logs.sort_by(|one, other| one.name.slice_order(&other.name));
        let base_file = self.base_file(files, draft.bases)?;
        let log_file = |log: ListedLog| LogFile { path: files.path(&log.name.name), name: log.name.name, len: log.len };
        let log_files: Vec<LogFile> = draft.logs.into_iter().map(log_file).collect();
        if base_file.is_none() && log_files.is_empty() {
            return Ok(None);
        }
        Ok(Some(FileSlice { partition: files.partition.clone(), file_id, base_instant, base_file, log_files }))
    }

    fn base_file(&self, files: &PartitionFiles, mut bases: Vec<ListedBase>) -> Result<Option<BaseFile>> {
        if bases.len() > 1 {
            self.prefer_committed(files, &mut bases)?;
        }
        // Without better knowledge Hudi takes the last that it sees.
        let Some(base) = bases.into_iter().max_by(|one, other| one.name.name.cmp(&other.name.name)) else {
            return Ok(None);
        };
        let path = files.path(&base.name.name);
        if base.name.extension != self.base_extension {
            return Err(Error::unsupported(format!(
                "a base file in {}: this release reads {} base files of this table",
                base.name.extension, self.base_extension
            ))
            .in_file(path)
            .at_instant(base.name.instant));
        }
        Ok(Some(BaseFile { path, name: base.name.name, len: base.len, instant: base.name.instant }))
    }

    /// Of several files that attempts of one task have written, keeps the one that was committed.
    fn prefer_committed(&self, files: &PartitionFiles, bases: &mut Vec<ListedBase>) -> Result<()> {
        let Some(instant) = bases.first().map(|base| base.name.instant.clone()) else { return Ok(()) };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if !written.contains_key(&instant) {
            let mut paths = BTreeSet::new();
            for write in self.timeline.writes_at(&instant).filter(|write| write.is_completed()) {
                let metadata = self.timeline.commit_metadata(write, Part::All)?;
                paths.extend(metadata.iter().flat_map(|metadata| metadata.paths()).map(str::to_owned));
            }
            written.insert(instant.clone(), paths);
        }
        let Some(paths) = written.get(&instant) else { return Ok(()) };
        let committed = |base: &ListedBase| paths.contains(&files.path(&base.name.name));
        if bases.iter().any(committed) {
            bases.retain(committed);
        }
        Ok(())
    }
}

fn of_group<'a>(groups: &'a ByGroup, partition: &str, file_id: &str) -> Option<&'a str> {
    groups.get(partition)?.get(file_id).map(String::as_str)
}

fn pending_compactions(timeline: &Timeline) -> Result<ByGroup> {
    let mut groups = ByGroup::new();
    for plan in timeline.pending_compactions()? {
        for operation in plan.operations {
            let group = groups.entry(operation.partition).or_default();
            let other = group.insert(operation.file_id.clone(), plan.instant.clone());
            if let Some(other) = other.filter(|other| *other != plan.instant) {
                let message = format!("file group {} is in two pending compactions, {other} too", operation.file_id);
                return Err(Error::invalid_table(message).at_instant(plan.instant));
            }
        }
    }
    Ok(groups)
}

/// The groups that were replaced at the query instant or before.
fn replaced(timeline: &Timeline, query_instant: &str) -> Result<ByGroup> {
    let mut groups = ByGroup::new();
    for group in timeline.replaced_file_groups()? {
        if group.instant.as_str() <= query_instant {
            groups.entry(group.partition).or_default().insert(group.file_id, group.instant);
        }
    }
    Ok(groups)
}
