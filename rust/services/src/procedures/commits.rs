//! Commits and their files: `show_commits`, `show_commits_metadata`, `show_archived_commits`,
//! `show_archived_commits_metadata`, `stats_wa`, `commits_compare`.

use chrono::TimeDelta;

use super::call::Call;
use super::metadata::{commit_of, stats, sum};
use super::value::{ProcedureRow, ProcedureValue, row};
use mortice_base::error::Result;
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::ReadOptions;
use mortice_table::timeline::{Action, Instant, Timeline};

/// The days before now that archived commits are shown of, if the call does not say.
const ARCHIVED_DAYS: [i64; 2] = [10, 1];

/// `show_commits`.
pub(super) fn commits(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    totals(call, call.timeline().completed_writes().rev(), true)
}

/// `show_archived_commits`, whose rows have no action.
pub(super) fn archived_commits(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    totals(call, archived(call)?.into_iter(), false)
}

/// `show_commits_metadata`.
pub(super) fn files(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    files_of(call, call.timeline().completed_writes().rev())
}

/// `show_archived_commits_metadata`.
pub(super) fn archived_files(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    files_of(call, archived(call)?.into_iter())
}

/// The archived writes of the range that a call names, the newest first. Its begin is not part of it.
fn archived<'a>(call: &'a Call<'_>) -> Result<Vec<&'a Instant>> {
    let now = call.time()?.now();
    let zone = call.table.config.timeline_zone;
    let bound =
        |name: &str, days: i64| call.arguments.text(name).unwrap_or_else(|| zone.digits(now - TimeDelta::days(days)));
    let [begin, end] = ARCHIVED_DAYS;
    let (begin, end) = (bound("start_ts", begin), bound("end_ts", end));
    let is_in_range = |one: &&Instant| {
        let time = one.requested_time.as_str();
        one.is_completed_write() && time > begin.as_str() && time <= end.as_str()
    };
    Ok(call.timeline().archived()?.iter().rev().filter(is_in_range).collect())
}

fn totals<'a>(
    call: &'a Call<'_>,
    writes: impl Iterator<Item = &'a Instant>,
    has_action: bool,
) -> Result<Vec<ProcedureRow>> {
    let row_of = |write: &'a Instant| {
        let commit = commit_of(call.timeline(), write)?;
        let count = |is_counted: fn(&str) -> bool| {
            stats(&commit).filter(|(_, stat)| stat.prev_commit.as_deref().is_some_and(is_counted)).count()
        };
        let mut row = row![String::from(&write.requested_time), write.completion_time.as_ref().map(String::from)];
        if has_action {
            row.push(write.action.name().into());
        }
        row.extend(row![
            sum(stats(&commit), |stat| stat.total_write_bytes),
            count(|previous| previous == "null"),
            count(|previous| previous != "null"),
            commit.partition_to_write_stats.as_ref().map_or(0, |partitions| partitions.len()),
            sum(stats(&commit), |stat| stat.num_writes),
            sum(stats(&commit), |stat| stat.num_update_writes),
            sum(stats(&commit), |stat| stat.total_write_errors),
        ]);
        Ok(row)
    };
    writes.take(call.arguments.limit()).map(row_of).collect()
}

fn files_of<'a>(call: &'a Call<'_>, writes: impl Iterator<Item = &'a Instant>) -> Result<Vec<ProcedureRow>> {
    let (limit, mut rows) = (call.arguments.limit(), Vec::new());
    for write in writes {
        if rows.len() >= limit {
            break;
        }
        let commit = commit_of(call.timeline(), write)?;
        rows.extend(stats(&commit).map(|(partition, stat)| {
            let number = |number: Option<i64>| ProcedureValue::from(number.unwrap_or(0));
            row![
                String::from(&write.requested_time),
                write.completion_time.as_ref().map(String::from),
                write.action.name(),
                stat.partition_path.as_deref().unwrap_or(partition),
                stat.file_id.as_ref(),
                stat.prev_commit.as_ref(),
                number(stat.num_writes),
                number(stat.num_inserts),
                number(stat.num_deletes),
                number(stat.num_update_writes),
                number(stat.total_write_errors),
                number(stat.total_log_blocks),
                number(stat.total_corrupt_log_block),
                number(stat.total_rollback_blocks),
                number(stat.total_log_records),
                number(stat.total_updated_records_compacted),
                number(stat.total_write_bytes),
            ]
        }));
    }
    rows.truncate(limit);
    Ok(rows)
}

/// `hudi_query_timeline`: instants of any state, the oldest first. Others than completed writes have -1 for what
/// commits wrote.
pub(super) fn query_timeline(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let timeline = call.timeline();
    let archived = if call.arguments.boolean("archived") { timeline.archived()? } else { &[] };
    let row_of = |instant: &Instant| {
        let mut numbers = [-1; 6];
        if instant.is_completed_write() {
            let commit = commit_of(timeline, instant)?;
            let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            let updated =
                stats(&commit).filter(|(_, stat)| stat.prev_commit.as_deref().is_some_and(|one| one != "null"));
            numbers = [
                sum(stats(&commit), |stat| stat.total_write_bytes),
                count(updated.count()),
                count(commit.partition_to_write_stats.as_ref().map_or(0, |partitions| partitions.len())),
                sum(stats(&commit), |stat| stat.num_writes),
                sum(stats(&commit), |stat| stat.num_update_writes),
                sum(stats(&commit), |stat| stat.total_write_errors),
            ];
        }
        let mut row = row![
            instant.requested_time.as_str(),
            instant.action.name(),
            instant.state.name(),
            instant.completion_time.as_ref().map(String::from),
            Some(instant.file_name.as_str()).filter(|name| !name.is_empty()),
        ];
        row.extend(numbers.map(ProcedureValue::from));
        Ok(row)
    };
    archived.iter().chain(timeline.instants()).map(row_of).collect()
}

/// `stats_wa`: of commits and replace commits, the oldest first. A delta commit does not rewrite rows.
pub(super) fn write_amplification(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (mut rows, mut upserted, mut written) = (Vec::new(), 0_i64, 0_i64);
    let row_of = |title: &str, upserted: i64, written: i64| row![title, upserted, written, factor(upserted, written)];
    for write in call.timeline().completed_writes().filter(|one| one.action != Action::DeltaCommit) {
        let commit = commit_of(call.timeline(), write)?;
        let of_commit = sum(stats(&commit), |stat| stat.num_update_writes);
        let all = sum(stats(&commit), |stat| stat.num_writes);
        rows.push(row_of(write.requested_time.as_str(), of_commit, all));
        upserted = upserted.saturating_add(of_commit);
        written = written.saturating_add(all);
    }
    rows.push(row_of("Total", upserted, written));
    rows.truncate(call.arguments.limit());
    Ok(rows)
}

/// Rows written for each row upserted, as Java's `DecimalFormat("#.00")` writes it.
#[expect(clippy::cast_precision_loss, reason = "a factor of two decimal places")]
fn factor(upserted: i64, written: i64) -> String {
    if upserted <= 0 {
        return "0".to_owned();
    }
    let text = format!("{:.2}", written as f64 / upserted as f64);
    text.strip_prefix('0').filter(|rest| rest.starts_with('.')).map(str::to_owned).unwrap_or(text)
}

/// `commits_compare`: the commits that one copy of a table has after the last one of the other.
pub(super) fn compare(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let path = call.arguments.required("path")?;
    let other = TableLocation::new(&path, call.location.storage_options()).open_table(ReadOptions::default())?;
    let last = |timeline: &Timeline| {
        timeline.completed_writes().next_back().map_or_else(|| "0".to_owned(), |one| one.requested_time.to_string())
    };
    let after = |timeline: &Timeline, time: &str| {
        let times = timeline.completed_writes().map(|one| one.requested_time.to_string());
        times.filter(|one| one.as_str() > time).collect::<Vec<_>>()
    };
    let (source, target) = (last(call.timeline()), last(&other.timeline));
    let (word, missing) = if target > source {
        ("behind", after(&other.timeline, &source))
    } else {
        ("ahead", after(call.timeline(), &target))
    };
    let (name, count, missing) = (&call.table.config.name, missing.len(), missing.join(", "));
    let detail = format!("Source {name} is {word} by {count} commits. Commits to catch up - [{missing}]");
    Ok(vec![row![detail]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_two_decimal_places() {
        let found = [(0, 7), (1, 1), (1, 6), (3, 1), (3, 2)].map(|(upserted, written)| factor(upserted, written));
        assert_eq!(found, ["0", "1.00", "6.00", ".33", ".67"]);
    }
}
