//! Why a clean deletes nothing.

use super::options::CleaningPolicy;
use mortice_merge::config::option_names::{CLEAN_COMMITS_RETAINED, CLEAN_FILEVERSIONS_RETAINED, CLEAN_HOURS_RETAINED};
use mortice_table::timeline::Timeline;

/// Why a clean by a policy finds nothing to delete, as a sentence without its full stop.
pub(super) fn why_nothing(timeline: &Timeline, policy: CleaningPolicy) -> String {
    let kept = match policy {
        CleaningPolicy::LatestFileVersions(count) => {
            format!("no file group has more than {count} versions of its files ({CLEAN_FILEVERSIONS_RETAINED})")
        }
        CleaningPolicy::LatestByHours(hours) => {
            format!("no file was replaced more than {hours} hours ago ({CLEAN_HOURS_RETAINED})")
        }
        CleaningPolicy::LatestCommits(retained) => {
            let completed: Vec<_> = timeline.instants().iter().filter(|one| one.is_completed_write()).collect();
            let earliest = usize::try_from(retained).ok().and_then(|retained| completed.len().checked_sub(retained));
            match earliest.and_then(|at| completed.get(at)) {
                Some(earliest) if completed.len() as u64 > retained => format!(
                    "no file was replaced before {}, the earliest of the last {retained} writes ({CLEAN_COMMITS_RETAINED})",
                    earliest.requested_time
                ),
                _ => {
                    let count = completed.len();
                    return format!(
                        "the table has {count} completed writes, and the last {retained} are kept readable ({CLEAN_COMMITS_RETAINED})"
                    );
                }
            }
        }
    };
    let waiting = match timeline.pending_writes().next() {
        Some(pending) => {
            format!("{} {} is pending, and what it may read is kept", pending.action, pending.requested_time)
        }
        None => {
            "files are replaced by compaction, clustering and updates of base files: until then, log files stay".into()
        }
    };
    format!("{kept}; {waiting}")
}
