//! Cleans: `show_cleans`, `show_cleans_metadata`, `show_clean_plans`, and the rows of `run_clean`.

use super::call::Call;
use super::metadata::{metadata_of, newest_first, plan_of};
use super::value::{ProcedureRow, ProcedureValue, row};
use mortice_base::error::Result;
use mortice_table::timeline::metadata::{HoodieCleanMetadata, HoodieCleanerPlan};
use mortice_table::timeline::{Action, Instant, Timeline};

/// The cleans of a call, the newest first; with `showArchived`, archived ones, too.
fn instants<'a>(call: &'a Call<'_>) -> Result<Vec<&'a Instant>> {
    let mut cleans = newest_first(call.timeline(), false, Action::Clean)?;
    if call.arguments.boolean("showArchived") {
        cleans.extend(newest_first(call.timeline(), true, Action::Clean)?);
    }
    Ok(cleans)
}

/// `show_cleans`.
pub(super) fn cleans(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let mut rows = Vec::new();
    for clean in instants(call)?.into_iter().take(call.arguments.limit()) {
        let Some(done) = metadata_of::<HoodieCleanMetadata>(call.timeline(), clean)? else { continue };
        rows.push(row![
            clean.requested_time.as_str(),
            clean.completion_time.as_ref().map(String::from),
            clean.action.name(),
            done.start_clean_time,
            done.time_taken_in_millis,
            done.total_files_deleted,
            done.earliest_commit_to_retain,
            done.last_completed_commit_timestamp,
            done.version,
        ]);
    }
    Ok(rows)
}

/// `show_cleans_metadata`.
pub(super) fn partitions(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (limit, mut rows) = (call.arguments.limit(), Vec::new());
    for clean in instants(call)? {
        if rows.len() >= limit {
            break;
        }
        let Some(done) = metadata_of::<HoodieCleanMetadata>(call.timeline(), clean)? else { continue };
        rows.extend(done.partition_metadata.iter().map(|(partition, one)| {
            row![
                clean.requested_time.as_str(),
                clean.completion_time.as_ref().map(String::from),
                clean.action.name(),
                done.start_clean_time.as_str(),
                partition,
                one.policy.as_str(),
                one.delete_path_patterns.len(),
                one.success_delete_files.len(),
                one.failed_delete_files.len(),
                one.is_partition_deleted,
                done.time_taken_in_millis,
                done.total_files_deleted,
            ]
        }));
    }
    rows.truncate(limit);
    Ok(rows)
}

/// `show_clean_plans`: of cleans in any state. A plan that cannot be read leaves its columns null.
pub(super) fn plans(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let mut found: Vec<&Instant> =
        call.timeline().instants().iter().filter(|one| one.action == Action::Clean).rev().collect();
    if call.arguments.boolean("showArchived") {
        found.extend(newest_first(call.timeline(), true, Action::Clean)?);
    }
    let row_of = |clean: &Instant| {
        let mut row = row![clean.requested_time.as_str(), clean.state.name(), clean.action.name()];
        match plan_of::<HoodieCleanerPlan>(call.timeline(), clean).ok().flatten() {
            Some(plan) => row.extend(row![
                plan.earliest_instant_to_retain.map(|one| one.timestamp),
                plan.last_completed_commit_timestamp,
                plan.policy,
                plan.version,
                plan.file_paths_to_be_deleted_per_partition.map_or(0, |partitions| partitions.len()),
                plan.partitions_to_be_deleted.map_or(0, |partitions| partitions.len()),
                plan.extra_metadata.filter(|pairs| !pairs.is_empty()).map(|pairs| {
                    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
                }),
            ]),
            None => row.resize(10, ProcedureValue::Null),
        }
        row
    };
    Ok(found.into_iter().take(call.arguments.limit()).map(row_of).collect())
}

/// The rows of `run_clean`.
pub(super) fn of_run(timeline: &Timeline, instants: &[String]) -> Result<Vec<ProcedureRow>> {
    let mut rows = Vec::new();
    for clean in timeline.instants().iter().filter(|one| one.action == Action::Clean && one.is_completed()) {
        if !instants.iter().any(|time| clean.requested_time == **time) {
            continue;
        }
        let Some(done) = metadata_of::<HoodieCleanMetadata>(timeline, clean)? else { continue };
        rows.push(row![
            done.start_clean_time,
            done.time_taken_in_millis,
            done.total_files_deleted,
            done.earliest_commit_to_retain,
            "{}",
            done.version,
        ]);
    }
    Ok(rows)
}
