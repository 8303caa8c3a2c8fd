//! The contents of a delete block: keys, partition paths, and the ordering value of each delete.

use std::ops::Range;

use bytes::Bytes;

/// The deleted keys of a block, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedKeys {
    /// The bytes with all strings: the content itself, or strings decoded from it.
    pub text: Bytes,
    /// The keys.
    pub deleted: Vec<DeletedKey>,
}

/// One deleted key. Strings are ranges of [`DeletedKeys::text`], so that keys are not copied.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedKey {
    /// The record key.
    pub key: Option<Range<u32>>,
    /// The partition path.
    pub partition: Option<Range<u32>>,
    /// The ordering value.
    pub ordering: StoredOrdering,
}

/// An ordering value as stored in the block.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredOrdering {
    /// Null: unordered.
    None,
    /// A boolean.
    Boolean(bool),
    /// An int; 0 means unordered.
    Int(i32),
    /// A long.
    Long(i64),
    /// A float.
    Float(f32),
    /// A double.
    Double(f64),
    /// Bytes, as a range of the text.
    Bytes(Range<u32>),
    /// A string, as a range of the text.
    Text(Range<u32>),
    /// Days since the epoch.
    Date(i32),
    /// A decimal.
    Decimal {
        /// The unscaled value.
        unscaled: i128,
        /// The number of decimal places.
        scale: i32,
    },
    /// Microseconds of the day.
    TimeMicros(i64),
    /// Microseconds since the epoch.
    TimestampMicros(i64),
    /// The values of several ordering fields.
    Array(Vec<StoredOrdering>),
}

/// Parses an integer in the format of Java's `BigInteger`, big-endian; `None` for no bytes or more than 16.
pub(super) fn twos_complement(digits: &[u8]) -> Option<i128> {
    let first = digits.first().filter(|_| digits.len() <= 16)?;
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    Some(digits.iter().fold(sign, |value, byte| (value << 8) | i128::from(*byte)))
}
