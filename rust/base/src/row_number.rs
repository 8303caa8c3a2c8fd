//! Numbers of rows, file groups and tasks as indexes of lists, and back.

use crate::error::{Error, Result};

const _: () = assert!(size_of::<usize>() >= size_of::<u32>(), "a list has an index for each number");

/// The index of a number. It cannot fail, so that no caller needs a value for numbers that have no index.
#[must_use]
#[inline]
pub const fn at(number: u32) -> usize {
    number as usize
}

/// The number of an index.
///
/// # Errors
/// `Internal` beyond the largest number: writes refuse that many rows before they number them.
#[inline]
pub fn number_of(index: usize) -> Result<u32> {
    u32::try_from(index).map_err(|_| Error::internal(format_args!("index {index} has no number of 32 bits")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_indexes_and_larger_indexes_have_none() {
        for number in [0, 1, u32::MAX] {
            assert_eq!(number_of(at(number)).unwrap(), number);
        }
        assert!(number_of(at(u32::MAX) + 1).is_err());
    }
}
