//! Formats of instant times: strings of digits, compared as strings (`HoodieInstantTimeGenerator`,
//! `HoodieSqlCommonUtils.formatQueryInstant`).
//!
//! | format | meaning |
//! |---|---|
//! | `yyyyMMddHHmmss` | seconds, Hudi before 0.10 |
//! | `yyyyMMddHHmmssSSS` | milliseconds |
//! | longer | actions of the metadata table |
//! | `yyyy-MM-dd`, `yyyy-MM-dd HH:mm:ss[.SSS]` | accepted in queries |

use crate::error::{Error, Result};

/// The instant of a metadata-only bootstrap, whose base files are skeletons
/// (`HoodieTimeline.METADATA_BOOTSTRAP_INSTANT_TS`).
pub const METADATA_BOOTSTRAP: &str = "00000000000001";

/// Converts the instant of a query to the timeline's format. Digits are returned unchanged. A date means its midnight;
/// a time without milliseconds means the last millisecond of that second, as in Hudi.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] for any other format.
pub(super) fn parse_query_instant(text: &str) -> Result<String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    let pattern = "dddd-dd-dd dd:dd:dd.ddd";
    let shaped = text.len() <= pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            b' ' => byte == b' ' || byte == b'T',
            other => byte == other,
        });
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    match (shaped && is_time(&digits), text.len()) {
        (true, 10) => Ok(digits + "000000000"),
        (true, 19) => Ok(digits + "999"),
        (true, 23) => Ok(digits),
        _ => Err(Error::invalid_argument(format!(
            "invalid instant {text:?}: use an instant of the timeline (yyyyMMddHHmmssSSS), yyyy-MM-dd or yyyy-MM-dd HH:mm:ss[.SSS]"
        ))),
    }
}

/// Returns true if the digits are a date of the calendar, followed by a time of day if there are more than eight.
fn is_time(digits: &str) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let day = (part(0, 4), part(4, 6), part(6, 8));
    let (Some(year), Some(month), Some(day)) = day else { return false };
    let year = i32::try_from(year).unwrap_or_default();
    let below = |part: Option<u32>, limit| part.is_none_or(|part| part < limit);
    chrono::NaiveDate::from_ymd_opt(year, month, day).is_some()
        && below(part(8, 10), 24)
        && below(part(10, 12), 60)
        && below(part(12, 14), 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_query_instants() {
        for (text, instant) in [
            ("20240102030405", "20240102030405"),
            ("20240102030405678", "20240102030405678"),
            ("2024-01-02", "20240102000000000"),
            ("2024-01-02 03:04:05", "20240102030405999"),
            ("2024-01-02T03:04:05.678", "20240102030405678"),
            ("000", "000"),
        ] {
            assert_eq!(parse_query_instant(text).unwrap(), instant);
        }
        for wrong in [
            "",
            "yesterday",
            "2024-1-2",
            "2024-01-02 03:04",
            "2024/01/02",
            "2024-01-02 03:04:05.6789",
            "2024-13-01",
            "2024-02-30",
            "2024-01-02 24:00:00",
        ] {
            assert_eq!(parse_query_instant(wrong).unwrap_err().kind(), crate::ErrorKind::InvalidArgument, "{wrong}");
        }
    }
}
