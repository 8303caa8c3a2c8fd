//! File names of timeline layout 2, from table version 8 on (`InstantFileNameParserV2`).
//!
//! ```text
//! <t>.<action>.requested     <t>.<action>.inflight     <t>_<c>.<action>  completed at c
//! <t>.inflight               a pending commit: the action is omitted
//! <t>.<action>               completed before an interrupted upgrade: c is the file's modification time
//! ```
//! `clustering` is pending only and completes as `replacecommit`; a `replacecommit` can be pending, too
//! (insert_overwrite).

use super::instant::{Instant, InstantState};
use super::layout_v1::action_and_state;
use mortice_base::names::{CompletionTime, RequestedTime};

/// Parses a file name. Returns `None` if it is not the name of an instant. If a completed instant has no completion
/// time in its name, the caller sets it.
#[must_use]
pub(super) fn parse(name: &str) -> Option<Instant> {
    let (times, suffix) = name.split_once('.')?;
    let (requested, completion) = match times.split_once('_') {
        Some((requested, completion)) => (requested, Some(completion)),
        None => (times, None),
    };
    let requested_time = RequestedTime::parse(requested)?;
    let completion_time = match completion {
        Some(completion) => Some(CompletionTime::parse(completion)?),
        None => None,
    };
    let (action, state) = action_and_state(suffix)?;
    if completion_time.is_some() && state != InstantState::Completed {
        return None;
    }
    Some(Instant { requested_time, completion_time, action, state, file_name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Action;

    #[test]
    fn every_name_of_the_layout() {
        for (name, action, state, completion) in [
            ("1.commit.requested", Action::Commit, InstantState::Requested, None),
            ("1.inflight", Action::Commit, InstantState::Inflight, None),
            ("1_2.commit", Action::Commit, InstantState::Completed, Some("2")),
            ("1_2.deltacommit", Action::DeltaCommit, InstantState::Completed, Some("2")),
            ("1.compaction.requested", Action::Compaction, InstantState::Requested, None),
            ("1.logcompaction.inflight", Action::LogCompaction, InstantState::Inflight, None),
            ("1.replacecommit.inflight", Action::ReplaceCommit, InstantState::Inflight, None),
            ("1.clustering.requested", Action::Clustering, InstantState::Requested, None),
            ("1.clustering.inflight", Action::Clustering, InstantState::Inflight, None),
            ("1_2.replacecommit", Action::ReplaceCommit, InstantState::Completed, Some("2")),
            ("1_2.clean", Action::Clean, InstantState::Completed, Some("2")),
            ("1_2.rollback", Action::Rollback, InstantState::Completed, Some("2")),
            ("1_2.restore", Action::Restore, InstantState::Completed, Some("2")),
            ("1.savepoint.inflight", Action::Savepoint, InstantState::Inflight, None),
            ("1_2.savepoint", Action::Savepoint, InstantState::Completed, Some("2")),
            ("1_2.indexing", Action::Indexing, InstantState::Completed, Some("2")),
            ("1_2.schemacommit", Action::SchemaCommit, InstantState::Completed, Some("2")),
            ("1.deltacommit", Action::DeltaCommit, InstantState::Completed, None),
        ] {
            let instant = parse(name).unwrap();
            assert_eq!((instant.action, instant.state), (action, state), "{name}");
            assert_eq!(
                (instant.requested_time.as_str(), instant.completion_time.as_ref().map(CompletionTime::as_str)),
                ("1", completion)
            );
        }
    }

    #[test]
    fn other_files_are_not_instants() {
        for name in [
            "_2.commit",
            "1_.commit",
            "1_2_3.commit",
            "1_2.commit.requested",
            "1_2.clustering",
            "1_2.inflight",
            "_version_",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
