//! Readers of a table while it is written.

use std::sync::PoisonError;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::store::CommitLog;
use mortice_base::error::{ErrorKind, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::ReadOptions;
use mortice_table::plan::{QueryOptions, SnapshotRows};

/// The answer that a reader got.
pub(super) struct Answer {
    /// Commits there were when it began, and when it had ended, by the log.
    pub(super) commits: (usize, usize),
    pub(super) uses_metadata: bool,
    pub(super) rows: Vec<(String, i64)>,
}

/// All rows, sorted: those of a key that is there twice as well.
pub(super) fn read(location: &TableLocation, metadata: bool) -> Result<Vec<(String, i64)>> {
    let table = location.open_table(ReadOptions { metadata, ..ReadOptions::default() })?;
    let scan = table.snapshot(&QueryOptions::default(), None, SnapshotRows::Merged)?;
    let mut rows = Vec::new();
    for batch in scan.stream() {
        let batch = batch?;
        let ids = batch.column_by_name("id").unwrap().as_string::<i32>().clone();
        let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>().clone();
        rows.extend((0..batch.num_rows()).map(|at| (ids.value(at).to_owned(), times.value(at))));
    }
    rows.sort();
    Ok(rows)
}

/// Reads the table some times. Files may be cleaned away meanwhile.
pub(super) fn read_often(location: &TableLocation, log: &CommitLog, times: usize) -> Result<Vec<Answer>> {
    let commits = || log.lock().unwrap_or_else(PoisonError::into_inner).len();
    let mut answers = Vec::new();
    for number in 0..times {
        let (begin, uses_metadata) = (commits(), number % 2 == 0);
        match read(location, uses_metadata) {
            Ok(rows) => answers.push(Answer { commits: (begin, commits()), uses_metadata, rows }),
            Err(error) if matches!(error.kind(), ErrorKind::FileCleaned | ErrorKind::FileChanged) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(answers)
}
