//! Slices of a file group from table version 8 (`HoodieFileGroup.addLogFile` of 1.x): a log's name holds the delta commit that
//! wrote it, and it belongs to the newest slice that had begun when that was completed.
//!
//! ```text
//! slices    10 ────────────── 20 (compaction) ─────────
//! requested      12   18
//! completed          15           25
//! log                12 → 10      18 → 20: the compaction could not have seen it
//! ```
//! So writers need not wait for a compaction, and requested times would lose rows. Files of instants that are not completed are
//! left out first; Hudi lets such a log open a slice, which hides the completed logs that follow it.

use super::file_slice::Slices;
use super::partition_files::{ListedBase, ListedLog};
use crate::error::{Error, Result};
use crate::names::LogFileName;
use crate::timeline::{Completion, Timeline};

/// Builds the slices of one group, of completed files only.
///
/// # Errors
/// `Unsupported` where it depends on the completion time of an archived delta commit which slice a log belongs to, and that
/// time is not stored.
pub(super) fn build(
    bases: Vec<ListedBase>,
    mut logs: Vec<ListedLog>,
    pending_compaction: Option<&str>,
    timeline: &Timeline,
) -> Result<Slices> {
    let mut slices = Slices::new();
    if let Some(instant) = pending_compaction {
        slices.entry(instant.to_owned()).or_default();
    }
    for base in bases.into_iter().filter(|base| timeline.is_completed(&base.name.instant)) {
        slices.entry(base.name.instant.clone()).or_default().bases.push(base);
    }
    logs.sort_by(|one, other| one.name.slice_order(&other.name));
    for log in logs {
        let named = log.name.instant.as_str();
        let key = if pending_compaction == Some(named) || slices.get(named).is_some_and(|slice| !slice.bases.is_empty())
        {
            // Written before the table was upgraded to version 8: the name holds the slice. No delta commit writes both a
            // base file and a log to one group.
            named.to_owned()
        } else if timeline.is_completed(named) {
            slice_of(&log.name, &slices, timeline)?
        } else {
            continue;
        };
        slices.entry(key).or_default().logs.push(log);
    }
    Ok(slices)
}

/// The slice that a log belongs to: the newest that began before its delta commit was completed, or one of its own.
fn slice_of(log: &LogFileName, slices: &Slices, timeline: &Timeline) -> Result<String> {
    let own = || log.instant.clone();
    let Some((newest, _)) = slices.last_key_value() else { return Ok(own()) };
    // Completion is never before the request, so that only a slice begun after the request needs the completion time.
    if *newest <= log.instant {
        return Ok(newest.clone());
    }
    let completion = match timeline.completion_time(&log.instant)? {
        Completion::At(time) => time,
        Completion::Pending | Completion::Archived => {
            return Err(Error::unsupported(format!(
                "log file {} belongs to the slice of {newest} or to an older one, by the time at which {} was completed; that instant is neither on the active timeline nor in the history of archived ones",
                log.name, log.instant
            ))
            .at_instant(&log.instant));
        }
    };
    // Times of different precision cannot be compared as text; the request then stands for the completion, as in Hudi.
    let had_begun = |key: &&String| {
        let time = if key.len() == completion.len() { completion } else { log.instant.as_str() };
        key.as_str() <= time
    };
    Ok(slices.keys().rev().find(had_begun).map_or_else(own, Clone::clone))
}
