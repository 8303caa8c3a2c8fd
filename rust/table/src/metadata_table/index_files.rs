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
use std::sync::{Arc, Mutex, PoisonError};

use super::init_instant::is_init_instant;
use crate::file_group::PartitionFiles;
use crate::timeline::{Action, CommitMetadata, Instant, MetadataPart, Timeline};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::parallel;

/// Commits to a metadata table whose metadata was read, by their requested times.
#[derive(Debug, Default)]
pub struct ReadCommits(Mutex<HashMap<RequestedTime, Arc<CommitMetadata>>>);

impl ReadCommits {
    fn read(&self, metadata: &Timeline, commit: &Instant) -> Result<Arc<CommitMetadata>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&commit.requested_time) {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(metadata.commit_metadata(commit, MetadataPart::All)?.unwrap_or_default());
        known().insert(commit.requested_time.clone(), Arc::clone(&found));
        Ok(found)
    }
}

/// Makes sure that a partition has its files.
///
/// Args:
///     files: The listed files of the partition.
///     metadata: The timeline of the metadata table.
///     written: The requested times of completed writes of the table.
///     read: The commits that were read before.
///     threads: How many commits are read at the same time.
///
/// # Errors
/// `InvalidTable`, with the file and the commit that wrote it; errors of reading commits.
pub fn check_index_files(
    files: &PartitionFiles,
    metadata: &Timeline,
    written: &BTreeSet<RequestedTime>,
    read: &ReadCommits,
    threads: usize,
) -> Result<()> {
    let lengths: HashMap<&str, u64> = files.names_and_lengths().collect();
    let needed = needed_since(initialisation(files, metadata), needed_commits(metadata, written));
    parallel::map(&needed, threads, |commit| {
        let found = read.read(metadata, commit)?;
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

/// The newest initialisation of a partition, of which it has files.
fn initialisation<'t>(files: &PartitionFiles, metadata: &'t Timeline) -> Option<&'t Instant> {
    let bases = files.base_files.iter().map(|base| &base.name.instant);
    let instants = bases.chain(files.log_files.iter().map(|log| &log.name.instant));
    let newest = instants.filter(|instant| is_init_instant(instant)).max()?;
    metadata.completed_writes().find(|write| write.requested_time == *newest)
}

/// Leaves out commits before the initialisation of the partition, which are of an index that was dropped, and the
/// initialisations of other partitions.
fn needed_since<'t>(initialisation: Option<&Instant>, commits: Vec<&'t Instant>) -> Vec<&'t Instant> {
    let Some(begun) = initialisation else { return commits };
    let is_since = |commit: &Instant| match (&commit.completion_time, &begun.completion_time) {
        (Some(completed), Some(begun)) => completed > begun,
        _ => commit.requested_time > begun.requested_time,
    };
    let is_needed = |commit: &&Instant| match is_init_instant(&commit.requested_time) {
        true => commit.requested_time == begun.requested_time,
        false => is_since(commit),
    };
    commits.into_iter().filter(is_needed).collect()
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
    fn an_index_that_was_built_again_needs_commits_since() {
        let own = "00000000000000003_20240101000000200.deltacommit";
        let other = "00000000000000004_20240101000000250.deltacommit";
        let before = "20240101000000100_20240101000000101.deltacommit";
        let after = "20240101000000300_20240101000000301.deltacommit";
        let timeline = timeline(&[own, other, before, after]);
        let all: Vec<&Instant> = timeline.completed_writes().collect();
        let files = PartitionFiles::new("p", [(".p-0000-0_00000000000000003.log.1_0-0-0", 80)]);
        let kept = needed_since(initialisation(&files, &timeline), all.clone());
        let times: Vec<&str> = kept.iter().map(|commit| commit.requested_time.as_str()).collect();
        assert_eq!(times, ["00000000000000003", "20240101000000300"]);
        assert_eq!(needed_since(initialisation(&PartitionFiles::new("p", []), &timeline), all.clone()), all);
    }

    #[test]
    fn layout_1_compares_times_with_suffixes() {
        let metadata =
            ["20240101000000000.deltacommit", "20240101000000000001.commit", "20240102000000000.deltacommit"];
        let written = ["20240101000000000", "20240102000000000"];
        assert_eq!(needed(&metadata, &written), ["20240101000000000001", "20240102000000000"]);
    }
}
