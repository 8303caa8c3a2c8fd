//! Which requests are made for ranges of a file: near ones are merged, long ones are cut.
//!
//! A request takes as long as the transfer of 1–2 MB, and one connection transfers up to about 100 MB/s.

use std::ops::Range;

/// Files of up to this many bytes are fetched whole.
pub(super) const WHOLE: u64 = 8 << 20;
/// The end of a larger file that is fetched first. Hudi keeps a bloom filter of some 430 kB in a base file's footer.
pub(super) const TAIL: u64 = 512 << 10;
/// Ranges with less than this between them are fetched together.
pub(super) const GAP: u64 = 1 << 20;
/// Requests of longer ranges are cut into pieces of this length.
pub(super) const PIECE: u64 = 8 << 20;
/// Bytes of a group of ranges that are held at once; a larger group is read column by column.
pub(super) const GROUP: u64 = 64 << 20;
/// A piece of a larger group has at least this many bytes.
const LEAST_PIECE: u64 = 256 << 10;

/// A range that is to be fetched by one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) range: Range<u64>,
    /// How many of the pieces after it are worth fetching once it is read.
    pub(super) ahead: usize,
}

/// The pieces of a group of ranges that are read side by side, such as the column chunks of a row group.
pub(super) fn pieces(ranges: &[Range<u64>]) -> Vec<Piece> {
    let total = ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(len(range)));
    if total > GROUP && ranges.len() > 1 {
        // Each range is read from its front: of each, one piece is held and one is on its way.
        let columns = ranges.len() as u64;
        let size = (GROUP / (2 * columns)).clamp(LEAST_PIECE, PIECE);
        let one = |range: &Range<u64>| cut(range, size).map(|range| Piece { range, ahead: 1 }).collect::<Vec<_>>();
        return ranges.iter().flat_map(one).collect();
    }
    let ahead = usize::try_from(GROUP / PIECE / 2).unwrap_or(1);
    merged(ranges).iter().flat_map(|range| cut(range, PIECE)).map(|range| Piece { range, ahead }).collect()
}

/// Sorted ranges, those that are near each other merged.
pub(super) fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|range| len(range) > 0).cloned().collect();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// A range in pieces of about one length, none much shorter than the others.
pub(super) fn cut(range: &Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let count = len(range).div_ceil(size.max(1)).max(1);
    let step = len(range).div_ceil(count).max(1);
    let Range { start, end } = *range;
    (0..count).map(move |at| {
        let from = start.saturating_add(at.saturating_mul(step)).min(end);
        from..from.saturating_add(step).min(end)
    })
}

pub(super) fn len(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // Ranges are what is compared.
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn near_ranges_are_merged_and_long_ones_cut() {
        let all = |ranges: &[Range<u64>]| pieces(ranges).into_iter().map(|piece| piece.range).collect::<Vec<_>>();
        assert_eq!(all(&[5..9, 0..3]), [0..9]);
        assert_eq!(all(&[0..MIB, 3 * MIB..4 * MIB]), [0..MIB, 3 * MIB..4 * MIB]);
        assert_eq!(all(&[0..20 * MIB]).len(), 3);
        assert_eq!(all(&[3..3]), []);
        let cut: Vec<_> = cut(&(10..30), 8).collect();
        assert_eq!(cut, [10..17, 17..24, 24..30]);
    }

    #[test]
    fn a_large_group_is_read_column_by_column() {
        let columns = [0..50 * MIB, 50 * MIB..100 * MIB];
        let found = pieces(&columns);
        assert!(found.iter().all(|piece| piece.ahead == 1 && len(&piece.range) <= PIECE));
        assert!(!found.iter().any(|piece| piece.range.start < 50 * MIB && piece.range.end > 50 * MIB));
        assert_eq!(found.iter().map(|piece| len(&piece.range)).sum::<u64>(), 100 * MIB);
    }
}
