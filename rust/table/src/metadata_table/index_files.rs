//! Whether a partition of the metadata table has the files that commits wrote to it. The timeline of the metadata table
//! may be complete and one of its folders not: it was restored from a copy, or a file of it was deleted. An index that
//! is behind then hides rows.
//!
//! | commit to the metadata table | its files in the partition |
//! |---|---|
//! | the newest compaction | are there |
//! | a delta commit since it, and since the newest log compaction | are there |
//! | any before | are merged into those, and may have been deleted |

use std::collections::{BTreeSet, HashMap};

use super::init_instant::is_init_instant;
use crate::file_group::PartitionFiles;
use crate::timeline::{Action, Instant, MetadataPart, Timeline};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::parallel;

/// Makes sure that a partition has its files.
///
/// Args:
///     files: The listed files of the partition.
///     metadata: The timeline of the metadata table.
///     written: The requested times of completed writes of the table.
///     threads: How many commits are read at the same time.
///
/// # Errors
/// `InvalidTable`, with the file and the commit that wrote it; errors of reading commits.
pub fn check_index_files(
    files: &PartitionFiles,
    metadata: &Timeline,
    written: &BTreeSet<RequestedTime>,
    threads: usize,
) -> Result<()> {
    let lengths: HashMap<&str, u64> = files.names_and_lengths().collect();
    let needed: Vec<&Instant> = needed_commits(metadata, written);
    parallel::map(&needed, threads, |commit| {
        let found = metadata.commit_metadata(commit, MetadataPart::All)?.unwrap_or_default();
        let stats = found.write_stats.get(&files.partition).into_iter().flatten();
        for (path, stat) in stats.filter_map(|stat| Some((stat.path.as_deref()?, stat))) {
            let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
            let least = stat.file_size_in_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
            match lengths.get(name) {
                Some(len) if *len >= least => {}
                Some(len) => {
                    return Err(behind(files, commit, &format!("{name} has {len} bytes, not {least}")));
                }
                None => return Err(behind(files, commit, &format!("{name} is not there"))),
            }
        }
        Ok(())
    })
    .map(drop)
}

/// The commits whose files are needed.
fn needed_commits<'t>(metadata: &'t Timeline, written: &BTreeSet<RequestedTime>) -> Vec<&'t Instant> {
    let compacted = metadata.completed_writes().rfind(|instant| instant.action == Action::Commit);
    let is_since = |write: &Instant, since: &Instant| match &write.completion_time {
        // A compaction merges what was completed before it was planned.
        Some(completed) => completed.as_str() > since.requested_time.as_str(),
        None => write.requested_time > since.requested_time,
    };
    let deltas = metadata.completed_writes().filter(|write| write.action == Action::DeltaCommit);
    let deltas = deltas.filter(|write| compacted.is_none_or(|compacted| is_since(write, compacted)));
    let deltas: Vec<&Instant> = deltas.collect();
    // A log compaction has the action and the form of a commit of its own.
    let is_own = |write: &Instant| !written.contains(&write.requested_time) && !is_init_instant(&write.requested_time);
    let merged = deltas.iter().rposition(|write| is_own(write));
    let since = deltas.into_iter().skip(merged.unwrap_or_default());
    compacted.into_iter().chain(since).collect()
}

fn behind(files: &PartitionFiles, commit: &Instant, what: &str) -> Error {
    let message = format!(
        "the index {} is damaged or behind the timeline: {what}, which {commit} wrote; build the index again, by dropping and adding \
         it with Table.build_metadata or `mortice metadata build`",
        files.partition
    );
    Error::invalid_table(message).at_instant(&commit.requested_time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline;

    fn needed(metadata: &[&str], written: &[&str]) -> Vec<String> {
        let written = written.iter().map(|time| RequestedTime::from(*time)).collect();
        let timeline = timeline(metadata);
        needed_commits(&timeline, &written).iter().map(|commit| commit.requested_time.to_string()).collect()
    }

    #[test]
    fn commits_before_a_compaction_are_merged() {
        let init = "00000000000000001_20240101000000500.deltacommit";
        let one = "20240101000000000_20240101000000001.deltacommit";
        let two = "20240101000000300_20240101000000301.deltacommit";
        let compaction = "20240101000000200_20240101000000202.commit";
        let written = ["20240101000000000", "20240101000000300"];
        assert_eq!(
            needed(&[one, compaction, two, init], &written),
            ["20240101000000200", "00000000000000001", "20240101000000300"]
        );
        assert_eq!(needed(&[one], &written), ["20240101000000000"]);
        // Another delta commit than those of the table's writes: a log compaction.
        let merged = "20240101000000250_20240101000000251.deltacommit";
        assert_eq!(needed(&[one, merged, two], &written), ["20240101000000250", "20240101000000300"]);
    }

    #[test]
    fn layout_1_compares_times_with_suffixes() {
        let metadata =
            ["20240101000000000.deltacommit", "20240101000000000001.commit", "20240102000000000.deltacommit"];
        let written = ["20240101000000000", "20240102000000000"];
        assert_eq!(needed(&metadata, &written), ["20240101000000000001", "20240102000000000"]);
    }
}
