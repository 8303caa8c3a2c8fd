//! Parts of a file slice: a slice that is too large for one task is read by several, each of which gives some of its rows.
//!
//! Base rows go by row groups. What the logs insert goes by the hashes of keys: each part knows all keys of the logs and of the base
//! file, and gives its share. So every row comes out once, whatever part is read where.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// One of the parts of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which one, from 0 on.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl Part {
    /// The same where there are at most so many; none where this one has nothing left to give.
    #[must_use]
    pub fn among(self, most: usize) -> Option<Self> {
        let of = self.of.min(u32::try_from(most).unwrap_or(u32::MAX)).max(1);
        (self.index < of).then_some(Self { index: self.index, of })
    }

    /// Which of so many things, in a row, are this part's.
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
            let ranges: Vec<_> = (0..of).map(|index| Part { index, of }.range(count)).collect();
            assert_eq!(ranges.first().map(|range| range.start), Some(0));
            assert_eq!(ranges.last().map(|range| range.end), Some(count));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn fewer_things_make_fewer_parts() {
        let part = |index| Part { index, of: 5 };
        assert_eq!(part(1).among(2), Some(Part { index: 1, of: 2 }));
        assert_eq!(part(2).among(2), None);
        assert_eq!(part(0).among(0), Some(Part { index: 0, of: 1 }));
        assert_eq!(part(4).among(9), Some(part(4)));
    }
}
