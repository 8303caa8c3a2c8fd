//! `show_timeline`: instants of any state, with the times at which they reached their states.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime, Utc};

use super::call::Call;
use super::metadata::{metadata_of, plan_of};
use super::value::{ProcedureRow, row};
use mortice_base::error::Result;
use mortice_storage::{FileStatus, FolderEntry};
use mortice_table::timeline::metadata::{HoodieRollbackMetadata, HoodieRollbackPlan};
use mortice_table::timeline::{Action, Instant, InstantState, Timeline};

/// How Hudi shows times: without the year. Here in UTC.
const FORM: &str = "%m-%d %H:%M:%S";
/// The digits of an instant up to seconds.
const DIGITS: (&str, usize) = ("%Y%m%d%H%M%S", 14);

/// `show_timeline`.
pub(super) fn timeline(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (timeline, limit) = (call.timeline(), call.arguments.limit());
    let (begin, end) = (call.arguments.text("startTime"), call.arguments.text("endTime"));
    let is_wanted = |one: &&Instant| {
        let time = one.requested_time.as_str();
        begin.as_deref().is_none_or(|begin| time >= begin.trim()) && end.as_deref().is_none_or(|end| time <= end.trim())
    };
    // The limit does not count if both bounds are given.
    let limit = if begin.is_some() && end.is_some() { usize::MAX } else { limit };
    let mut found: Vec<(&Instant, bool)> =
        timeline.instants().iter().filter(is_wanted).map(|one| (one, false)).collect();
    if call.arguments.boolean("showArchived") {
        found.extend(timeline.archived()?.iter().filter(is_wanted).map(|one| (one, true)));
        found.sort_by(|(one, _), (other, _)| other.timeline_order(one));
    } else {
        found.sort_by(|(one, _), (other, _)| other.requested_time.cmp(&one.requested_time));
    }
    found.truncate(limit);
    let undone_by = rollbacks(timeline, &found);
    let files = listed(call)?;
    let row_of = |(instant, is_archived): &(&Instant, bool)| {
        let of_state = |state: InstantState| state_time(instant, state, *is_archived, &files);
        row![
            instant.requested_time.as_str(),
            instant.action.name(),
            instant.state.name(),
            of_state(InstantState::Requested),
            of_state(InstantState::Inflight),
            of_state(InstantState::Completed),
            if *is_archived { "ARCHIVED" } else { "ACTIVE" },
            rollback_info(timeline, instant, &undone_by),
        ]
    };
    Ok(found.iter().map(row_of).collect())
}

/// The files of the active timeline.
fn listed(call: &Call<'_>) -> Result<Vec<FileStatus>> {
    let entries = call.table.storage.list(&call.table.config.timeline_folder)?.unwrap_or_default();
    let file = |entry| if let FolderEntry::File(file) = entry { Some(file) } else { None };
    Ok(entries.into_iter().filter_map(file).collect())
}

/// When an instant reached a state: the time of its file, or of an archived one those of its name.
fn state_time(instant: &Instant, state: InstantState, is_archived: bool, files: &[FileStatus]) -> Option<String> {
    if is_archived {
        let requested = instant.requested_time.as_str();
        let completed = instant.completion_time.as_ref().map(String::from);
        let digits =
            if state == InstantState::Completed { completed.as_deref().unwrap_or(requested) } else { requested };
        let (form, len) = DIGITS;
        let time = NaiveDateTime::parse_from_str(digits.get(..len)?, form).ok()?;
        return Some(time.format(FORM).to_string());
    }
    let is_of_state = |file: &&FileStatus| state_of(&file.name, instant) == Some(state);
    // A savepoint has no file of its request; as in Hudi, that of the commit of its time counts.
    let (time, extension) = (format!("{}.", instant.requested_time), format!(".{}", state.name().to_lowercase()));
    let is_of_time = |file: &&FileStatus| file.name.starts_with(&time) && file.name.ends_with(&extension);
    let file = files.iter().find(is_of_state).or_else(|| files.iter().find(is_of_time))?;
    DateTime::<Utc>::from_timestamp_millis(file.modified_ms).map(|time| time.format(FORM).to_string())
}

/// The state of an instant that a file of the timeline is of; `None` if it is another instant's.
fn state_of(file: &str, instant: &Instant) -> Option<InstantState> {
    if !instant.file_name.is_empty() && file == instant.file_name {
        return Some(instant.state);
    }
    let rest = file.strip_prefix(instant.requested_time.as_str())?.strip_prefix('.')?;
    let (action, state) = match rest.rsplit_once('.') {
        Some((action, "requested")) => (action, InstantState::Requested),
        Some((action, "inflight")) => (action, InstantState::Inflight),
        // The inflight file of a commit has no action in its name.
        None if rest == "inflight" => ("commit", InstantState::Inflight),
        Some(_) | None => return None,
    };
    let is_same = Action::named(action)?.completes_as() == instant.action.completes_as();
    is_same.then_some(state)
}

/// The rollbacks of each instant that was rolled back. One that cannot be read is left out, as in Hudi.
fn rollbacks(timeline: &Timeline, instants: &[(&Instant, bool)]) -> BTreeMap<String, Vec<String>> {
    let mut undone_by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let of_archive = instants.iter().filter(|(_, is_archived)| *is_archived).map(|(one, _)| *one);
    for rollback in timeline.instants().iter().chain(of_archive).filter(|one| one.action == Action::Rollback) {
        for undone in undone_instants(timeline, rollback) {
            undone_by.entry(undone).or_default().push(rollback.requested_time.to_string());
        }
    }
    undone_by
}

/// The instants that a rollback undoes.
fn undone_instants(timeline: &Timeline, rollback: &Instant) -> Vec<String> {
    if rollback.is_completed() {
        let done = metadata_of::<HoodieRollbackMetadata>(timeline, rollback).ok().flatten();
        return done.map(|done| done.commits_rollback).unwrap_or_default();
    }
    let plan = plan_of::<HoodieRollbackPlan>(timeline, rollback).ok().flatten();
    plan.and_then(|plan| plan.instant_to_rollback).map(|one| one.commit_time).into_iter().collect()
}

fn rollback_info(timeline: &Timeline, instant: &Instant, undone_by: &BTreeMap<String, Vec<String>>) -> Option<String> {
    if instant.action == Action::Rollback {
        let undone = undone_instants(timeline, instant);
        let word = if instant.is_completed() { "Rolled back:" } else { "Rolls back" };
        return (!undone.is_empty()).then(|| format!("{word} {}", undone.join(", ")));
    }
    let rollbacks = undone_by.get(instant.requested_time.as_str())?;
    Some(format!("Rolled back by: {}", rollbacks.join(", ")))
}
