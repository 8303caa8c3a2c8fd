//! The log records of a changelog as whole rows: each log file with partial records is merged with the file group
//! before it, one file after the other.

use std::sync::Arc;

use crate::file_group::FileSlice;
use crate::split::{CommitRange, Query, Split};
use mortice_base::error::{Error, Result};
use mortice_base::names::LogFileName;
use mortice_base::names::instant_range::InstantRange;

/// Returns a split for the base file of a slice, and one for each of its log files: the rows that a commit of the range
/// wrote to it, merged with nothing of the range.
pub(super) fn split_by_log(split: &Split) -> Result<Vec<Split>> {
    let slice = split.slice.as_ref();
    let own = |slice: FileSlice| Split { slice: Arc::new(slice), part: None, ..split.clone() };
    let mut splits = Vec::with_capacity(slice.log_files.len().saturating_add(1));
    if slice.base_file.is_some() {
        splits.push(own(FileSlice { log_files: Vec::new(), ..slice.clone() }));
    }
    for log in &slice.log_files {
        let name = LogFileName::parse(log.name()).ok_or_else(|| {
            Error::invalid_table("a log file of a changelog whose name has no instant").in_file(&log.path)
        })?;
        if split.query.range.as_ref().is_some_and(|range| !range.rows.contains(&name.instant)) {
            continue;
        }
        let commit = InstantRange::ExactMatch([name.instant].into());
        let range = Some(CommitRange { blocks: commit.clone(), rows: commit, own_base_rows: false });
        let query = Query { changelog: false, over_base: true, range, ..Query::clone(&split.query) };
        let slice = FileSlice { base_file: None, log_files: vec![log.clone()], ..slice.clone() };
        splits.push(Split { query: Arc::new(query), ..own(slice) });
    }
    Ok(splits)
}
