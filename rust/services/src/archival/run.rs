//! The action: which instants, the archive, the deletion of their files.

use super::archive_base::ArchiveBase;
use super::chooser::instants_to_archive;
use super::options::{ArchivalOptions, KeepCommits};
use super::replaced::first_with_files;
use super::{archive_log, compact_history, limits, lsm_history};
use crate::cleaning::{CleaningOptions, earliest_to_retain};
use crate::compaction::planning::last_completed_compaction;
use crate::needed_by_pending::first_needed;
use crate::recovery::{check_no_restore, delete_late_files};
use crate::reports::report_archival;
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_base::progress::Progress;
use mortice_commit::metadata_upkeep::is_defect;
use mortice_commit::writable_table::WritableTable;
use mortice_table::metadata_table::check_complete;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, Instant};

/// An instant that was archived, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedInstant {
    /// The instant.
    pub instant: Instant,
    /// Its files on the active timeline, which are deleted: paths relative to the table, and bytes.
    pub files: Vec<(String, u64)>,
}

/// Archives instants of a table.
pub struct Archival<'a> {
    target: &'a WritableTable,
    options: ArchivalOptions,
    cleaning: CleaningOptions,
}

impl<'a> Archival<'a> {
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, by name, for options of archival and of cleaning, which keeps commits as
    /// well.
    pub fn new(target: &'a WritableTable) -> Result<Self> {
        let options = ArchivalOptions::resolve(target.options())?;
        Ok(Self { target, options, cleaning: CleaningOptions::resolve(target.options())? })
    }

    /// Whether the table, as it was last seen, has so many commits that some may be archived.
    #[must_use]
    pub fn may_be_due(&self) -> bool {
        self.target.latest().timeline.completed_writes().count() as u64 > self.options.keep.most
    }

    /// The instants that would be archived now.
    ///
    /// # Errors
    /// What reading the table may fail with.
    pub fn plan(&self) -> Result<Vec<ArchivedInstant>> {
        let open = self.target.latest();
        let table = ServiceTable::new(self.target.store(), &open);
        check_no_restore(&table.timeline)?;
        let archived = self.choose(&table, &open)?;
        with_files(&table, archived)
    }

    /// Archives what options say, under the table's lock, if it has one. Returns the instants that are in the archive
    /// now, oldest first.
    ///
    /// # Errors
    /// `Unsupported` while a restore is not completed; what reading the table may fail with; those of the storage. Each
    /// instant is in the archive or active then, or in both.
    pub fn run(&self) -> Result<Vec<ArchivedInstant>> {
        let (time, started) = (self.target.time(), self.target.time().monotonic());
        let archived = self.target.locked(|open, _| {
            let mut table = ServiceTable::new(self.target.store(), &open);
            check_no_restore(&table.timeline)?;
            let base = ArchiveBase::read(&mut table)?;
            let chosen = self.choose(&table, &open)?;
            let archived = with_files(&table, chosen.clone())?;
            if !chosen.is_empty() {
                delete_late_files(&table)?;
            }
            self.target.mark_changed();
            archive_instants(&table, base, &chosen, self.options.history_batch, self.target.progress())?;
            Ok(archived)
        })?;
        if !archived.is_empty() {
            report_archival(self.target, time.since(started), archived.len());
        }
        Ok(archived)
    }

    fn choose(&self, table: &ServiceTable, open: &OpenTable) -> Result<Vec<Instant>> {
        let Some(mut limits) = self.limits(table)? else { return Ok(Vec::new()) };
        let keep = self.keep(table)?;
        let chosen = instants_to_archive(&table.timeline, keep, &limits);
        if !chosen.iter().any(|instant| instant.action == Action::ReplaceCommit) {
            return Ok(chosen);
        }
        let Some(limit) = first_with_files(open, &chosen)? else { return Ok(chosen) };
        limits.push(limit);
        Ok(instants_to_archive(&table.timeline, keep, &limits))
    }

    /// What must not be archived; none if nothing may be.
    fn limits(&self, table: &ServiceTable) -> Result<Option<Vec<RequestedTime>>> {
        let writer = table.timeline_writer();
        let mut limits = limits::of_timeline(&table.timeline, &table.config, &writer, self.options.compaction_commits)?;
        if self.options.blocks_on_clean {
            limits.extend(limits::of_last_clean(&table.timeline, &writer)?);
        }
        if !table.config.metadata_partitions.is_empty() {
            // Hudi builds the metadata table's view of archived instants from its base files.
            let opened = ServiceTable::open_metadata(self.target.store());
            let complete =
                |metadata: ServiceTable| check_complete(&table.timeline, &metadata.timeline).map(|()| metadata);
            let metadata = match opened.and_then(complete) {
                // A write that it lacks would not be looked for any more. The next write builds it again.
                Err(error) if is_defect(&error) => return Ok(None),
                opened => opened?,
            };
            match last_completed_compaction(&metadata.timeline) {
                Some(compaction) => limits.push(compaction.requested_time.clone()),
                None => return Ok(None),
            }
        }
        Ok(Some(limits))
    }

    /// The commits that stay: more than options say if the cleaner keeps more.
    fn keep(&self, table: &ServiceTable) -> Result<KeepCommits> {
        let keep = self.options.keep;
        let (now, zone) = (table.store.time().now(), table.config.timeline_zone);
        let needed = first_needed(&table.timeline, &table.timeline_writer())?;
        let earliest = earliest_to_retain(&table.timeline, self.cleaning.policy, needed.as_ref(), now, zone)?;
        let Some(earliest) = earliest else { return Ok(keep) };
        let later = table.timeline.completed_writes().filter(|write| write.requested_time > earliest.requested_time);
        let least = (later.count() as u64).saturating_add(2).max(keep.least);
        Ok(KeepCommits { least, most: least.saturating_add(keep.most.saturating_sub(keep.least)) })
    }
}

/// Instants with their files on the active timeline.
fn with_files(table: &ServiceTable, instants: Vec<Instant>) -> Result<Vec<ArchivedInstant>> {
    if instants.is_empty() {
        return Ok(Vec::new());
    }
    let writer = table.timeline_writer();
    let files = writer.files_with_status()?;
    let files_of = |instant: &Instant| {
        let is_same = |file: &Instant| {
            file.requested_time == instant.requested_time && file.action.completes_as() == instant.action.completes_as()
        };
        let of_instant = files.iter().filter(|(file, _)| is_same(file));
        of_instant.map(|(file, status)| (writer.path(&file.file_name), status.len)).collect()
    };
    Ok(instants.into_iter().map(|instant| ArchivedInstant { files: files_of(&instant), instant }).collect())
}

/// Moves instants, oldest first, from the active timeline to the archive.
///
/// Args:
///     table: The table.
///     base: The archive as it was before the timeline was read.
///     instants: The instants.
///     history_batch: Files of a level of the history that are merged.
///     progress: Gets how much is done.
pub(crate) fn archive_instants(
    table: &ServiceTable,
    base: ArchiveBase,
    instants: &[Instant],
    history_batch: usize,
    progress: &Progress,
) -> Result<()> {
    if instants.is_empty() {
        return Ok(());
    }
    progress.begin(instants.len() as u64);
    let history = match base {
        ArchiveBase::Log(base) => archive_log::append(table, base, instants).map(|()| None)?,
        ArchiveBase::History(base) => Some(lsm_history::append(table, base, instants)?),
    };
    table.timeline_writer().delete_archived(instants)?;
    progress.advance(instants.len() as u64);
    history.map_or(Ok(()), |history| compact_history::compact(table, history, history_batch))
}
