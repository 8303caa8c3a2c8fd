//! `Commit`: what a write did.

use mortice::rows;
use mortice::services::grouped;
use mortice::timeline::WriteOperation;
use mortice::transaction::{Committed, WriteResult};
use mortice::write::WriteStatus;
use pyo3::prelude::*;

use crate::arrow::ArrowType;
use crate::results::{fields_repr, result_class, visible, warn};

result_class! {
    /// What a write did to a file group: one file of it.
    FileGroupStats(partition, file_id, path, file_bytes, rows_written, inserts, updates, deletes) {
        partition: String,
        file_id: String,
        path: Option<String>,
        file_bytes: u64,
        rows_written: u64,
        inserts: u64,
        updates: u64,
        deletes: u64,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// A row that was not written, with `hoodie.write.ignore.failed`.
    RowError(record_key, message) {
        record_key: Option<String>,
        message: String,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// A column, or a field within one, that a write has added or given another type.
    SchemaChange(column, before, after) {
        column: String,
        before: Option<ArrowType>,
        after: ArrowType,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// A completed write.
    ///
    /// commit = table.upsert(rows)
    /// commit.instant, commit.inserts, commit.updates
    Commit(
        instant, completion_time, operation, stats, errors=Vec::new(), error_count=0, attempts=1,
        schema_changes=Vec::new()
    ) {
        instant: String,
        completion_time: Option<String>,
        operation: String,
        stats: Vec<FileGroupStats>,
        errors: Vec<RowError>,
        error_count: u64,
        attempts: u32,
        schema_changes: Vec<SchemaChange>,
    }
    repr = commit_repr;

    /// The number of rows whose key was new.
    #[getter]
    fn inserts(&self) -> u64 {
        self.sum(|stats| stats.inserts)
    }

    /// The number of rows whose key was there. A late row that loses is not counted where a base file is rewritten; it
    /// is where rows are appended to a log, as no stored row is read.
    #[getter]
    fn updates(&self) -> u64 {
        self.sum(|stats| stats.updates)
    }

    /// The number of deleted keys.
    #[getter]
    fn deletes(&self) -> u64 {
        self.sum(|stats| stats.deletes)
    }

    /// The size of the written files, in bytes.
    #[getter]
    fn bytes_written(&self) -> u64 {
        self.sum(|stats| stats.file_bytes)
    }

    /// The commit as a table, for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let columns = ["partition", "file_id", "inserts", "updates", "deletes", "file_bytes"];
        let row = |one: &FileGroupStats| {
            (one.partition.clone(), one.file_id.clone(), one.inserts, one.updates, one.deletes, one.file_bytes)
        };
        let rows: Vec<_> = slf.get().stats.iter().map(row).collect();
        let markup = slf.py().import("mortice.display.markup")?;
        markup.call_method1("grid", (columns, rows, commit_repr(slf)?))
    }
}

result_class! {
    /// A commit that has completed.
    CommitEvent(uri, commit) {
        uri: String,
        commit: Commit,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

impl Commit {
    fn sum(&self, number: impl Fn(&FileGroupStats) -> u64) -> u64 {
        self.stats.iter().map(number).fold(0, u64::saturating_add)
    }
}

fn commit_repr(commit: &Bound<'_, Commit>) -> PyResult<String> {
    let (py, commit) = (commit.py(), commit.get());
    let counts = [("inserted", commit.inserts()), ("updated", commit.updates()), ("deleted", commit.deletes())];
    let rows = counts.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{} {what}", grouped(*count)));
    let rows = rows.collect::<Vec<_>>().join(", ");
    let rows = if rows.is_empty() { "no rows" } else { &rows };
    let files = commit.stats.iter().filter(|stats| stats.path.is_some()).count();
    let plural = if files == 1 { "" } else { "s" };
    let failed = match commit.error_count {
        0 => String::new(),
        count => format!(", {} not written", grouped(count)),
    };
    let instant = if commit.instant.is_empty() { "none" } else { &commit.instant };
    let operation = &commit.operation;
    visible(py, &format!("Commit({instant}, {operation}: {rows} in {files} file{plural}{failed})"))
}

/// Returns what a write did, and warns of options that have no effect.
pub(crate) fn commit_of_write(py: Python<'_>, result: WriteResult) -> PyResult<Commit> {
    let WriteResult { committed, refused, warnings, attempts, schema_changes } = result;
    warn(py, &warnings)?;
    let errors =
        refused.errors.into_iter().map(|error| RowError { record_key: error.record_key, message: error.message });
    Ok(Commit {
        instant: committed.instant.to_string(),
        completion_time: committed.completion_time.map(|time| time.to_string()),
        operation: committed.operation.name().to_owned(),
        stats: committed.statuses.iter().map(stats_of).collect(),
        errors: errors.collect(),
        error_count: refused.total,
        attempts,
        schema_changes: schema_changes.into_iter().map(change_of).collect(),
    })
}

/// Returns what an upsert did that had no rows to write: nothing.
pub(crate) fn no_commit() -> Commit {
    Commit {
        instant: String::new(),
        completion_time: None,
        operation: WriteOperation::Upsert.name().to_owned(),
        stats: Vec::new(),
        errors: Vec::new(),
        error_count: 0,
        attempts: 1,
        schema_changes: Vec::new(),
    }
}

/// Returns what a service did that warns by itself.
pub(crate) fn commit_of(py: Python<'_>, committed: Committed) -> PyResult<Commit> {
    commit_of_write(py, WriteResult::new(committed))
}

fn stats_of(status: &WriteStatus) -> FileGroupStats {
    let (path, file_bytes) = status.file.as_ref().map_or((None, 0), |file| (Some(file.path.clone()), file.bytes));
    FileGroupStats {
        partition: status.partition.clone(),
        file_id: status.file_id.clone(),
        path,
        file_bytes,
        rows_written: status.writes,
        inserts: status.inserts,
        updates: status.updates,
        deletes: status.deletes,
    }
}

fn change_of(change: rows::SchemaChange) -> SchemaChange {
    let rows::SchemaChange { column, before, after } = change;
    SchemaChange { column, before: before.map(ArrowType), after: ArrowType(after) }
}
