//! What one commit wrote: `show_commit_files`, `show_commit_partitions`, `show_commit_write_stats`,
//! `show_commit_extra_metadata`.

use super::call::Call;
use super::metadata::{commit_of, completed_write, is_new_group, stats, sum};
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_table::timeline::Instant;
use mortice_table::timeline::metadata::HoodieCommitMetadata;

/// The write of the argument `instant_time`.
fn write<'a>(call: &'a Call<'_>) -> Result<(&'a Instant, HoodieCommitMetadata)> {
    let time = call.arguments.required("instant_time")?;
    let write = completed_write(call.timeline(), &time).ok_or_else(|| no_commit(&time))?;
    Ok((write, commit_of(call.timeline(), write)?))
}

fn no_commit(time: &str) -> Error {
    Error::invalid_argument(format!("there is no completed commit {time} on the active timeline"))
}

/// `show_commit_files`.
pub(super) fn files(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (write, commit) = write(call)?;
    let rows = stats(&commit).map(|(partition, stat)| {
        row![
            write.action.name(),
            partition,
            stat.file_id.as_ref(),
            stat.prev_commit.as_ref(),
            stat.num_update_writes.unwrap_or(0),
            stat.num_writes.unwrap_or(0),
            stat.total_write_bytes.unwrap_or(0),
            stat.total_write_errors.unwrap_or(0),
            stat.file_size_in_bytes.unwrap_or(0),
        ]
    });
    Ok(rows.take(call.arguments.limit()).collect())
}

/// `show_commit_partitions`.
pub(super) fn partitions(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (write, commit) = write(call)?;
    let partitions = commit.partition_to_write_stats.iter().flat_map(|stats| stats.iter());
    let rows = partitions.map(|(partition, _)| {
        let of_partition = || stats(&commit).filter(|(one, _)| *one == partition);
        let of_old_groups = || of_partition().filter(|(_, stat)| !is_new_group(stat));
        row![
            write.action.name(),
            partition,
            of_partition().filter(|(_, stat)| is_new_group(stat)).count(),
            of_old_groups().count(),
            sum(of_partition(), |stat| stat.num_inserts),
            sum(of_old_groups(), |stat| stat.num_update_writes),
            sum(of_partition(), |stat| stat.total_write_bytes),
            sum(of_partition(), |stat| stat.total_write_errors),
        ]
    });
    Ok(rows.take(call.arguments.limit()).collect())
}

/// `show_commit_write_stats`.
pub(super) fn write_stats(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (write, commit) = write(call)?;
    let bytes = sum(stats(&commit), |stat| stat.total_write_bytes);
    let rows = sum(stats(&commit), |stat| stat.num_writes);
    // Hudi divides by 0 as well: the ceiling of NaN is 0, and that of infinity the greatest number.
    let average = match (bytes, rows) {
        (0, 0) => 0,
        (_, 0) => i64::MAX,
        (bytes, rows) => bytes.saturating_add(rows.saturating_sub(1)).checked_div(rows).unwrap_or(0),
    };
    Ok([row![write.action.name(), bytes, rows, average]].into_iter().take(call.arguments.limit()).collect())
}

/// `show_commit_extra_metadata`, by default of the last commit.
pub(super) fn extra_metadata(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let timeline = call.timeline();
    let write = match call.arguments.text("instant_time") {
        Some(time) => completed_write(timeline, &time).ok_or_else(|| no_commit(&time))?,
        None => timeline.completed_writes().next_back().ok_or_else(|| no_commit("of the table"))?,
    };
    let (commit, wanted) = (commit_of(timeline, write)?, call.arguments.text("metadata_key"));
    let pairs = commit.extra_metadata.iter().flat_map(|pairs| pairs.iter());
    let pairs = pairs.filter(|(key, _)| wanted.as_deref().is_none_or(|wanted| *key == wanted.trim()));
    let rows = pairs
        .map(|(key, value)| row![write.requested_time.as_str(), write.action.name(), key, value.as_str()])
        .take(call.arguments.limit());
    Ok(rows.collect())
}
