//! The rows that logs are merged with: those of a base file, or of a whole slice as it was before.

use arrow_array::ArrayRef;
use arrow_schema::{Field, SchemaRef};

use super::base_segments::{BaseSegments, Segment};
use crate::base_file::Batches;
use crate::error::Result;
use crate::names::RequestedTime;

/// Rows that can be read as often as it takes, in one order.
pub(in crate::read) trait MergeBase: Send + Sync {
    /// Which of them are given, and which only looked at.
    fn segments(&self) -> &BaseSegments;

    /// The instant that wrote the file that they are; none where they are no file's, so that row numbers say nothing.
    fn instant(&self) -> Option<&RequestedTime>;

    /// The greatest values of a column, one for each part of the rows, where all of them are known and none of the rows is null.
    fn greatest(&self, _: &Field) -> Result<Option<ArrayRef>> {
        Ok(None)
    }

    /// Columns of the rows of a segment that count.
    fn rows(&self, segment: Segment, wanted: &SchemaRef) -> Result<Batches>;
}
