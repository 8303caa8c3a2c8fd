//! Time zones by the names that key generators have them by: those of `java.util.TimeZone.getTimeZone`, which Joda-Time
//! takes over.
//!
//! | name | zone |
//! |---|---|
//! | `UTC`, `GMT`, `Etc/UTC`, … | UTC |
//! | `GMT+8`, `GMT+08:00`, `GMT-0530` | so many hours and minutes ahead of UTC |
//! | `Europe/Oslo` | that of the tz database, which is part of this library |
//! | `US/Pacific`, `EST` | the zone that Joda-Time has for it: `zone_aliases.tsv` |
//! | all others, such as `+08:00` | unknown: Java takes them for GMT |

use std::sync::Arc;

use mortice_base::zone_rules::{ZoneRules, java_offset};

/// Names that Joda-Time has another name for.
const ALIASES: &str = include_str!("zone_aliases.tsv");

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
        let alias = ALIASES.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
        if let Some(seconds) = java_offset(name).filter(|_| alias.is_none()) {
            return Some(Self::Fixed(seconds));
        }
        ZoneRules::named(alias.unwrap_or(name)).map(|rules| Self::Rules(Arc::new(rules)))
    }

    /// The zone of an identifier of Joda-Time: a name of the tz database.
    pub(super) fn with_id(id: &str) -> Option<Self> {
        if matches!(id, "UTC" | "GMT") {
            return Some(Self::Fixed(0));
        }
        ZoneRules::named(id).map(|rules| Self::Rules(Arc::new(rules)))
    }

    /// The identifier that Joda-Time has for the zone.
    pub(super) fn id(&self) -> String {
        match self {
            Self::Fixed(0) => "UTC".to_owned(),
            Self::Fixed(seconds) => {
                let (sign, ahead) = (if *seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
                let minutes = format!("{sign}{:02}:{:02}", ahead / 3600, ahead / 60 % 60);
                if ahead % 60 == 0 { minutes } else { format!("{minutes}:{:02}", ahead % 60) }
            }
            Self::Rules(rules) => rules.name().to_owned(),
        }
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
        for name in ["+08:00", "UTC+08:00", "GMT+24:00", "GMT+8:0", "GMT+", "XYZ", "europe/oslo", "Foo/Bar", ""] {
            assert_eq!(TimeZone::named(name), None, "{name}");
        }
    }

    #[test]
    fn names_are_those_of_joda() {
        for (name, id) in [
            ("UTC", "UTC"),
            ("GMT", "UTC"),
            ("GMT+08:00", "+08:00"),
            ("GMT-0530", "-05:30"),
            ("EST", "America/New_York"),
            ("US/Pacific", "America/Los_Angeles"),
            ("Asia/Calcutta", "Asia/Kolkata"),
            ("CET", "CET"),
            ("Zulu", "Etc/UTC"),
            ("Europe/Oslo", "Europe/Oslo"),
        ] {
            assert_eq!(TimeZone::named(name).unwrap().id(), id, "{name}");
        }
        for line in ALIASES.lines() {
            let (name, id) = line.split_once('\t').unwrap();
            assert_eq!(TimeZone::named(name).unwrap().id(), id, "{name}");
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
