//! Dates and times, as they are written.

use chrono::{DateTime, NaiveDate};

pub(crate) const MICROS: i64 = 1_000_000;
pub(crate) const MICROS_OF_DAY: i64 = 86_400 * MICROS;

/// A time that a string says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Microseconds since 1970-01-01, in UTC if the string has a zone, and without a zone otherwise.
    pub(crate) micros: i64,
    pub(crate) has_zone: bool,
}

/// Returns the day of a date as in `2024-01-31`, as days since 1970-01-01.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    if bytes.len() != 10 || ![0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(is_digit) {
        return None;
    }
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let date = NaiveDate::from_ymd_opt(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)?;
    i32::try_from(date.signed_duration_since(NaiveDate::default()).num_days()).ok()
}

/// Returns the time that a string says: a date, and perhaps `T` or a space, a time of the day and a zone.
///
/// A time of the day is hours, minutes, seconds and up to six digits of a fraction, each of them but the first may be
/// missing. A zone is `Z`, `+02`, `+0200` or `+02:00`.
pub(crate) fn parse_moment(text: &str) -> Option<Moment> {
    let day = i64::from(parse_date(text.get(..10)?)?).checked_mul(MICROS_OF_DAY)?;
    let rest = text.get(10..)?;
    if rest.is_empty() {
        return Some(Moment { micros: day, has_zone: false });
    }
    let rest = rest.strip_prefix([' ', 'T'])?;
    let (time, zone) = rest.find(['Z', '+', '-']).map_or((rest, ""), |at| rest.split_at(at));
    let local = day.checked_add(parse_time(time)?)?;
    let shift = if zone.is_empty() { 0 } else { parse_zone(zone)? };
    Some(Moment { micros: local.checked_sub(shift)?, has_zone: !zone.is_empty() })
}

fn parse_time(time: &str) -> Option<i64> {
    let (whole, fraction) = time.split_once('.').map_or((time, None), |(whole, fraction)| (whole, Some(fraction)));
    let parts: Vec<&str> = whole.split(':').collect();
    let mut total = 0_i64;
    for (place, most) in [(0, 24), (1, 60), (2, 60)] {
        let value = match parts.get(place) {
            Some(part) => two_digits(part).filter(|value| *value < most)?,
            None => 0,
        };
        total = total.checked_mul(60)?.checked_add(value)?;
    }
    let micros = match fraction {
        Some(digits) if parts.len() == 3 => parse_fraction(digits)?,
        Some(_) => return None,
        None => 0,
    };
    (parts.len() <= 3).then(|| total.checked_mul(MICROS)?.checked_add(micros))?
}

fn parse_fraction(digits: &str) -> Option<i64> {
    let is_valid = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_valid.then(|| format!("{digits:0<6}").parse().ok())?
}

fn parse_zone(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, digits) = (if zone.starts_with('-') { -1 } else { 1 }, zone.get(1..)?);
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        4 => digits.split_at(2),
        5 => digits.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    (hours < 24 && minutes < 60).then(|| (hours * 60 + minutes) * 60 * MICROS * sign)
}

fn two_digits(text: &str) -> Option<i64> {
    (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Returns a time as a string, with `Z` if it has a zone. None for years that have more than four digits.
pub(crate) fn format_moment(micros: i64, has_zone: bool, digits: usize) -> Option<String> {
    let moment = DateTime::from_timestamp_micros(micros)?;
    let fraction = match digits {
        0 => String::new(),
        _ => format!(".{:06}", micros.rem_euclid(MICROS)).chars().take(digits.saturating_add(1)).collect(),
    };
    Some(format!("{}{fraction}{}", moment.format("%Y-%m-%d %H:%M:%S"), if has_zone { "Z" } else { "" }))
}
