//! The instants to archive (`TimelineArchiverV2.getInstantsToArchive`): the oldest completed writes, and the cleans and
//! rollbacks before the last of them. The last clean stays, as readers and the next clean look at it.

use super::options::KeepCommits;
use mortice_base::names::RequestedTime;
use mortice_table::timeline::{Action, Instant, Timeline};

/// The instants to archive, oldest first. Those at a limit and later ones stay.
pub(crate) fn instants_to_archive(timeline: &Timeline, keep: KeepCommits, limits: &[RequestedTime]) -> Vec<Instant> {
    let completed: Vec<&Instant> = timeline.completed_writes().collect();
    if completed.len() as u64 <= keep.most {
        return Vec::new();
    }
    let most = completed.len().saturating_sub(usize::try_from(keep.least).unwrap_or(usize::MAX));
    let is_free = |instant: &&&Instant| limits.iter().all(|limit| instant.requested_time < *limit);
    let writes: Vec<&Instant> = completed.iter().take_while(is_free).take(most).copied().collect();
    let Some(last) = writes.last() else { return Vec::new() };
    let last_clean =
        timeline.instants().iter().rfind(|instant| instant.action == Action::Clean && instant.is_completed());
    let others = timeline.instants().iter().filter(|instant| {
        matches!(instant.action, Action::Clean | Action::Rollback)
            && instant.is_completed()
            && instant.requested_time < last.requested_time
            && last_clean != Some(*instant)
    });
    let mut chosen: Vec<Instant> = writes.iter().copied().chain(others).cloned().collect();
    chosen.sort_by(|one, other| one.requested_time.cmp(&other.requested_time));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::timeline;

    fn chosen(names: &[&str], (least, most): (u64, u64), limits: &[&str]) -> Vec<String> {
        let limits: Vec<RequestedTime> = limits.iter().map(|limit| (*limit).into()).collect();
        let found = instants_to_archive(&timeline(names), KeepCommits { least, most }, &limits);
        found.into_iter().map(|instant| instant.requested_time.to_string()).collect()
    }

    #[test]
    fn the_oldest_commits_go_with_the_cleans_before_the_last_of_them() {
        let names = [
            "10_11.deltacommit",
            "12_13.clean",
            "20_21.commit",
            "22_23.rollback",
            "30_31.replacecommit",
            "32_33.clean",
            "40_41.deltacommit",
            "50_51.deltacommit",
            "52_53.clean",
        ];
        assert_eq!(chosen(&names, (2, 4), &[]), ["10", "12", "20", "22", "30"]);
        assert_eq!(chosen(&names, (4, 5), &[]), [""; 0], "not more than the most");
        assert_eq!(chosen(&names, (2, 4), &["30", "45"]), ["10", "12", "20"]);
        assert_eq!(chosen(&names, (2, 4), &["10"]), [""; 0]);
    }

    #[test]
    fn the_last_clean_stays() {
        let names = ["10_11.deltacommit", "12_13.clean", "20_21.commit", "30_31.commit"];
        assert_eq!(chosen(&names, (1, 2), &[]), ["10", "20"]);
    }
}
