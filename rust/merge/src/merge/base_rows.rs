//! Base rows as the merge looks them up: by record key, or by row number.

use std::ops::Range;

use arrow_array::{Array, StringArray, UInt64Array};
use bytes::Bytes;

/// Consecutive rows of a base file.
pub enum BaseRows {
    /// By their record keys. A row without a key matches no log record.
    Keys(StringArray),
    /// By their numbers in the file, where log blocks record the positions of the rows that their records update
    /// (`PositionBasedFileGroupRecordBuffer`).
    Numbers(Range<u64>),
    /// By their numbers, where some rows of the file were filtered out: ascending numbers.
    NumberList(UInt64Array),
}

impl BaseRows {
    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Keys(keys) => keys.len() as u64,
            Self::Numbers(numbers) => numbers.end.saturating_sub(numbers.start),
            Self::NumberList(numbers) => numbers.len() as u64,
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bytes of a row number that is used as a key.
pub const NUMBER_LEN: usize = size_of::<u64>();

/// Row numbers as keys of log records: the bytes of all of them, one after the other.
#[must_use]
pub fn numbers_as_keys(numbers: &[u64]) -> Bytes {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>().into()
}
