//! Numbers, decimals and dates as text, the way Java writes and reads them: Hudi's rewrite of a record turns numbers
//! into strings with `toString` and takes floats to doubles through their text.
//!
//! `Double.toString`: the shortest digits that name the number, but at least two, nearest to it; plain from 10^-3 up to
//! 10^7, scientific (`1.0E7`) outside. Up to JDK 18, and so where Spark 3.5 and 4 mostly run, large whole numbers have
//! more: see [`whole`].

use std::fmt::{LowerExp, Write as _};
use std::str::FromStr;

/// Text on the stack: no number here needs more than 64 bytes.
#[derive(Default)]
pub(super) struct ShortText {
    bytes: [[u8; 32]; 2],
    len: usize,
}

impl ShortText {
    /// What was written.
    pub(super) fn as_str(&self) -> &str {
        self.bytes.as_flattened().get(..self.len).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl std::fmt::Write for ShortText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.as_flattened_mut().get_mut(self.len..self.len + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// `Float.toString`.
pub(super) fn float(value: f32) -> ShortText {
    number(value, f32::MANTISSA_DIGITS)
}

/// `Double.toString`.
pub(super) fn double(value: f64) -> ShortText {
    number(value, f64::MANTISSA_DIGITS)
}

fn number<F: Copy + Into<f64> + LowerExp + FromStr + PartialEq>(value: F, significant_bits: u32) -> ShortText {
    if let Some(text) = whole(value.into(), significant_bits) {
        return text;
    }
    match named(value.into()) {
        Some(name) => written(|out| out.write_str(name)),
        None => {
            let two = written(|out| write!(out, "{value:.1e}"));
            let is_enough = two.as_str().parse().is_ok_and(|parsed: F| parsed == value);
            let shortest = if is_enough { two } else { written(|out| write!(out, "{value:e}")) };
            java(shortest.as_str())
        }
    }
}

/// A float as the double of the same text: `Double.valueOf(Float.toString(value))`.
pub(super) fn float_to_double(value: f32) -> f64 {
    if !value.is_finite() {
        return f64::from(value);
    }
    float(value).as_str().parse().unwrap_or_else(|_| f64::from(value))
}

/// Whole numbers of more bits than are significant, below 2^63: their digits, without those that the lost bits make up
/// for (`FloatingDecimal.BinaryToASCIIBuffer.dtoa`). The float 3.0E10 is 30000001024, of which `3.0000001E10` is left.
fn whole(value: f64, significant_bits: u32) -> Option<ShortText> {
    let exponent = u32::try_from((value.to_bits() >> 52) & 0x7FF).ok()?.checked_sub(1023)?;
    if !(significant_bits..=62).contains(&exponent) {
        return None;
    }
    let lost = exponent.saturating_sub(significant_bits + 1);
    // As many digits as 2^lost has behind its first.
    let dropped = if lost > 1 { 1_u64.checked_shl(lost)?.ilog10() } else { 0 };
    let power = 10_u64.checked_pow(dropped)?;
    // Exact: it is a whole number below 2^63.
    let number = value.abs() as u64;
    let up = u64::from(dropped > 0 && number % power >= power / 2);
    let digits = (number / power).checked_add(up)?.to_string();
    let (first, rest) = digits.split_at_checked(1)?;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let scale = rest.len() + usize::try_from(dropped).ok()?;
    let rest = rest.trim_end_matches('0');
    let text = written(|out| write!(out, "{sign}{first}.{}e{scale}", if rest.is_empty() { "0" } else { rest }));
    Some(java(text.as_str()))
}

fn written(write: impl FnOnce(&mut ShortText) -> std::fmt::Result) -> ShortText {
    let mut out = ShortText::default();
    // The buffer is larger than any number's text.
    let _ = write(&mut out);
    out
}

fn named(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        return Some("NaN");
    }
    match (value.is_infinite(), value == 0.0, value.is_sign_negative()) {
        (true, _, false) => Some("Infinity"),
        (true, _, true) => Some("-Infinity"),
        (_, true, false) => Some("0.0"),
        (_, true, true) => Some("-0.0"),
        _ => None,
    }
}

/// From Rust's `-1.25e-7` to Java's form.
fn java(scientific: &str) -> ShortText {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let rest = rest.trim_end_matches('0');
    let or_zero = |digits: &'static str| digits;
    written(|out| match exponent {
        0 => write!(out, "{sign}{first}.{}", if rest.is_empty() { or_zero("0") } else { rest }),
        1..=6 => {
            let shift = exponent.unsigned_abs() as usize;
            let whole = rest.get(..shift.min(rest.len())).unwrap_or_default();
            let fraction = rest.get(shift..).filter(|digits| !digits.is_empty()).unwrap_or("0");
            write!(out, "{sign}{first}{whole:0<shift$}.{fraction}")
        }
        -3..=-1 => {
            let zeros = exponent.unsigned_abs() as usize - 1;
            write!(out, "{sign}0.{:0<zeros$}{first}{rest}", "")
        }
        _ => write!(out, "{sign}{first}.{}E{exponent}", if rest.is_empty() { or_zero("0") } else { rest }),
    })
}

/// A decimal's digits, plain: `-12.30`.
pub(super) fn decimal(unscaled: i128, scale: u32) -> ShortText {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs();
    written(|out| match 10_u128.checked_pow(scale) {
        Some(1) => write!(out, "{sign}{digits}"),
        Some(unit) => write!(out, "{sign}{}.{:0>width$}", digits / unit, digits % unit, width = scale as usize),
        None => Err(std::fmt::Error),
    })
}

/// `LocalDate.ofEpochDay(days).toString()` for the years 0000 to 9999.
pub(super) fn date(days: i32) -> ShortText {
    let (year, month, day) = civil(i64::from(days));
    written(|out| match year {
        10_000.. => write!(out, "+{year}-{month:02}-{day:02}"),
        0.. => write!(out, "{year:04}-{month:02}-{day:02}"),
        _ => write!(out, "-{:04}-{month:02}-{day:02}", -year),
    })
}

/// Days since 1970-01-01 of `yyyy-[m]m-[d]d`, as `java.sql.Date.valueOf` takes it; none where it is no such date.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    let mut parts = text.trim().splitn(3, '-');
    let mut part = |widths: std::ops::RangeInclusive<usize>| {
        let digits = parts.next()?;
        let sound = widths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        sound.then(|| digits.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (part(4..=4)?, part(1..=2)?, part(1..=2)?);
    let days = epoch_day(year, month, day);
    (civil(days) == (year, month, day)).then(|| i32::try_from(days).ok()).flatten()
}

/// The proleptic Gregorian date of a day; eras of 400 years begin on March 1.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn epoch_day(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// `new BigDecimal(text).setScale(scale, HALF_UP)`, unscaled; none where it is no number or does not fit.
pub(super) fn parse_decimal(text: &str, scale: u32) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Digits that stand before the point once it is moved to where the wanted scale has it.
    let kept = i64::try_from(whole.len()).ok()? + i64::from(exponent) + i64::from(scale);
    let mut value = 0_i128;
    let mut half_up = false;
    for (digit, index) in digits().zip(0_i64..) {
        let digit = digit - b'0';
        if index < kept {
            value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
        } else {
            half_up = index == kept && digit >= 5;
            break;
        }
    }
    let zeros = kept - i64::try_from(whole.len() + fraction.len()).ok()?;
    if zeros > 0 && value != 0 {
        value = value.checked_mul(10_i128.checked_pow(u32::try_from(zeros).ok()?)?)?;
    }
    value = value.checked_add(i128::from(half_up))?;
    Some(if negative { -value } else { value })
}

/// A decimal brought from one scale to another, HALF_UP; none where it does not fit.
pub(super) fn rescale(unscaled: i128, from: u32, to: u32) -> Option<i128> {
    if to >= from {
        if unscaled == 0 {
            return Some(0);
        }
        return unscaled.checked_mul(10_i128.checked_pow(to - from)?);
    }
    let Some(unit) = 10_i128.checked_pow(from - to) else { return Some(0) };
    let (whole, rest) = (unscaled / unit, unscaled % unit);
    let away = rest.unsigned_abs() >= unit.unsigned_abs().div_ceil(2);
    Some(whole + if away { unscaled.signum() } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_java_does() {
        for (value, text) in [
            (5.0, "5.0"),
            (-1.25, "-1.25"),
            (100.0, "100.0"),
            (1234567.0, "1234567.0"),
            (1234567.875, "1234567.875"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (123_456_789.5, "1.234567895E8"),
            (0.001, "0.001"),
            (0.012_5, "0.0125"),
            (0.5, "0.5"),
            (0.000_9, "9.0E-4"),
            (-1.5e-10, "-1.5E-10"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (5e-324, "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (2e23, "2.0E23"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value).as_str(), text);
        }
    }

    #[test]
    fn floats_are_written_as_java_does_and_keep_their_text_as_doubles() {
        for (value, text) in [
            (1.1_f32, "1.1"),
            (16_777_216.0, "1.6777216E7"),
            (1e10, "1.0E10"),
            (f32::from_bits(1), "1.4E-45"),
            (f32::MAX, "3.4028235E38"),
            (3.0e-3, "0.003"),
            (f32::INFINITY, "Infinity"),
        ] {
            assert_eq!(float(value).as_str(), text);
        }
        assert_eq!(float_to_double(1.1), 1.1);
        assert_eq!(float_to_double(-0.0).to_bits(), (-0.0_f64).to_bits());
        assert!(float_to_double(f32::NAN).is_nan());
    }

    /// As JDK 17 writes them.
    #[test]
    fn large_whole_numbers_have_the_digits_that_count() {
        for (value, text) in [
            (3e10_f32, "3.0000001E10"),
            (-25_251_020_800.0, "-2.52510208E10"),
            (334_661_184.0, "3.34661184E8"),
            (33_554_432.0, "3.3554432E7"),
            (1e9, "1.0E9"),
            (1e18, "9.9999998E17"),
            (9.1e18, "9.1000002E18"),
            (9.3e18, "9.3E18"),
            (7.7777e15, "7.7776999E15"),
        ] {
            assert_eq!(float(value).as_str(), text);
        }
        for (value, text) in [
            (9_007_199_254_740_992.0, "9.007199254740992E15"),
            (1_234_567_890_123_456_770.0, "1.23456789012345677E18"),
            (1e17, "1.0E17"),
            (123_456_789_012_345_680.0, "1.2345678901234568E17"),
            (-5.555_555_555_555_555e17, "-5.5555555555555552E17"),
            (2_f64.powi(60), "1.15292150460684698E18"),
            (9.3e18, "9.3E18"),
        ] {
            assert_eq!(double(value).as_str(), text);
        }
        assert_eq!(float_to_double(3e10), 30_000_001_000.0);
    }

    #[test]
    fn dates_go_both_ways() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (-719_528, "0000-01-01"),
            (2_932_896, "9999-12-31"),
        ] {
            assert_eq!(date(days).as_str(), text);
            assert_eq!(parse_date(text), Some(days));
        }
        assert_eq!(parse_date("2024-2-9"), parse_date("2024-02-09"));
        for wrong in ["", "2024", "2024-13-01", "2023-02-29", "24-01-01", "2024-01-01T00", "2024-+1-01"] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn decimals_round_half_up() {
        for (text, scale, value) in [
            ("1.005", 2, Some(101)),
            ("-1.005", 2, Some(-101)),
            ("1.0E3", 1, Some(10_000)),
            ("12.5e-1", 0, Some(1)),
            ("0.04", 1, Some(0)),
            ("-0.05", 1, Some(-1)),
            (".5", 0, Some(1)),
            ("7", 3, Some(7_000)),
            ("9e-99", 3, Some(0)),
            ("0e99", 3, Some(0)),
            ("9e99", 3, None),
            ("NaN", 3, None),
            ("", 0, None),
            ("1.2.3", 0, None),
        ] {
            assert_eq!(parse_decimal(text, scale), value, "{text}");
        }
        assert_eq!(rescale(1_234, 2, 4), Some(123_400));
        assert_eq!(rescale(1_250, 2, 1), Some(125));
        assert_eq!(rescale(-1_255, 2, 1), Some(-126));
        assert_eq!(rescale(1, 0, 39), None);
        assert_eq!(decimal(-1_230, 2).as_str(), "-12.30");
        assert_eq!(decimal(5, 3).as_str(), "0.005");
        assert_eq!(decimal(i128::MIN, 0).as_str(), i128::MIN.to_string());
    }
}
