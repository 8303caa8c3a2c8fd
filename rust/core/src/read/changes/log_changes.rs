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
//! The previous rows are streamed in batches; the log's keys are in memory.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

use super::change_batch::{ChangeBatch, ChangeOperation};
use super::image_text::ImageFormat;
use crate::avro::{self, ArrowMapping};
use crate::base_file::BaseBatches;
use crate::error::{Error, Result};
use crate::file_group::{FileSlice, LogFile};
use crate::merge::engine::RowChanges;
use crate::names::RequestedTime;
use crate::names::instant_range::InstantRange;
use crate::read::base::base_segments::{BaseSegment, BaseSegments};
use crate::read::base::merge_base::MergeBase;
use crate::read::columns::constant_columns::RowQuery;
use crate::read::columns::path_values::PathValues;
use crate::read::columns::projection::Projection;
use crate::read::logs::log_blocks::scan;
use crate::read::report::SharedReport;
use crate::read::slice::file_slice::SliceReader;
use crate::read::slice::merge_input::MergeInput;
use crate::read::slice::slice_merge::SliceMerge;
use crate::split::{CommitRange, Query, Split};
use crate::storage;

/// The remaining changes of a log.
pub(in crate::read) struct LogChanges {
    table: avro::Schema,
    form: ImageFormat,
    projection: Projection,
    path_values: PathValues,
    before: BaseBatches,
    merge: SliceMerge,
    batch_rows: usize,
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
        let query = split.query.as_ref();
        let table = avro::Schema::parse(&query.schema)?;
        let types = avro::arrow_schema(&table, ArrowMapping::Table)?;
        let storage = storage::open_counted(&query.uri, &query.storage, query.options.mmap, report.requests())?;
        let blocks = scan(&split_of_commit(split, logs, instant), storage.as_ref(), report)?;
        if blocks.blocks.is_empty() {
            return Ok(None);
        }
        let before = RowsBefore {
            split: without_commit(split, instant),
            segments: BaseSegments::default(),
            memory_limit: memory_limit / 2,
            report: report.clone(),
        };
        let base: Arc<dyn MergeBase> = Arc::new(before);
        let (projection, merge) = SliceMerge::load(MergeInput {
            query,
            rows: &RowQuery::whole(query),
            table: &table,
            types: &types,
            blocks,
            base: &base,
            merger: split.merger.as_ref(),
            memory_limit: memory_limit / 2,
            deletes_win: true,
            report,
        })?;
        let before = base.rows(BaseSegment::Own, &projection.base)?;
        let path_values = PathValues::from_path(query, &split.slice.partition)?;
        let batch_rows = query.options.batch_rows.max(1);
        Ok(Some(Self { table, form, projection, path_values, before, merge, batch_rows }))
    }

    /// Returns the next changes; `None` after the last.
    pub(in crate::read) fn next(&mut self) -> Result<Option<ChangeBatch>> {
        while let Some(rows) = self.before.next() {
            let rows = rows?;
            let projected = self.projection.projected_of(&rows)?;
            let Some(found) = self.merge.changes(&rows, &projected)? else { continue };
            if let Some(changes) = self.changes_of_rows(found)? {
                return Ok(Some(changes));
            }
        }
        while let Some(rows) = self.merge.inserts(self.batch_rows)? {
            if rows.num_rows() > 0 {
                return Ok(Some(ChangeBatch::all(ChangeOperation::Insert, self.images(rows)?)));
            }
        }
        Ok(None)
    }

    fn images(&self, rows: RecordBatch) -> Result<StringArray> {
        self.form.images_of_batch(&self.table, &self.path_values.put_into(rows)?)
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
    let slice = FileSlice { base_file: None, log_files: logs.to_vec(), ..split.slice.clone() };
    Split { query: Arc::new(query), slice, part: None, change: None, merger: None }
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

/// The rows of the slice in its previous state.
struct RowsBefore {
    split: Split,
    segments: BaseSegments,
    memory_limit: u64,
    report: SharedReport,
}

impl MergeBase for RowsBefore {
    fn segments(&self) -> &BaseSegments {
        &self.segments
    }

    fn instant(&self) -> Option<&RequestedTime> {
        None
    }

    fn rows(&self, segment: BaseSegment, wanted: &SchemaRef) -> Result<BaseBatches> {
        let slice = &self.split.slice;
        if segment != BaseSegment::Own || slice.base_file.is_none() && slice.log_files.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let columns = wanted.fields().iter().map(|field| field.name().clone()).collect();
        let query = Arc::new(Query { columns, ..Query::clone(&self.split.query) });
        let split = Split { query, ..self.split.clone() };
        Ok(Box::new(SliceReader::new(split, self.report.clone())?.within(self.memory_limit)))
    }
}
