//! The rows that logs change: they are merged with the rows of a slice, and rows that do not stay are returned before
//! and after the merge. The rows of the slice are streamed in batches; the keys of the logs are in memory.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::file_group::FileSlice;
use crate::read::base::base_segments::BaseSegment;
use crate::read::base::merge_base::MergeBase;
use crate::read::base::merged_slice::MergedSlice;
use crate::read::columns::constant_columns::RowQuery;
use crate::read::columns::path_values::PathValues;
use crate::read::columns::projection::Projection;
use crate::read::logs::log_blocks::scan;
use crate::read::report::SharedReport;
use crate::read::slice::base_parts::BaseParts;
use crate::read::slice::file_slice::SliceReader;
use crate::read::slice::merge_input::MergeInput;
use crate::read::slice::slice_merge::SliceMerge;
use crate::split::Split;
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::Result;
use mortice_formats::base_file::BaseBatches;
use mortice_merge::merge::engine::RowChanges;
use mortice_storage as storage;

/// Some rows that change.
pub enum RowsChanged {
    /// Rows of the slice that are updated or deleted.
    Merged(RowChanges),
    /// New rows.
    Inserted(RecordBatch),
}

/// How logs are merged.
#[derive(Debug, Clone, Copy)]
pub(in crate::read) struct MergeLimit {
    /// Bytes in memory.
    pub(in crate::read) memory_limit: u64,
    /// Whether deletes win over any ordering value.
    pub(in crate::read) deletes_win: bool,
}

/// The remaining changes of logs.
pub struct ChangedRows {
    projection: Projection,
    path_values: PathValues,
    before: BaseParts,
    merge: SliceMerge,
}

impl ChangedRows {
    /// Reads the keys of logs; returns `None` if they have no records. `before` is the split of the rows before, with
    /// the columns that are returned, `logs` that of the log files alone.
    pub(in crate::read) fn open(
        before: Split,
        logs: &Split,
        limit: MergeLimit,
        report: &SharedReport,
    ) -> Result<Option<Self>> {
        let query = Arc::clone(&before.query);
        let table = avro::Schema::parse(&query.schema)?;
        let types = avro::arrow_schema(&table, ArrowMapping::Table)?;
        let storage = storage::open_counted(&query.uri, &query.storage, query.options.mmap, report.requests())?;
        let blocks = scan(logs, &storage, report)?;
        if blocks.blocks.is_empty() {
            return Ok(None);
        }
        let (partition, merger) = (before.slice.partition.clone(), before.merger.clone());
        let memory_limit = limit.memory_limit / 2;
        let of_rows = report.clone();
        let open = move |rows| -> Result<BaseBatches> {
            Ok(Box::new(SliceReader::new(rows, of_rows.clone())?.within(memory_limit)))
        };
        let base: Arc<dyn MergeBase> = Arc::new(MergedSlice::new(before, Box::new(open)));
        let (projection, merge) = SliceMerge::load(MergeInput {
            query: &query,
            rows: &RowQuery::whole(&query),
            table: &table,
            types: &types,
            blocks,
            base: &base,
            merger: merger.as_ref(),
            memory_limit,
            deletes_win: limit.deletes_win,
            report,
        })?;
        let batches = base.rows(BaseSegment::Own, &projection.base)?;
        let before = BaseParts::new(batches, query.options.batch_limit(limit.memory_limit));
        let path_values = PathValues::from_path(&query, &partition)?;
        Ok(Some(Self { projection, path_values, before, merge }))
    }

    /// The changes that the log files of a split make to its base file.
    ///
    /// # Errors
    /// Those of reading the files.
    pub fn of_slice(split: &Split, memory_limit: u64) -> Result<Option<Self>> {
        let part = |slice| Split { slice: Arc::new(slice), ..split.clone() };
        let slice = split.slice.as_ref();
        let before = part(FileSlice { log_files: Vec::new(), ..slice.clone() });
        let logs = part(FileSlice { base_file: None, ..slice.clone() });
        Self::open(before, &logs, MergeLimit { memory_limit, deletes_win: false }, &SharedReport::default())
    }

    /// Returns the next changes; `None` after the last.
    ///
    /// # Errors
    /// Those of reading the files.
    pub fn next_changes(&mut self) -> Result<Option<RowsChanged>> {
        while let Some(rows) = self.before.next(Some(&self.merge)) {
            let rows = rows?;
            let projected = self.projection.projected_of(&rows)?;
            let Some(RowChanges { before, deleted, after }) = self.merge.changes(&rows, &projected)? else { continue };
            let (before, after) = (self.path_values.put_into(before)?, self.path_values.put_into(after)?);
            return Ok(Some(RowsChanged::Merged(RowChanges { before, deleted, after })));
        }
        while let Some(rows) = self.merge.inserts(self.before.limit())? {
            if rows.num_rows() > 0 {
                return Ok(Some(RowsChanged::Inserted(self.path_values.put_into(rows)?)));
            }
        }
        Ok(None)
    }
}
