//! Decimals: two's complement, big-endian, brought to the column's scale.

use super::super::java_text;
use super::super::lane::Lane;
use super::super::plan::{Decimal, DecimalSource};
use crate::error::{Error, Result};

/// Reads a decimal at the scale of its column.
pub(super) fn read(lane: &mut Lane<'_>, decimal: &Decimal) -> Result<i128> {
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
    value.filter(|value| fits(*value, decimal.precision)).ok_or_else(|| does_not_fit(lane, decimal))
}

/// A decimal as the file has it; the fast path of [`read`].
#[inline(always)]
pub(super) fn unscaled(lane: &mut Lane<'_>, size: usize) -> Result<i128> {
    let bytes = lane.slice(size)?;
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let surplus = bytes.len().saturating_sub(16);
    let (extension, digits) = bytes.split_at_checked(surplus).unwrap_or_default();
    let mut wide = [sign; 16];
    if let Some(low) = wide.get_mut(16 - digits.len()..) {
        low.copy_from_slice(digits);
    }
    let value = i128::from_be_bytes(wide);
    if extension.iter().any(|byte| *byte != sign) || (value < 0) != negative {
        return Err(lane.corrupt(format!("a decimal of {size} bytes with more than 38 digits")));
    }
    Ok(value)
}

/// Whether a value has no more digits than that.
#[inline(always)]
pub(super) fn fits(value: i128, precision: u8) -> bool {
    10_u128.checked_pow(u32::from(precision)).is_none_or(|limit| value.unsigned_abs() < limit)
}

#[cold]
pub(super) fn does_not_fit(lane: &Lane<'_>, decimal: &Decimal) -> Error {
    lane.corrupt(format!(
        "a value that is no decimal of {} digits, {} of them a fraction",
        decimal.precision, decimal.scale
    ))
}
