//! The time zone of a writer: seconds from 1970 in UTC to the origin of its times, the beginning of 2015 in its zone.
//!
//! A time is stored as the distance from that origin, not as a moment. For a writer in UTC, as most are, that is all. For
//! others, the offset of their zone on that day is looked up in the files of the time zone database, if the system has them.

use std::fs;
use std::path::Path;

use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// 2015-01-01T00:00:00Z.
const EPOCH: i64 = 1_420_070_400;
const UTC: [&str; 8] = ["", "UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "Etc/UCT", "UCT"];
const DATABASE: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo"];

/// The beginning of 2015 on the clock of a zone, in seconds from 1970 in UTC. [`crate::ErrorKind::Unsupported`] for zones that are not
/// known here.
pub(super) fn epoch_of(zone: &str) -> Result<i64> {
    if UTC.contains(&zone) {
        return Ok(EPOCH);
    }
    let offset = fixed_offset(zone).or_else(|| DATABASE.iter().find_map(|folder| offset_in(Path::new(folder), zone)));
    offset.and_then(|offset| EPOCH.checked_sub(offset)).ok_or_else(|| {
        Error::unsupported(format!(
            "unknown time zone {zone:?} of the times in an ORC file: install the time zone database (tzdata)"
        ))
    })
}

/// Of names such as `GMT+02:00`.
fn fixed_offset(zone: &str) -> Option<i64> {
    let rest = zone.strip_prefix("GMT").or(zone.strip_prefix("UTC")).unwrap_or(zone);
    let (sign, digits) = match rest.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=18).contains(&hours) && (0..60).contains(&minutes)).then_some(sign * (hours * 3600 + minutes * 60))
}

fn offset_in(folder: &Path, zone: &str) -> Option<i64> {
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    if !zone.split('/').all(is_plain) {
        return None;
    }
    offset_at(&fs::read(folder.join(zone)).ok()?, EPOCH).ok().flatten()
}

/// The offset that a zone's file (`tzfile(5)`, RFC 9636) gives at a moment, which is the first of a year.
fn offset_at(file: &[u8], moment: i64) -> Result<Option<i64>> {
    let mut cursor = Cursor::new(file);
    let first = Counts::read(&mut cursor)?;
    if first.version == 0 {
        return Ok(Some(first.offset_at(&mut cursor, moment, 4)?.0));
    }
    cursor.skip(first.len(4))?;
    let second = Counts::read(&mut cursor)?;
    let mut behind = cursor;
    behind.skip(second.len(8))?;
    let (offset, is_last) = second.offset_at(&mut cursor, moment, 8)?;
    let rule = str::from_utf8(behind.rest()).unwrap_or_default().trim_matches('\n');
    Ok(if is_last && !rule.is_empty() { offset_by_rule(rule) } else { Some(offset) })
}

/// The offset at the first of a year by a rule, such as `AEST-10AEDT,M10.1.0,M4.1.0/3`: summer time where it begins later in the
/// year than it ends.
fn offset_by_rule(rule: &str) -> Option<i64> {
    let (names, turns) = rule.split_once(',').map_or((rule, None), |(names, turns)| (names, Some(turns)));
    let (standard, rest) = offset_behind_name(names)?;
    let standard = standard?;
    let Some((start, end)) = turns.and_then(|turns| turns.split_once(',')) else { return Some(standard) };
    let month = |turn: &str| turn.strip_prefix('M')?.split('.').next()?.parse::<u8>().ok();
    if month(start)? <= month(end)? {
        return Some(standard);
    }
    let (summer, _) = offset_behind_name(rest)?;
    Some(summer.unwrap_or(standard + 3600))
}

/// The offset that stands behind a name, east of Greenwich, and what follows. A rule counts to the west.
fn offset_behind_name(text: &str) -> Option<(Option<i64>, &str)> {
    let name = if text.starts_with('<') {
        text.find('>')? + 1
    } else {
        text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len())
    };
    let (_, rest) = text.split_at_checked(name)?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-:".contains(c))).unwrap_or(rest.len());
    let (offset, rest) = rest.split_at_checked(end)?;
    if offset.is_empty() {
        return Some((None, rest));
    }
    let sign = if offset.starts_with('-') { 1 } else { -1 };
    let parts = offset.trim_start_matches(['+', '-']).split(':').map(str::parse::<i64>);
    let seconds =
        parts.zip([3600, 60, 1]).try_fold(0, |sum, (part, unit)| Some(sum + part.ok()?.checked_mul(unit)?))?;
    Some((Some(sign * seconds), rest))
}

/// The header of a part: how many there are of each.
struct Counts {
    version: u8,
    utc_flags: usize,
    standard_flags: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Counts {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let header = cursor.array::<20>()?;
        if !header.starts_with(b"TZif") {
            return Err(Error::invalid_table("not a file of the time zone database"));
        }
        let mut count = || cursor.i32_be().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let (utc_flags, standard_flags, leaps) = (count()?, count()?, count()?);
        let (times, types, chars) = (count()?, count()?, count()?);
        let [.., version] = *header.first_chunk::<5>().unwrap_or(&[0; 5]);
        Ok(Self { version, utc_flags, standard_flags, leaps, times, types, chars })
    }

    /// Bytes of the part, its header aside, with times of so many bytes.
    fn len(&self, time: usize) -> usize {
        let times = self.times.saturating_mul(time + 1).saturating_add(self.types.saturating_mul(6));
        let rest =
            self.leaps.saturating_mul(time + 4).saturating_add(self.utc_flags).saturating_add(self.standard_flags);
        times.saturating_add(self.chars).saturating_add(rest)
    }

    /// The offset in force, and whether no transition follows.
    fn offset_at(&self, cursor: &mut Cursor<'_>, moment: i64, time: usize) -> Result<(i64, bool)> {
        let mut before = 0_usize;
        for _ in 0..self.times {
            let at = if time == 8 { cursor.i64_be()? } else { i64::from(cursor.i32_be()?) };
            before += usize::from(at <= moment);
        }
        let kinds = cursor.take(self.times)?;
        let kind = before.checked_sub(1).and_then(|last| kinds.get(last)).copied().unwrap_or_default();
        cursor.skip(usize::from(kind).saturating_mul(6))?;
        Ok((i64::from(cursor.i32_be()?), before == self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_with_a_fixed_offset() {
        assert_eq!(epoch_of("UTC").unwrap(), EPOCH);
        assert_eq!(epoch_of("GMT+02:00").unwrap(), EPOCH - 7200);
        assert_eq!(epoch_of("GMT-05:30").unwrap(), EPOCH + 19_800);
        for unknown in ["Nowhere/Else", "../../etc/passwd", "GMT+99:00", "/etc/passwd"] {
            let error = epoch_of(unknown).unwrap_err();
            assert!(error.kind() == crate::ErrorKind::Unsupported && error.to_string().contains(unknown), "{error}");
        }
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
            assert_eq!(offset_by_rule(rule), Some(offset), "{rule}");
        }
        assert_eq!(offset_by_rule("nonsense"), None);
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
        let mut file = header(0, 1);
        file.extend([0; 6 + 4]);
        file.extend(header(2, 2));
        [EPOCH - 1_000_000, EPOCH + 1_000_000].iter().for_each(|at: &i64| file.extend(at.to_be_bytes()));
        file.extend([1, 0]);
        file.extend([0; 6]);
        file.extend((-18_000_i32).to_be_bytes());
        file.extend([0; 2 + 4]);
        assert_eq!(offset_at(&file, EPOCH).unwrap(), Some(-18_000));
        assert_eq!(offset_at(&file, EPOCH + 2_000_000).unwrap(), Some(0));
        file.extend(b"\nAEST-10AEDT,M10.1.0,M4.1.0/3\n");
        assert_eq!(offset_at(&file, EPOCH + 2_000_000).unwrap(), Some(39_600));
        assert!(offset_at(&file[..90], EPOCH).is_err());
        assert!(offset_at(b"nothing", EPOCH).is_err());
    }
}
