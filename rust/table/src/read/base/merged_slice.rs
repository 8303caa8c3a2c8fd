//! The merged rows of a slice as the base rows of another merge: the state of a file group before some of its logs.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::SchemaRef;

use super::base_segments::{BaseSegment, BaseSegments};
use super::merge_base::MergeBase;
use crate::split::{Query, Split};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::base_file::BaseBatches;

/// Reads the rows of a split.
pub(in crate::read) type OpenSlice = Box<dyn Fn(Split) -> Result<BaseBatches> + Send + Sync>;

/// The rows of a slice, merged.
pub(in crate::read) struct MergedSlice {
    split: Split,
    segments: BaseSegments,
    open: OpenSlice,
    /// A column that the merge has and the slice does not: null in all rows.
    added: Option<&'static str>,
}

impl MergedSlice {
    pub(in crate::read) fn new(split: Split, open: OpenSlice) -> Self {
        Self { split, segments: BaseSegments::default(), open, added: None }
    }

    /// Adds a column of nulls.
    pub(in crate::read) fn with_nulls_in(self, added: Option<&'static str>) -> Self {
        Self { added, ..self }
    }
}

impl MergeBase for MergedSlice {
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
        let mut columns: Vec<String> = wanted.fields().iter().map(|field| field.name().clone()).collect();
        columns.retain(|name| Some(name.as_str()) != self.added);
        let is_whole = columns.len() == wanted.fields().len();
        let query = Arc::new(Query { columns, ..Query::clone(&self.split.query) });
        let rows = (self.open)(Split { query, ..self.split.clone() })?;
        if is_whole {
            return Ok(rows);
        }
        let wanted = Arc::clone(wanted);
        Ok(Box::new(rows.map(move |rows| with_nulls(&rows?, &wanted))))
    }
}

/// Returns the columns of `wanted`, null where the rows do not have them.
fn with_nulls(rows: &RecordBatch, wanted: &SchemaRef) -> Result<RecordBatch> {
    let count = rows.num_rows();
    let column = |name: &str| rows.column_by_name(name).map(Arc::clone);
    let columns: Vec<ArrayRef> = wanted
        .fields()
        .iter()
        .map(|field| column(field.name()).unwrap_or_else(|| new_null_array(field.data_type(), count)))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(Arc::clone(wanted), columns, &options)
        .map_err(|error| Error::invalid_table("rows of a file slice with other columns").caused_by(error))
}
