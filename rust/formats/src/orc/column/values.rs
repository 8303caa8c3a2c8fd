//! The values of a column that are no nulls.

use arrow_array::ArrayRef;

use mortice_base::error::Result;

/// Values of one kind, read on from where the last read ended.
pub(super) trait ValueReader: Send {
    /// The next `count` values.
    fn read(&mut self, count: usize) -> Result<ArrayRef>;

    /// About how many bytes the next `count` values take in memory.
    fn bytes(&self, count: u64) -> u64 {
        count.saturating_mul(size_of::<u64>() as u64)
    }
}
