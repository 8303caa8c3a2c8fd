//! Parts of a file slice. A slice that is too large for one task is read by several, each of which returns some of its
//! rows.
//!
//! Base rows are assigned by row group. Inserts from logs are assigned by the hash of the key: each part reads all keys
//! of the logs and of the base file, and returns its share. So every row is returned once, independently of where the
//! parts are read.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// One part of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlicePart {
    /// The number of this part, from 0.
    pub index: u32,
    /// The number of parts.
    pub of: u32,
}

impl SlicePart {
    /// Returns the same part if there are at most `most` parts. Returns `None` if nothing is left for this part.
    #[must_use]
    pub fn among(self, most: usize) -> Option<Self> {
        let of = self.of.min(u32::try_from(most).unwrap_or(u32::MAX)).max(1);
        (self.index < of).then_some(Self { index: self.index, of })
    }

    /// Returns the range of this part in a sequence of `count` items.
    #[must_use]
    pub fn range(self, count: usize) -> Range<usize> {
        let bound = |index: u32| {
            let at = (count as u128 * u128::from(index)).checked_div(u128::from(self.of)).unwrap_or(0);
            usize::try_from(at).unwrap_or(count).min(count)
        };
        bound(self.index)..bound(self.index.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once() {
        for (of, count) in [(1, 0), (1, 7), (3, 7), (7, 3), (1000, 999)] {
            let ranges: Vec<_> = (0..of).map(|index| SlicePart { index, of }.range(count)).collect();
            assert_eq!(ranges.first().map(|range| range.start), Some(0));
            assert_eq!(ranges.last().map(|range| range.end), Some(count));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn fewer_things_make_fewer_parts() {
        let part = |index| SlicePart { index, of: 5 };
        assert_eq!(part(1).among(2), Some(SlicePart { index: 1, of: 2 }));
        assert_eq!(part(2).among(2), None);
        assert_eq!(part(0).among(0), Some(SlicePart { index: 0, of: 1 }));
        assert_eq!(part(4).among(9), Some(part(4)));
    }
}
