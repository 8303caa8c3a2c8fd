//! Days of the hybrid calendar, counted from 1970-01-01, as days of the proleptic Gregorian calendar.

/// 1582-10-15, the first day of the Gregorian calendar.
pub(super) const FIRST_GREGORIAN: i64 = -141_427;

/// The days of 400 years of the Gregorian calendar.
const DAYS_OF_400_YEARS: i64 = 146_097;
/// The days of four years of the Julian calendar.
const DAYS_OF_4_YEARS: i64 = 1461;
/// The days from 0000-03-01, Julian, to 1970-01-01.
const JULIAN_EPOCH: i64 = 719_470;
/// The days from 0000-03-01, Gregorian, to 1970-01-01.
const GREGORIAN_EPOCH: i64 = 719_468;

/// Returns the day that has the same year, month and day of the month. A day that only the Julian calendar has, such as
/// 1500-02-29, is the day after the one before it.
pub(super) fn proleptic(hybrid: i64) -> i64 {
    if hybrid >= FIRST_GREGORIAN {
        return hybrid;
    }
    // Years begin with March, so that the leap day is the last one. A month is counted from its first day.
    let days = hybrid.saturating_add(JULIAN_EPOCH);
    let cycle = days.div_euclid(DAYS_OF_4_YEARS);
    let of_cycle = days.rem_euclid(DAYS_OF_4_YEARS);
    let of_4 = (of_cycle / 365).min(3);
    let year = cycle * 4 + of_4;
    let day_of_year = of_cycle - of_4 * 365;
    let cycles = year.div_euclid(400);
    let of_400 = year.rem_euclid(400);
    cycles * DAYS_OF_400_YEARS + of_400 * 365 + of_400 / 4 - of_400 / 100 + day_of_year - GREGORIAN_EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days at which the distance of the calendars changes, as `RebaseDateTime` lists them.
    #[test]
    fn distances_change_where_spark_changes_them() {
        let switches = [
            (-719_164, 2),
            (-682_945, 1),
            (-646_420, 0),
            (-609_895, -1),
            (-536_845, -2),
            (-500_320, -3),
            (-463_795, -4),
            (-390_745, -5),
            (-354_220, -6),
            (-317_695, -7),
            (-244_645, -8),
            (-208_120, -9),
            (-171_595, -10),
            (FIRST_GREGORIAN, 0),
        ];
        for ((from, distance), (to, _)) in switches.iter().zip(switches.iter().skip(1)) {
            for day in *from..*to {
                assert_eq!(proleptic(day) - day, *distance, "{day}");
            }
        }
        for day in [FIRST_GREGORIAN, -141_426, -1, 0, 20_000, i64::from(i32::MAX)] {
            assert_eq!(proleptic(day), day);
        }
    }

    #[test]
    fn the_order_of_days_stays() {
        let days: Vec<i64> = (-1_500_000..-100_000).map(proleptic).collect();
        assert!(days.is_sorted());
        assert_eq!(days.first().map(|day| day + 1_500_000), Some(18), "2138 before our era");
        assert!(i32::try_from(proleptic(i64::from(i32::MIN))).is_ok(), "no early date overflows");
    }
}
