//! Settings of the HTTP client of an object store: timeouts, retries, connections.

use std::time::Duration;

use mortice_base::error::{Error, Result};

/// Settings of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientSettings {
    /// The connect timeout.
    pub connect_timeout: Duration,
    /// The maximum time without receiving a byte.
    pub read_timeout: Duration,
    /// The maximum time of one request, including its body.
    pub timeout: Duration,
    /// The time after which an unused connection is closed. S3 closes them after about 20 s.
    pub pool_idle_timeout: Duration,
    /// The number of retries of one request.
    pub max_retries: usize,
    /// The time within which a request is retried.
    pub retry_timeout: Duration,
    /// The maximum number of concurrent requests.
    pub max_requests: usize,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            pool_idle_timeout: Duration::from_secs(15),
            max_retries: 8,
            retry_timeout: Duration::from_secs(60),
            max_requests: 32,
        }
    }
}

/// The longest duration of an option, also used for no limit: a day.
const LONGEST: Duration = Duration::from_secs(86_400);

impl ClientSettings {
    /// Sets the option `name` to `value`. Returns false if it is not a client setting of this struct. A timeout of 0 is
    /// no limit.
    ///
    /// # Errors
    /// [`mortice_base::ErrorKind::InvalidArgument`] if the value is not a duration or a count.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "connect_timeout" => self.connect_timeout = limit(name, value)?,
            "read_timeout" => self.read_timeout = limit(name, value)?,
            "timeout" => self.timeout = limit(name, value)?,
            "pool_idle_timeout" => self.pool_idle_timeout = duration(name, value)?,
            "max_retries" => self.max_retries = count(name, value)?,
            "retry_timeout" => self.retry_timeout = duration(name, value)?,
            "max_requests" => self.max_requests = count(name, value)?.max(1),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Parses a duration; zero is no limit.
fn limit(name: &str, value: &str) -> Result<Duration> {
    duration(name, value).map(|duration| if duration.is_zero() { LONGEST } else { duration })
}

fn duration(name: &str, value: &str) -> Result<Duration> {
    parse_duration(value, Duration::from_secs(1)).ok_or_else(|| {
        Error::invalid_argument(format!(
            "storage option {name} must be a duration such as 500ms, 30s or 2m, got {value:?}"
        ))
    })
}

fn count(name: &str, value: &str) -> Result<usize> {
    value.trim().parse().map_err(|_| {
        Error::invalid_argument(format!("storage option {name} must be a whole number of 0 or more, got {value:?}"))
    })
}

/// Parses numbers with units, such as `500ms`, `30s`, `1m 30s`; a number without unit is in `unit`s. Returns `None` if
/// `text` is not a duration or is longer than a day.
#[must_use]
pub(crate) fn parse_duration(text: &str, unit: Duration) -> Option<Duration> {
    let mut rest = text.trim();
    if let Ok(number) = rest.parse::<u32>() {
        return unit.checked_mul(number).filter(|duration| *duration <= LONGEST);
    }
    let mut sum = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(digits)?;
        let after = after.trim_start();
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (name, next) = after.split_at_checked(letters)?;
        sum = sum.checked_add(unit_of(name)?.checked_mul(number.parse().ok()?)?)?;
        rest = next.trim_start();
    }
    Some(sum).filter(|duration| *duration <= LONGEST)
}

fn unit_of(name: &str) -> Option<Duration> {
    Some(match name.to_ascii_lowercase().as_str() {
        "ms" | "msec" | "millis" | "milliseconds" | "millisecond" => Duration::from_millis(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Duration::from_secs(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Duration::from_secs(60),
        "h" | "hr" | "hour" | "hours" => Duration::from_secs(3600),
        "d" | "day" | "days" => Duration::from_secs(86_400),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let second = Duration::from_secs(1);
        for (text, millis) in [
            ("0", Some(0)),
            ("7", Some(7000)),
            ("500ms", Some(500)),
            (" 30 s ", Some(30_000)),
            ("1m 30s", Some(90_000)),
            ("1h", Some(3_600_000)),
            ("2d", None),
            ("", None),
            ("s", None),
            ("1 fortnight", None),
            ("-1s", None),
            ("99999999999999999999s", None),
            ("4294967295", None),
            ("1µs", None),
        ] {
            assert_eq!(parse_duration(text, second), millis.map(Duration::from_millis), "{text:?}");
        }
        assert_eq!(parse_duration("1500", Duration::from_millis(1)), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn a_timeout_of_zero_is_no_limit() {
        let mut settings = ClientSettings::default();
        assert!(settings.set("timeout", "0").unwrap() && settings.set("read_timeout", "250ms").unwrap());
        assert!(!settings.set("endpoint", "x").unwrap());
        assert_eq!((settings.timeout, settings.read_timeout), (LONGEST, Duration::from_millis(250)));
        let error = settings.set("connect_timeout", "soon").unwrap_err().to_string();
        assert!(error.contains("connect_timeout must be a duration") && error.contains("\"soon\""), "{error}");
        assert!(settings.set("max_retries", "-1").unwrap_err().to_string().contains("max_retries"));
    }
}
