//! Writes the fields of a pattern of Joda-Time.

use std::fmt::Write as _;

use chrono::{DateTime, Datelike, Timelike, Utc};

use super::pattern_names::{DAYS, HALVES, MONTHS, SHORT};

/// A moment on the clock of a zone.
pub(super) struct Moment<'a> {
    clock: DateTime<Utc>,
    offset_seconds: i32,
    zone: &'a str,
}

impl<'a> Moment<'a> {
    /// Returns the moment `millis` on a clock that is `offset_seconds` ahead of UTC; `None` if it is out of range.
    pub(super) fn new(millis: i64, offset_seconds: i32, zone: &'a str) -> Option<Self> {
        let clock = millis.checked_add(i64::from(offset_seconds).checked_mul(1000)?)?;
        Some(Self { clock: DateTime::from_timestamp_millis(clock)?, offset_seconds, zone })
    }
}

/// Writes a field of so many letters.
pub(super) fn write_field(moment: &Moment<'_>, letter: char, count: usize, out: &mut String) {
    let clock = &moment.clock;
    let number = match letter {
        'y' => return write_year(clock.year(), count, out),
        'Y' if count == 2 => return write_year(clock.year(), count, out),
        'Y' => return write_year(year_of_era(clock), count, out),
        'x' => return write_year(clock.iso_week().year(), count, out),
        'C' => (year_of_era(clock) / 100).unsigned_abs(),
        'M' if count > 2 => return write_name(&MONTHS, clock.month0(), count, out),
        'M' => clock.month(),
        'w' => clock.iso_week().week(),
        'D' => clock.ordinal(),
        'd' => clock.day(),
        'e' => clock.weekday().number_from_monday(),
        'E' => return write_name(&DAYS, clock.weekday().num_days_from_monday(), count, out),
        'a' => return write_name(&HALVES, clock.hour() / 12, 4, out),
        'G' => return out.push_str(if clock.year() > 0 { "AD" } else { "BC" }),
        'H' => clock.hour(),
        'k' if clock.hour() == 0 => 24,
        'k' => clock.hour(),
        'K' => clock.hour() % 12,
        'h' if clock.hour().is_multiple_of(12) => 12,
        'h' => clock.hour() % 12,
        'm' => clock.minute(),
        's' => clock.second(),
        'S' => return write_fraction(clock.timestamp_subsec_millis(), count, out),
        'z' => return write_zone_name(moment, count, out),
        _ => return write_offset(moment, count, out),
    };
    let _ = write!(out, "{number:0>count$}");
}

fn year_of_era(clock: &DateTime<Utc>) -> i32 {
    let year = clock.year();
    if year > 0 { year } else { 1_i32.saturating_sub(year) }
}

fn write_year(year: i32, count: usize, out: &mut String) {
    let digits = year.unsigned_abs();
    let _ = if count == 2 {
        write!(out, "{:02}", digits % 100)
    } else {
        write!(out, "{}{digits:0>count$}", if year < 0 { "-" } else { "" })
    };
}

/// Writes a name; up to three letters stand for a short one.
fn write_name(names: &[&str], at: u32, count: usize, out: &mut String) {
    let name = usize::try_from(at).ok().and_then(|at| names.get(at)).copied().unwrap_or_default();
    out.push_str(if count > 3 { name } else { name.get(..SHORT).unwrap_or(name) });
}

fn write_fraction(millis: u32, count: usize, out: &mut String) {
    let millis = format!("{millis:03}");
    let _ = write!(out, "{:0<count$}", millis.get(..count.min(3)).unwrap_or(&millis));
}

/// Writes the name of UTC or of an offset, which is the offset. Names of other zones are refused beforehand.
fn write_zone_name(moment: &Moment<'_>, count: usize, out: &mut String) {
    let is_long_utc = moment.zone == "UTC" && count > 3;
    out.push_str(if is_long_utc { "Coordinated Universal Time" } else { moment.zone });
}

fn write_offset(moment: &Moment<'_>, count: usize, out: &mut String) {
    if count > 2 {
        return out.push_str(moment.zone);
    }
    let (sign, minutes) =
        (if moment.offset_seconds < 0 { '-' } else { '+' }, moment.offset_seconds.unsigned_abs() / 60);
    let colon = if count == 1 { "" } else { ":" };
    let _ = write!(out, "{sign}{:02}{colon}{:02}", minutes / 60, minutes % 60);
}
