//! Rows of a base file, by what log records find them.

use std::ops::Range;

use arrow_array::{Array, StringArray, UInt64Array};
use bytes::Bytes;

/// Consecutive rows of a base file.
pub enum BaseRows {
    /// By their record keys. A row without a key is nobody's.
    Keys(StringArray),
    /// By their numbers in the file, where the logs say which rows their records update (`PositionBasedFileGroupRecordBuffer`).
    Numbers(Range<u64>),
    /// The same, of rows some of whose neighbours were left out: ascending numbers.
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

/// Bytes of a row's number, where it stands for a key.
pub const NUMBER_LEN: usize = size_of::<u64>();

/// Numbers as keys of log records: the bytes that they lie in, one after the other.
#[must_use]
pub fn numbers_as_keys(numbers: &[u64]) -> Bytes {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>().into()
}
