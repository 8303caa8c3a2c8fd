//! The data files of a table in storage, and what its timeline says of them.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::findings::{Finding, FindingKind};
use mortice_base::error::Result;
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_storage::{FileStatus, FileStore, FolderEntry, Storage};
use mortice_table::file_group::partitions;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Instant, MetadataPart, RemovedFiles, Timeline};

/// Data files by partition and name.
pub(super) struct StoredFiles {
    pub(super) partitions: BTreeMap<String, BTreeMap<String, FileStatus>>,
}

impl StoredFiles {
    /// Lists all partitions.
    pub(super) fn list(store: &Arc<dyn FileStore>) -> Result<Self> {
        let place: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(store);
        Self::list_at(place.as_ref(), "")
    }

    /// Lists all partitions of the table in a storage, whose paths begin with `root`.
    pub(super) fn list_at(place: &dyn Storage, root: &str) -> Result<Self> {
        let mut found = BTreeMap::new();
        for partition in partitions(place)? {
            let entries = place.list(&partition)?.unwrap_or_default();
            let files = entries.into_iter().filter_map(|entry| match entry {
                FolderEntry::File(status) => Some((status.name.clone(), status)),
                FolderEntry::Folder(_) => None,
            });
            found.insert(if root.is_empty() { partition } else { joined(root, &partition) }, files.collect());
        }
        Ok(Self { partitions: found })
    }

    pub(super) fn get(&self, partition: &str, name: &str) -> Option<&FileStatus> {
        self.partitions.get(partition)?.get(name)
    }

    /// All data files: partition, name, instant, status.
    pub(super) fn data_files(&self) -> impl Iterator<Item = (&str, &str, RequestedTime, &FileStatus)> {
        let files = self.partitions.iter().flat_map(|(partition, files)| {
            files.iter().map(move |(name, status)| (partition.as_str(), name.as_str(), status))
        });
        files.filter_map(|(partition, name, status)| Some((partition, name, instant_of(name)?, status)))
    }
}

/// The instant in the name of a data file: from table version 8 on the one that wrote it.
pub(super) fn instant_of(name: &str) -> Option<RequestedTime> {
    let base = BaseFileName::parse(name).map(|base| base.instant);
    base.or_else(|| LogFileName::parse(name).map(|log| log.instant))
}

/// A path relative to the table.
pub fn joined(partition: &str, name: &str) -> String {
    if partition.is_empty() { name.to_owned() } else { format!("{partition}/{name}") }
}

/// Files that completed writes wrote, by path, with the lengths that they recorded.
pub(super) struct WrittenFiles {
    pub(super) findings: Vec<Finding>,
    /// Paths that active completed writes name.
    pub(super) named: BTreeSet<String>,
    /// Active completed writes whose metadata was read.
    pub(super) read: BTreeSet<RequestedTime>,
}

/// Compares the files of completed writes on the active timeline with the storage.
pub(super) fn compare_with_timeline(table: &OpenTable, stored: &StoredFiles) -> Result<WrittenFiles> {
    let cleaned = table.timeline.files_of_cleans()?;
    let mut written = WrittenFiles { findings: Vec::new(), named: BTreeSet::new(), read: BTreeSet::new() };
    for instant in table.timeline.completed_writes() {
        match table.timeline.commit_metadata(instant, MetadataPart::All) {
            Ok(Some(commit)) => {
                let stats = commit.write_stats.values().flatten();
                for stat in stats {
                    let changes = stat.cdc_stats.iter().flatten().map(|(path, len)| (path.as_str(), Some(*len)));
                    let file = stat.path.as_deref().map(|path| (path, stat.file_size_in_bytes));
                    for (path, len) in file.into_iter().chain(changes) {
                        written.findings.extend(compare_file(instant, path, len, stored, &cleaned));
                        written.named.insert(path.to_owned());
                    }
                }
                written.read.insert(instant.requested_time.clone());
            }
            Ok(None) => {}
            Err(error) => {
                let path = format!("{}/{}", table.config.timeline_folder, instant.file_name);
                written.findings.push(Finding::new(FindingKind::UnreadableInstant, path, error.text()));
            }
        }
    }
    Ok(written)
}

fn compare_file(
    instant: &Instant,
    path: &str,
    len: Option<i64>,
    stored: &StoredFiles,
    cleaned: &RemovedFiles,
) -> Option<Finding> {
    let (partition, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(status) = stored.get(partition, name) else {
        let is_cleaned = cleaned.by(partition, name).is_some();
        let message = format!("{instant} wrote the file, and no clean on the timeline removed it");
        return (!is_cleaned).then(|| Finding::new(FindingKind::MissingFile, path, message));
    };
    let expected = len.and_then(|len| u64::try_from(len).ok())?;
    // Logs of old writers are appended to: by later instants, and by rollbacks.
    let may_be_longer = LogFileName::parse(name).is_some_and(|log| !log.is_native());
    let is_wrong = status.len < expected || (status.len > expected && !may_be_longer);
    let message = format!("{instant} wrote {expected} bytes, and there are {}", status.len);
    is_wrong.then(|| Finding::new(FindingKind::WrongLength, path, message).with_bytes(status.len))
}

/// Files that no instant accounts for: of instants that are neither on the timeline nor in the archive, and of
/// completed writes that do not name them, which attempts of tasks left. Those of pending instants are a rollback's.
pub(super) fn orphans(table: &OpenTable, stored: &StoredFiles, written: &WrittenFiles) -> Result<Vec<Finding>> {
    let timeline = &table.timeline;
    let is_v2 = table.config.layout() == mortice_merge::config::TimelineLayout::V2;
    let (archived, mut found) = (ArchivedWrites::new(timeline), Vec::new());
    for (partition, name, instant, status) in stored.data_files() {
        let path = joined(partition, name);
        let message = if timeline.writes_at(&instant).next().is_none() {
            if timeline.is_before_start(&instant) || archived.has(&instant)? {
                continue;
            }
            format!("no instant {instant} is on the timeline")
        } else if written.read.contains(&instant) && !written.named.contains(&path) {
            // Up to version 7 the name of a log has the instant of its slice.
            let log = LogFileName::parse(name);
            // What is not read is found as such, and not deleted.
            let has_native_logs = table.config.version.has_native_logs();
            let is_native_read = |log: &LogFileName| has_native_logs && log.check_native_format().is_ok();
            let is_read = |log: &LogFileName| is_v2 && (!log.is_native() || is_native_read(log));
            if log.is_some_and(|log| !is_read(&log)) {
                continue;
            }
            format!("the completed instant {instant} does not name the file")
        } else {
            continue;
        };
        found.push(Finding::new(FindingKind::OrphanFile, path, message).with_bytes(status.len));
    }
    Ok(found)
}

/// The writes of the archive, read when they are first asked for: also those that are later than the start of the
/// timeline, which files of the timeline that were lost leave.
pub(super) struct ArchivedWrites<'a> {
    timeline: &'a Timeline,
    times: OnceCell<BTreeSet<RequestedTime>>,
}

impl<'a> ArchivedWrites<'a> {
    pub(super) fn new(timeline: &'a Timeline) -> Self {
        Self { timeline, times: OnceCell::new() }
    }

    pub(super) fn has(&self, instant: &RequestedTime) -> Result<bool> {
        if let Some(times) = self.times.get() {
            return Ok(times.contains(instant));
        }
        let times = self.timeline.all_archived_writes()?;
        Ok(self.times.get_or_init(|| times).contains(instant))
    }
}
