//! The time zone of a writer: seconds from 1970 in UTC to the origin of its times, the beginning of 2015 in its zone.
//!
//! A time is stored as the distance from that origin, not as a moment. For a writer in UTC, as most are, that is all.
//! For others, the tz database has the offset of their zone on that day.

use mortice_base::error::{Error, Result};
use mortice_base::zone_rules::ZoneRules;

/// 2015-01-01T00:00:00Z.
const EPOCH: i64 = 1_420_070_400;
const UTC: [&str; 8] = ["", "UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "Etc/UCT", "UCT"];

/// The beginning of 2015 on the clock of a zone, in seconds from 1970 in UTC. [`mortice_base::ErrorKind::Unsupported`]
/// for zones that are not known here.
pub(super) fn epoch_of(zone: &str) -> Result<i64> {
    if UTC.contains(&zone) {
        return Ok(EPOCH);
    }
    let named = || ZoneRules::named(zone).map(|rules| i64::from(rules.offset_at(EPOCH)));
    let offset = fixed_offset(zone).or_else(named);
    offset.and_then(|offset| EPOCH.checked_sub(offset)).ok_or_else(|| {
        Error::unsupported(format!(
            "unknown time zone {zone:?} of the times in an ORC file: the tz database has no such zone"
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
            assert!(
                error.kind() == mortice_base::ErrorKind::Unsupported && error.to_string().contains(unknown),
                "{error}"
            );
        }
    }
}
