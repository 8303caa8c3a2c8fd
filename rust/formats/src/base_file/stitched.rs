//! A base file that a metadata-only bootstrap left: the five meta columns of a skeleton, all others in the file that
//! the table was made of, row by row (`HoodieBootstrapFileReader`). The values of partition columns may be in the
//! source's path only.
//!
//! | column | taken from |
//! |---|---|
//! | `_hoodie_commit_time` … `_hoodie_file_name` | the skeleton |
//! | any that the source file has | there |
//! | a partition column that it has not | the path |
//!
//! The two are never of the same row groups, so that what pruning leaves is kept as rows, of which both then read the
//! same.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray, UInt32Array, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::take::take;

use super::batches::batches_until_end;
use super::reader::{BaseBatches, BaseFile};
use super::row_ranges;
use crate::filter::BoundFilter;
use mortice_avro::Schema as AvroSchema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::{FieldNames, meta_columns};

/// The skeleton and its source, as one file. `path_values` are those of the partition columns.
/// [`mortice_base::ErrorKind::InvalidTable`] where they do not have the same number of rows: the source was changed
/// since.
pub fn stitched(
    skeleton: Box<dyn BaseFile>,
    source: Box<dyn BaseFile>,
    path_values: &[(String, Option<String>)],
) -> Result<Box<dyn BaseFile>> {
    let (rows, in_source) = (skeleton.row_count(), source.row_count());
    if rows != in_source {
        return Err(Error::invalid_table(format!(
            "invalid bootstrapped file: its skeleton has {rows} rows, its source file {in_source}: the source file was changed after the table was bootstrapped"
        )));
    }
    Ok(Box::new(Stitched { skeleton, source, path_values: path_values.to_vec() }))
}

/// An array of one value, given as text, of a type.
pub fn repeated(value: Option<&str>, kind: &DataType, len: usize) -> Result<ArrayRef, ArrowError> {
    let text: ArrayRef = Arc::new(StringArray::from(vec![value]));
    let strict = CastOptions { safe: false, ..Default::default() };
    let one = match kind {
        // The text is of UTC, and arrow knows zones by their offsets alone.
        DataType::Timestamp(unit, Some(_)) => {
            let local = cast_with_options(&text, &DataType::Timestamp(*unit, None), &strict)?;
            make_array(local.to_data().into_builder().data_type(kind.clone()).build()?)
        }
        kind => cast_with_options(&text, kind, &strict)?,
    };
    take(&one, &UInt32Array::from(vec![0; len]), None)
}

struct Stitched {
    skeleton: Box<dyn BaseFile>,
    source: Box<dyn BaseFile>,
    path_values: Vec<(String, Option<String>)>,
}

/// Where a column is taken from.
#[derive(Debug, Clone, PartialEq)]
enum ColumnOrigin {
    Skeleton,
    Source,
    Path(Option<String>),
}

impl Stitched {
    fn from(&self, column: &str) -> ColumnOrigin {
        if meta_columns::ALL.contains(&column) {
            return ColumnOrigin::Skeleton;
        }
        let value = self.path_values.iter().find(|(name, _)| name == column);
        match value.filter(|_| !self.source.has_column(column)) {
            Some((_, value)) => ColumnOrigin::Path(value.clone()),
            None => ColumnOrigin::Source,
        }
    }

    /// The wanted columns of one of the two.
    fn columns(&self, wanted: &SchemaRef, from: &ColumnOrigin) -> SchemaRef {
        let fields = wanted.fields().iter().filter(|field| self.from(field.name()) == *from).cloned();
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

impl BaseFile for Stitched {
    fn row_count(&self) -> u64 {
        self.skeleton.row_count()
    }

    fn avro_schema(&self) -> Option<String> {
        self.source.avro_schema()
    }

    fn correct_types(&mut self, table: &AvroSchema, names: &FieldNames) -> Result<()> {
        self.source.correct_types(table, names)
    }

    fn has_column(&self, name: &str) -> bool {
        match self.from(name) {
            ColumnOrigin::Skeleton => self.skeleton.has_column(name),
            ColumnOrigin::Source => self.source.has_column(name),
            ColumnOrigin::Path(_) => true,
        }
    }

    fn fields(&self) -> Option<Fields> {
        let (skeleton, source) = (self.skeleton.fields()?, self.source.fields()?);
        let is_meta = |field: &&FieldRef| meta_columns::ALL.contains(&field.name().as_str());
        let of_skeleton = skeleton.iter().filter(is_meta);
        Some(of_skeleton.chain(source.iter().filter(|field| !is_meta(field))).cloned().collect())
    }

    fn row_groups(&self) -> Vec<u64> {
        self.source.row_groups()
    }

    fn keep_row_groups(&mut self, kept: Range<usize>) {
        self.source.keep_row_groups(kept);
    }

    fn prune(&mut self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<u64> {
        // To each file the columns of the other are missing, which it would take for nulls.
        let from: Vec<ColumnOrigin> = wanted.fields().iter().map(|field| self.from(field.name())).collect();
        let of = |part: &ColumnOrigin| filter.weakened(|column, _| from.get(column) == Some(part));
        let (of_skeleton, of_source) = (of(&ColumnOrigin::Skeleton), of(&ColumnOrigin::Source));
        Ok(self.skeleton.prune(wanted, &of_skeleton)?.saturating_add(self.source.prune(wanted, &of_source)?))
    }

    fn kept_rows(&self) -> Vec<Range<u64>> {
        row_ranges::common(&self.skeleton.kept_rows(), &self.source.kept_rows())
    }

    fn keep_rows(&mut self, rows: Vec<Range<u64>>) -> Result<()> {
        self.skeleton.keep_rows(rows.clone())?;
        self.source.keep_rows(rows)
    }

    fn batches(mut self: Box<Self>, wanted: &SchemaRef, limit: BatchLimit) -> Result<BaseBatches> {
        let kept = self.kept_rows();
        if kept != row_ranges::whole(self.row_count()) {
            self.keep_rows(kept)?;
        }
        let (of_skeleton, of_source) =
            (self.columns(wanted, &ColumnOrigin::Skeleton), self.columns(wanted, &ColumnOrigin::Source));
        let from = wanted.fields().iter().map(|field| self.from(field.name())).collect();
        let mut lanes = Vec::new();
        if !of_skeleton.fields().is_empty() || of_source.fields().is_empty() {
            lanes.push(Lane::new(self.skeleton.batches(&of_skeleton, limit)?));
        }
        if !of_source.fields().is_empty() {
            lanes.push(Lane::new(self.source.batches(&of_source, limit)?));
        }
        let mut in_step = InStep { lanes, wanted: Arc::clone(wanted), from };
        Ok(batches_until_end(move || in_step.next_batch()))
    }
}

/// Batches of one of the files, and what is left of the one at hand.
struct Lane {
    batches: BaseBatches,
    held: Option<RecordBatch>,
}

impl Lane {
    fn new(batches: BaseBatches) -> Self {
        Self { batches, held: None }
    }

    /// The rows at hand; none at the end.
    fn rows(&mut self) -> Result<Option<usize>> {
        while self.held.as_ref().is_none_or(|held| held.num_rows() == 0) {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            self.held = Some(batch?);
        }
        Ok(self.held.as_ref().map(RecordBatch::num_rows))
    }

    fn take(&mut self, rows: usize) -> Option<RecordBatch> {
        let held = self.held.take()?;
        let taken = held.slice(0, rows);
        self.held = Some(held.slice(rows, held.num_rows().saturating_sub(rows)));
        Some(taken)
    }
}

/// Files read in step.
struct InStep {
    lanes: Vec<Lane>,
    wanted: SchemaRef,
    from: Vec<ColumnOrigin>,
}

impl InStep {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let rows = self.lanes.iter_mut().map(Lane::rows).collect::<Result<Vec<_>>>()?;
        if rows.iter().all(Option::is_none) {
            return Ok(None);
        }
        let count = rows.into_iter().map(Option::unwrap_or_default).min().unwrap_or_default();
        if count == 0 {
            return Err(Error::invalid_table(
                "invalid bootstrapped file: skeleton and source file have different rows",
            ));
        }
        let no_rows = || Error::internal("a skeleton or its source without rows at hand");
        let parts = self.lanes.iter_mut().map(|lane| lane.take(count).ok_or_else(no_rows));
        let parts = parts.collect::<Result<Vec<RecordBatch>>>()?;
        let column = |field: &FieldRef, from: &ColumnOrigin| match from {
            ColumnOrigin::Path(value) => repeated(value.as_deref(), field.data_type(), count).map_err(|error| {
                let value = value.as_deref().unwrap_or("null");
                let message = format!("the path's value {value:?} is not a value of column {:?}", field.name());
                Error::invalid_table(message).caused_by(error)
            }),
            ColumnOrigin::Skeleton | ColumnOrigin::Source => {
                parts.iter().find_map(|part| part.column_by_name(field.name())).cloned().ok_or_else(|| {
                    Error::invalid_table(format!("column {} is missing in a bootstrapped file", field.name()))
                })
            }
        };
        let columns = self.wanted.fields().iter().zip(&self.from).map(|(field, from)| column(field, from));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(Arc::clone(&self.wanted), columns, &options)
            .map(Some)
            .map_err(|error| Error::invalid_table("columns of a bootstrapped file make no batch").caused_by(error))
    }
}
