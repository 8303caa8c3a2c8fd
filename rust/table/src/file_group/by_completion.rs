//! Builds file slices from table version 8 (`HoodieFileGroup.addLogFile` of 1.x). The name of a log file has the delta
//! commit that wrote it; the log belongs to the newest slice that began before that commit completed.
//!
//! ```text
//! slices    10 ────────────── 20 (compaction) ─────────
//! requested      12   18
//! completed          15           25
//! log                12 → 10      18 → 20: the compaction cannot have merged it
//! ```
//! So writers need not wait for a compaction; with requested times, rows would be lost. Files of instants that are not
//! completed are removed first: Hudi lets such a log begin a slice, which hides the completed logs after it.
//!
//! Compactions may have skipped the logs of instants that were archived while older instants stayed active. Such a log
//! belongs to the slice of the last compaction that did not merge it ([`Timeline::was_skipped_by`]).

use std::cmp::Ordering;

use super::file_slice::Slices;
use super::partition_files::{ListedBase, ListedLog};
use crate::timeline::{CompletionStatus, Timeline};
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};

/// Builds the slices of one file group, from completed files only.
pub(super) fn build(
    bases: Vec<ListedBase>,
    mut logs: Vec<ListedLog>,
    pending_compaction: Option<&RequestedTime>,
    timeline: &Timeline,
) -> Result<Slices> {
    let mut slices = Slices::new();
    if let Some(instant) = pending_compaction {
        slices.entry(instant.clone()).or_default();
    }
    for base in bases.into_iter().filter(|base| timeline.is_completed(&base.name.instant)) {
        slices.entry(base.name.instant.clone()).or_default().bases.push(base);
    }
    logs.sort_by(|one, other| one.name.slice_order(&other.name));
    for log in logs {
        let named = &log.name.instant;
        let key = if pending_compaction == Some(named) || slices.get(named).is_some_and(|slice| !slice.bases.is_empty())
        {
            // Written before the table was upgraded to version 8: the name has the base instant. No delta commit writes
            // both a base file and a log to one file group.
            named.clone()
        } else if timeline.is_completed(named) {
            slice_of(&log.name, &slices, timeline)?
        } else {
            continue;
        };
        slices.entry(key).or_default().logs.push(log);
    }
    Ok(slices)
}

/// Returns the base instant of a log's slice: the newest slice that began before its delta commit completed, or a new
/// slice.
fn slice_of(log: &LogFileName, slices: &Slices, timeline: &Timeline) -> Result<RequestedTime> {
    let own = || log.instant.clone();
    let Some((newest, _)) = slices.last_key_value() else { return Ok(own()) };
    // Completion is never before the request, so only slices that began after the request need the completion time.
    if *newest <= log.instant {
        return Ok(newest.clone());
    }
    let completion = match timeline.completion_time(&log.instant)? {
        CompletionStatus::At(time) => time,
        CompletionStatus::Pending | CompletionStatus::Archived => {
            return Err(Error::unsupported(format!(
                "log file {} belongs to the slice of {newest} or an older one, depending on the completion time of {}, which is neither on the active nor on the archived timeline",
                log.name, log.instant
            ))
            .at_instant(&log.instant));
        }
    };
    // Times of different precision cannot be compared as strings; then the requested time is used, as in Hudi.
    let had_begun = |key: &&RequestedTime| {
        key.compare_to_completion(completion).unwrap_or_else(|| (*key).cmp(&log.instant)) != Ordering::Greater
    };
    let found = slices.keys().rev().find(had_begun).map_or_else(own, Clone::clone);
    if timeline.is_archived_amid_active(&log.instant) {
        return after_skipping(log, found, slices, timeline);
    }
    Ok(found)
}

/// Returns the slice of a log of the slice `found`: the slice of the last following compaction that skipped the log.
fn after_skipping(
    log: &LogFileName,
    found: RequestedTime,
    slices: &Slices,
    timeline: &Timeline,
) -> Result<RequestedTime> {
    let mut last = found.clone();
    for (key, _) in slices.iter().filter(|(key, slice)| **key > found && !slice.bases.is_empty()) {
        if !timeline.was_skipped_by(&log.name, key)? {
            break;
        }
        last.clone_from(key);
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_group::view::tests::{describe, listed};
    use crate::timeline::timeline;
    use mortice_base::ErrorKind;

    fn slices(instants: &[&str], names: &[&str], pending: Option<&str>) -> Result<Vec<String>> {
        let files = listed(names);
        Ok(describe(&build(
            files.base_files,
            files.log_files,
            pending.map(RequestedTime::from).as_ref(),
            &timeline(instants),
        )?))
    }

    const BASE: &str = "f_0-1-2_10.parquet";

    #[test]
    fn a_log_belongs_where_its_completion_falls() {
        let instants = ["10_11.commit", "12_15.deltacommit", "18_25.deltacommit", "20_30.commit", "22_24.deltacommit"];
        let names = [BASE, "f_0-1-2_20.parquet", ".f_12.log.1_0-1-2", ".f_18.log.1_0-1-2", ".f_22.log.1_0-1-2"];
        assert_eq!(slices(&instants, &names, None).unwrap(), ["10: base 1 logs", "20: base 2 logs"]);
    }

    #[test]
    fn a_pending_compaction_takes_what_is_completed_later() {
        let instants = ["10_11.commit", "12_15.deltacommit", "18_25.deltacommit", "20.compaction.inflight"];
        let names = [BASE, "f_0-1-2_20.parquet", ".f_12.log.1_0-1-2", ".f_18.log.1_0-1-2"];
        assert_eq!(slices(&instants, &names, Some("20")).unwrap(), ["10: base 1 logs", "20: 1 logs"]);
    }

    #[test]
    fn a_group_of_logs_alone_begins_with_its_first_completed_log() {
        let instants = ["10.deltacommit.inflight", "12_15.deltacommit", "13_14.deltacommit"];
        let names = [".f_10.log.1_0-1-2", ".f_12.log.1_0-1-2", ".f_13.log.1_0-1-2"];
        assert_eq!(slices(&instants, &names, None).unwrap(), ["12: 2 logs"]);
    }

    #[test]
    fn files_of_uncompleted_instants_open_no_slice() {
        let instants = ["10_11.commit", "12.deltacommit.inflight", "13_14.deltacommit"];
        let names = [BASE, "f_0-1-2_12.parquet", ".f_12.log.1_0-1-2", ".f_13.log.1_0-1-2", ".f_19.log.1_0-1-2"];
        assert_eq!(slices(&instants, &names, None).unwrap(), ["10: base 1 logs"]);
    }

    #[test]
    fn a_log_from_before_the_upgrade_names_its_slice() {
        let instants = ["10_21.commit", "20_25.commit"];
        let names = [BASE, "f_0-1-2_20.parquet", ".f_10.log.1_0-1-2", ".f_20.log.1_0-1-2"];
        assert_eq!(slices(&instants, &names, None).unwrap(), ["10: base 1 logs", "20: base 1 logs"]);
    }

    #[test]
    fn an_unknown_completion_time_is_refused_only_where_it_matters() {
        let instants = ["19_20.deltacommit", "20_30.commit"];
        assert_eq!(slices(&instants, &[BASE, ".f_12.log.1_0-1-2"], None).unwrap(), ["10: base 1 logs"]);
        let error = slices(&instants, &[BASE, ".f_12.log.1_0-1-2", "f_0-1-2_20.parquet"], None).unwrap_err();
        assert_eq!((error.kind(), error.location().instant.as_deref()), (ErrorKind::Unsupported, Some("12")));
    }

    #[test]
    fn times_of_different_precision_are_compared_by_request() {
        let instants = ["20240101000000_20240103000000000.deltacommit", "20240102000000_20240102000001.commit"];
        let names =
            ["f_0-1-2_20230101000000.parquet", ".f_20240101000000.log.1_0-1-2", "f_0-1-2_20240102000000.parquet"];
        let expected = ["20230101000000: base 1 logs", "20240102000000: base 0 logs"];
        assert_eq!(slices(&instants, &names, None).unwrap(), expected);
    }
}
