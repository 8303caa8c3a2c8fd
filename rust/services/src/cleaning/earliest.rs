//! The earliest instant whose slices a clean keeps (`CleanerUtils.getEarliestCommitToRetain`).

use chrono::{DateTime, Local, TimeDelta, Utc};

use super::options::CleaningPolicy;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineZone;
use mortice_table::timeline::{Instant, Timeline};

/// The earliest write that is to stay readable; none if the policy goes by file versions, or there are too few writes.
///
/// It is not later than the last write up to `needed`, the first instant that pending writes need: these may read the
/// slices of that time.
pub(crate) fn earliest_to_retain<'a>(
    timeline: &'a Timeline,
    policy: CleaningPolicy,
    needed: Option<&RequestedTime>,
    now: DateTime<Utc>,
    zone: TimelineZone,
) -> Result<Option<&'a Instant>> {
    let completed: Vec<&Instant> = timeline.completed_writes().collect();
    let wanted = match policy {
        CleaningPolicy::LatestFileVersions(_) => None,
        CleaningPolicy::LatestCommits(retained) => {
            let retained = usize::try_from(retained).unwrap_or(usize::MAX);
            completed.len().checked_sub(retained).filter(|skipped| *skipped > 0)
        }
        CleaningPolicy::LatestByHours(hours) => {
            let limit = hours_before(now, hours, zone)?;
            completed.iter().position(|instant| instant.requested_time >= limit)
        }
    };
    let Some(wanted) = wanted else { return Ok(None) };
    let Some(found) = completed.get(wanted).copied() else { return Ok(None) };
    match needed {
        Some(needed) if *needed < found.requested_time => {
            Ok(completed.into_iter().rfind(|instant| instant.requested_time <= *needed))
        }
        _ => Ok(Some(found)),
    }
}

fn hours_before(now: DateTime<Utc>, hours: u64, zone: TimelineZone) -> Result<RequestedTime> {
    const FORM: &str = "%Y%m%d%H%M%S%3f";
    let step = i64::try_from(hours).ok().and_then(TimeDelta::try_hours);
    let limit = step.and_then(|step| now.checked_sub_signed(step));
    let limit = limit.ok_or_else(|| {
        Error::invalid_argument(format!("option hoodie.clean.hours.retained={hours} is longer than the calendar"))
    })?;
    let text = match zone {
        TimelineZone::Utc => limit.format(FORM).to_string(),
        TimelineZone::Local => limit.with_timezone(&Local).format(FORM).to_string(),
    };
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::timeline;

    fn earliest(names: &[&str], policy: CleaningPolicy) -> Option<String> {
        let now = DateTime::parse_from_rfc3339("2024-01-02T00:00:00Z").unwrap().to_utc();
        let timeline = timeline(names);
        let needed = timeline.pending_writes().next().map(|pending| &pending.requested_time);
        let found = earliest_to_retain(&timeline, policy, needed, now, TimelineZone::Utc).unwrap();
        found.map(|instant| instant.requested_time.to_string())
    }

    #[test]
    fn so_many_commits_are_kept() {
        let names = ["1_2.deltacommit", "3_4.commit", "5_6.replacecommit", "7_8.clean", "9.savepoint"];
        for (retained, found) in [(1, Some("5")), (2, Some("3")), (3, None), (4, None)] {
            assert_eq!(earliest(&names, CleaningPolicy::LatestCommits(retained)).as_deref(), found, "{retained}");
        }
        assert_eq!(earliest(&names, CleaningPolicy::LatestFileVersions(1)), None);
    }

    #[test]
    fn a_pending_write_keeps_what_was_before_it() {
        let names = ["1_2.deltacommit", "3_4.commit", "5.compaction.requested", "7_8.deltacommit", "9_10.deltacommit"];
        assert_eq!(earliest(&names, CleaningPolicy::LatestCommits(1)).as_deref(), Some("3"));
        assert_eq!(earliest(&names, CleaningPolicy::LatestCommits(3)).as_deref(), Some("3"));
        let first = ["1.deltacommit.inflight", "3_4.commit", "5_6.commit"];
        assert_eq!(earliest(&first, CleaningPolicy::LatestCommits(1)), None);
    }

    #[test]
    fn what_was_completed_since_a_pending_write_began_is_kept() {
        let timeline = timeline(&["1_2.commit", "3_9.commit", "4_5.commit", "6.commit.requested", "10_11.commit"]);
        let (now, zone) = (DateTime::UNIX_EPOCH, TimelineZone::Utc);
        let policy = CleaningPolicy::LatestCommits(1);
        let found = earliest_to_retain(&timeline, policy, Some(&"3".into()), now, zone).unwrap();
        assert_eq!(found.unwrap().requested_time, "3");
    }

    #[test]
    fn hours_count_back_from_now() {
        let names = ["20231231000000000_20231231000000001.commit", "20240101120000000_20240101120000001.commit"];
        assert_eq!(earliest(&names, CleaningPolicy::LatestByHours(24)).as_deref(), Some("20240101120000000"));
        assert_eq!(earliest(&names, CleaningPolicy::LatestByHours(72)).as_deref(), Some("20231231000000000"));
        assert_eq!(earliest(&names, CleaningPolicy::LatestByHours(1)), None);
    }
}
