//! Reads one file slice: base rows are merged batch by batch, then the remaining log rows are inserted.
//!
//! A slice without valid log blocks is its base file, unchanged. Memory contains the keys of the logs and one batch; it
//! does not grow with the base file.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::base_filter::base_filter;
use super::base_parts::{BaseParts, JoinedParts};
use super::earlier_rows::earlier_rows;
use super::merge_input::MergeInput;
use super::slice_files;
use super::slice_merge::SliceMerge;
use super::whole_records::split_by_log;
use crate::read::base::base_segments::BaseSegment;
use crate::read::base::merge_base::MergeBase;
use crate::read::base::merged_slice::OpenSlice;
use crate::read::base::row_range::RowRange;
use crate::read::base::split_base::{ReadThreads, SplitBase};
use crate::read::columns::constant_columns::{ConstantColumns, RowQuery};
use crate::read::columns::path_values::PathValues;
use crate::read::columns::projection::{Projection, select};
use crate::read::logs::damage::with_recorded_length;
use crate::read::logs::log_blocks::scan;
use crate::read::report::SharedReport;
use crate::split::Split;
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::{Error, Result};
use mortice_storage::{self as storage, FileSource, Storage};

/// The share of the memory limit for the first requests of a slice: half of the fetch budget, as those of the next
/// slice are sent at the same time.
const BEGUN_SHARE: u64 = 8;

/// Reads the slice of a split in batches. Ends after an error.
pub(in crate::read) struct SliceReader {
    split: Split,
    schema: SchemaRef,
    report: SharedReport,
    memory_limit: u64,
    /// The number of additional threads.
    threads: usize,
    /// The table's storage, if it is already open.
    storage: Option<Arc<dyn Storage>>,
    /// Its files, if their first bytes were already requested.
    begun: Vec<Arc<dyn FileSource>>,
    state: State,
}

enum State {
    Planned,
    Reading(Box<Reading>),
    /// One after the other.
    Several(VecDeque<SliceReader>),
    Done,
}

/// How a slice is read, as its log blocks decide.
enum Opened {
    /// The split is a part without rows, or the values of its path do not pass the filter.
    Nothing,
    /// Its rows are streamed.
    Reading(Box<Reading>),
    /// A changelog of partial records.
    ByLog,
}

struct Reading {
    path: Option<String>,
    projection: Projection,
    range: RowRange,
    path_values: PathValues,
    constants: ConstantColumns,
    base: BaseParts,
    merge: Option<SliceMerge>,
    report: SharedReport,
}

impl SliceReader {
    /// Plans the read of a split; no file is opened yet.
    pub(in crate::read) fn new(split: Split, report: SharedReport) -> Result<Self> {
        let schema = split.schema()?;
        let memory_limit = split.query.options.memory_limit;
        Ok(Self {
            split,
            schema,
            report,
            memory_limit,
            threads: 0,
            storage: None,
            begun: Vec::new(),
            state: State::Planned,
        })
    }

    /// Sets a memory limit in bytes instead of that of the split: its share, if several slices are read concurrently.
    pub(in crate::read) fn within(self, memory_limit: u64) -> Self {
        Self { memory_limit, ..self }
    }

    /// Sets the number of additional threads.
    pub(in crate::read) fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Reads from a storage that is already open.
    pub(in crate::read) fn with_storage(self, storage: Arc<dyn Storage>) -> Self {
        Self { storage: Some(storage), ..self }
    }

    /// Starts to fetch the bytes that a read of the slice needs first, if the storage is remote. The read waits for
    /// them.
    pub(in crate::read) fn begin(&mut self) -> Result<()> {
        if !self.begun.is_empty() || !matches!(self.state, State::Planned) {
            return Ok(());
        }
        let storage = self.opened_place()?;
        self.begun = slice_files::begin(&self.split, storage.as_ref(), self.memory_limit / BEGUN_SHARE)?;
        self.storage = Some(storage);
        Ok(())
    }

    fn opened_place(&mut self) -> Result<Arc<dyn Storage>> {
        let query = &self.split.query;
        let open = || storage::open_counted(&query.uri, &query.storage, query.options.mmap, self.report.requests());
        self.storage.take().map_or_else(open, Ok)
    }

    /// Returns the schema of all batches.
    pub(in crate::read) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        if let State::Planned = self.state {
            let storage = self.opened_place()?;
            if self.begun.is_empty() {
                self.begun = slice_files::begin(&self.split, storage.as_ref(), self.memory_limit / BEGUN_SHARE)?;
            }
            self.state = self.open(&storage)?;
        }
        match &mut self.state {
            State::Reading(reading) => reading.next_batch(),
            State::Several(readers) => {
                while let Some(reader) = readers.front_mut() {
                    if let Some(batch) = reader.next() {
                        return batch.map(Some);
                    }
                    readers.pop_front();
                }
                Ok(None)
            }
            State::Planned | State::Done => Ok(None),
        }
    }

    /// A base file that was cut has an error of its format: what its write recorded says more.
    fn explained(&self, error: Error) -> Error {
        let query = &self.split.query;
        let Some(base) = &self.split.slice.base_file else { return error };
        match storage::open_counted(&query.uri, &query.storage, query.options.mmap, self.report.requests()) {
            Ok(storage) => with_recorded_length(error, base, &storage, &self.report),
            Err(_) => error,
        }
    }

    fn open(&self, storage: &Arc<dyn Storage>) -> Result<State> {
        // A quarter of the memory is for batches that wait for the consumer.
        let threads = ReadThreads { count: self.threads, bytes: self.memory_limit / 4 };
        Ok(match Reading::open(&self.split, storage, self.memory_limit, threads, &self.report)? {
            Opened::Nothing => State::Done,
            Opened::Reading(reading) => State::Reading(reading),
            Opened::ByLog => self.by_log(storage)?,
        })
    }

    /// Reads one log file after the other. The rows of a whole file group have no row groups to be divided by: the
    /// first part returns all of them.
    fn by_log(&self, storage: &Arc<dyn Storage>) -> Result<State> {
        if self.split.part.is_some_and(|part| part.index > 0) {
            return Ok(State::Done);
        }
        let reader = |split| {
            let reader = Self::new(split, self.report.clone())?.with_storage(Arc::clone(storage));
            Ok(reader.within(self.memory_limit))
        };
        Ok(State::Several(split_by_log(&self.split)?.into_iter().map(reader).collect::<Result<_>>()?))
    }
}

impl Iterator for SliceReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().map_err(|error| self.explained(error)).transpose();
        if !matches!(step, Some(Ok(_))) {
            self.state = State::Done;
        }
        step
    }
}

/// Returns the function that reads the merged rows of a slice.
fn opener(storage: &Arc<dyn Storage>, memory_limit: u64, report: &SharedReport) -> OpenSlice {
    let (storage, report) = (Arc::clone(storage), report.clone());
    Box::new(move |split| {
        let reader = SliceReader::new(split, report.clone())?.with_storage(Arc::clone(&storage));
        Ok(Box::new(reader.within(memory_limit)))
    })
}

impl Reading {
    fn open(
        split: &Split,
        storage: &Arc<dyn Storage>,
        memory_limit: u64,
        threads: ReadThreads,
        report: &SharedReport,
    ) -> Result<Opened> {
        let query = &split.query;
        let table = avro::Schema::parse(&query.schema)?;
        let limit = query.options.batch_limit(memory_limit);
        let Some(base) = SplitBase::open(split, &table, storage, limit)? else { return Ok(Opened::Nothing) };
        let base = Arc::new(base);
        let types = avro::arrow_schema(&table, ArrowMapping::Table)?;
        let mut path_values = PathValues::from_path(query, &split.slice.partition)?;
        let constants = path_values.take_constants(&types)?;
        let Some(rows) = RowQuery::new(query, &constants)? else { return Ok(Opened::Nothing) };
        let blocks = scan(split, storage, report)?;
        if query.changelog && blocks.has_partial() {
            return Ok(Opened::ByLog);
        }
        let earlier = earlier_rows(split, &blocks, storage, opener(storage, memory_limit / 2, report))?;
        if earlier.is_some() && split.part.is_some_and(|part| part.index > 0) {
            // The rows of a whole file group have no row groups to be divided by: the first part returns all of them.
            return Ok(Opened::Nothing);
        }
        let memory_limit = if earlier.is_some() { memory_limit / 2 } else { memory_limit };
        let (projection, merge) = if blocks.blocks.is_empty() {
            (Projection::new(&types, &rows.columns, &rows.filter, &RowRange::columns(query), &[])?, None)
        } else {
            let merge_base: Arc<dyn MergeBase> = earlier.clone().unwrap_or_else(|| Arc::<SplitBase>::clone(&base) as _);
            let input = MergeInput {
                query,
                rows: &rows,
                table: &table,
                types: &types,
                blocks,
                base: &merge_base,
                merger: split.merger.as_ref(),
                memory_limit,
                deletes_win: false,
                report,
            };
            let (projection, merge) = SliceMerge::load(input)?;
            (projection, Some(merge))
        };
        let (rows, pruned) = match &earlier {
            Some(earlier) => (earlier.rows(BaseSegment::Own, &projection.base)?, 0),
            None => {
                let filter =
                    base_filter(&projection, merge.as_ref(), query.key_field.as_deref(), &query.path_columns.taken);
                base.own_rows(&projection.base, &filter, threads)?
            }
        };
        let mut counts = report.edit();
        counts.files += u64::from(split.slice.base_file.is_some());
        counts.row_groups_pruned += pruned;
        drop(counts);
        Ok(Opened::Reading(Box::new(Self {
            path: base.path(),
            projection,
            range: RowRange::from_query(query),
            path_values,
            constants: ConstantColumns::new(&constants, select(&types, &query.columns, &[])?),
            base: BaseParts::new(rows, limit),
            merge,
            report: report.clone(),
        })))
    }

    /// Returns the next batch with rows.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(projected) = self.next_joined()? else { return Ok(None) };
            let batch = self.projection.deliver(&self.path_values.put_into(projected)?)?;
            if batch.num_rows() > 0 {
                return self.constants.insert_into(batch).map(Some);
            }
        }
    }

    /// Joins parts of a batch that turn out small.
    fn next_joined(&mut self) -> Result<Option<RecordBatch>> {
        let Some(first) = self.next_projected()? else { return Ok(None) };
        if !self.base.is_within_batch() {
            return Ok(Some(first));
        }
        let mut joined = JoinedParts::new(first);
        while self.base.is_within_batch() && joined.has_room(self.base.limit()) {
            let Some(part) = self.next_projected()? else { break };
            joined.add(part);
        }
        joined.finish().map(Some)
    }

    fn next_projected(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(base) = self.base.next(self.merge.as_ref()) {
            let base = base?;
            self.report.edit().base_rows += base.num_rows() as u64;
            return self.merged(&base).map(Some).map_err(|error| match &self.path {
                Some(path) => error.in_file(path),
                None => error,
            });
        }
        let Some(merge) = &mut self.merge else { return Ok(None) };
        if let Some(rows) = merge.inserts(self.base.limit())? {
            return self.range.keep(rows).map(Some);
        }
        let (merged, mut report) = (merge.counts(), self.report.edit());
        report.updated_rows = report.updated_rows.saturating_add(merged.updates);
        report.deleted_rows = report.deleted_rows.saturating_add(merged.deletes);
        report.inserted_rows = report.inserted_rows.saturating_add(merged.inserts);
        drop(report);
        self.merge = None;
        Ok(None)
    }

    fn merged(&mut self, base: &RecordBatch) -> Result<RecordBatch> {
        let projected = self.projection.projected_of(base)?;
        match &mut self.merge {
            Some(merge) => self.range.keep(merge.merge_base(base, projected)?),
            None => Ok(projected),
        }
    }
}
