//! The rows that logs are merged with: those of a base file, or of a whole slice as it was before.

use arrow_schema::SchemaRef;

use super::base_segments::{BaseSegments, Segment};
use crate::base_file::Batches;
use crate::error::Result;

/// Rows that can be read as often as it takes, in one order.
pub(super) trait MergeBase: Send + Sync {
    /// Which of them are given, and which only looked at.
    fn segments(&self) -> &BaseSegments;

    /// The instant that wrote the file that they are; none where they are no file's, so that row numbers say nothing.
    fn instant(&self) -> Option<&str>;

    /// Columns of the rows of a segment that count.
    fn rows(&self, segment: Segment, wanted: &SchemaRef) -> Result<Batches>;
}
