//! Decimal numbers, as they are written.

use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, PrimitiveArray};
use mortice_base::{Error, Result};
use std::sync::Arc;

/// The most digits of a decimal.
pub(crate) const MOST_DIGITS: u8 = 38;

/// A decimal number: its value without the point, and how many of its digits are behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) value: i128,
    pub(crate) scale: i64,
    /// Digits without leading zeros, at least one.
    pub(crate) digits: usize,
}

/// Returns the decimal that a string is: digits with a point and an exponent, perhaps. None for anything else, and for
/// more than 38 digits.
pub(crate) fn parse_decimal(text: &str) -> Option<Decimal> {
    let (number, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let written = format!("{whole}{fraction}");
    if written.is_empty() || !written.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = written.trim_start_matches('0');
    if significant.len() > usize::from(MOST_DIGITS) {
        return None;
    }
    let magnitude: i128 = if significant.is_empty() { 0 } else { significant.parse().ok()? };
    let value = if number.starts_with('-') { magnitude.checked_neg()? } else { magnitude };
    let scale = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some(Decimal { value, scale, digits: significant.len().max(1) })
}

/// Returns a decimal with another number of digits behind the point: rounded half away from zero. None if that is too
/// large.
pub(crate) fn with_scale(value: i128, from: i64, to: i64) -> Option<i128> {
    if to >= from {
        let more = u32::try_from(to.checked_sub(from)?).ok()?;
        return if value == 0 { Some(0) } else { value.checked_mul(10_i128.checked_pow(more)?) };
    }
    let fewer = u32::try_from(from.checked_sub(to)?).ok()?;
    let Some(unit) = 10_i128.checked_pow(fewer) else { return Some(0) };
    rounded(value, unit)
}

/// Returns a number divided by a unit, rounded half away from zero.
pub(crate) fn rounded(value: i128, unit: i128) -> Option<i128> {
    let (quotient, rest) = (value.checked_div(unit)?, value.checked_rem(unit)?);
    // A unit is positive, so that its difference to the rest cannot overflow.
    let is_up = rest.unsigned_abs() >= unit.unsigned_abs().checked_sub(rest.unsigned_abs())?;
    if is_up { quotient.checked_add(if value < 0 { -1 } else { 1 }) } else { Some(quotient) }
}

/// Returns the number of digits of a decimal, at least one.
pub(crate) fn digits_of(value: i128) -> i32 {
    i32::try_from(value.unsigned_abs().checked_ilog10().unwrap_or(0).saturating_add(1)).unwrap_or(i32::MAX)
}

/// Returns an array of one decimal of a type.
pub(crate) fn decimal_array(value: i128, precision: u8, scale: i8) -> Result<ArrayRef> {
    let array = PrimitiveArray::<Decimal128Type>::from(vec![value]).with_precision_and_scale(precision, scale);
    Ok(Arc::new(array.map_err(|error| Error::invalid_argument(error.to_string()))?))
}
