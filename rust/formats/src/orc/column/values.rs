//! The values of a column that are no nulls.

use arrow_array::ArrayRef;

use mortice_base::error::Result;

/// Values of one kind, read on from where the last read ended.
pub(super) trait ValueReader: Send {
    /// The next `count` values.
    fn read(&mut self, count: usize) -> Result<ArrayRef>;

    /// At most how many bytes the next `count` values take in memory, of which fewer may be left. About so many if that
    /// is all that is known.
    fn most_bytes(&mut self, count: u64) -> Result<u64> {
        Ok(self.bytes(count))
    }

    /// About how many bytes all values that are left take in memory, if they are `count`.
    fn bytes(&self, count: u64) -> u64 {
        count.saturating_mul(size_of::<u64>() as u64)
    }
}
