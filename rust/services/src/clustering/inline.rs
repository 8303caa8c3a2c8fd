//! Clustering after a write, by the writer's own options (`BaseHoodieTableServiceClient.runTableServicesInline`).

use std::sync::Arc;

use super::cluster::{execute_pending, schedule};
use crate::inline_options::{InlineServices, InlineStep};
use crate::transaction::ExecutePlan;
use mortice_base::error::Result;
use mortice_commit::writable_table::WritableTable;
use mortice_table::timeline::{Action, Instant, MetadataPart, Timeline};

/// Runs what options ask for after a write: all pending plans and a new one if it is due, or a new plan alone.
pub(crate) fn cluster_inline(
    target: &Arc<WritableTable>,
    inline: &InlineServices,
    execute: ExecutePlan<'_>,
) -> Result<()> {
    if inline.clustering == InlineStep::Skip {
        return Ok(());
    }
    let runs = inline.clustering == InlineStep::Run;
    if runs {
        execute_pending(target, execute)?;
    }
    let table = target.latest();
    let timeline = &table.timeline;
    if !runs && !timeline.pending_clustering()?.is_empty() {
        return Ok(());
    }
    if commits_since_clustering(timeline)? >= inline.clustering_commits && schedule(target)?.is_some() && runs {
        execute_pending(target, execute)?;
    }
    Ok(())
}

/// Writes that were completed and requested after the last clustering, pending or completed
/// (`ClusteringPlanActionExecutor`).
pub(crate) fn commits_since_clustering(timeline: &Timeline) -> Result<usize> {
    let mut last = timeline.pending_clustering()?.into_iter().map(|instant| &instant.requested_time).max();
    for instant in timeline.completed_writes().rev().filter(|instant| instant.action == Action::ReplaceCommit) {
        if is_clustering(timeline, instant)? {
            last = last.max(Some(&instant.requested_time));
            break;
        }
    }
    Ok(timeline.completed_writes().filter(|instant| last.is_none_or(|last| instant.requested_time > *last)).count())
}

fn is_clustering(timeline: &Timeline, instant: &Instant) -> Result<bool> {
    let metadata = timeline.commit_metadata(instant, MetadataPart::All)?;
    Ok(metadata.is_some_and(|metadata| metadata.is_clustering()))
}
