//! Which instants may be rolled back (`BaseRollbackActionExecutor.validateRollbackCommitSequence`,
//! `validateSavepointRollbacks`).
//!
//! | instant | refused if |
//! |---|---|
//! | pending write | its writer is alive; the table has several writers then |
//! | pending clustering, pending compaction of version 8 and later | never: it is a plan |
//! | pending compaction up to version 7 | log files were written for the slices that it begins |
//! | completed write | it is savepointed; a later write is completed or under way; a clean removed the files before it |
//! | archived | always |

use std::collections::BTreeMap;

use super::rollback::Rollbacks;
use crate::listings::Listings;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_commit::commit::{HeartbeatOptions, Heartbeats};
use mortice_merge::config::TimelineLayout;
use mortice_storage::FileStatus;
use mortice_table::file_group::{FileSystemView, PartitionFiles};
use mortice_table::timeline::{Action, Instant, MetadataPart, Timeline};

impl Rollbacks<'_> {
    /// Finds an instant that may be rolled back by a user's request.
    ///
    /// Args:
    ///     timeline: The timeline as it is now.
    ///     time: The instant's requested time.
    ///     heartbeat: When a writer counts as dead; none if the table has one writer, which is not writing.
    pub(crate) fn check(
        &self,
        timeline: &Timeline,
        time: &RequestedTime,
        heartbeat: Option<HeartbeatOptions>,
    ) -> Result<Instant> {
        let Some(target) = timeline.writes_at(time).next() else {
            return Err(unknown(timeline, time)?.at_instant(time));
        };
        let checked = if target.is_completed() {
            self.check_completed(timeline, target)
        } else {
            self.check_pending(target, heartbeat)
        };
        checked.map_err(|error| error.at_instant(time))?;
        Ok(target.clone())
    }

    fn check_pending(&self, target: &Instant, heartbeat: Option<HeartbeatOptions>) -> Result<()> {
        if let Some(heartbeat) = heartbeat
            && !Heartbeats::list(&**self.store)?.is_expired(&target.requested_time, heartbeat)
        {
            let message = "the write is under way: its heartbeat is alive; stop its writer first";
            return Err(Error::invalid_argument(message));
        }
        let is_compaction = matches!(target.action, Action::Compaction | Action::LogCompaction);
        if !is_compaction || self.config.layout() != TimelineLayout::V1 {
            return Ok(());
        }
        // Without the plan these logs would have no base file.
        let mut listings = Listings::new(self.store);
        for partition in listings.partitions()? {
            let is_of =
                |name: &&String| LogFileName::parse(name).is_some_and(|log| log.instant == target.requested_time);
            if let Some(name) = listings.files(&partition)?.keys().find(is_of) {
                let message =
                    "log files were written for the slices that the compaction begins: run the compaction instead";
                return Err(Error::invalid_argument(message).in_file(format!("{partition}/{name}")));
            }
        }
        Ok(())
    }

    fn check_completed(&self, timeline: &Timeline, target: &Instant) -> Result<()> {
        let time = &target.requested_time;
        if timeline.savepoints().any(|savepoint| savepoint.requested_time == *time) {
            let message = "the instant is savepointed: delete the savepoint first";
            return Err(Error::invalid_argument(message));
        }
        let later = timeline.completed_writes().rev().find(|instant| instant.requested_time > *time);
        if let Some(later) = later {
            let message = format!(
                "{later} is later: roll back the later writes first, newest first, or restore the table to a savepoint"
            );
            return Err(Error::invalid_argument(message));
        }
        let clustering = timeline.pending_clustering()?;
        let is_write = |instant: &&Instant| {
            !matches!(instant.action, Action::Compaction | Action::LogCompaction)
                && !clustering.iter().any(|planned| planned.is_same(instant))
        };
        if let Some(pending) = timeline.pending_writes().find(is_write) {
            let message = format!("{pending} is pending: complete it or roll it back first");
            return Err(Error::invalid_argument(message));
        }
        let planned = timeline.pending_writes().find(|instant| instant.requested_time > *time);
        if let Some(planned) = planned {
            let message = format!("{planned} is planned upon files of this instant: roll it back, or run it, first");
            return Err(Error::invalid_argument(message));
        }
        self.check_not_cleaned(timeline, target)
    }

    /// Makes sure that the files are there which the table has without the instant.
    fn check_not_cleaned(&self, timeline: &Timeline, target: &Instant) -> Result<()> {
        let commit = timeline.commit_metadata(target, MetadataPart::All)?.unwrap_or_default();
        let mut listings = Listings::new(self.store);
        let cleaned = |partition: &str, file_id: &str| {
            let message = format!(
                "the files that file group {file_id} had before this instant were cleaned since: without the instant its rows would be \
                 lost"
            );
            Err(Error::invalid_argument(message).in_file(self.store.full_path(partition)))
        };
        for (partition, stats) in &commit.write_stats {
            for stat in stats {
                let previous = stat.prev_commit.as_deref().filter(|time| !matches!(*time, "" | "null"));
                let path = stat.path.as_deref().unwrap_or_default();
                let name = path.rsplit('/').next().unwrap_or(path);
                let (Some(previous), Some(written)) = (previous, BaseFileName::parse(name)) else { continue };
                let files = listings.files(partition)?;
                if !has_file(files, &written.file_id, |instant| instant.as_str() == previous) {
                    return cleaned(partition, &written.file_id);
                }
            }
        }
        if commit.replaced.is_empty() {
            return Ok(());
        }
        let removed = timeline.files_of_cleans()?;
        let view = FileSystemView::with_replaced(timeline, self.config, &target.requested_time)?;
        for (partition, groups) in &commit.replaced {
            let there = listings.files(partition)?;
            let mut files = PartitionFiles::new(partition, there.values().map(|file| (file.name.as_str(), file.len)));
            let names = removed.0.get(partition).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
            files.add_deleted(names, |instant| *instant <= target.requested_time && timeline.is_completed(instant));
            let slices = view.slices(&files)?;
            for file_id in groups {
                // An older slice that a savepoint keeps is no substitute.
                let newest = slices.iter().find(|slice| slice.file_id == *file_id);
                if newest.is_none_or(|slice| slice.names().any(|name| removed.by(partition, name).is_some())) {
                    return cleaned(partition, file_id);
                }
            }
        }
        Ok(())
    }
}

/// Whether a file group has a file whose instant is wanted.
fn has_file(files: &BTreeMap<String, FileStatus>, file_id: &str, is_wanted: impl Fn(&RequestedTime) -> bool) -> bool {
    files.keys().any(|name| match BaseFileName::parse(name) {
        Some(base) => base.file_id == file_id && is_wanted(&base.instant),
        None => LogFileName::parse(name).is_some_and(|log| log.file_id == file_id && is_wanted(&log.instant)),
    })
}

fn unknown(timeline: &Timeline, time: &RequestedTime) -> Result<Error> {
    if timeline.archived()?.iter().any(|archived| archived.requested_time == *time) {
        return Ok(Error::unsupported("the instant is archived: it cannot be rolled back any more"));
    }
    let known: Vec<String> = timeline.instants().iter().rev().take(5).map(ToString::to_string).collect();
    Ok(Error::invalid_argument(format!(
        "the timeline has no write of this requested time; its newest instants are {}",
        known.join(", ")
    )))
}
