//! Bounds of dates before 1582 and times before 1900, made wide enough for both calendars.
//!
//! Hudi takes column statistics from the footer of a file. If the file has dates and times of the hybrid calendar
//! (`spark.sql.parquet.datetimeRebaseModeInWrite=LEGACY`), so have the statistics, and a record does not say which
//! calendar it has. Readers convert the values of such files: a date becomes at most 10 days earlier or 2 days later, a
//! time one day more by the offset of its zone. Bounds before the year 1 are not used.

/// 1582-10-15: dates from here on are the same in both calendars.
const FIRST_GREGORIAN: i32 = -141_427;
/// 0001-01-01 of the Julian calendar.
const FIRST_DAY: i32 = -719_164;
const DAY: i64 = 86_400_000_000;
/// 1900-01-01T00:00:00Z: times from here on are the same.
const FIRST_COMMON: i64 = -2_208_988_800_000_000;

/// The most days that a date becomes earlier and later.
const DAYS: (i32, i32) = (10, 2);
/// The same of times, by the offset of the zone.
const DAYS_OF_TIMES: (i64, i64) = (11, 3);

/// Returns a day that no date is before.
pub(super) fn least_date(day: i32) -> Option<i32> {
    Some(if day < FIRST_GREGORIAN { day.saturating_sub(DAYS.0) } else { day }).filter(|_| day >= FIRST_DAY)
}

/// Returns a day that no date is after.
pub(super) fn greatest_date(day: i32) -> Option<i32> {
    Some(if day < FIRST_GREGORIAN { day.saturating_add(DAYS.1) } else { day }).filter(|_| day >= FIRST_DAY)
}

/// Returns a time, in microseconds, that no time is before.
pub(super) fn least_micros(time: i64) -> Option<i64> {
    let first = i64::from(FIRST_DAY) * DAY;
    Some(if time < FIRST_COMMON { time.saturating_sub(DAYS_OF_TIMES.0 * DAY) } else { time }).filter(|_| time >= first)
}

/// Returns a time, in microseconds, that no time is after.
pub(super) fn greatest_micros(time: i64) -> Option<i64> {
    let first = i64::from(FIRST_DAY) * DAY;
    let is_early = time < FIRST_COMMON + DAYS_OF_TIMES.1 * DAY;
    Some(if is_early { time.saturating_add(DAYS_OF_TIMES.1 * DAY) } else { time }).filter(|_| time >= first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_bounds_are_wider_and_late_ones_stay() {
        for (day, least, greatest) in [
            (FIRST_GREGORIAN, Some(FIRST_GREGORIAN), Some(FIRST_GREGORIAN)),
            (FIRST_GREGORIAN - 1, Some(FIRST_GREGORIAN - 11), Some(FIRST_GREGORIAN + 1)),
            (FIRST_DAY, Some(FIRST_DAY - 10), Some(FIRST_DAY + 2)),
            (FIRST_DAY - 1, None, None),
            (i32::MIN, None, None),
            (20_000, Some(20_000), Some(20_000)),
        ] {
            assert_eq!((least_date(day), greatest_date(day)), (least, greatest), "{day}");
        }
        let late = FIRST_COMMON + 3 * DAY;
        for (time, least, greatest) in [
            (late, Some(late), Some(late)),
            (FIRST_COMMON, Some(FIRST_COMMON), Some(late)),
            (FIRST_COMMON - 1, Some(FIRST_COMMON - 11 * DAY - 1), Some(late - 1)),
            (i64::MIN, None, None),
            (i64::MAX, Some(i64::MAX), Some(i64::MAX)),
        ] {
            assert_eq!((least_micros(time), greatest_micros(time)), (least, greatest), "{time}");
        }
    }
}
