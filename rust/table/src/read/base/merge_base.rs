//! The rows that logs are merged with: those of a base file, or of a whole slice in an earlier state.

use arrow_array::ArrayRef;
use arrow_schema::{Field, SchemaRef};

use super::base_segments::{BaseSegment, BaseSegments};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_formats::base_file::BaseBatches;

/// Rows that can be read repeatedly, in the same order.
pub(in crate::read) trait MergeBase: Send + Sync {
    /// Returns the segments of the rows: returned or only probed.
    fn segments(&self) -> &BaseSegments;

    /// Returns the instant that wrote the file of the rows; `None` if they are not those of one file, so that row
    /// numbers cannot be used.
    fn instant(&self) -> Option<&RequestedTime>;

    /// Returns the number of rows of that file, if it is known.
    fn rows_of_file(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Returns the maximum values of a column, one for each part of the rows, if all of them are known and no row is
    /// null.
    fn greatest(&self, _: &Field) -> Result<Option<ArrayRef>> {
        Ok(None)
    }

    /// Returns the columns of the rows of a segment.
    fn rows(&self, segment: BaseSegment, wanted: &SchemaRef) -> Result<BaseBatches>;
}
