//! Divides the rows of a base file for a part of a slice: rows that the part returns, and rows whose keys are only
//! probed, because they determine what the logs insert.
//! The first base row of a key matches the log record. So the rows before those of the part are probed first, and the
//! rows after them last.

use std::ops::Range;

use crate::split::SlicePart;
use mortice_base::error::Result;
use mortice_formats::base_file::BaseFile;
use mortice_merge::merge::HashRange;

/// A segment of a base file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum BaseSegment {
    /// The rows before those of the part.
    Before,
    /// The rows that the part returns.
    Own,
    /// The rows after those of the part.
    After,
}

/// The segments of one part. For a whole file, only `rows` has rows.
#[derive(Debug, Default)]
pub(in crate::read) struct BaseSegments {
    part: Option<SlicePart>,
    /// The number of rows of each row group, if the file is divided.
    rows: Vec<u64>,
}

impl BaseSegments {
    /// Returns the segments of a part; `None` if the slice has fewer parts than planned and this one does not exist.
    pub(in crate::read) fn from_part(
        part: Option<SlicePart>,
        open: impl FnOnce() -> Result<Option<Box<dyn BaseFile>>>,
    ) -> Result<Option<Self>> {
        let Some(part) = part else { return Ok(Some(Self::default())) };
        let Some(file) = open()? else { return Ok(Some(Self { part: Some(part), rows: Vec::new() })) };
        let rows = file.row_groups();
        Ok(part.among(rows.len()).map(|part| Self { part: Some(part), rows }))
    }

    /// Returns the row groups of a segment; `None` for the whole file.
    pub(in crate::read) fn row_groups(&self, segment: BaseSegment) -> Option<Range<usize>> {
        let (part, count) = (self.part?, self.rows.len());
        let own = part.range(count);
        let groups = match segment {
            BaseSegment::Before => 0..own.start,
            BaseSegment::Own => own,
            BaseSegment::After => own.end..count,
        };
        (count > 0 && groups != (0..count)).then_some(groups)
    }

    /// Returns true if the segment has rows.
    pub(in crate::read) fn has(&self, segment: BaseSegment) -> bool {
        match self.row_groups(segment) {
            Some(groups) => !groups.is_empty(),
            None => segment == BaseSegment::Own,
        }
    }

    /// Returns the row numbers of a segment in the file.
    pub(in crate::read) fn row_numbers(&self, segment: BaseSegment) -> Range<u64> {
        let sum = |groups: &[u64]| groups.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        let before = |end| sum(self.rows.get(..end).unwrap_or_default());
        self.row_groups(segment).map_or(0..0, |groups| before(groups.start)..before(groups.end))
    }

    /// Returns the share of all keys whose inserts the part returns.
    pub(in crate::read) fn share(&self) -> HashRange {
        self.part.map_or(HashRange::ALL, |part| HashRange::share(part.index, part.of))
    }

    /// Returns the range of the part in a sequence of `count` log blocks or records.
    pub(in crate::read) fn range(&self, count: usize) -> Range<usize> {
        self.part.map_or(0..count, |part| part.range(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(index: u32, of: u32, rows: &[u64]) -> BaseSegments {
        BaseSegments { part: Some(SlicePart { index, of }), rows: rows.to_vec() }
    }

    #[test]
    fn a_file_in_stretches() {
        let middle = segments(1, 3, &[10, 20, 30]);
        let numbers = |segment| middle.row_numbers(segment);
        assert_eq!(
            [numbers(BaseSegment::Before), numbers(BaseSegment::Own), numbers(BaseSegment::After)],
            [0..10, 10..30, 30..60]
        );
        let first = segments(0, 2, &[10, 20, 30]);
        assert!(!first.has(BaseSegment::Before) && first.has(BaseSegment::Own) && first.has(BaseSegment::After));
        assert_eq!(first.row_groups(BaseSegment::After), Some(1..3));
    }

    #[test]
    fn all_of_a_file() {
        for whole in [BaseSegments::default(), segments(0, 1, &[10])] {
            assert_eq!(whole.row_groups(BaseSegment::Own), None);
            assert!(!whole.has(BaseSegment::Before) && whole.has(BaseSegment::Own) && !whole.has(BaseSegment::After));
        }
    }
}
