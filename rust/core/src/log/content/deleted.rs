//! What a delete block says: keys, partition paths, and what each delete was ordered by.

use std::ops::Range;

use bytes::Bytes;

/// The deleted keys of a block, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Deletes {
    /// The bytes in which all texts lie: the content itself, or texts unpacked from it.
    pub text: Bytes,
    /// The keys.
    pub deleted: Vec<Deleted>,
}

/// One deleted key. Texts are ranges of [`Deletes::text`], so that keys need not be copied.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleted {
    /// The record key.
    pub key: Option<Range<u32>>,
    /// The partition path.
    pub partition: Option<Range<u32>>,
    /// What it was ordered by.
    pub ordering: Ordering,
}

/// An ordering value, as the block has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Ordering {
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
    /// Bytes, a range of the text.
    Bytes(Range<u32>),
    /// Text, a range of the text.
    Text(Range<u32>),
    /// Days since the epoch.
    Date(i32),
    /// A decimal number.
    Decimal {
        /// Its digits.
        unscaled: i128,
        /// How many of them stand behind the point.
        scale: i32,
    },
    /// Microseconds of the day.
    TimeMicros(i64),
    /// Microseconds since the epoch.
    TimestampMicros(i64),
    /// Of several ordering fields.
    Array(Vec<Ordering>),
}

/// A whole number as Java's `BigInteger` has it, big-endian; none of no bytes, or of more than 16.
pub(super) fn twos_complement(digits: &[u8]) -> Option<i128> {
    let first = digits.first().filter(|_| digits.len() <= 16)?;
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    Some(digits.iter().fold(sign, |value, byte| (value << 8) | i128::from(*byte)))
}
