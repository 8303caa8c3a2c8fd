//! A range of a file, read as a file of its own: log blocks contain complete Parquet files and HFiles.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::source::check_range;
use super::{FileSource, ReadFrom};
use mortice_base::error::Result;

/// A source cut at both ends. Its offsets begin at 0.
pub struct SectionSource {
    whole: Arc<dyn FileSource>,
    range: Range<u64>,
}

impl SectionSource {
    /// Returns the bytes `range` of `whole`; [`mortice_base::ErrorKind::Internal`] if they are not within it.
    pub fn new(whole: Arc<dyn FileSource>, range: Range<u64>) -> Result<Self> {
        check_range(whole.as_ref(), &range)?;
        Ok(Self { whole, range })
    }
}

impl FileSource for SectionSource {
    fn path(&self) -> &str {
        self.whole.path()
    }

    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn window(&self) -> Option<u64> {
        self.whole.window()
    }

    fn is_remote(&self) -> bool {
        self.whole.is_remote()
    }

    fn begin(&self, from: ReadFrom) -> Result<()> {
        self.whole.begin(from)
    }

    fn plan_reads(&self, groups: &[Vec<Range<u64>>]) -> Result<()> {
        let moved = |range: &Range<u64>| {
            self.range.start.saturating_add(range.start)..self.range.start.saturating_add(range.end)
        };
        let groups: Vec<Vec<Range<u64>>> = groups.iter().map(|group| group.iter().map(moved).collect()).collect();
        self.whole.plan_reads(&groups)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        check_range(self, &range)?;
        // Both sums are at most the section's end, which is an offset in the file.
        self.whole.read(self.range.start + range.start..self.range.start + range.end)
    }
}
