//! How large a batch of rows may be.

/// The most rows and bytes of a batch. A batch has at least one row, however large that is.
///
/// Rows alone do not limit memory: values may have megabytes, and an Arrow column of strings holds less than 2 GiB. The
/// bytes are those of decoded rows, known about: from lengths in the file, and from the rows decoded before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimit {
    rows: usize,
    bytes: usize,
}

impl BatchLimit {
    /// Bytes of a batch, if memory is not scarce: a batch of the usual number of rows has less.
    const MOST_BYTES: usize = 64 << 20;
    /// Smaller batches save no memory worth their cost.
    const LEAST_BYTES: usize = 1 << 20;
    /// The share of a memory limit that one batch may take: several are in memory at once.
    const SHARE: u64 = 8;

    /// Batches of at most so many rows.
    #[must_use]
    pub fn with_rows(rows: usize) -> Self {
        Self { rows: rows.max(1), bytes: Self::MOST_BYTES }
    }

    /// Batches of at most so many rows, where so many bytes of memory may be used.
    #[must_use]
    pub fn within(rows: usize, memory_limit: u64) -> Self {
        let share = usize::try_from(memory_limit / Self::SHARE).unwrap_or(usize::MAX);
        Self { bytes: share.clamp(Self::LEAST_BYTES, Self::MOST_BYTES), ..Self::with_rows(rows) }
    }

    /// The same number of rows, with so many bytes.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes: bytes.max(1), ..self }
    }

    /// Rows of a batch; at least 1.
    #[must_use]
    pub const fn rows(self) -> usize {
        self.rows
    }

    /// Bytes of a batch; at least 1.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// How many rows of so many bytes each make a batch; at least 1.
    #[must_use]
    pub fn rows_of(self, row_bytes: usize) -> usize {
        (self.bytes / row_bytes.max(1)).clamp(1, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_a_row_at_least() {
        let limit = BatchLimit::within(1000, 64 << 20);
        assert_eq!((limit.rows(), limit.bytes()), (1000, 8 << 20));
        assert_eq!([limit.rows_of(0), limit.rows_of(1 << 20), limit.rows_of(usize::MAX)], [1000, 8, 1]);
        assert_eq!(BatchLimit::with_rows(0).rows_of(1), 1);
    }

    #[test]
    fn the_bytes_are_a_share_of_the_memory_within_bounds() {
        let bytes = [0, 16 << 20, u64::MAX].map(|memory| BatchLimit::within(1, memory).bytes());
        assert_eq!(bytes, [1 << 20, 2 << 20, 64 << 20]);
    }
}
