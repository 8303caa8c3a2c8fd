//! Time zones by the names that key generators have them by: those of `java.util.TimeZone.getTimeZone`, which Joda-Time
//! takes over.
//!
//! | name | zone |
//! |---|---|
//! | `UTC`, `GMT`, `Etc/UTC`, … | UTC |
//! | `GMT+8`, `GMT+08:00`, `GMT-0530` | so many hours and minutes ahead of UTC |
//! | `Europe/Oslo` | that of the tz database, which is part of this library |
//! | names of three letters such as `EST` | unknown: Java and the tz database take different zones for them |
//! | all others, such as `+08:00` | unknown: Java takes them for GMT |

use std::sync::Arc;

use mortice_base::zone_rules::ZoneRules;

/// Days in seconds: no two transitions are closer, and no offset is larger.
const MARGIN: i64 = 86_400;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimeZone {
    /// So many seconds ahead of UTC.
    Fixed(i32),
    /// By the rules of the tz database.
    Rules(Arc<ZoneRules>),
}

impl TimeZone {
    /// The zone of a name; none if it is unknown.
    pub(super) fn named(name: &str) -> Option<Self> {
        if let Some(seconds) = fixed_offset(name) {
            return Some(Self::Fixed(seconds));
        }
        let rules = if name.len() == 3 { None } else { ZoneRules::named(name) };
        rules.map(|rules| Self::Rules(Arc::new(rules)))
    }

    /// Seconds ahead of UTC at a time, which is given in milliseconds from 1970 in UTC.
    pub(super) fn offset_at(&self, utc_millis: i64) -> i32 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Rules(rules) => rules.offset_at(utc_millis.div_euclid(1000)),
        }
    }

    /// Seconds ahead of UTC at a time that a clock shows. Of two such times it is the earlier one; none if the clock
    /// skips it.
    pub(super) fn offset_of_clock(&self, clock_millis: i64) -> Option<i32> {
        let rules = match self {
            Self::Fixed(seconds) => return Some(*seconds),
            Self::Rules(rules) => rules,
        };
        let clock = clock_millis.div_euclid(1000);
        let around =
            [clock.saturating_sub(MARGIN), clock, clock.saturating_add(MARGIN)].map(|utc| rules.offset_at(utc));
        let shows = |offset: &i32| rules.offset_at(clock.saturating_sub(i64::from(*offset))) == *offset;
        around.into_iter().filter(shows).max()
    }
}

/// Seconds ahead of UTC, of a zone that is always so many.
pub(super) fn fixed_offset(name: &str) -> Option<i32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_java_knows_them() {
        for (name, seconds) in [
            ("UTC", 0),
            ("GMT", 0),
            ("GMT+8", 28_800),
            ("GMT+08:00", 28_800),
            ("GMT-0530", -19_800),
            ("GMT+530", 19_800),
        ] {
            assert_eq!(TimeZone::named(name), Some(TimeZone::Fixed(seconds)), "{name}");
        }
        assert!(matches!(TimeZone::named("Europe/Oslo"), Some(TimeZone::Rules(_))));
        assert_eq!(TimeZone::named("Etc/UTC").unwrap().offset_at(0), 0);
        for name in ["+08:00", "UTC+08:00", "GMT+24:00", "GMT+8:0", "GMT+", "EST", "CET", "europe/oslo", "Foo/Bar", ""]
        {
            assert_eq!(TimeZone::named(name), None, "{name}");
        }
    }

    #[test]
    fn times_that_a_clock_shows_twice_or_never() {
        let offset = |zone: &str, time: &str| {
            let time = chrono::NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M").unwrap();
            TimeZone::named(zone).unwrap().offset_of_clock(time.and_utc().timestamp_millis())
        };
        assert_eq!(offset("Europe/Oslo", "2024-03-31 01:59"), Some(3600));
        assert_eq!(offset("Europe/Oslo", "2024-03-31 02:30"), None);
        assert_eq!(offset("Europe/Oslo", "2024-03-31 03:00"), Some(7200));
        assert_eq!(offset("Europe/Oslo", "2024-10-27 02:30"), Some(7200));
        assert_eq!(offset("America/New_York", "2024-11-03 01:30"), Some(-14_400));
        assert_eq!(offset("America/New_York", "2024-03-10 02:00"), None);
        assert_eq!(offset("GMT-0530", "2024-03-10 02:00"), Some(-19_800));
    }
}
