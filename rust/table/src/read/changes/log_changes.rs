//! The changes that the logs of one commit make to the rows of a slice (`CDCFileGroupIterator`, `LOG_FILE`): the log
//! records are merged with each other, and then with the merged rows of the previous slice.
//!
//! | row before | log record | change |
//! |---|---|---|
//! | exists | a delete, for any ordering value | `d` |
//! | exists | a record that wins | `u`, unless the row stays the same |
//! | exists | a record that loses | none |
//! | none | a delete | none |
//! | none | a record | `i` |
//!
//! [`super::changed_rows`] finds the rows.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};

use super::change_batch::{ChangeBatch, ChangeOperation};
use super::changed_rows::{ChangedRows, MergeLimit, RowsChanged};
use super::image_text::ImageFormat;
use crate::file_group::{FileSlice, LogFile};
use crate::read::report::SharedReport;
use crate::split::{CommitRange, Query, Split};
use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::names::instant_range::InstantRange;
use mortice_merge::merge::engine::RowChanges;

/// The remaining changes of a log, as images.
pub(in crate::read) struct LogChanges {
    table: avro::Schema,
    form: ImageFormat,
    rows: ChangedRows,
}

impl LogChanges {
    /// Reads the logs' keys; returns `None` if they have no records. `split` is that of the previous rows, with all
    /// columns of the table.
    pub(in crate::read) fn open(
        split: &Split,
        logs: &[LogFile],
        instant: &RequestedTime,
        form: ImageFormat,
        memory_limit: u64,
        report: &SharedReport,
    ) -> Result<Option<Self>> {
        let logs = split_of_commit(split, logs, instant);
        let limit = MergeLimit { memory_limit, deletes_win: true };
        let rows = ChangedRows::open(without_commit(split, instant), &logs, limit, report)?;
        let table = avro::Schema::parse(&split.query.schema)?;
        Ok(rows.map(|rows| Self { table, form, rows }))
    }

    /// Returns the next changes; `None` after the last.
    pub(in crate::read) fn next(&mut self) -> Result<Option<ChangeBatch>> {
        while let Some(changed) = self.rows.next_changes()? {
            match changed {
                RowsChanged::Merged(found) => {
                    if let Some(changes) = self.changes_of_rows(found)? {
                        return Ok(Some(changes));
                    }
                }
                RowsChanged::Inserted(rows) => {
                    return Ok(Some(ChangeBatch::all(ChangeOperation::Insert, self.images(rows)?)));
                }
            }
        }
        Ok(None)
    }

    fn images(&self, rows: RecordBatch) -> Result<StringArray> {
        self.form.images_of_batch(&self.table, &rows)
    }

    fn changes_of_rows(&self, RowChanges { before, deleted, after }: RowChanges) -> Result<Option<ChangeBatch>> {
        let (before, after) = (self.images(before)?, self.images(after)?);
        if deleted.len() != before.len() || after.len() != deleted.iter().filter(|deleted| !**deleted).count() {
            return Err(Error::invalid_table("changed rows without their images"));
        }
        let mut operations = Vec::with_capacity(deleted.len());
        let (mut befores, mut afters) = (Vec::new(), Vec::new());
        let mut next = after.iter();
        for (deleted, image) in deleted.into_iter().zip(before.iter()) {
            let made = if deleted { None } else { next.next().flatten() };
            if !deleted && made == image {
                continue;
            }
            let operation = if deleted { ChangeOperation::Delete } else { ChangeOperation::Update };
            operations.push(Some(operation.text()));
            befores.push(image);
            afters.push(made);
        }
        if operations.is_empty() {
            return Ok(None);
        }
        let column = |images: Vec<Option<&str>>| -> Option<ArrayRef> { Some(Arc::new(StringArray::from(images))) };
        Ok(Some(ChangeBatch { operations: operations.into(), before: column(befores), after: column(afters) }))
    }
}

/// Returns a split of the logs only, restricted to blocks of the commit: up to table version 7 commits may share a log
/// file.
fn split_of_commit(split: &Split, logs: &[LogFile], instant: &RequestedTime) -> Split {
    let mut query = Query::clone(&split.query);
    if query.commits_by_block {
        let blocks = InstantRange::ExactMatch([instant.clone()].into());
        query.range = Some(CommitRange { rows: blocks.clone(), blocks, own_base_rows: false });
    }
    let slice = FileSlice { base_file: None, log_files: logs.to_vec(), ..FileSlice::clone(&split.slice) };
    Split { query: Arc::new(query), slice: Arc::new(slice), part: None, change: None, merger: None }
}

/// Returns a split of the previous rows: those of the slice, without blocks of the commit and of later ones.
fn without_commit(split: &Split, instant: &RequestedTime) -> Split {
    let mut query = Query::clone(&split.query);
    if query.commits_by_block {
        query.instants.completed.remove(instant);
        query.instants.inflight.insert(instant.clone());
    }
    Split { query: Arc::new(query), ..split.clone() }
}
