//! Rows of a file that are read, as ranges in ascending order that do not touch the ones before.

use std::ops::Range;

use arrow_array::RecordBatch;

/// All rows of a file.
pub(super) fn whole(rows: u64) -> Vec<Range<u64>> {
    (rows > 0).then_some(0..rows).into_iter().collect()
}

/// The rows of stretches that follow each other, such as row groups.
pub(super) fn consecutive(rows: &[u64]) -> Vec<Range<u64>> {
    let mut end = 0_u64;
    let range = |rows: &u64| {
        let start = end;
        end = start.saturating_add(*rows);
        start..end
    };
    rows.iter().map(range).collect()
}

/// Whether two ranges have a row in common.
pub(super) fn overlaps(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}

/// The rows that are in both.
pub(super) fn common(one: &[Range<u64>], other: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(one), Some(other)) = (ones.peek(), others.peek()) {
        if overlaps(one, other) {
            let both = one.start.max(other.start)..one.end.min(other.end);
            match found.last_mut().filter(|last| last.end == both.start) {
                Some(last) => last.end = both.end,
                None => found.push(both),
            }
        }
        if one.end <= other.end {
            ones.next()
        } else {
            others.next()
        };
    }
    found
}

/// How many rows there are.
pub(super) fn count(rows: &[Range<u64>]) -> u64 {
    rows.iter().map(|rows| rows.end.saturating_sub(rows.start)).fold(0, u64::saturating_add)
}

/// The rows behind the first `count` ones.
pub(super) fn after(rows: Vec<Range<u64>>, mut count: u64) -> Vec<Range<u64>> {
    let rest = rows.into_iter().map(|range| {
        let passed = count.min(range.end.saturating_sub(range.start));
        count = count.saturating_sub(passed);
        range.start.saturating_add(passed)..range.end
    });
    rest.filter(|range| !range.is_empty()).collect()
}

/// The rows of a batch, which are those of `rows` in the file, that are in `kept`.
pub(super) fn slices(batch: &RecordBatch, rows: &Range<u64>, kept: &[Range<u64>]) -> Vec<RecordBatch> {
    let common = common(std::slice::from_ref(rows), kept);
    let slice = |range: &Range<u64>| {
        let at = usize::try_from(range.start.saturating_sub(rows.start)).unwrap_or(usize::MAX);
        let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or_default();
        batch.slice(at.min(batch.num_rows()), len.min(batch.num_rows().saturating_sub(at)))
    };
    common.iter().map(slice).collect()
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, not of numbers")]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_in_both() {
        assert_eq!(common(&[0..10, 20..30], &[5..25]), [5..10, 20..25]);
        assert_eq!(common(&[0..10, 10..20], &whole(20)), whole(20));
        assert!(common(&[0..5, 9..9], &[5..9]).is_empty() && whole(0).is_empty());
        assert_eq!(consecutive(&[3, 0, 4]), [0..3, 3..3, 3..7]);
    }

    #[test]
    fn rows_behind_the_first_ones() {
        let rows = || vec![0..10, 20..30];
        assert_eq!(after(rows(), 0), rows());
        assert_eq!(after(rows(), 4), [4..10, 20..30]);
        assert_eq!(after(rows(), 10), [20..30]);
        assert_eq!(after(rows(), 19), [29..30]);
        assert!(after(rows(), 20).is_empty() && after(rows(), 99).is_empty());
    }
}
