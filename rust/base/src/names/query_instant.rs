//! Instants as users write them (`HoodieSqlCommonUtils.formatQueryInstant`, `HoodieInstantTimeGenerator`). All queries
//! of an instant or a range parse them here.
//!
//! | format | meaning |
//! |---|---|
//! | 14 or 17 digits, 20 and more | an instant of the timeline: `yyyyMMddHHmmss[SSS]`, with a suffix in metadata tables |
//! | 10 digits | seconds since 1970 |
//! | 13 digits | milliseconds since 1970 |
//! | up to 8 digits | the beginning of an instant, such as `000` |
//! | `yyyy-MM-dd` | midnight in the timeline's zone |
//! | `yyyy-MM-dd HH:mm:ss` | the last millisecond of that second in the timeline's zone |
//! | `yyyy-MM-dd HH:mm:ss.SSS` | that millisecond; further digits are cut off |
//! | `yyyy-MM-dd HH:mm[:ss[.SSS]]` and `Z`, `+02:00` or `+0200` | that time, in the timeline's zone |
//!
//! `T` may be written for the space. Instants are compared as strings, so that a number of another length, such as
//! microseconds since 1970, would be the year 1735: it is refused.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta};

use super::timeline_zone::TimelineZone;
use crate::error::{Error, Result};

/// Digits of a time in milliseconds.
const MILLIS: usize = 17;
const SECONDS: usize = 14;
/// The fewest digits of an instant of a metadata table with a suffix.
const SUFFIXED: usize = 20;
/// The most digits of the beginning of an instant: a day.
const DAY: usize = 8;
const EPOCH_SECONDS: usize = 10;
const EPOCH_MILLIS: usize = 13;
const LAST_MILLI: u32 = 999;
const FORM: &str = "%Y%m%d%H%M%S%3f";

/// Returns the digits of an instant that a user has written, on the clock of the timeline's zone.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] with the name of the argument for any other format, and for times that are not
/// of the calendar.
pub fn query_instant(argument: &str, text: &str, zone: TimelineZone) -> Result<String> {
    // As in Hudi: a query as of a second includes the commits of that second.
    parse(argument, text, zone, LAST_MILLI)
}

/// Returns the position right before an instant that a user has written; `None` if there is none. A second begins with
/// its first millisecond.
///
/// # Errors
/// As [`query_instant`].
pub fn position_before(argument: &str, text: &str, zone: TimelineZone) -> Result<Option<String>> {
    let digits = parse(argument, text, zone, 0)?;
    let padded = format!("{digits:0<MILLIS$}");
    let time = padded.get(..MILLIS).and_then(time_of);
    if let Some(before) = time.and_then(|time| time.checked_sub_signed(TimeDelta::milliseconds(1))) {
        return Ok(Some(before.format(FORM).to_string()));
    }
    // An instant that is no time of the calendar: instants are compared as strings.
    let before = padded.parse::<u128>().ok().and_then(|number| number.checked_sub(1));
    Ok(before.map(|before| format!("{before:0width$}", width = padded.len())))
}

fn parse(argument: &str, text: &str, zone: TimelineZone, milli: u32) -> Result<String> {
    let given = text.trim();
    let found = if !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit()) {
        of_digits(given, zone)
    } else {
        of_date(given, zone, milli)
    };
    found.ok_or_else(|| {
        Error::invalid_argument(format!(
            "{argument} must be an instant of the timeline (yyyyMMddHHmmss[SSS]), yyyy-MM-dd, yyyy-MM-dd \
             HH:mm:ss[.SSS], or seconds (10 digits) or milliseconds (13 digits) since 1970, got {text:?}"
        ))
    })
}

fn of_digits(digits: &str, zone: TimelineZone) -> Option<String> {
    let epoch_millis = match digits.len() {
        EPOCH_SECONDS => digits.parse::<i64>().ok()?.checked_mul(1000)?,
        EPOCH_MILLIS => digits.parse().ok()?,
        SECONDS | MILLIS | SUFFIXED.. => return is_day(digits).then(|| digits.to_owned()),
        0..=DAY => return Some(digits.to_owned()),
        _ => return None,
    };
    DateTime::from_timestamp_millis(epoch_millis).map(|time| zone.digits(time))
}

/// Returns true if the digits begin with a day. Hudi has instants of the year 0, such as those of bootstraps, and the
/// year 9999 stands for the end of the timeline.
fn is_day(digits: &str) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).and_then(|part| part.parse::<u32>().ok());
    matches!(digits.get(..4), Some("0000" | "9999"))
        || (part(4, 6).is_some_and(|month| (1..=12).contains(&month))
            && part(6, 8).is_some_and(|day| (1..=31).contains(&day)))
}

fn time_of(digits: &str) -> Option<NaiveDateTime> {
    let part = |from: usize, to: usize| digits.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let day = NaiveDate::from_ymd_opt(i32::try_from(part(0, 4)?).ok()?, part(4, 6)?, part(6, 8)?)?;
    day.and_hms_milli_opt(part(8, 10)?, part(10, 12)?, part(12, 14)?, part(14, 17)?)
}

/// Parses a date with or without a time and a zone. A time without a zone and a fraction has the millisecond `milli`.
fn of_date(text: &str, zone: TimelineZone, milli: u32) -> Option<String> {
    let (day, rest) = text.split_at_checked("yyyy-MM-dd".len())?;
    let day = parse_day(day)?;
    if rest.is_empty() {
        return Some(format!("{}000000000", day.format("%Y%m%d")));
    }
    let rest = rest.strip_prefix([' ', 'T', 't'])?;
    let (time, offset) = split_zone(rest)?;
    let (clock, fraction) = time.split_once('.').map_or((time, None), |(clock, fraction)| (clock, Some(fraction)));
    let parts = clock.split(':').map(|part| number(part, 2)).collect::<Option<Vec<u32>>>()?;
    let (hour, minute, second) = match (parts.as_slice(), offset, fraction) {
        ([hour, minute, second], ..) => (*hour, *minute, *second),
        ([hour, minute], Some(_), None) => (*hour, *minute, 0),
        _ => return None,
    };
    let milli = match fraction {
        Some(fraction) => milliseconds(fraction)?,
        None if offset.is_none() => milli,
        None => 0,
    };
    let clock = day.and_hms_milli_opt(hour, minute, second, milli)?;
    match offset {
        None => Some(clock.format(FORM).to_string()),
        Some(seconds) => Some(zone.digits(clock.checked_sub_signed(TimeDelta::seconds(seconds))?.and_utc())),
    }
    .filter(|digits| digits.len() == MILLIS)
}

fn parse_day(text: &str) -> Option<NaiveDate> {
    let mut parts = text.split('-');
    let (year, month, day) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).filter(|_| parts.next().is_none())
}

/// Parses a number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Returns the milliseconds of a fraction of a second.
fn milliseconds(fraction: &str) -> Option<u32> {
    let is_fraction = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let padded = is_fraction.then(|| format!("{fraction:0<3}"))?;
    padded.get(..3)?.parse().ok()
}

/// Splits a time of day and its zone, in seconds ahead of UTC.
fn split_zone(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time.trim_end(), Some(0)));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, None)) };
    let (time, offset) = text.split_at_checked(at)?;
    let (sign, digits) = offset.split_at_checked(1)?;
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None => digits.split_at_checked(2)?,
    };
    let (hours, minutes) = (i64::from(number(hours, 2)?), i64::from(number(minutes, 2)?));
    let seconds = hours * 3600 + minutes * 60;
    (hours < 24 && minutes < 60).then(|| (time.trim_end(), Some(if sign == "-" { -seconds } else { seconds })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<String> {
        query_instant("as_of", text, TimelineZone::Utc).ok()
    }

    /// What `formatQueryInstant` of Hudi 1.2 returns on a machine in UTC.
    #[test]
    fn formats_are_those_of_hudi() {
        for (text, instant) in [
            ("1735689600", "20250101000000000"),
            ("1735689600000", "20250101000000000"),
            ("1711846800123", "20240331010000123"),
            ("0000000000", "19700101000000000"),
            ("9999999999", "22861120174639000"),
            ("2024-03-31", "20240331000000000"),
            ("2024-03-31 02:30:00", "20240331023000999"),
            ("2024-03-31T02:30:00", "20240331023000999"),
            ("2024-03-31 02:30:00.500", "20240331023000500"),
            ("2024-03-31T02:30:00.500", "20240331023000500"),
            ("20240331023000", "20240331023000"),
            ("20240331023000500", "20240331023000500"),
            ("00000000000000", "00000000000000"),
            ("00000000000002", "00000000000002"),
        ] {
            assert_eq!(parsed(text).as_deref(), Some(instant), "{text}");
        }
    }

    #[test]
    fn formats_that_hudi_does_not_have() {
        for (text, instant) in [
            ("000", "000"),
            ("20240331", "20240331"),
            (" 20240331023000 ", "20240331023000"),
            ("20240331023000500001", "20240331023000500001"),
            ("99999999999999999", "99999999999999999"),
            ("2024-03-31 02:30:00.5", "20240331023000500"),
            ("2024-03-31 02:30:00.678901", "20240331023000678"),
            ("2024-03-31T02:30:00Z", "20240331023000000"),
            ("2024-03-31 02:30z", "20240331023000000"),
            ("2024-03-31T02:30:00.678901+02:00", "20240331003000678"),
            ("2024-03-31T23:30:00 -0530", "20240401050000000"),
        ] {
            assert_eq!(parsed(text).as_deref(), Some(instant), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "yesterday",
            "2024-1-2",
            "2024-01-02 03:04",
            "2024/01/02",
            "2024-13-01",
            "2024-02-30",
            "2024-01-02 24:00:00",
            "2024-01-02 03:04:05.",
            "2024-01-02 03:04:05+2",
            "2024-01-02 03:04:05+02:60",
            "2024-01-02é03:04:05",
            "-1735689600",
            // Lengths that no instant has: parts of a day, microseconds, nanoseconds.
            "202403310",
            "20240331023",
            "202403310230",
            "1735689600000000",
            "173568960000000000",
            "1735689600000000000",
            "20241331023000",
            "20240332023000000",
        ] {
            let error = query_instant("as_of", text, TimelineZone::Utc).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument, "{text}");
            assert!(error.to_string().contains("as_of must be an instant"), "{error}");
        }
    }

    #[test]
    fn the_position_before_an_instant() {
        for (text, before) in [
            ("20240101120000000", Some("20240101115959999")),
            ("20240101120000", Some("20240101115959999")),
            ("2024-01-01 12:00:00", Some("20240101115959999")),
            ("1704110400", Some("20240101115959999")),
            ("2024-01-01", Some("20231231235959999")),
            ("00000000000001", Some("00000000000000999")),
            ("20240101999999000", Some("20240101999998999")),
            ("000", None),
        ] {
            assert_eq!(position_before("start", text, TimelineZone::Utc).unwrap().as_deref(), before, "{text}");
        }
        assert!(position_before("start", "yesterday", TimelineZone::Utc).is_err());
    }
}
