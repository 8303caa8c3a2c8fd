//! Times of new instants (`TimeGenerator`, `HoodieInstantTimeGenerator`).
//!
//! A time is the clock's milliseconds in the table's zone, raised to one more than the newest time on the timeline,
//! requested and completion times alike: a clock that is behind another writer's, or was set back, does no harm. Two
//! writers with a lock also wait for the skew that their clocks may have before they release it
//! ([`Concurrency::release`]).
//!
//! [`Concurrency::release`]: super::Concurrency::release

use std::sync::Arc;

use chrono::{DateTime, Local, NaiveDateTime, TimeDelta, Utc};

use mortice_base::error::{Error, Result};
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_base::time::Time;
use mortice_merge::config::{TableConfig, TimelineZone};
use mortice_table::timeline::Timeline;

const FORM: &str = "%Y%m%d%H%M%S%3f";
/// Digits of a time in milliseconds. Metadata tables of version 6 have suffixes after them.
const DIGITS: usize = 17;
/// How far a time may be ahead of the clock and be waited for, in milliseconds: this process generated the one before
/// it in the same millisecond, or a few did. A time that is further ahead is that of another clock.
const NEAR_MS: i64 = 10;

/// Generates the times of a table's new instants.
#[derive(Debug, Clone)]
pub struct Clock {
    zone: TimelineZone,
    time: Arc<dyn Time>,
}

impl Clock {
    /// The clock of a table, in its `hoodie.table.timeline.timezone`. `time` is that of the table's store.
    #[must_use]
    pub fn new(config: &TableConfig, time: Arc<dyn Time>) -> Self {
        Self { zone: config.timeline_zone, time }
    }

    /// The requested time of a new instant: later than every time on the timelines, which are those of the table and of
    /// its metadata table.
    ///
    /// # Errors
    /// `InvalidTable` if an instant is later than all times that can be written.
    pub fn requested_time(&self, timelines: &[&Timeline]) -> Result<RequestedTime> {
        let text = self.later_than(newest(timelines))?;
        RequestedTime::from_metadata("generated time", &text)
    }

    /// The completion time of `requested`: later than it and than every time on the timelines, which must have been
    /// listed under the table's lock.
    ///
    /// # Errors
    /// As for [`Clock::requested_time`].
    pub fn completion_time(&self, requested: &RequestedTime, timelines: &[&Timeline]) -> Result<CompletionTime> {
        let text = self.later_than(newest(timelines).max(Some(requested.as_str())))?;
        CompletionTime::from_metadata("generated time", &text)
    }

    fn later_than(&self, newest: Option<&str>) -> Result<String> {
        let now = self.now();
        let text = now.format(FORM).to_string();
        let Some(newest) = newest.filter(|newest| *newest >= text.as_str()) else { return Ok(text) };
        let next = next_after(newest)?;
        self.wait_until_near(&next);
        Ok(next)
    }

    /// Waits until the clock has reached a time, unless it is far away.
    fn wait_until_near(&self, time: &str) {
        let Some(time) = parse(time) else { return };
        loop {
            let left = time.signed_duration_since(self.now());
            match left.to_std() {
                Ok(left_time) if !left_time.is_zero() && left.num_milliseconds() < NEAR_MS => {
                    self.time.sleep(left_time);
                }
                _ => return,
            }
        }
    }

    /// What the clock shows in the table's zone.
    fn now(&self) -> NaiveDateTime {
        match self.zone {
            TimelineZone::Utc => self.time.now().naive_utc(),
            TimelineZone::Local => self.time.now().with_timezone(&Local).naive_local(),
        }
    }
}

/// The greatest of all times, as text.
fn newest<'a>(timelines: &[&'a Timeline]) -> Option<&'a str> {
    let instants = timelines.iter().flat_map(|timeline| timeline.instants());
    let times = |instant: &'a mortice_table::timeline::Instant| {
        let completion = instant.completion_time.as_ref().map(CompletionTime::as_str);
        [Some(instant.requested_time.as_str()), completion].into_iter().flatten()
    };
    instants.flat_map(times).max()
}

/// The millisecond after a time. Of a time with more digits, the millisecond after the one that it belongs to; of one
/// in seconds, the second after it.
pub fn next_after(time: &str) -> Result<String> {
    let (millis, step) = match time.get(..DIGITS) {
        Some(millis) => (millis.to_owned(), TimeDelta::milliseconds(1)),
        None => (format!("{time}000"), TimeDelta::seconds(1)),
    };
    let unknown = || {
        let message = format!(
            "instant {time} is not in the past, and not a time of the calendar: no later instant can be created; check the clock of \
             the writer that created it"
        );
        Error::invalid_table(message).at_instant(time)
    };
    let parsed = parse(&millis).ok_or_else(unknown)?;
    let next = parsed.checked_add_signed(step).ok_or_else(unknown)?.format(FORM).to_string();
    if next.len() == DIGITS && next.as_str() > time { Ok(next) } else { Err(unknown()) }
}

/// The millisecond before a time (`HoodieInstantTimeGenerator.instantTimeMinusMillis`); none for a time that is not one
/// of the calendar.
#[must_use]
pub fn millisecond_before(time: &RequestedTime) -> Option<RequestedTime> {
    let millis = time.as_str().get(..DIGITS)?;
    let before = parse(millis)?.checked_sub_signed(TimeDelta::milliseconds(1))?.format(FORM).to_string();
    (before.len() == DIGITS).then(|| RequestedTime::parse(&before)).flatten()
}

/// A time of 17 digits. Written out, as a format without separators is ambiguous to the parser.
fn parse(millis: &str) -> Option<NaiveDateTime> {
    let part = |from: usize, to: usize| millis.get(from..to)?.parse::<u32>().ok();
    let year = i32::try_from(part(0, 4)?).ok()?;
    let day = chrono::NaiveDate::from_ymd_opt(year, part(4, 6)?, part(6, 8)?)?;
    if millis.len() != DIGITS {
        return None;
    }
    day.and_hms_milli_opt(part(8, 10)?, part(10, 12)?, part(12, 14)?, part(14, 17)?)
}

/// The milliseconds since the epoch of an instant's time in the table's zone; none if it is not a time of the calendar.
/// Times in seconds are the start of theirs.
#[must_use]
pub fn epoch_millis(time: &str, zone: TimelineZone) -> Option<i64> {
    let millis = match time.get(..DIGITS) {
        Some(millis) => parse(millis)?,
        None => parse(&format!("{time}000"))?,
    };
    match zone {
        TimelineZone::Utc => Some(millis.and_utc().timestamp_millis()),
        TimelineZone::Local => {
            let local = millis.and_local_timezone(Local).earliest();
            local.map(|local: DateTime<Local>| local.timestamp_millis())
        }
    }
}

/// A time of the timeline for milliseconds since the epoch; none for 0, which storage has for unknown times.
#[must_use]
pub fn epoch_text(millis: i64, zone: TimelineZone) -> Option<String> {
    let time = DateTime::<Utc>::from_timestamp_millis(millis).filter(|_| millis > 0)?;
    Some(zone.digits(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::time::SimulatedTime;
    use mortice_merge::config::Properties;
    use mortice_table::timeline::timeline;

    fn clock(zone: &str, time: &SimulatedTime) -> Clock {
        let entries =
            [("hoodie.table.name", "t"), ("hoodie.table.version", "9"), ("hoodie.table.timeline.timezone", zone)];
        Clock::new(
            &TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap(),
            Arc::new(time.clone()),
        )
    }

    #[test]
    fn times_are_the_clocks_unless_the_timeline_is_ahead() {
        let now = SimulatedTime::default();
        let empty = timeline(&[]);
        assert_eq!(clock("UTC", &now).requested_time(&[&empty]).unwrap(), "20260101000000000");
        let old = timeline(&["00000000000000001_00000000000000002.deltacommit", "20240101000000000.commit.requested"]);
        let local = now.now().with_timezone(&Local).format(FORM).to_string();
        assert_eq!(clock("LOCAL", &now).requested_time(&[&old]).unwrap().as_str(), local);
    }

    #[test]
    fn a_time_is_not_ahead_of_the_clock_by_what_was_generated_before_it() {
        let time = SimulatedTime::default();
        let clock = clock("UTC", &time);
        let mut newest = clock.requested_time(&[&timeline(&[])]).unwrap();
        for _ in 0..20 {
            let known = timeline(&[&format!("{newest}.commit.requested")]);
            let next = clock.requested_time(&[&known]).unwrap();
            let now = time.now().format(FORM).to_string();
            assert!(next > newest && next.as_str() <= now.as_str(), "{newest} {next} {now}");
            newest = next;
        }
    }

    #[test]
    fn times_grow_past_every_time_of_the_timelines() {
        let table = timeline(&["29990101000000000_29991231235959999.deltacommit", "29990102000000000.clean.requested"]);
        let metadata = timeline(&["30000101000000000.deltacommit.inflight"]);
        let clock = clock("UTC", &SimulatedTime::default());
        let requested = clock.requested_time(&[&table]).unwrap();
        assert_eq!(requested, "30000101000000000");
        assert_eq!(clock.requested_time(&[&table, &metadata]).unwrap(), "30000101000000001");
        assert_eq!(clock.completion_time(&requested, &[&table]).unwrap(), "30000101000000001");
    }

    #[test]
    fn the_next_time_of_all_forms() {
        for (time, next) in [
            ("29990101000000000", "29990101000000001"),
            ("29991231235959999", "30000101000000000"),
            ("29990101000000000010", "29990101000000001"),
            ("29990101000000", "29990101000001000"),
            ("29990101000000123006", "29990101000000124"),
        ] {
            assert_eq!(next_after(time).unwrap(), next, "{time}");
            assert!(next > time);
        }
        for wrong in ["99991231235959999", "99999999999999999", "9", "5000"] {
            let error = next_after(wrong).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidTable, "{error}");
        }
    }

    #[test]
    fn the_millisecond_before() {
        assert_eq!(millisecond_before(&"20240101000000000".into()), Some("20231231235959999".into()));
        assert_eq!(millisecond_before(&"20240101000000500006".into()), Some("20240101000000499".into()));
        assert_eq!(millisecond_before(&"00000000000000001".into()), None);
        assert_eq!(millisecond_before(&"20240101000000".into()), None);
    }

    #[test]
    fn times_since_the_epoch() {
        assert_eq!(epoch_millis("19700101000001005", TimelineZone::Utc), Some(1005));
        assert_eq!(epoch_millis("19700101000001005010", TimelineZone::Utc), Some(1005));
        assert_eq!(epoch_millis("19700102000000", TimelineZone::Utc), Some(86_400_000));
        assert_eq!(epoch_millis("00000000000000010", TimelineZone::Utc), None);
    }
}
