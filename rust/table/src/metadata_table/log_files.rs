//! Whether the list of files of a metadata table has all the files that its timeline says it has. A file that is gone
//! takes the files with it that it lists, and so rows: a reader notices a damaged file, but not a missing one.
//!
//! | file of the partition `files` | is needed |
//! |---|---|
//! | the base file of the newest compaction | always |
//! | a base file | from table version 8 on: the initialisation wrote one |
//! | a log of each write of the table since that base file | from table version 8 on: each commit lists its partitions |
//!
//! Up to table version 7 the names of logs do not have their commits.

use std::collections::BTreeSet;

use super::init_instant::is_init_instant;
use crate::file_group::{FileSlice, LogFile, PartitionFiles};
use crate::timeline::{Action, Instant, Timeline};
use mortice_base::error::{Error, Result};
use mortice_base::names::{CompletionTime, LogFileName, RequestedTime};

/// The bytes of a log file with an empty delete block, without those of its instant.
const EMPTY_LOG: u64 = 63;

/// Whether a log file has no records by its name and size: the first one of a file group, which an initialisation
/// writes so that the group exists (`HoodieBackedTableMetadataWriter.initializeFileGroups`).
#[must_use]
pub fn is_empty_first_log(log: &LogFile) -> bool {
    LogFileName::parse(log.name()).is_some_and(|name| {
        is_init_instant(&name.instant) && log.len <= EMPTY_LOG.saturating_add(name.instant.as_str().len() as u64)
    })
}

/// Makes sure that the partition `files` of a metadata table has the files that are needed.
///
/// Args:
///     files: The files of the partition.
///     slices: Its latest file slices.
///     metadata: The timeline of the metadata table.
///     written: The requested times of completed writes of the table.
///
/// # Errors
/// `InvalidTable`, with the instant whose file is missing.
pub fn check_log_files(
    files: &PartitionFiles,
    slices: &[FileSlice],
    metadata: &Timeline,
    written: &BTreeSet<RequestedTime>,
) -> Result<()> {
    let base = slices.iter().filter_map(|slice| slice.base_file.as_ref()).map(|base| &base.instant).max();
    let compacted = metadata.completed_writes().rfind(|instant| instant.action == Action::Commit);
    if let Some(compacted) = compacted.filter(|compacted| base < Some(&compacted.requested_time)) {
        return Err(missing("base file", compacted));
    }
    let writes = metadata.completed_writes().filter(|write| write.action == Action::DeltaCommit);
    let writes: Vec<(&Instant, &CompletionTime)> =
        writes.filter_map(|write| Some((write, write.completion_time.as_ref()?))).collect();
    let Some((first, _)) = writes.first() else { return Ok(()) };
    let Some(base) = base else { return Err(missing("base file", first)) };
    // A log compaction merges logs, which may be deleted; it has the action and the form of a commit of its own.
    let is_own = |write: &Instant| !written.contains(&write.requested_time) && !is_init_instant(&write.requested_time);
    let merged = writes.iter().filter(|(write, _)| is_own(write)).map(|(_, completed)| *completed).max();
    let logs: BTreeSet<&RequestedTime> = files.log_files.iter().map(|log| &log.name.instant).collect();
    let is_needed = |(write, completed): &&(&Instant, &CompletionTime)| {
        written.contains(&write.requested_time)
            && base.compare_to_completion(completed).is_some_and(std::cmp::Ordering::is_lt)
            && merged.is_none_or(|merged| *completed > merged)
    };
    match writes.iter().filter(is_needed).find(|(write, _)| !logs.contains(&write.requested_time)) {
        Some((write, _)) => Err(missing("log file", write)),
        None => Ok(()),
    }
}

fn missing(what: &str, instant: &Instant) -> Error {
    let message = format!(
        "the metadata table is damaged: in its partition files the {what} of {instant} is not there; build it again, with \
         Table.build_metadata(rebuild=True) or `mortice metadata build --rebuild`"
    );
    Error::invalid_table(message).at_instant(&instant.requested_time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_group::BaseFile;
    use crate::timeline::timeline;
    use mortice_base::names::BaseFileName;

    const INIT: &str = "00000000000000000_20240101000000000.deltacommit";
    const BASE: &str = "files-0000-0_0-0-0_00000000000000000.hfile";

    /// A delta commit of a second of a minute, which took half a second.
    fn commit(second: u32) -> String {
        format!("202401010001{second:02}000_202401010001{second:02}500.deltacommit")
    }

    fn log(second: u32) -> String {
        format!(".files-0000-0_202401010001{second:02}000.log.1_0-0-0")
    }

    fn check(files: &[&str], metadata: &[&str], written: &[u32]) -> Result<()> {
        let files = PartitionFiles::new("files", files.iter().map(|name| (*name, 1)));
        let base = files.base_files.iter().map(|base| &base.name).max_by(|one, other| one.instant.cmp(&other.instant));
        let slice = FileSlice {
            partition: "files".into(),
            file_id: "files-0000-0".into(),
            base_instant: "1".into(),
            base_file: base.map(base_file),
            log_files: Vec::new(),
        };
        let written = written.iter().map(|second| format!("202401010001{second:02}000").as_str().into()).collect();
        check_log_files(&files, &[slice], &timeline(metadata), &written)
    }

    fn base_file(name: &BaseFileName) -> BaseFile {
        BaseFile {
            path: format!("files/{}", name.name),
            len: 1,
            etag: None,
            instant: name.instant.clone(),
            source: None,
            registered_name: None,
        }
    }

    #[test]
    fn each_write_since_the_base_file_has_a_log() {
        let (one, two) = (commit(1), commit(2));
        assert!(check(&[BASE, &log(1), &log(2)], &[INIT, &one, &two], &[1, 2]).is_ok());
        let error = check(&[BASE, &log(2)], &[INIT, &one, &two], &[1, 2]).unwrap_err();
        assert_eq!(error.location().instant.as_deref(), Some("20240101000101000"), "{error}");
        // One that the table has not completed is not read.
        assert!(check(&[BASE, &log(1)], &[INIT, &one, &two], &[1]).is_ok());
        // A log compaction may have replaced it.
        let merged = commit(3);
        assert!(check(&[BASE, &log(3)], &[INIT, &one, &two, &merged], &[1, 2]).is_ok());
    }

    #[test]
    fn the_base_file_of_the_newest_compaction_is_there() {
        let (one, two) = (commit(1), commit(3));
        let compaction = "20240101000102000_20240101000102500.commit";
        let compacted = "files-0000-0_0-0-0_20240101000102000.hfile";
        assert!(check(&[BASE, compacted, &log(3)], &[INIT, &one, compaction, &two], &[1, 3]).is_ok());
        assert!(check(&[BASE, &log(1), &log(3)], &[INIT, &one, compaction, &two], &[1, 3]).is_err());
        assert!(check(&[&log(1)], &[INIT, &one], &[1]).is_err());
    }

    #[test]
    fn up_to_table_version_7_logs_have_no_names_of_commits() {
        let commits = ["20240101000100000010.deltacommit", "20240101000101000.deltacommit"];
        assert!(check(&[&log(0)], &commits, &[1]).is_ok());
        assert!(check(&[&log(0)], &[&commits[..], &["20240101000101000001.commit"]].concat(), &[1]).is_err());
    }
}
