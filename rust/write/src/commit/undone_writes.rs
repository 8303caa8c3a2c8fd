//! Completed writes that had been rolled back before they were completed.
//!
//! A writer that was taken for dead may complete its instant after another one has rolled it back. It looks for the rollback then, and
//! deletes the completed file; if it is killed in between, the file stays, without the data files that it names.

use std::collections::BTreeSet;

use super::timeline_writer::TimelineWriter;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_table::timeline::{Action, Instant, InstantState, Timeline};

/// A completed write, and the rollback that had undone it before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneWrite {
    /// The write.
    pub write: Instant,
    /// The rollback.
    pub rollback: Instant,
}

impl UndoneWrite {
    /// Finds them on a timeline: a completed rollback names the write, and the write has no inflight file, which a later execution of a
    /// plan that was rolled back would have again. Usually this reads nothing, or lists the timeline once.
    ///
    /// # Errors
    /// Those of the storage; `InvalidTable` for a rollback that cannot be read.
    pub fn find(files: &TimelineWriter, timeline: &Timeline) -> Result<Vec<Self>> {
        let is_rollback = |instant: &&Instant| instant.action == Action::Rollback && instant.is_completed();
        if !timeline.instants().iter().any(|instant| is_rollback(&instant)) {
            return Ok(Vec::new());
        }
        let inflight: BTreeSet<RequestedTime> =
            files.files()?.into_iter().filter(is_inflight_write).map(|file| file.requested_time).collect();
        let mut writes: Vec<&Instant> =
            timeline.completed_writes().filter(|write| !inflight.contains(&write.requested_time)).collect();
        let Some(first) = writes.first().map(|write| write.requested_time.clone()) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for rollback in timeline.instants().iter().filter(is_rollback) {
            if rollback.requested_time < first {
                continue;
            }
            for target in files.rollback_targets(rollback)? {
                let is_target = |write: &&Instant| {
                    write.requested_time == target.as_str() && write.requested_time < rollback.requested_time
                };
                if let Some(at) = writes.iter().position(is_target) {
                    found.push(Self { write: writes.remove(at).clone(), rollback: rollback.clone() });
                }
            }
        }
        without_archived(found, timeline)
    }

    /// Takes the write off the timeline: deletes the completed file. Call it under the table's lock.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn remove(&self, files: &TimelineWriter) -> Result<()> {
        files.revert_to_inflight(&self.write.requested_time, self.write.action)
    }
}

fn is_inflight_write(file: &Instant) -> bool {
    file.state == InstantState::Inflight && file.action.is_write()
}

/// Archival deletes inflight files first: an archiver may have been stopped then.
fn without_archived(mut found: Vec<UndoneWrite>, timeline: &Timeline) -> Result<Vec<UndoneWrite>> {
    if !found.is_empty() {
        let archived: BTreeSet<&RequestedTime> =
            timeline.archived()?.iter().map(|instant| &instant.requested_time).collect();
        found.retain(|undone| !archived.contains(&undone.write.requested_time));
    }
    Ok(found)
}
