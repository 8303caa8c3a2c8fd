//! Plans the requests for ranges of a file: adjacent ranges are merged, long ones are split.
//!
//! A request takes as long as the transfer of 1–2 MB, and one connection transfers up to about 100 MB/s.

use std::ops::Range;

/// Files of up to this many bytes are fetched whole.
pub(crate) const WHOLE: u64 = 8 << 20;
/// The end of a larger file that is fetched first. Hudi stores a Bloom filter of some 430 kB in a base file's footer.
pub(crate) const TAIL: u64 = 512 << 10;
/// Ranges with smaller gaps are fetched together.
pub(crate) const GAP: u64 = 1 << 20;
/// The larger gap that is used if the ranges would take more requests than all bytes between the first and the last.
const WIDE_GAP: u64 = 2 << 20;
/// Requests for longer ranges are split into pieces of this size.
pub(crate) const PIECE: u64 = 8 << 20;
/// The maximum number of bytes of ranges in memory: Hudi writes row groups of up to 120 MB.
pub(crate) const MOST_HELD: u64 = 128 << 20;
/// The minimum size of a piece of a group that does not fit in memory.
const LEAST_PIECE: u64 = 64 << 10;
/// The maximum number of requests ahead of a reader.
const MOST_AHEAD: usize = 16;

/// A range that is fetched with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchRange {
    pub(crate) range: Range<u64>,
    /// The number of following pieces that should be fetched once it is read.
    pub(crate) ahead: usize,
}

/// Returns the pieces of groups of ranges. Groups are read in sequence, the ranges of each concurrently, such as the
/// column chunks of a row group. `held` is the maximum number of bytes in memory.
pub(crate) fn pieces(groups: &[Vec<Range<u64>>], held: u64) -> Vec<FetchRange> {
    let held = held.min(MOST_HELD);
    let (mut pieces, mut small) = (Vec::new(), Vec::new());
    for group in groups {
        let total = group.iter().fold(0, |sum: u64, range| sum.saturating_add(len(range)));
        if total <= held || group.len() <= 1 {
            small.extend_from_slice(group);
            continue;
        }
        pieces.append(&mut together(&std::mem::take(&mut small)));
        // Each range is read from its beginning: of each, one piece is in memory and one is being fetched.
        let columns = group.len() as u64;
        let size = (held / (2 * columns)).clamp(LEAST_PIECE, PIECE);
        let one = |range: &Range<u64>| cut(range, size).map(|range| FetchRange { range, ahead: 1 }).collect::<Vec<_>>();
        pieces.extend(group.iter().flat_map(one));
    }
    pieces.append(&mut together(&small));
    pieces
}

/// Returns the pieces of ranges that are read in sequence, including those of several row groups.
fn together(ranges: &[Range<u64>]) -> Vec<FetchRange> {
    merged(ranges)
        .iter()
        .flat_map(|range| cut(range, PIECE))
        .map(|range| FetchRange { range, ahead: MOST_AHEAD })
        .collect()
}

/// Returns sorted ranges, with adjacent ones merged.
pub(crate) fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let merged = merged_over(ranges, GAP);
    let (Some(first), Some(last)) = (merged.first(), merged.last()) else { return merged };
    let requests_for = |range: &Range<u64>| len(range).div_ceil(PIECE);
    let of_all = requests_for(&(first.start..last.end));
    // A narrow projection of many small row groups.
    if merged.iter().map(requests_for).sum::<u64>() > of_all { merged_over(ranges, WIDE_GAP) } else { merged }
}

fn merged_over(ranges: &[Range<u64>], gap: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|range| len(range) > 0).cloned().collect();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Splits a range into pieces of similar size.
pub(crate) fn cut(range: &Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let count = len(range).div_ceil(size.max(1)).max(1);
    let step = len(range).div_ceil(count).max(1);
    let Range { start, end } = *range;
    (0..count).map(move |at| {
        let from = start.saturating_add(at.saturating_mul(step)).min(end);
        from..from.saturating_add(step).min(end)
    })
}

pub(crate) fn len(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // The test compares ranges.
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn ranges(groups: &[Vec<Range<u64>>]) -> Vec<Range<u64>> {
        pieces(groups, MOST_HELD).into_iter().map(|piece| piece.range).collect()
    }

    #[test]
    fn near_ranges_are_merged_and_long_ones_cut() {
        let all = |group: &[Range<u64>]| ranges(&[group.to_vec()]);
        assert_eq!(all(&[5..9, 0..3]), [0..9]);
        assert_eq!(all(&[0..MIB, 5 * MIB..6 * MIB]), [0..MIB, 5 * MIB..6 * MIB]);
        assert_eq!(all(&[0..20 * MIB]).len(), 3);
        assert_eq!(all(&[3..3]), []);
        let cut: Vec<_> = cut(&(10..30), 8).collect();
        assert_eq!(cut, [10..17, 17..24, 24..30]);
    }

    /// One range of `bytes` in each of 32 groups of `group` bytes.
    fn narrow(bytes: u64, group: u64) -> Vec<Vec<Range<u64>>> {
        (0..32).map(|at| std::iter::once(at * group..at * group + bytes).collect()).collect()
    }

    #[test]
    fn ranges_of_several_groups_are_merged() {
        let (tenth, third) = (MIB / 10, MIB / 3);
        assert_eq!(ranges(&narrow(MIB, MIB)), (0..4).map(|at| at * 8 * MIB..(at + 1) * 8 * MIB).collect::<Vec<_>>());
        // Gaps of less than 1 MiB.
        assert_eq!(ranges(&narrow(tenth, MIB)).len(), 4);
        // Larger gaps are fetched if that takes fewer requests, except for those that take longer than a request.
        assert_eq!(ranges(&narrow(tenth, 2 * MIB)).len(), 8);
        assert_eq!(ranges(&narrow(third, 3 * MIB)).len(), 32);
        assert_eq!(ranges(&narrow(tenth, 20 * MIB)).len(), 32);
    }

    #[test]
    fn a_large_group_is_read_column_by_column() {
        let columns = [0..90 * MIB, 90 * MIB..180 * MIB];
        let found = pieces(&[vec![5..9], columns.to_vec(), vec![200 * MIB..201 * MIB]], MOST_HELD);
        let (small, found) = (found.iter().filter(|piece| piece.ahead > 1).count(), &found[1..found.len() - 1]);
        assert_eq!(small, 2);
        assert!(found.iter().all(|piece| piece.ahead == 1 && len(&piece.range) <= PIECE));
        assert!(!found.iter().any(|piece| piece.range.start < 90 * MIB && piece.range.end > 90 * MIB));
        assert_eq!(found.iter().map(|piece| len(&piece.range)).sum::<u64>(), 180 * MIB);
        assert!(pieces(&[columns.to_vec()], MIB).iter().all(|piece| len(&piece.range) <= MIB / 4));
    }
}
