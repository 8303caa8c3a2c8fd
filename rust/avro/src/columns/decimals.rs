//! Decimals: two's complement, big-endian, brought to the column's scale.

use super::super::java_text;
use super::super::lane::Lane;
use super::super::plan::{DecimalPlan, DecimalSource};
use super::numbers::{ReadNumber, first};
use mortice_base::error::{Error, Result};

/// Reads a decimal at the scale of its column.
pub(super) fn read(lane: &mut Lane<'_>, decimal: &DecimalPlan) -> Result<i128> {
    let scale = decimal.scale;
    let value = match &decimal.source {
        DecimalSource::Bytes { scale: from } => {
            let length = lane.length()?;
            java_text::rescale(unscaled(lane, length)?, *from, scale)
        }
        DecimalSource::Fixed { size, scale: from } => java_text::rescale(unscaled(lane, *size)?, *from, scale),
        DecimalSource::Int => java_text::rescale(i128::from(lane.int()?), 0, scale),
        DecimalSource::Long => java_text::rescale(i128::from(lane.long()?), 0, scale),
        DecimalSource::Float => {
            java_text::parse_decimal(java_text::float(f32::from_le_bytes(lane.array()?)).as_str(), scale)
        }
        DecimalSource::Double => {
            java_text::parse_decimal(java_text::double(f64::from_le_bytes(lane.array()?)).as_str(), scale)
        }
        DecimalSource::Text => {
            let length = lane.length()?;
            str::from_utf8(lane.slice(length)?).ok().and_then(|text| java_text::parse_decimal(text, scale))
        }
    };
    value.filter(|value| value.unsigned_abs() < limit(decimal.precision)).ok_or_else(|| does_not_fit(*lane, decimal))
}

/// A decimal in a `fixed`, at the scale of its column.
pub(super) struct FixedDecimal {
    pub(super) size: usize,
    pub(super) limit: u128,
    pub(super) decimal: DecimalPlan,
}

impl ReadNumber for FixedDecimal {
    type Native = i128;
    const HAS_PEEK: bool = true;

    #[inline(always)]
    fn peek(&self, ahead: &[u8; 16]) -> (i128, u32, bool) {
        let (value, is_read) = peek_signed(first(ahead), self.size, self.limit);
        (value, self.size as u32, is_read)
    }

    #[inline(always)]
    fn read(&self, lane: &mut Lane<'_>) -> Result<i128> {
        let value = unscaled(lane, self.size)?;
        if value.unsigned_abs() < self.limit { Ok(value) } else { Err(does_not_fit(*lane, &self.decimal)) }
    }
}

/// A decimal in `bytes`, at the scale of its column.
pub(super) struct SizedDecimal {
    pub(super) limit: u128,
    pub(super) decimal: DecimalPlan,
}

impl ReadNumber for SizedDecimal {
    type Native = i128;
    const HAS_PEEK: bool = true;

    #[inline(always)]
    fn peek(&self, ahead: &[u8; 16]) -> (i128, u32, bool) {
        let [length, rest @ ..] = ahead;
        let size = usize::from(length >> 1);
        let (value, is_read) = peek_signed(rest.first_chunk().copied().unwrap_or_default(), size, self.limit);
        (value, u32::from(length >> 1) + 1, is_read & (length & 0x81 == 0))
    }

    #[inline(always)]
    fn read(&self, lane: &mut Lane<'_>) -> Result<i128> {
        let size = lane.length()?;
        let value = unscaled(lane, size)?;
        if value.unsigned_abs() < self.limit { Ok(value) } else { Err(does_not_fit(*lane, &self.decimal)) }
    }
}

/// The two's complement in the first `size` of eight bytes, and whether it has no more and is below the limit.
#[inline(always)]
fn peek_signed(ahead: [u8; 8], size: usize, limit: u128) -> (i128, bool) {
    let value = i64::from_be_bytes(ahead).wrapping_shr(64_u32.wrapping_sub(8 * size as u32));
    let below = u64::try_from(limit).map_or(true, |limit| value.unsigned_abs() < limit);
    (i128::from(value), (1..=8).contains(&size) & below)
}

/// A two's complement of that many bytes.
#[inline(always)]
fn unscaled(lane: &mut Lane<'_>, size: usize) -> Result<i128> {
    if let Some(value) = lane.short_signed(size) {
        return Ok(value);
    }
    match widened(lane.slice(size)?) {
        Some(value) => Ok(value),
        None => Err(too_wide(*lane, size)),
    }
}

/// A big-endian two's complement of any length; none where it does not fit.
#[inline(never)]
fn widened(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let (extension, digits) = bytes.split_at_checked(bytes.len().saturating_sub(16))?;
    let mut wide = [sign; 16];
    wide.get_mut(16 - digits.len()..)?.copy_from_slice(digits);
    let value = i128::from_be_bytes(wide);
    (extension.iter().all(|byte| *byte == sign) && (value < 0) == negative).then_some(value)
}

#[cold]
fn too_wide(lane: Lane<'_>, size: usize) -> Error {
    lane.corrupt(format!("invalid decimal: {size} bytes with more than 38 digits"))
}

/// What a value of so many digits stays below. (39 stands for any: no i128 has more.)
pub(super) fn limit(precision: u8) -> u128 {
    10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX)
}

#[cold]
fn does_not_fit(lane: Lane<'_>, decimal: &DecimalPlan) -> Error {
    lane.corrupt(format!(
        "invalid decimal: the value does not fit in precision {}, scale {}",
        decimal.precision, decimal.scale
    ))
}
