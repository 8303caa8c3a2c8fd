//! The batches of a parquet file: read by the crate's reader, with as many rows as fit.
//!
//! The crate's reader has one number of rows for all of its batches. Rows of another size are read by another reader,
//! which begins where they begin: pages before them are skipped by their headers.
//!
//! The sizes of rows are known about (`page_sizes`). Where a batch is much larger than planned, or does not fit the
//! offsets of an Arrow column, the rest is read with fewer rows.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups as _, RowSelection, RowSelector,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::errors::ParquetError;

use super::batch_plan::{BatchPlan, SizedRows, Stretch};
use super::conform::conformed;
use super::legacy_calendar::LegacyCalendar;
use super::page_sizes::SizedChunk;
use super::pages::ColumnPages;
use super::row_ranges;
use super::source_bytes::{SourceBytes, guarded};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, ErrorKind, Result};

/// What is read of a file.
pub(super) struct ParquetRows {
    pub(super) bytes: SourceBytes,
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) mask: ProjectionMask,
    /// The row groups to read, in order.
    pub(super) groups: Vec<usize>,
    /// The rows of all row groups of the file.
    pub(super) group_rows: Vec<Range<u64>>,
    /// The rows to read among those of the row groups.
    pub(super) kept: Vec<Range<u64>>,
    /// Columns of the hybrid calendar, if there are some.
    pub(super) hybrid: Option<Hybrid>,
}

/// Columns of which some are of the hybrid calendar.
pub(super) struct Hybrid {
    pub(super) calendar: LegacyCalendar,
    /// The columns that are read, by their numbers in the file.
    pub(super) roots: Vec<usize>,
}

impl ParquetRows {
    /// Divides the rows into those that are read in batches of one size.
    pub(super) fn stretches(&self, limit: BatchLimit) -> Result<Vec<Stretch>> {
        guarded(&self.bytes, || {
            let mut plan = BatchPlan::new(limit);
            for group in &self.groups {
                if let Some(rows) = self.group_rows.get(*group) {
                    let columns = self.column_sizes(*group, limit);
                    plan.add(rows.start, rows.end.saturating_sub(rows.start), &columns, &self.kept);
                }
            }
            Ok::<_, ParquetError>(plan.finish())
        })
    }

    /// The sizes of the rows of a row group, for each column.
    fn column_sizes(&self, group: usize, limit: BatchLimit) -> Vec<Vec<SizedRows>> {
        let metadata = self.metadata.metadata();
        let Some(row_group) = metadata.row_groups().get(group) else { return Vec::new() };
        let pages = self.pages(vec![group]);
        let columns = row_group.columns().iter().enumerate().filter(|(leaf, _)| self.mask.leaf_included(*leaf));
        let sizes = columns.map(|(leaf, chunk)| {
            let first_page = || pages.pages(group, leaf)?.get_next_page();
            let source = self.bytes.source.as_ref();
            SizedChunk { source, group: row_group, chunk, first_page: &first_page }.rows(limit)
        });
        sizes.collect()
    }

    fn pages(&self, groups: Vec<usize>) -> ColumnPages {
        ColumnPages::new(self.bytes.clone(), Arc::clone(self.metadata.metadata()), Some(groups))
    }

    /// A reader of some rows.
    fn reader(&self, rows: &[Range<u64>], batch_rows: usize) -> Result<ParquetRecordBatchReader> {
        let group = |group: &usize| self.group_rows.get(*group).cloned().unwrap_or_default();
        let with_rows = |at: &&usize| rows.iter().any(|rows| row_ranges::overlaps(rows, &group(at)));
        let groups: Vec<usize> = self.groups.iter().filter(with_rows).copied().collect();
        let of_groups: Vec<Range<u64>> = groups.iter().map(group).collect();
        let selection = selection(&of_groups, rows);
        let pages = self.pages(groups);
        let pages = if selection.is_some() { pages.with_pages_left_out() } else { pages };
        guarded(&self.bytes, || {
            let fields = self.metadata.schema().fields();
            let levels =
                parquet_to_arrow_field_levels(self.metadata.parquet_schema(), self.mask.clone(), Some(fields))?;
            let batch_rows = batch_rows.min(pages.num_rows());
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &pages, batch_rows, selection)
        })
    }
}

/// The rows to read among those of the row groups; none if these are all.
fn selection(groups: &[Range<u64>], rows: &[Range<u64>]) -> Option<RowSelection> {
    let len = |from: u64, to: u64| usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    let (mut selectors, mut is_all) = (Vec::new(), true);
    for group in groups {
        let mut at = group.start;
        for range in row_ranges::common(std::slice::from_ref(group), rows) {
            is_all &= range.start == at;
            selectors
                .extend([RowSelector::skip(len(at, range.start)), RowSelector::select(len(range.start, range.end))]);
            at = range.end;
        }
        is_all &= group.end == at;
        selectors.push(RowSelector::skip(len(at, group.end)));
    }
    (!is_all).then(|| RowSelection::from(selectors))
}

/// Batches as the file has them, brought to the wanted columns.
pub(super) struct ParquetBatches {
    rows: ParquetRows,
    wanted: SchemaRef,
    limit: BatchLimit,
    /// None after an error.
    stretches: Option<VecDeque<Stretch>>,
    reading: Option<StretchReader>,
    /// Parts of a batch that was larger than planned.
    parts: VecDeque<RecordBatch>,
}

/// The rows of a stretch that are left, and their reader.
struct StretchReader {
    reader: ParquetRecordBatchReader,
    left: Vec<Range<u64>>,
    batch_rows: usize,
}

impl ParquetBatches {
    pub(super) fn new(rows: ParquetRows, wanted: SchemaRef, limit: BatchLimit) -> Result<Self> {
        let stretches = Some(rows.stretches(limit)?.into());
        Ok(Self { rows, wanted, limit, stretches, reading: None, parts: VecDeque::new() })
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(part) = self.parts.pop_front() {
                return Ok(Some(part));
            }
            if self.reading.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some(mut reading) = self.reading.take() else { return Ok(None) };
            match guarded(&self.rows.bytes, || reading.reader.next().transpose()) {
                Ok(None) => check_end(&reading.left).map_err(|error| self.in_file(error))?,
                Ok(Some(batch)) => {
                    let batch = self.converted(&batch).map_err(|error| self.in_file(error))?;
                    self.take_batch(batch, reading)?;
                }
                Err(error) if reading.batch_rows > 1 && is_too_large(&error) => {
                    self.open(reading.left, reading.batch_rows / 8)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the next stretch that has rows; false if there is none.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(stretch) = self.stretches.as_mut().and_then(VecDeque::pop_front) {
            let left = row_ranges::common(&self.rows.kept, &[stretch.rows]);
            if !left.is_empty() {
                self.open(left, stretch.batch_rows)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn open(&mut self, left: Vec<Range<u64>>, batch_rows: usize) -> Result<()> {
        let batch_rows = batch_rows.max(1);
        let reader = self.rows.reader(&left, batch_rows)?;
        self.reading = Some(StretchReader { reader, left, batch_rows });
        Ok(())
    }

    /// Takes a batch, in parts if it is much too large; then fewer rows are read at a time.
    fn take_batch(&mut self, batch: RecordBatch, mut reading: StretchReader) -> Result<()> {
        let (rows, bytes) = (batch.num_rows(), batch.get_array_memory_size());
        check_rows(&reading.left, rows as u64).map_err(|error| self.in_file(error))?;
        reading.left = row_ranges::after(reading.left, rows as u64);
        if rows <= 1 || bytes <= self.limit.bytes().saturating_mul(2) {
            self.parts.push_back(batch);
            self.reading = Some(reading);
            return Ok(());
        }
        let fits = self.limit.rows_of(bytes / rows);
        self.parts.extend((0..rows).step_by(fits).map(|at| batch.slice(at, fits.min(rows.saturating_sub(at)))));
        if reading.left.is_empty() { Ok(()) } else { self.open(reading.left, fits.min(reading.batch_rows)) }
    }

    /// The batch with the wanted columns.
    fn converted(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let Some(Hybrid { calendar, roots }) = &self.rows.hybrid else { return conformed(batch, &self.wanted) };
        let schema = self.rows.metadata.metadata().file_metadata().schema_descr();
        conformed(&calendar.proleptic(batch, schema, roots)?, &self.wanted)
    }

    fn in_file(&self, error: Error) -> Error {
        error.in_file(self.rows.bytes.source.path())
    }
}

/// Checks that all rows were read: a damaged page header may hide some.
fn check_end(left: &[Range<u64>]) -> Result<()> {
    match row_ranges::count(left) {
        0 => Ok(()),
        missing => Err(Error::invalid_table(format!("{missing} rows of the Parquet file are missing: it is damaged"))),
    }
}

/// Checks that so many rows are left.
fn check_rows(left: &[Range<u64>], rows: u64) -> Result<()> {
    if rows <= row_ranges::count(left) {
        return Ok(());
    }
    Err(Error::invalid_table("the Parquet file has more rows than its footer says: it is damaged"))
}

/// Whether fewer rows might fit: offsets of Arrow columns have 31 bits, and memory is limited.
fn is_too_large(error: &Error) -> bool {
    error.kind() == ErrorKind::MemoryLimit || error.to_string().contains("overflow")
}

impl Iterator for ParquetBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.stretches.as_ref()?;
        let step = self.step().transpose();
        if matches!(step, Some(Err(_))) {
            self.stretches = None;
        }
        step
    }
}
