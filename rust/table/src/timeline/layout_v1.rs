//! File names of timeline layout 1, table versions 1 to 7 (`HoodieInstant`, `InstantFileNameParserV1`).
//!
//! ```text
//! <t>.<action>.requested     <t>.<action>.inflight     <t>.<action>      completed
//! <t>.inflight               a pending commit: the action is omitted
//! ```
//! `compaction` and `logcompaction` are pending only; `savepoint` is never requested; clustering is a `replacecommit`
//! from the start. Other names are not instants.

use super::instant::{Action, Instant, InstantState};
use mortice_base::names::RequestedTime;

/// Parses a file name. Returns `None` if it is not the name of an instant.
#[must_use]
pub(super) fn parse(name: &str) -> Option<Instant> {
    let (time, suffix) = name.split_once('.')?;
    let requested_time = RequestedTime::parse(time)?;
    let (action, state) = action_and_state(suffix)?;
    if action == Action::Clustering {
        return None;
    }
    Some(Instant { requested_time, completion_time: None, action, state, file_name: name.to_owned() })
}

/// Parses the part after the time, which is the same in both layouts.
pub(super) fn action_and_state(suffix: &str) -> Option<(Action, InstantState)> {
    if suffix == "inflight" {
        return Some((Action::Commit, InstantState::Inflight));
    }
    let (action, state) = match suffix.split_once('.') {
        None => (suffix, InstantState::Completed),
        Some((action, "requested")) => (action, InstantState::Requested),
        Some((action, "inflight")) => (action, InstantState::Inflight),
        Some(_) => return None,
    };
    let action = Action::named(action)?;
    let pending_only = action.completes_as() != action;
    let known = match state {
        InstantState::Completed => !pending_only,
        InstantState::Requested => action != Action::Savepoint,
        InstantState::Inflight => action != Action::Commit,
    };
    known.then_some((action, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_layout() {
        for (name, action, state) in [
            ("1.commit.requested", Action::Commit, InstantState::Requested),
            ("1.inflight", Action::Commit, InstantState::Inflight),
            ("1.commit", Action::Commit, InstantState::Completed),
            ("1.deltacommit.requested", Action::DeltaCommit, InstantState::Requested),
            ("1.deltacommit.inflight", Action::DeltaCommit, InstantState::Inflight),
            ("1.deltacommit", Action::DeltaCommit, InstantState::Completed),
            ("1.compaction.requested", Action::Compaction, InstantState::Requested),
            ("1.compaction.inflight", Action::Compaction, InstantState::Inflight),
            ("1.logcompaction.requested", Action::LogCompaction, InstantState::Requested),
            ("1.logcompaction.inflight", Action::LogCompaction, InstantState::Inflight),
            ("1.replacecommit.requested", Action::ReplaceCommit, InstantState::Requested),
            ("1.replacecommit.inflight", Action::ReplaceCommit, InstantState::Inflight),
            ("1.replacecommit", Action::ReplaceCommit, InstantState::Completed),
            ("1.clean.requested", Action::Clean, InstantState::Requested),
            ("1.clean.inflight", Action::Clean, InstantState::Inflight),
            ("1.clean", Action::Clean, InstantState::Completed),
            ("1.rollback.requested", Action::Rollback, InstantState::Requested),
            ("1.rollback.inflight", Action::Rollback, InstantState::Inflight),
            ("1.rollback", Action::Rollback, InstantState::Completed),
            ("1.restore.inflight", Action::Restore, InstantState::Inflight),
            ("1.savepoint.inflight", Action::Savepoint, InstantState::Inflight),
            ("1.savepoint", Action::Savepoint, InstantState::Completed),
            ("1.indexing", Action::Indexing, InstantState::Completed),
            ("1.schemacommit", Action::SchemaCommit, InstantState::Completed),
        ] {
            let instant = parse(name).unwrap();
            assert_eq!((instant.action, instant.state), (action, state), "{name}");
            assert_eq!((instant.requested_time.as_str(), instant.completion_time), ("1", None));
        }
    }

    #[test]
    fn other_files_are_not_instants() {
        for name in [
            "hoodie.properties",
            ".1.commit.crc",
            "1.commit.crc",
            "1_2.commit",
            "1.compaction",
            "1.logcompaction",
            "1.commit.inflight",
            "1.savepoint.requested",
            "1.clustering.requested",
            "1.commit.requested.tmp",
            "1",
            "1.",
            ".commit",
            "x1.commit",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
