//! Offsets of time zones in the old calendar of Java, which Spark 2 used (`java.util.TimeZone`).
//!
//! Before 1900 the old calendar has today's standard offset of a zone at all times. `zones.tsv` has, for each zone of
//! Spark's tables: that offset, the seconds by which the old clock was ahead of the proper one, and the later times at
//! which that distance changed, until it is 0 in or before 1900.

use mortice_base::zone_rules::java_offset;

use super::days;

const TABLE: &str = include_str!("zones.tsv");
const DAY: i64 = 86_400;

/// 1900-01-01T00:00:00Z: from here on the calendars have the same times in every zone.
pub(super) const FIRST_COMMON_SECOND: i64 = -2_208_988_800;

/// A zone of the old calendar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LegacyZone {
    /// Seconds ahead of UTC before 1900.
    offset: i64,
    /// The seconds that the old clock was ahead of the proper one, and the time from which on, in order.
    ahead: Vec<(i64, i64)>,
}

impl LegacyZone {
    /// Returns a zone by its name. As in Java, an unknown one is GMT.
    pub(super) fn named(name: &str) -> Self {
        let row = TABLE.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
        row.and_then(Self::from_row).unwrap_or_else(|| {
            let offset = java_offset(name).unwrap_or(0);
            Self { offset: i64::from(offset), ahead: Vec::new() }
        })
    }

    /// Returns the zone of this machine: that of the environment variable `TZ`, or of the system.
    pub(super) fn of_machine() -> Self {
        let of_process = std::env::var("TZ").ok().filter(|name| !name.is_empty());
        let name = of_process.or_else(|| iana_time_zone::get_timezone().ok());
        Self::named(name.as_deref().unwrap_or("UTC").trim_start_matches(':'))
    }

    fn from_row(row: &str) -> Option<Self> {
        let mut cells = row.split(['\t', ' ']).filter(|cell| !cell.is_empty());
        let offset = cells.next()?.parse().ok()?;
        let first = cells.next()?.parse().ok()?;
        let change = |cell: &str| {
            let (time, seconds) = cell.split_once(':')?;
            Some((time.parse().ok()?, seconds.parse().ok()?))
        };
        let later = cells.map(change).collect::<Option<Vec<_>>>()?;
        Some(Self { offset, ahead: std::iter::once((i64::MIN, first)).chain(later).collect() })
    }

    /// Returns the seconds to add to a time, in seconds from 1970, so that it has the same date and time of day in the
    /// proleptic calendar.
    pub(super) fn correction(&self, second: i64) -> i64 {
        if second >= FIRST_COMMON_SECOND {
            return 0;
        }
        let day = second.saturating_add(self.offset).div_euclid(DAY);
        let ahead = self.ahead.iter().rev().find(|(from, _)| second >= *from).map_or(0, |(_, seconds)| *seconds);
        (days::proleptic(day) - day) * DAY + ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_a_zone() {
        let mut count = 0;
        for line in TABLE.lines() {
            let (name, row) = line.split_once('\t').unwrap();
            let zone = LegacyZone::from_row(row).unwrap();
            assert_eq!(LegacyZone::named(name), zone, "{name}");
            assert!(zone.offset.abs() < DAY && zone.ahead.is_sorted(), "{name}");
            let last = zone.ahead.last().unwrap();
            assert!(last.1 == 0 && last.0 <= FIRST_COMMON_SECOND, "{name}: times after 1900 are the same");
            count += 1;
        }
        assert!(count > 600, "{count}");
    }

    /// Values of `RebaseDateTime.rebaseJulianToGregorianMicros` of Spark 3.5.
    #[test]
    fn corrections_are_those_of_spark() {
        for (zone, second, correction) in [
            ("UTC", -12_219_292_801, -864_000),
            ("UTC", -12_219_292_800, 0),
            ("UTC", -62_135_769_600, 172_800),
            ("America/Los_Angeles", -12_219_264_001, -864_422),
            ("America/Los_Angeles", -12_219_264_000, -422),
            ("America/Los_Angeles", -2_717_640_001, -422),
            ("America/Los_Angeles", -2_717_640_000, 0),
            ("Asia/Manila", -12_219_321_600, 86_160),
            ("Asia/Manila", -3_944_620_800, -240),
            ("Asia/Manila", -2_229_321_840, 0),
            ("Asia/Kolkata", -3_155_695_330, 530),
            ("Europe/Amsterdam", -2_450_998_800, 3600),
            ("GMT+05:30", -12_219_312_601, -864_000),
            ("GMT+05:30", -12_219_312_600, 0),
            ("Nowhere/Else", -12_219_292_801, -864_000),
            ("Asia/Kolkata", FIRST_COMMON_SECOND, 0),
            ("Asia/Kolkata", i64::MAX, 0),
        ] {
            assert_eq!(LegacyZone::named(zone).correction(second), correction, "{zone} {second}");
        }
    }
}
