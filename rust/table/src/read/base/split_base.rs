//! The base file of a split. It can be opened repeatedly, for some columns and some rows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, ArrayRef};
use arrow_schema::{Field, SchemaRef};

use super::base_segments::{BaseSegment, BaseSegments};
use super::base_threads;
use super::merge_base::MergeBase;
use super::row_numbers;
use super::row_range::RowRange;
use crate::file_group;
use crate::read::logs::log_blocks::{known_base, open_planned};
use crate::split::{Query, Split};
use mortice_avro::Schema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::base_file::{self, BaseBatches, BaseFile};
use mortice_formats::filter::BoundFilter;
use mortice_merge::keys::without_row_numbers;
use mortice_storage::{self as storage, Storage};

/// The number of additional threads of a read, and the memory in bytes for the batches that they decode ahead.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::read) struct ReadThreads {
    pub(in crate::read) count: usize,
    pub(in crate::read) bytes: u64,
}

impl ReadThreads {
    fn have_room_for(self, batch: u64) -> bool {
        self.count > 0 && batch.saturating_mul(base_threads::BATCHES_AHEAD) <= self.bytes
    }
}

/// The base file of a split, if it has one, and the rows of the split.
pub(in crate::read) struct SplitBase {
    split: Split,
    table: Schema,
    storage: Arc<dyn Storage>,
    segments: BaseSegments,
    limit: BatchLimit,
    /// The open file, without pruning, for the next read.
    next: Mutex<Option<Box<dyn BaseFile>>>,
}

impl SplitBase {
    /// Returns `None` if the split is a part without rows. `table` is the schema of the query, `limit` that of batches.
    pub(in crate::read) fn open(
        split: &Split,
        table: &Schema,
        storage: &Arc<dyn Storage>,
        limit: BatchLimit,
    ) -> Result<Option<Self>> {
        let segments = BaseSegments::from_part(split.part, || opened(split, table, storage.as_ref()))?;
        Ok(segments.map(|segments| Self {
            split: split.clone(),
            table: table.clone(),
            storage: Arc::clone(storage),
            segments,
            limit,
            next: Mutex::new(None),
        }))
    }

    /// Opens the base file, if there is one. Its footer is read once, if the format allows it.
    fn opened(&self) -> Result<Option<Box<dyn BaseFile>>> {
        let mut next = self.next();
        let file = match next.take() {
            Some(file) => Some(file),
            None => opened(&self.split, &self.table, self.storage.as_ref())?,
        };
        *next = file.as_ref().and_then(|file| file.again());
        Ok(file)
    }

    fn next(&self) -> MutexGuard<'_, Option<Box<dyn BaseFile>>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the path of the file in the storage.
    pub(in crate::read) fn path(&self) -> Option<String> {
        self.split.slice.base_file.as_ref().map(|base| self.storage.full_path(&base.path))
    }

    /// Reads the matching rows of the split, without row groups that contain no row of the filter; returns also their
    /// number. Uses several threads if the options allow it.
    pub(in crate::read) fn own_rows(
        &self,
        wanted: &SchemaRef,
        filter: &BoundFilter,
        threads: ReadThreads,
    ) -> Result<(BaseBatches, u64)> {
        let Some((file, pruned)) = self.pruned(BaseSegment::Own, wanted, Some(filter))? else { return Ok((none(), 0)) };
        let read = |file: Box<dyn BaseFile>, wanted: &SchemaRef| {
            let weights =
                file.column_bytes(wanted).filter(|weights| threads.have_room_for(self.batch_bytes(weights, &*file)));
            match weights {
                Some(weights) => self.by_threads(&*file, wanted, base_threads::shares(wanted, &weights, threads.count)),
                None => file.batches(wanted, self.limit),
            }
        };
        Ok((self.in_range(with_numbers(file, wanted, read)?), pruned))
    }

    /// Reads the same rows, the columns of each share with their own thread.
    fn by_threads(&self, file: &dyn BaseFile, wanted: &SchemaRef, shares: Vec<SchemaRef>) -> Result<BaseBatches> {
        let read = |share: SchemaRef| {
            let again = file.again().ok_or_else(|| Error::unsupported("a base file that can be read only once"))?;
            let batches = again.batches(&share, self.limit)?;
            Ok((share, batches))
        };
        base_threads::side_by_side(shares.into_iter().map(read).collect::<Result<_>>()?, wanted)
    }

    /// Estimates the size of a batch in bytes.
    fn batch_bytes(&self, weights: &[u64], file: &dyn BaseFile) -> u64 {
        let of_row = weights.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)) / file.row_count().max(1);
        let limit = self.limit;
        of_row.saturating_add(1).saturating_mul(limit.rows() as u64).min(limit.bytes() as u64)
    }

    /// Removes the rows of commits outside the range.
    fn in_range(&self, batches: BaseBatches) -> BaseBatches {
        let Some(base) = &self.split.slice.base_file else { return batches };
        let range = RowRange::for_base_file(&self.split.query, &base.instant);
        Box::new(batches.map(move |batch| range.keep(batch?)))
    }

    /// Returns the base file with pruned row groups, and their number; `None` if there are no rows.
    fn pruned(
        &self,
        segment: BaseSegment,
        wanted: &SchemaRef,
        filter: Option<&BoundFilter>,
    ) -> Result<Option<(Box<dyn BaseFile>, u64)>> {
        let query = &self.split.query;
        let groups = self.segments.row_groups(segment);
        if !self.segments.has(segment) {
            return Ok(None);
        }
        let (Some(base), Some(mut file)) = (&self.split.slice.base_file, self.opened()?) else {
            return Ok(None);
        };
        if let Some(groups) = groups {
            file.keep_row_groups(groups);
        }
        let range = RowRange::for_base_file(query, &base.instant);
        let mut pruned = 0;
        if query.options.prune {
            pruned = range.bounds(wanted)?.map_or(Ok(0), |bounds| file.prune(wanted, &bounds))?;
            if let Some(filter) = filter {
                pruned = pruned.saturating_add(file.prune(wanted, filter)?);
            }
        }
        Ok(Some((file, pruned)))
    }
}

impl MergeBase for SplitBase {
    fn segments(&self) -> &BaseSegments {
        &self.segments
    }

    fn instant(&self) -> Option<&RequestedTime> {
        self.split.slice.base_file.as_ref().map(|base| &base.instant)
    }

    fn rows_of_file(&self) -> Result<Option<u64>> {
        let Some(file) = self.opened()? else { return Ok(None) };
        let rows = file.row_count();
        *self.next() = Some(file);
        Ok(Some(rows))
    }

    fn greatest(&self, column: &Field) -> Result<Option<ArrayRef>> {
        let Some(file) = self.opened()? else { return Ok(None) };
        let bounds = file.bounds(column);
        *self.next() = Some(file);
        let Some(bounds) = bounds else { return Ok(None) };
        let has_nulls = bounds.nulls.iter().any(|nulls| nulls != Some(0)) || bounds.greatest.null_count() > 0;
        Ok((!has_nulls && !bounds.greatest.is_empty()).then_some(bounds.greatest))
    }

    fn rows(&self, segment: BaseSegment, wanted: &SchemaRef) -> Result<BaseBatches> {
        let Some((file, _)) = self.pruned(segment, wanted, None)? else { return Ok(none()) };
        let read = |file: Box<dyn BaseFile>, wanted: &SchemaRef| file.batches(wanted, self.limit);
        Ok(self.in_range(with_numbers(file, wanted, read)?))
    }
}

/// Returns the rows of a file, read by `read`, with their row numbers if these are required.
fn with_numbers(
    file: Box<dyn BaseFile>,
    wanted: &SchemaRef,
    read: impl FnOnce(Box<dyn BaseFile>, &SchemaRef) -> Result<BaseBatches>,
) -> Result<BaseBatches> {
    let Some(columns) = without_row_numbers(wanted) else { return read(file, wanted) };
    let rows = file.kept_rows();
    Ok(row_numbers::numbered(read(file, &columns)?, rows, Arc::clone(wanted)))
}

fn none() -> BaseBatches {
    Box::new(std::iter::empty())
}

fn opened(split: &Split, table: &Schema, storage: &dyn Storage) -> Result<Option<Box<dyn BaseFile>>> {
    let Some(base) = &split.slice.base_file else { return Ok(None) };
    let file = open_file(base, storage, &split.query);
    let file = file.and_then(|file| base_file::read_as(file, table, split.query.names_at(&base.instant)));
    file.map(Some).map_err(|error| error.at_instant(&base.instant))
}

/// Opens a base file; a skeleton file together with its source file.
fn open_file(base: &file_group::BaseFile, storage: &dyn Storage, query: &Query) -> Result<Box<dyn BaseFile>> {
    let file = base_file::open(open_planned(storage, &base.path, &known_base(base), query)?)?;
    let Some(source) = &base.source else { return Ok(file) };
    let (folder, name) = source.path.rsplit_once('/').unwrap_or((".", &source.path));
    let opened = storage::open_beside(storage, folder, &query.storage, query.options.mmap)?.open(name).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(
            ErrorKind::FileCleaned,
            "a file that this table was bootstrapped from does not exist, and its rows are stored nowhere else. If the source was moved, set hoodie.bootstrap.base.path in hoodie.properties to its new path",
        )
        .in_file(&source.path),
        _ => error,
    })?;
    let stitched = base_file::stitched(file, base_file::open_source(opened)?, &source.path_values);
    stitched.map_err(|error| error.in_file(&source.path))
}
