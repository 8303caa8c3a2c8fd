//! Reads the files of instants: commit metadata, plans of table services, replaced file groups.

use std::sync::{MutexGuard, PoisonError};

use bytes::Bytes;

use super::commit_metadata::{CommitMetadata, MetadataPart};
use super::instant::{Action, Instant};
use super::service_plans::{self, CompactionOperation};
use super::timeline::{FileCache, Timeline};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;

/// The maximum size in bytes of the cache for files of instants.
const FILE_CACHE_BYTES: usize = 64 << 20;

/// A compaction or log compaction that is planned and not completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCompaction {
    /// The requested time.
    pub instant: RequestedTime,
    /// What is to be merged.
    pub operations: Vec<CompactionOperation>,
}

/// A file group that a completed replace commit has replaced.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplacedFileGroup {
    /// The partition, `""` for a table without partitions.
    pub partition: String,
    /// The id of the file group.
    pub file_id: String,
    /// The requested time of the replace commit.
    pub instant: RequestedTime,
}

impl Timeline {
    /// Returns the metadata of a completed write; `None` if its file is empty. If the write is archived, or was
    /// archived after the timeline was listed, the metadata is read from the archive.
    ///
    /// # Errors
    /// `FileCleaned` if the file is missing; `InvalidTable` or `CorruptLog` if it cannot be parsed.
    pub fn commit_metadata(&self, instant: &Instant, part: MetadataPart) -> Result<Option<CommitMetadata>> {
        if instant.file_name.is_empty() {
            return self.archived_commit_metadata(instant, part);
        }
        match self.read(instant, &instant.file_name, |bytes| CommitMetadata::parse(bytes, part)) {
            Err(gone) if gone.kind() == ErrorKind::FileCleaned => match self.archived_commit_metadata(instant, part)? {
                Some(metadata) => Ok(Some(metadata)),
                None => Err(gone),
            },
            read => read,
        }
    }

    /// Returns the pending compactions with their plans, oldest first. Each starts a new file slice in its file groups:
    /// later logs belong to that slice.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], for the plans.
    pub fn pending_compactions(&self) -> Result<Vec<PendingCompaction>> {
        self.plans(Action::Compaction)
    }

    /// Returns the pending log compactions with their plans, oldest first. They do not start new slices.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], for the plans.
    pub fn pending_log_compactions(&self) -> Result<Vec<PendingCompaction>> {
        self.plans(Action::LogCompaction)
    }

    fn plans(&self, action: Action) -> Result<Vec<PendingCompaction>> {
        self.prefetch(self.pending(action).map(requested_file))?;
        let plan = |instant: &Instant| {
            let operations = self.compaction_plan(instant)?;
            Ok(PendingCompaction { instant: instant.requested_time.clone(), operations })
        };
        self.pending(action).map(plan).collect()
    }

    /// Returns the plan of a pending compaction. Below table version 6 a copy is stored in `.aux`; before 0.5.1, when a
    /// plan became inflight by renaming its file, only the copy remains.
    fn compaction_plan(&self, instant: &Instant) -> Result<Vec<CompactionOperation>> {
        let name = requested_file(instant);
        let plan = self.read_if_stored(instant, &name, service_plans::compaction)?;
        if plan.as_ref().is_none_or(Vec::is_empty) && self.layout == TimelineLayout::V1 {
            let copy = self.read_if_stored(instant, &format!(".aux/{name}"), service_plans::compaction);
            if let Ok(Some(copied)) = copy {
                return Ok(copied);
            }
        }
        plan.ok_or_else(|| self.missing_file(instant, &name))
    }

    /// Returns the pending clustering instants. In layout 1 these are replace commits, and only the plan distinguishes
    /// them from insert overwrites.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], for the plans.
    pub fn pending_clustering(&self) -> Result<Vec<&Instant>> {
        let mut pending = Vec::new();
        let replaces = self.pending_writes().filter(|instant| instant.action == Action::ReplaceCommit);
        self.prefetch(replaces.map(requested_file))?;
        for instant in self.pending_writes() {
            let is_clustering = match instant.action {
                Action::Clustering => true,
                Action::ReplaceCommit => self.read(instant, &requested_file(instant), service_plans::is_clustering)?,
                _ => false,
            };
            if is_clustering {
                pending.push(instant);
            }
        }
        Ok(pending)
    }

    /// The file groups that pending clustering is to replace; each with the instant of the clustering.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], of the plans.
    pub fn file_groups_in_pending_clustering(&self) -> Result<Vec<ReplacedFileGroup>> {
        let mut groups = Vec::new();
        for instant in self.pending_clustering()? {
            let groups_of_plan = self.read(instant, &requested_file(instant), service_plans::clustered_groups)?;
            groups.extend(groups_of_plan.into_iter().map(|(partition, file_id)| ReplacedFileGroup {
                partition,
                file_id,
                instant: instant.requested_time.clone(),
            }));
        }
        Ok(groups)
    }

    /// The file groups that completed replace commits have replaced. Their files stay until a clean.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`].
    pub fn replaced_file_groups(&self) -> Result<Vec<ReplacedFileGroup>> {
        let mut groups = Vec::new();
        let replaces = self.completed_writes().filter(|instant| instant.action == Action::ReplaceCommit);
        self.prefetch(replaces.map(|instant| instant.file_name.clone()))?;
        for instant in self.completed_writes().filter(|instant| instant.action == Action::ReplaceCommit) {
            let Some(metadata) = self.commit_metadata(instant, MetadataPart::Replaced)? else { continue };
            for (partition, file_ids) in metadata.replaced {
                groups.extend(file_ids.into_iter().map(|file_id| ReplacedFileGroup {
                    partition: partition.clone(),
                    file_id,
                    instant: instant.requested_time.clone(),
                }));
            }
        }
        Ok(groups)
    }

    /// Returns the last completed clean, and the earliest instant that it retained if it cleaned by instants.
    pub(super) fn last_clean(&self) -> Result<Option<(&Instant, Option<RequestedTime>)>> {
        let mut cleans = self.instants().iter().rev().filter(|instant| instant.action == Action::Clean);
        let Some(clean) = cleans.find(|instant| instant.is_completed()) else { return Ok(None) };
        Ok(Some((clean, self.read(clean, &clean.file_name, service_plans::earliest_retained)?)))
    }

    pub(super) fn read<T>(&self, instant: &Instant, name: &str, parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        self.read_if_stored(instant, name, parse)?.ok_or_else(|| self.missing_file(instant, name))
    }

    /// Parses an instant's file. Returns `None` if it is missing.
    pub(super) fn read_if_stored<T>(
        &self,
        instant: &Instant,
        name: &str,
        parse: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        let parsed = self.read_file(instant, name)?.map(|bytes| parse(&bytes)).transpose();
        parsed.map_err(|error| self.at_instant_file(error, instant, name))
    }

    pub(super) fn missing_file(&self, instant: &Instant, name: &str) -> Error {
        let message = format!(
            "the file of the {} is missing: it was archived or rolled back after the timeline was listed (open the table again), or the table was copied incompletely",
            instant.action
        );
        self.at_instant_file(Error::new(ErrorKind::FileCleaned, message), instant, name)
    }

    /// Returns the bytes of an instant's file, `None` if it is missing.
    pub(super) fn read_file(&self, instant: &Instant, name: &str) -> Result<Option<Bytes>> {
        if let Some(cached) = self.file_cache().files.get(name) {
            return Ok(Some(cached.clone()));
        }
        match self.storage.open(&format!("{}/{name}", self.folder)).and_then(|source| source.read_all()) {
            Ok(bytes) => {
                let mut cache = self.file_cache();
                let fits = cache.bytes.saturating_add(bytes.len()) <= FILE_CACHE_BYTES;
                if self.storage.is_remote() && instant.is_completed() && fits {
                    cache.bytes += bytes.len();
                    cache.files.insert(name.to_owned(), bytes.clone());
                }
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.at_instant_file(error, instant, name)),
        }
    }

    /// Starts to read several files at once, in storage with round trips.
    pub(super) fn prefetch(&self, names: impl Iterator<Item = String>) -> Result<()> {
        if !self.storage.is_remote() {
            return Ok(());
        }
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        let cache = self.file_cache();
        let missing = names.iter().filter(|name| !cache.files.contains_key(*name));
        let paths: Vec<String> = missing.map(|name| format!("{}/{name}", self.folder)).collect();
        drop(cache);
        self.storage.begin(&paths.iter().map(String::as_str).collect::<Vec<_>>(), &[])
    }

    fn file_cache(&self) -> MutexGuard<'_, FileCache> {
        self.file_cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the instant and the path of its file to an error.
    pub(super) fn at_instant_file(&self, error: Error, instant: &Instant, name: &str) -> Error {
        error.in_file(self.storage.full_path(&format!("{}/{name}", self.folder))).at_instant(&instant.requested_time)
    }
}

/// Returns the name of the file with an instant's plan, for any state of the instant.
pub(super) fn requested_file(instant: &Instant) -> String {
    format!("{}.{}.requested", instant.requested_time, instant.action)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::MemoryStorage;
    use crate::timeline::layout_v1;
    use crate::timeline::metadata::{HoodieCompactionOperation, HoodieCompactionPlan, TimelineMetadata};

    #[test]
    fn plans_that_were_renamed_are_read_from_their_copies() {
        let operation = HoodieCompactionOperation { file_id: Some("f".into()), ..Default::default() };
        let plan = HoodieCompactionPlan { operations: Some(vec![operation]), ..Default::default() };
        let plan = plan.to_avro().unwrap();
        let timeline = |files: &[(&str, &[u8])]| {
            let storage = MemoryStorage::holding(files.iter().copied());
            let instants = vec![layout_v1::parse("1.compaction.inflight").unwrap()];
            Timeline::new(storage, ".hoodie".into(), TimelineLayout::V1, None, instants)
        };
        let copied =
            timeline(&[(".hoodie/1.compaction.inflight", b""), (".hoodie/.aux/1.compaction.requested", &plan)]);
        let [pending] = copied.pending_compactions().unwrap().try_into().unwrap();
        assert_eq!(pending.operations.len(), 1);
        let lost = timeline(&[(".hoodie/1.compaction.inflight", b"")]).pending_compactions().unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::FileCleaned);
        assert!(lost.to_string().contains(".hoodie/1.compaction.requested"), "{lost}");
    }
}
