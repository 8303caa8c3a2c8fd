//! Parses the fields of a pattern of Joda-Time (`DateTimeFormatterBuilder`, `DateTimeParserBucket`).
//!
//! Each field of the text is set on the first moment of 1970, those of larger units first, and then again: so a day of
//! the week moves a date within its week, and an hour of the day goes before a half of the day. Without a year, a month
//! or a day is one of the year 2000.

use chrono::{DateTime, Datelike, NaiveDate, Utc, Weekday};

use super::pattern_item::Item;
use super::pattern_names::{DAYS, HALVES, MONTHS, find_name};
use super::time_zone::TimeZone;

/// The year of a text that has a month or a day, but no year.
const DEFAULT_YEAR: i32 = 2000;
/// Years before the present one that the middle of the years of two digits is.
const PIVOT: i32 = 30;
const MOST_YEAR_DIGITS: usize = 9;

/// A time that was parsed: milliseconds of its clock, and the zone of the clock if the text says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedTime {
    pub(super) clock_millis: i64,
    pub(super) zone: Option<TimeZone>,
}

/// The fields of a text.
#[derive(Debug, Default)]
struct Fields {
    year: Option<i32>,
    week_year: Option<i32>,
    month: Option<u32>,
    week: Option<u32>,
    day_of_year: Option<u32>,
    day: Option<u32>,
    day_of_week: Option<u32>,
    half: Option<u32>,
    /// From 0.
    hour: Option<u32>,
    /// From 0.
    hour_of_half: Option<u32>,
    minute: u32,
    second: u32,
    millis: u32,
    zone: Option<TimeZone>,
}

/// Parses a text by the items of a pattern; `None` if it does not match.
pub(super) fn parse(items: &[Item], text: &str) -> Option<ParsedTime> {
    let mut fields = Fields::default();
    let mut rest = text;
    let mut items = items.iter().peekable();
    while let Some(item) = items.next() {
        let before_number = items.peek().is_some_and(|next| next.is_number());
        rest = match item {
            Item::Text(text) => without_text(rest, text)?,
            Item::Field(letter, count) => fields.parse(rest, *letter, *count, before_number)?,
        };
    }
    if !rest.is_empty() {
        return None;
    }
    let clock = fields.date()?.and_hms_milli_opt(fields.hour()?, fields.minute, fields.second, fields.millis)?;
    Some(ParsedTime { clock_millis: clock.and_utc().timestamp_millis(), zone: fields.zone })
}

/// Returns what follows a literal text, which matches in any case.
fn without_text<'a>(rest: &'a str, text: &str) -> Option<&'a str> {
    let mut letters = rest.chars();
    let same = |one: char, other: char| one.to_lowercase().eq(other.to_lowercase());
    let matches = text.chars().all(|one| letters.next().is_some_and(|other| same(one, other)));
    matches.then_some(letters.as_str())
}

impl Fields {
    /// Parses a field at the beginning of a text; returns the rest.
    fn parse<'a>(&mut self, text: &'a str, letter: char, count: usize, before_number: bool) -> Option<&'a str> {
        match letter {
            'y' | 'Y' | 'x' => {
                let (year, rest) = year(text, count, before_number, letter != 'Y')?;
                *(if letter == 'x' { &mut self.week_year } else { &mut self.year }) = Some(year);
                Some(rest)
            }
            'M' if count > 2 => name(&MONTHS, text, &mut self.month, 1),
            'E' => name(&DAYS, text, &mut self.day_of_week, 1),
            'a' => name(&HALVES, text, &mut self.half, 0),
            'S' => {
                let (digits, rest) = digits(text, count)?;
                self.millis = format!("{digits:0<3}").get(..3)?.parse().ok()?;
                Some(rest)
            }
            'Z' if count < 3 => self.parse_offset(text),
            'Z' => self.parse_zone(text),
            'z' => self.parse_short_name(text),
            _ => self.parse_number(text, letter),
        }
    }

    fn parse_number<'a>(&mut self, text: &'a str, letter: char) -> Option<&'a str> {
        let most = match letter {
            'D' => 3,
            'e' => 1,
            _ => 2,
        };
        let (digits, rest) = digits(text, most)?;
        let number: u32 = digits.parse().ok()?;
        let one_to = |most: u32| Some(number).filter(|number| (1..=most).contains(number));
        match letter {
            'M' => self.month = Some(number),
            'w' => self.week = Some(number),
            'D' => self.day_of_year = Some(number),
            'd' => self.day = Some(number),
            'e' => self.day_of_week = Some(one_to(7)?),
            // Of two hours the last one counts.
            'H' => self.hour = Some(number).filter(|hour| *hour < 24).map(Some)?,
            'k' => self.hour = Some(one_to(24)? % 24),
            'K' => self.hour_of_half = Some(number).filter(|hour| *hour < 12).map(Some)?,
            'h' => self.hour_of_half = Some(one_to(12)? % 12),
            'm' => self.minute = number,
            's' => self.second = number,
            _ => return None,
        }
        Some(rest)
    }

    /// Parses `Z`, `+hh`, `+hhmm`, `+hh:mm` or these with seconds.
    fn parse_offset<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        if let Some(rest) = text.strip_prefix(['Z', 'z']) {
            self.zone = Some(TimeZone::Fixed(0));
            return Some(rest);
        }
        let (sign, rest) = match text.split_at_checked(1)? {
            ("+", rest) => (1, rest),
            ("-", rest) => (-1, rest),
            _ => return None,
        };
        let two = |text: &'a str| {
            let (digits, rest) = text.split_at_checked(2)?;
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            Some((digits.parse::<i32>().ok().filter(|_| plain)?, rest))
        };
        let next = |text: &'a str| two(text.strip_prefix(':').unwrap_or(text)).unwrap_or((0, text));
        let (hours, rest) = two(rest)?;
        let (minutes, rest) = next(rest);
        let (seconds, rest) = next(rest);
        if hours > 23 || minutes > 59 || seconds > 59 {
            return None;
        }
        self.zone = Some(TimeZone::Fixed(sign * (hours * 3600 + minutes * 60 + seconds)));
        Some(rest)
    }

    /// Parses the identifier of a zone: the longest one that the text begins with.
    fn parse_zone<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let is_of_identifier = |letter: char| letter.is_ascii_alphanumeric() || "/_+-".contains(letter);
        let most = text.find(|letter| !is_of_identifier(letter)).unwrap_or(text.len());
        (1..=most).rev().find_map(|len| {
            let (name, rest) = text.split_at_checked(len)?;
            self.zone = Some(TimeZone::with_id(name)?);
            Some(rest)
        })
    }

    /// Parses one of the short names that Joda-Time knows (`DateTimeUtils.getDefaultTimeZoneNames`).
    fn parse_short_name<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let names = [
            ("UTC", "UTC"),
            ("UT", "UTC"),
            ("GMT", "UTC"),
            ("EST", "America/New_York"),
            ("EDT", "America/New_York"),
            ("CST", "America/Chicago"),
            ("CDT", "America/Chicago"),
            ("MST", "America/Denver"),
            ("MDT", "America/Denver"),
            ("PST", "America/Los_Angeles"),
            ("PDT", "America/Los_Angeles"),
        ];
        let (rest, zone) = names.iter().find_map(|(name, zone)| Some((text.strip_prefix(name)?, zone)))?;
        self.zone = Some(TimeZone::named(zone)?);
        Some(rest)
    }

    fn date(&self) -> Option<NaiveDate> {
        let has_day = self.month.is_some()
            || self.week.is_some()
            || self.day_of_year.is_some()
            || self.day.is_some()
            || self.day_of_week.is_some();
        let year = self.year.or((has_day && self.week_year.is_none()).then_some(DEFAULT_YEAR));
        let mut date = NaiveDate::from_ymd_opt(1970, 1, 1)?;
        for is_first in [true, false] {
            date = self.set(date, year, is_first)?;
        }
        Some(date)
    }

    /// Sets the fields of a date. In the first pass, a field sets those of smaller units to their first value.
    fn set(&self, mut date: NaiveDate, year: Option<i32>, is_first: bool) -> Option<NaiveDate> {
        if let Some(year) = year {
            let (month, day) = if is_first { (1, 1) } else { (date.month(), date.day()) };
            date = with_day(year, month, day)?;
        }
        if let Some(year) = self.week_year {
            let week = if is_first { 1 } else { date.iso_week().week() };
            let day = if is_first { Weekday::Mon } else { date.weekday() };
            date = NaiveDate::from_isoywd_opt(year, week, day)
                .or_else(|| NaiveDate::from_isoywd_opt(year, week.checked_sub(1)?, day))?;
        }
        if let Some(month) = self.month {
            date = with_day(date.year(), month, if is_first { 1 } else { date.day() })?;
        }
        if let Some(week) = self.week {
            let day = if is_first { Weekday::Mon } else { date.weekday() };
            date = NaiveDate::from_isoywd_opt(date.iso_week().year(), week, day)?;
        }
        if let Some(day) = self.day_of_year {
            date = date.with_ordinal(day)?;
        }
        if let Some(day) = self.day {
            date = date.with_day(day)?;
        }
        if let Some(day) = self.day_of_week {
            let monday = i64::from(date.weekday().num_days_from_monday());
            let moved = i64::from(day).checked_sub(1)?.checked_sub(monday)?;
            date = date.checked_add_signed(chrono::TimeDelta::days(moved))?;
        }
        Some(date)
    }

    fn hour(&self) -> Option<u32> {
        // A half of the day is set first, an hour of the half last.
        let hour = self.hour.unwrap_or(self.half.unwrap_or(0).checked_mul(12)?);
        Some(match self.hour_of_half {
            Some(of_half) => (hour / 12).checked_mul(12)?.checked_add(of_half)?,
            None => hour,
        })
    }
}

/// Returns a day of a month, or its last day if it has fewer.
fn with_day(year: i32, month: u32, day: u32) -> Option<NaiveDate> {
    (1..=day).rev().take(4).find_map(|day| NaiveDate::from_ymd_opt(year, month, day))
}

/// Splits up to `most` digits off, one at least.
fn digits(text: &str, most: usize) -> Option<(&str, &str)> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    text.split_at_checked(count).filter(|_| count > 0)
}

fn name<'a>(names: &[&str], text: &'a str, field: &mut Option<u32>, first: u32) -> Option<&'a str> {
    let (number, rest) = find_name(names, text)?;
    *field = Some(number.checked_add(first)?);
    Some(rest)
}

/// Parses a year. Two letters stand for a year around the present if there are two digits.
fn year(text: &str, count: usize, before_number: bool, is_signed: bool) -> Option<(i32, &str)> {
    if count == 2 && before_number {
        let (digits, rest) = digits(text, 2).filter(|(digits, _)| digits.len() == 2)?;
        return Some((near_present(digits.parse().ok()?)?, rest));
    }
    let most = if before_number { count } else { MOST_YEAR_DIGITS };
    let unsigned = text.strip_prefix(['+', '-']).filter(|_| is_signed || count == 2);
    let (digits, rest) = digits(unsigned.unwrap_or(text), most)?;
    let number: i32 = digits.parse().ok()?;
    if count == 2 && unsigned.is_none() && digits.len() == 2 {
        return Some((near_present(number)?, rest));
    }
    let is_negative = unsigned.is_some() && text.starts_with('-');
    Some((if is_negative { number.checked_neg()? } else { number }, rest))
}

/// Returns the year of two digits among the hundred around the middle, as it is now.
fn near_present(digits: i32) -> Option<i32> {
    let now: DateTime<Utc> = Utc::now();
    near_year(digits, now.year())
}

fn near_year(digits: i32, present: i32) -> Option<i32> {
    let first = present.checked_sub(PIVOT)?.checked_sub(50)?;
    first.checked_add(digits.checked_sub(first)?.rem_euclid(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_of_two_digits_are_those_around_the_present() {
        let years = [0, 26, 45, 46, 99].map(|digits| near_year(digits, 2026));
        assert_eq!(years, [Some(2000), Some(2026), Some(2045), Some(1946), Some(1999)]);
    }
}
