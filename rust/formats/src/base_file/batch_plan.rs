//! Which rows of a file are read in batches of how many rows, so that no batch has too many bytes.

use std::ops::Range;

use mortice_base::batch_limit::BatchLimit;

/// Rows that follow each other, and the bytes that they take in memory, in one column or in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizedRows {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// Rows of a file that are read in batches of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) rows: Range<u64>,
    pub(super) batch_rows: usize,
}

/// Plans the batches of rows that are read one after the other.
pub(super) struct BatchPlan {
    limit: BatchLimit,
    stretches: Vec<Stretch>,
    /// The rows and bytes of the batch at the end, which is not full, and the file's row after it.
    rows: u64,
    bytes: u64,
    end: u64,
    /// The most rows of a batch of the last stretch.
    most_rows: u64,
}

impl BatchPlan {
    pub(super) const fn new(limit: BatchLimit) -> Self {
        Self { limit, stretches: Vec::new(), rows: 0, bytes: 0, end: 0, most_rows: 0 }
    }

    /// Adds rows of a row group that begins at the row `first` of the file: those that are in `kept`. Each of `columns`
    /// has the sizes of all rows of the group, from the first one on.
    pub(super) fn add(&mut self, first: u64, rows: u64, columns: &[Vec<SizedRows>], kept: &[Range<u64>]) {
        for (range, of_row) in densities(first, rows, columns) {
            for kept in kept {
                let (start, end) = (range.start.max(kept.start), range.end.min(kept.end));
                if start < end {
                    self.add_alike(start, end.saturating_sub(start), of_row);
                }
            }
        }
    }

    /// Adds rows that take so many bytes each.
    fn add_alike(&mut self, mut at: u64, mut left: u64, of_row: u64) {
        let (most_rows, most_bytes) = (self.limit.rows() as u64, self.limit.bytes() as u64);
        while left > 0 {
            let by_bytes = most_bytes.saturating_sub(self.bytes).checked_div(of_row).unwrap_or(u64::MAX);
            let fits = left.min(most_rows.saturating_sub(self.rows)).min(by_bytes);
            if fits == 0 && self.rows > 0 {
                self.end_batch();
                continue;
            }
            // One row at least.
            let taken = fits.max(1);
            self.rows = self.rows.saturating_add(taken);
            self.bytes = self.bytes.saturating_add(taken.saturating_mul(of_row));
            at = at.saturating_add(taken);
            left = left.saturating_sub(taken);
            self.end = at;
        }
    }

    /// Ends the batch: it belongs to the last stretch if it has about as many rows as the batches there.
    fn end_batch(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let batch_rows = usize::try_from(rows).unwrap_or(usize::MAX);
        match self.stretches.last_mut() {
            Some(last) if rows.min(last.batch_rows as u64).saturating_mul(2) >= rows.max(self.most_rows) => {
                last.batch_rows = last.batch_rows.min(batch_rows);
                last.rows.end = self.end;
                self.most_rows = self.most_rows.max(rows);
            }
            last => {
                let start = last.map_or(0, |last| last.rows.end);
                self.stretches.push(Stretch { rows: start..self.end, batch_rows });
                self.most_rows = rows;
            }
        }
    }

    /// The stretches, in order. The first begins with the file, each other one where the one before it ends.
    pub(super) fn finish(mut self) -> Vec<Stretch> {
        if self.rows == 0 {
            return self.stretches;
        }
        match self.stretches.last_mut().filter(|last| self.rows <= last.batch_rows as u64) {
            Some(last) => last.rows.end = self.end,
            None => self.end_batch(),
        }
        // The only batch of a stretch has as many rows as there are; more are no other batch.
        if let [only] = self.stretches.as_mut_slice()
            && only.rows.end.saturating_sub(only.rows.start) <= only.batch_rows as u64
        {
            only.batch_rows = self.limit.rows();
        }
        self.stretches
    }
}

/// Divides the rows of a row group into ranges in which each column takes as many bytes in each row. Returns the bytes
/// of a row of all columns.
fn densities(first: u64, rows: u64, columns: &[Vec<SizedRows>]) -> Vec<(Range<u64>, u64)> {
    let of_row = |sized: &SizedRows| sized.bytes.checked_div(sized.rows).unwrap_or_default();
    // Columns of one size do not divide the rows.
    let (uniform, divided): (Vec<_>, Vec<_>) = columns.iter().partition(|column| column.len() <= 1);
    let base = uniform.iter().filter_map(|column| column.first()).map(of_row).fold(0, u64::saturating_add);
    // The run of each column at the place, and where it ends.
    let mut places: Vec<(usize, u64)> =
        divided.iter().map(|column| (0, column.first().map_or(0, |s| s.rows))).collect();
    let (mut at, mut ranges) = (0, Vec::new());
    while at < rows {
        let mut end = rows;
        let mut bytes = base;
        for (column, (run, run_end)) in divided.iter().zip(&mut places) {
            while *run_end <= at {
                let Some(next) = column.get(run.saturating_add(1)) else { break };
                *run = run.saturating_add(1);
                *run_end = run_end.saturating_add(next.rows);
            }
            if *run_end > at {
                end = end.min(*run_end);
            }
            bytes = bytes.saturating_add(column.get(*run).map_or(0, of_row));
        }
        ranges.push((first.saturating_add(at)..first.saturating_add(end), bytes));
        at = end;
    }
    ranges
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, not of numbers")]
mod tests {
    use super::*;

    fn limit() -> BatchLimit {
        BatchLimit::with_rows(1000).with_bytes(1 << 20)
    }

    fn sized(rows: u64, bytes: u64) -> SizedRows {
        SizedRows { rows, bytes }
    }

    fn planned(rows: u64, columns: &[Vec<SizedRows>], kept: &[Range<u64>]) -> Vec<(Range<u64>, usize)> {
        let mut plan = BatchPlan::new(limit());
        plan.add(0, rows, columns, kept);
        plan.finish().into_iter().map(|stretch| (stretch.rows, stretch.batch_rows)).collect()
    }

    #[test]
    fn narrow_rows_are_limited_by_their_number() {
        assert_eq!(planned(10, &[vec![sized(10, 100)]], &[0..10]), [(0..10, 1000)]);
        assert_eq!(planned(2500, &[vec![sized(2500, 9)], vec![]], &[0..2500]), [(0..2500, 1000)]);
        assert_eq!(planned(0, &[vec![]], &[]), []);
    }

    #[test]
    fn wide_rows_are_limited_by_their_bytes() {
        let columns = [vec![sized(100, 100 << 17)], vec![sized(100, 100 << 17)]];
        assert_eq!(planned(100, &columns, &[0..100]), [(0..100, 4)]);
        assert_eq!(planned(3, &[vec![sized(3, 3 << 40)]], &[0..3]), [(0..3, 1)], "a row that is too large comes alone");
    }

    #[test]
    fn wide_rows_among_narrow_ones_have_batches_of_their_own() {
        let column = vec![sized(5000, 5000), sized(8, 8 << 19), sized(5000, 5000)];
        assert_eq!(planned(10_008, &[column], &[0..10_008]), [(0..5000, 1000), (5000..5008, 2), (5008..10_008, 1000)]);
    }

    #[test]
    fn a_batch_may_have_rows_of_several_row_groups() {
        let mut plan = BatchPlan::new(limit());
        for group in 0..100 {
            plan.add(group * 100, 100, &[vec![sized(100, 100 << 12)]], &[0..10_000]);
        }
        assert_eq!(plan.finish(), [Stretch { rows: 0..10_000, batch_rows: 256 }]);
    }

    #[test]
    fn rows_that_are_left_out_do_not_count() {
        let column = vec![sized(1000, 1000 << 20), sized(1000, 1000)];
        assert_eq!(planned(2000, std::slice::from_ref(&column), &[1000..2000]), [(0..2000, 1000)]);
        assert_eq!(planned(2000, &[column], &[998..1002]), [(0..1002, 1)]);
    }
}
