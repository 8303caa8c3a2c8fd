//! The base file of a split, opened for some columns of some of its rows, as often as it takes.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::base_segments::{BaseSegments, Segment};
use super::log_blocks::open_planned;
use super::merge_base::MergeBase;
use super::row_range::RowRange;
use crate::base_file::{self, BaseFile, Batches};
use crate::error::{Error, Kind, Result};
use crate::file_group;
use crate::filter::BoundFilter;
use crate::plan::{Query, Split};
use crate::storage::{self, Place};

/// A split's base file, if it has one, and which of its rows are the split's.
pub(super) struct SplitBase {
    split: Split,
    place: Arc<dyn Place>,
    segments: BaseSegments,
}

impl SplitBase {
    /// None where the split is a part that has no rows to give.
    pub(super) fn of(split: &Split, place: &Arc<dyn Place>) -> Result<Option<Self>> {
        let segments = BaseSegments::of(split.part, || opened(split, place.as_ref()))?;
        Ok(segments.map(|segments| Self { split: split.clone(), place: Arc::clone(place), segments }))
    }

    /// Its path as the storage knows it.
    pub(super) fn path(&self) -> Option<String> {
        self.split.slice.base_file.as_ref().map(|base| self.place.full_path(&base.path))
    }

    /// The split's own rows that count, without row groups that hold none that passes the filter, and how many those are.
    pub(super) fn own_rows(&self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<(Batches, u64)> {
        self.pruned(Segment::Own, wanted, Some(filter))
    }

    fn pruned(&self, segment: Segment, wanted: &SchemaRef, filter: Option<&BoundFilter>) -> Result<(Batches, u64)> {
        let query = &self.split.query;
        let groups = self.segments.row_groups(segment);
        let nothing = || Ok((Box::new(std::iter::empty()) as Batches, 0));
        if !self.segments.has(segment) {
            return nothing();
        }
        let (Some(base), Some(mut file)) = (&self.split.slice.base_file, opened(&self.split, self.place.as_ref())?)
        else {
            return nothing();
        };
        if let Some(groups) = groups {
            file.keep_row_groups(groups);
        }
        let range = RowRange::of_base(query, &base.instant);
        let mut pruned = 0;
        if query.options.prune {
            pruned = range.bounds(wanted)?.map_or(Ok(0), |bounds| file.prune(wanted, &bounds))?;
            if let Some(filter) = filter {
                pruned = pruned.saturating_add(file.prune(wanted, filter)?);
            }
        }
        let batches = file.batches(wanted, query.options.batch_rows.max(1))?;
        Ok((Box::new(batches.map(move |batch| range.keep(batch?))), pruned))
    }
}

impl MergeBase for SplitBase {
    fn segments(&self) -> &BaseSegments {
        &self.segments
    }

    fn instant(&self) -> Option<&str> {
        self.split.slice.base_file.as_ref().map(|base| base.instant.as_str())
    }

    fn rows(&self, segment: Segment, wanted: &SchemaRef) -> Result<Batches> {
        self.pruned(segment, wanted, None).map(|(rows, _)| rows)
    }
}

fn opened(split: &Split, place: &dyn Place) -> Result<Option<Box<dyn BaseFile>>> {
    let Some(base) = &split.slice.base_file else { return Ok(None) };
    let file = open_file(base, place, &split.query).map_err(|error| error.at_instant(&base.instant))?;
    Ok(Some(base_file::renamed(file, split.query.names_at(&base.instant))))
}

/// A base file; a skeleton with what it is the skeleton of.
fn open_file(base: &file_group::BaseFile, place: &dyn Place, query: &Query) -> Result<Box<dyn BaseFile>> {
    let file = base_file::open(open_planned(place, &base.path, query)?)?;
    let Some(source) = &base.source else { return Ok(file) };
    let (folder, name) = source.path.rsplit_once('/').unwrap_or((".", &source.path));
    let opened = storage::open(folder, &query.storage)?.open(name).map_err(|error| match error.kind() {
        Kind::NotFound => Error::new(
            Kind::FileCleaned,
            "a file that this table was bootstrapped from has gone; its rows are nowhere else. If the source was moved, write its new place to hoodie.bootstrap.base.path in hoodie.properties",
        )
        .in_file(&source.path),
        _ => error,
    })?;
    let stitched = base_file::stitched(file, base_file::open_source(opened)?, &source.path_values);
    stitched.map_err(|error| error.in_file(&source.path))
}
