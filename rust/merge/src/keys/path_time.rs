//! Times in partition paths: the numbers that a formatted time can represent.
//!
//! A number is converted to a time of its unit, that to whole milliseconds (towards zero), and these to a string of
//! some of the fields `yyyy MM dd HH mm ss`: a string of year, month and day represents all milliseconds of a day.
//! Patterns with other letters, patterns without one of the larger fields, and years before 1900, whose calendars
//! differ, are not evaluated.

use chrono::{Days, Months, NaiveDate, NaiveDateTime, TimeDelta};

use super::partition_part::TimeFormat;

/// Fields, from largest to smallest, and their number of digits.
const FIELDS: [(&str, usize); 6] = [("yyyy", 4), ("MM", 2), ("dd", 2), ("HH", 2), ("mm", 2), ("ss", 2)];
const FIRST_YEAR: u32 = 1900;
/// The largest offset of a time zone from UTC, in seconds (`java.time.ZoneOffset.MAX`).
const LARGEST_OFFSET: i64 = 18 * 3600;

/// Returns the smallest and the largest number that a string represents.
pub fn numbers(format: &TimeFormat, text: &str) -> Option<(i64, i64)> {
    let (from, to) = span(&format.pattern, text)?;
    let (most, least) = match format.offset_seconds {
        Some(offset) => (i64::from(offset), i64::from(offset)),
        None => (LARGEST_OFFSET, -LARGEST_OFFSET),
    };
    let first = from.and_utc().timestamp_millis().checked_sub(most.checked_mul(1000)?)?;
    let last = to.and_utc().timestamp_millis().checked_sub(least.checked_mul(1000)?)?.checked_sub(1)?;
    // Conversion to milliseconds truncates microseconds.
    let (least, greatest) = (first.checked_mul(1000)?.checked_sub(999)?, last.checked_mul(1000)?.checked_add(999)?);
    let unit = format.unit_micros;
    // Units of a millisecond or more are not truncated.
    let (least, greatest) =
        if unit < 1000 { (least, greatest) } else { (least.checked_add(999)?, greatest.checked_sub(999)?) };
    let round_up = least.checked_neg()?.div_euclid(unit).checked_neg()?;
    Some((round_up, greatest.div_euclid(unit)))
}

/// Returns the number of folder levels of a formatted time.
pub fn folders(format: &TimeFormat, escaped: bool) -> usize {
    if escaped { 1 } else { format.pattern.matches('/').count() + 1 }
}

/// Returns the time range of a string, with an exclusive end.
fn span(pattern: &str, text: &str) -> Option<(NaiveDateTime, NaiveDateTime)> {
    let mut found = [None; FIELDS.len()];
    let (mut pattern, mut text) = (pattern, text);
    while let Some(letter) = pattern.chars().next() {
        if letter.is_ascii_alphabetic() {
            let known = FIELDS.iter().position(|(field, _)| pattern.starts_with(field));
            let (at, (field, digits)) = known.and_then(|at| Some((at, *FIELDS.get(at)?)))?;
            let (number, rest) = text.split_at_checked(digits)?;
            let number = Some(number).filter(|number| number.bytes().all(|one| one.is_ascii_digit()))?;
            *found.get_mut(at).filter(|slot| slot.is_none())? = number.parse::<u32>().ok();
            (pattern, text) = (pattern.strip_prefix(field)?, rest);
            if pattern.starts_with(letter) {
                return None;
            }
        } else {
            // Quoted text may hold anything.
            let same = text.strip_prefix(letter).filter(|_| letter != '\'' && letter != '[');
            (pattern, text) = (pattern.strip_prefix(letter)?, same?);
        }
    }
    let known = found.iter().take_while(|field| field.is_some()).count();
    if !text.is_empty() || known == 0 || found.iter().skip(known).any(Option::is_some) {
        return None;
    }
    let [year, month, day, hour, minute, second] = found;
    let year = year.filter(|year| *year >= FIRST_YEAR)?;
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month.unwrap_or(1), day.unwrap_or(1))?;
    let from = date.and_hms_opt(hour.unwrap_or(0), minute.unwrap_or(0), second.unwrap_or(0))?;
    let to = match known {
        1 => from.checked_add_months(Months::new(12)),
        2 => from.checked_add_months(Months::new(1)),
        3 => from.checked_add_days(Days::new(1)),
        4 => from.checked_add_signed(TimeDelta::hours(1)),
        5 => from.checked_add_signed(TimeDelta::minutes(1)),
        _ => from.checked_add_signed(TimeDelta::seconds(1)),
    };
    Some((from, to?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(unit_micros: i64, offset_seconds: i32, pattern: &str, text: &str) -> Option<(i64, i64)> {
        let offset_seconds = Some(offset_seconds);
        numbers(&TimeFormat { unit_micros, offset_seconds, pattern: pattern.to_owned() }, text)
    }

    #[test]
    fn a_text_stands_for_all_times_that_it_leaves_open() {
        let day = 1_704_067_200;
        assert_eq!(parse(1_000_000, 0, "yyyy/MM/dd", "2024/01/01"), Some((day, day + 86_399)));
        assert_eq!(parse(1000, 0, "yyyyMMddHH", "2024010101"), Some(((day + 3600) * 1000, (day + 7200) * 1000 - 1)));
        assert_eq!(parse(86_400_000_000, 0, "yyyy-MM-dd", "2024-01-01"), Some((19_723, 19_723)));
        assert_eq!(parse(86_400_000_000, 0, "yyyy", "1970"), Some((0, 364)));
        assert_eq!(parse(1, 0, "yyyy/MM", "1970/01"), Some((-999, 31 * 86_400_000_000 - 1000 + 999)));
        assert_eq!(parse(1_000_000, 19_800, "yyyy-MM-dd HH", "2024-01-01 05"), Some((day - 1800, day + 1799)));
        assert_eq!(parse(1_000_000, 0, "yyyy/MM/dd", "1969/12/31"), Some((-86_400, -1)));
    }

    #[test]
    fn in_an_unknown_time_zone_a_text_stands_for_more() {
        let format = TimeFormat { unit_micros: 1_000_000, offset_seconds: None, pattern: "yyyy/MM/dd".to_owned() };
        let day = 1_704_067_200;
        assert_eq!(numbers(&format, "2024/01/01"), Some((day - 64_800, day + 86_399 + 64_800)));
    }

    #[test]
    fn what_is_not_certain_is_none() {
        for (pattern, text) in [
            ("yyyy/MM/dd", "2024/02/30"),
            ("yyyy/MM/dd", "2024/1/1"),
            ("yyyy/MM/dd", "2024/01/01/00"),
            ("yyyy/dd", "2024/01"),
            ("MM/dd", "01/01"),
            ("yyyyyy", "002024"),
            ("YYYY/MM", "2024/01"),
            ("yyyy-MM-dd'T'HH", "2024-01-01T00"),
            ("yyyy-MM-dd hh", "2024-01-01 01"),
            ("yyyy", "1899"),
            ("yyyy", "default"),
            ("", ""),
        ] {
            assert_eq!(parse(1000, 0, pattern, text), None, "{pattern} {text}");
        }
    }
}
