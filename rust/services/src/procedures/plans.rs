//! Compactions and clustering: `show_compaction`, `show_clustering`, and the rows of `run_compaction` and
//! `run_clustering`.

use super::call::Call;
use super::metadata::plan_of;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_merge::config::TableType;
use mortice_table::timeline::metadata::{HoodieClusteringPlan, HoodieCompactionPlan, HoodieRequestedReplaceMetadata};
use mortice_table::timeline::{Action, Instant, Timeline};

/// `show_compaction`, the newest first.
pub(super) fn compaction(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    if call.table.config.table_type != TableType::MergeOnRead {
        return Err(Error::invalid_argument("a copy-on-write table has no compactions"));
    }
    compactions(call.timeline(), call.arguments.limit(), |_| true)
}

/// The rows of `run_compaction`.
pub(super) fn of_compaction_run(timeline: &Timeline, instants: &[String]) -> Result<Vec<ProcedureRow>> {
    compactions(timeline, usize::MAX, |one| instants.iter().any(|time| one.requested_time == **time))
}

fn compactions(timeline: &Timeline, limit: usize, is_wanted: impl Fn(&Instant) -> bool) -> Result<Vec<ProcedureRow>> {
    let is_compaction = |one: &&Instant| matches!(one.action, Action::Compaction | Action::Commit) && is_wanted(one);
    let mut rows = Vec::new();
    for instant in timeline.instants().iter().rev().filter(is_compaction).take(limit) {
        // A bulk insert of a merge-on-read table is a commit without a plan.
        let Some(plan) = plan_of::<HoodieCompactionPlan>(timeline, instant)? else { continue };
        let operations = plan.operations.map_or(0, |operations| operations.len());
        rows.push(row![instant.requested_time.as_str(), operations, instant.state.name()]);
    }
    Ok(rows)
}

/// `show_clustering`, the newest first.
pub(super) fn clustering(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let shows_partitions = call.arguments.boolean("show_involved_partition");
    clusterings(call.timeline(), call.arguments.limit(), shows_partitions, |_| true)
}

/// The rows of `run_clustering`.
pub(super) fn of_clustering_run(
    timeline: &Timeline,
    instants: &[String],
    shows_partitions: bool,
) -> Result<Vec<ProcedureRow>> {
    let is_wanted = |one: &Instant| instants.iter().any(|time| one.requested_time == **time);
    clusterings(timeline, usize::MAX, shows_partitions, is_wanted)
}

fn clusterings(
    timeline: &Timeline,
    limit: usize,
    shows_partitions: bool,
    is_wanted: impl Fn(&Instant) -> bool,
) -> Result<Vec<ProcedureRow>> {
    let is_replace = |one: &&Instant| one.action.completes_as() == Action::ReplaceCommit && is_wanted(one);
    let mut rows = Vec::new();
    for instant in timeline.instants().iter().rev().filter(is_replace).take(limit) {
        // Replace commits of other operations have no plan.
        let Some(requested) = plan_of::<HoodieRequestedReplaceMetadata>(timeline, instant)? else { continue };
        let Some(plan) = requested.clustering_plan else { continue };
        let groups = plan.input_groups.as_ref().map_or(0, Vec::len);
        let partitions = if shows_partitions { partitions_of(&plan) } else { "*".to_owned() };
        rows.push(row![instant.requested_time.as_str(), groups, instant.state.name(), partitions]);
    }
    Ok(rows)
}

/// The partition of each slice of a plan, separated by commas.
fn partitions_of(plan: &HoodieClusteringPlan) -> String {
    let groups = plan.input_groups.iter().flatten();
    let slices = groups.flat_map(|group| group.slices.iter().flatten());
    slices.filter_map(|slice| slice.partition_path.as_deref()).collect::<Vec<_>>().join(",")
}
