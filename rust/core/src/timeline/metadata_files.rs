//! Reads of instants' files: commit metadata, service plans, replaced file groups.

use std::sync::{MutexGuard, PoisonError};

use bytes::Bytes;

use super::commit_metadata::{CommitMetadata, Part};
use super::instant::{Action, Instant};
use super::service_plans::{self, CompactionOperation};
use super::timeline::{KnownFiles, Timeline};
use crate::config::TimelineLayout;
use crate::error::{Error, Kind, Result};
use crate::names::RequestedTime;

/// Bytes of files of instants that are kept.
const KNOWN_BYTES: usize = 64 << 20;

/// A compaction or log compaction that is planned and not completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCompaction {
    /// Its requested time.
    pub instant: RequestedTime,
    /// What it is to merge.
    pub operations: Vec<CompactionOperation>,
}

/// A file group that a completed replace commit has put others in place of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplacedFileGroup {
    /// The partition, `""` where the table has none.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// Requested time of the replace commit.
    pub instant: RequestedTime,
}

impl Timeline {
    /// What a completed write tells of itself; `None` where its file is empty. One that is archived, or was since the timeline
    /// was listed, is looked up in the archive.
    ///
    /// # Errors
    /// `FileCleaned` where the file is gone; `InvalidTable` or `CorruptLog` where it cannot be read.
    pub fn commit_metadata(&self, instant: &Instant, part: Part) -> Result<Option<CommitMetadata>> {
        if instant.file_name.is_empty() {
            return self.archived_commit_metadata(instant, part);
        }
        match self.read(instant, &instant.file_name, |bytes| CommitMetadata::parse(bytes, part)) {
            Err(gone) if gone.kind() == Kind::FileCleaned => match self.archived_commit_metadata(instant, part)? {
                Some(metadata) => Ok(Some(metadata)),
                None => Err(gone),
            },
            read => read,
        }
    }

    /// Pending compactions with their plans, oldest first. Each cuts its file groups: newer logs go to a new slice.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], of the plans.
    pub fn pending_compactions(&self) -> Result<Vec<PendingCompaction>> {
        self.plans(Action::Compaction)
    }

    /// Pending log compactions with their plans, oldest first. They cut nothing.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], of the plans.
    pub fn pending_log_compactions(&self) -> Result<Vec<PendingCompaction>> {
        self.plans(Action::LogCompaction)
    }

    fn plans(&self, action: Action) -> Result<Vec<PendingCompaction>> {
        self.begin(self.pending(action).map(requested_file))?;
        let plan = |instant: &Instant| {
            let operations = self.compaction_plan(instant)?;
            Ok(PendingCompaction { instant: instant.requested_time.clone(), operations })
        };
        self.pending(action).map(plan).collect()
    }

    /// The plan of a pending compaction. Below table version 6 a copy lies in `.aux`; before 0.5.1, when a plan went inflight by
    /// renaming its file, the copy is what is left.
    fn compaction_plan(&self, instant: &Instant) -> Result<Vec<CompactionOperation>> {
        let name = requested_file(instant);
        let plan = self.read(instant, &name, service_plans::compaction);
        let is_lost = match &plan {
            Ok(operations) => operations.is_empty(),
            Err(error) => error.kind() == Kind::NotFound,
        };
        if !is_lost || self.layout != TimelineLayout::V1 {
            return plan;
        }
        self.read(instant, &format!(".aux/{name}"), service_plans::compaction).or(plan)
    }

    /// Pending clustering. In layout 1 it is a replace commit, and only its plan tells it from an overwrite.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], of the plans.
    pub fn pending_clustering(&self) -> Result<Vec<&Instant>> {
        let mut pending = Vec::new();
        let replaces = self.pending_writes().filter(|instant| instant.action == Action::ReplaceCommit);
        self.begin(replaces.map(requested_file))?;
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
        self.begin(replaces.map(|instant| instant.file_name.clone()))?;
        for instant in self.completed_writes().filter(|instant| instant.action == Action::ReplaceCommit) {
            let Some(metadata) = self.commit_metadata(instant, Part::Replaced)? else { continue };
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

    /// The last completed clean and the instant that it kept everything from, where it went by instants.
    ///
    /// # Errors
    /// As for [`Timeline::commit_metadata`], of the clean.
    pub(super) fn last_clean(&self) -> Result<Option<(&Instant, Option<RequestedTime>)>> {
        let mut cleans = self.instants().iter().rev().filter(|instant| instant.action == Action::Clean);
        let Some(clean) = cleans.find(|instant| instant.is_completed()) else { return Ok(None) };
        Ok(Some((clean, self.read(clean, &clean.file_name, service_plans::earliest_retained)?)))
    }

    pub(super) fn read<T>(&self, instant: &Instant, name: &str, parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let gone = || {
            let message = format!(
                "the {}'s file is not there: it was archived or taken back since the timeline was listed (open the table again), or the table was copied in part",
                instant.action
            );
            self.placed(Error::new(Kind::FileCleaned, message), instant, name)
        };
        let bytes = self.bytes_of(instant, name)?.ok_or_else(gone)?;
        parse(&bytes).map_err(|error| self.placed(error, instant, name))
    }

    /// The bytes of a file of an instant; none where it is not there.
    pub(super) fn bytes_of(&self, instant: &Instant, name: &str) -> Result<Option<Bytes>> {
        if let Some(known) = self.known_files().files.get(name) {
            return Ok(Some(known.clone()));
        }
        match self.place.open(&format!("{}/{name}", self.folder)).and_then(|source| source.read_all()) {
            Ok(bytes) => {
                let mut known = self.known_files();
                let fits = known.bytes.saturating_add(bytes.len()) <= KNOWN_BYTES;
                if self.place.is_remote() && instant.is_completed() && fits {
                    known.bytes += bytes.len();
                    known.files.insert(name.to_owned(), bytes.clone());
                }
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == Kind::NotFound => Ok(None),
            Err(error) => Err(self.placed(error, instant, name)),
        }
    }

    /// Starts to read files that are read next, all at once, in storage with round trips.
    pub(super) fn begin(&self, names: impl Iterator<Item = String>) -> Result<()> {
        if !self.place.is_remote() {
            return Ok(());
        }
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        let known = self.known_files();
        let unknown = names.iter().filter(|name| !known.files.contains_key(*name));
        let paths: Vec<String> = unknown.map(|name| format!("{}/{name}", self.folder)).collect();
        drop(known);
        self.place.begin(&paths.iter().map(String::as_str).collect::<Vec<_>>(), &[])
    }

    fn known_files(&self) -> MutexGuard<'_, KnownFiles> {
        self.known_files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error that names an instant and a file of it.
    pub(super) fn placed(&self, error: Error, instant: &Instant, name: &str) -> Error {
        error.in_file(self.place.full_path(&format!("{}/{name}", self.folder))).at_instant(&instant.requested_time)
    }
}

/// The file that an instant's plan stands in, whatever its state.
fn requested_file(instant: &Instant) -> String {
    format!("{}.{}.requested", instant.requested_time, instant.action)
}
