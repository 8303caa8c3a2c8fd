//! Times of new instants, with a calendar that counts by itself.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::commit::{Clock, epoch_millis, epoch_text, millisecond_before};
use mortice_base::names::RequestedTime;
use mortice_base::time::SimulatedTime;
use mortice_merge::config::{Properties, TableConfig, TimelineZone};
use mortice_table::timeline::timeline;

/// Year, month, day, hour, minute, second, millisecond.
type Parts = [u64; 7];

/// Times that are later than any clock, often the last ones of a second, a day or a month.
fn parts() -> impl Strategy<Value = Parts> {
    let edge = |last: u64| prop_oneof![2 => 0..=last, 1 => Just(last)];
    (2100_u64..9998, 1_u64..=12, edge(30), edge(23), edge(59), edge(59), edge(999)).prop_map(
        |(year, month, day, hour, minute, second, millisecond)| {
            [year, month, day % days_of(year, month) + 1, hour, minute, second, millisecond]
        },
    )
}

fn days_of(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    }
}

fn text(parts: Parts) -> String {
    let [year, month, day, hour, minute, second, millisecond] = parts;
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}{millisecond:03}")
}

/// The next time, counted in the part `at`; the parts after it begin again.
fn after(mut parts: Parts, at: usize) -> Parts {
    let first = [0, 1, 1, 0, 0, 0, 0];
    for part in (0..=at).rev() {
        let last = [u64::MAX, 12, days_of(parts[0], parts[1]), 23, 59, 59, 999][part];
        if parts[part] < last {
            parts[part] += 1;
            break;
        }
        parts[part] = first[part];
    }
    parts
}

fn clock() -> Clock {
    let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", "9")];
    let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
    Clock::new(&config, Arc::new(SimulatedTime::default()))
}

/// Milliseconds from the epoch, counted year by year and month by month.
fn counted_millis(parts: Parts) -> u64 {
    let [year, month, day, hour, minute, second, millisecond] = parts;
    let years: u64 = (1970..year).map(|year| 337 + days_of(year, 2)).sum();
    let months: u64 = (1..month).map(|month| days_of(year, month)).sum();
    let hours = (years + months + day - 1) * 24 + hour;
    ((hours * 60 + minute) * 60 + second) * 1000 + millisecond
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_new_time_is_the_one_after_the_newest(all in vec((parts(), any::<bool>()), 1..5), digits in "[0-9]{0,3}") {
        // Some instants are requested, others completed at that time; the name of one may be longer, or in seconds.
        let names = all.iter().enumerate().map(|(number, (parts, is_completed))| match is_completed {
            true => format!("20240101000000{number:03}_{}.commit", text(*parts)),
            false => format!("{}.commit.requested", text(*parts)),
        });
        let names: Vec<String> = names.collect();
        let known = timeline(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let newest = all.iter().map(|(parts, _)| *parts).max().unwrap();
        let requested = clock().requested_time(&[&known]).unwrap();
        prop_assert_eq!(requested.as_str(), text(after(newest, 6)));
        let completed = clock().completion_time(&requested, &[&known]).unwrap();
        prop_assert_eq!(completed.as_str(), text(after(after(newest, 6), 6)));
        let suffixed = format!("{}{digits}.commit.requested", text(newest));
        prop_assert_eq!(clock().requested_time(&[&timeline(&[&suffixed])]).unwrap().to_string(), text(after(newest, 6)));
        let in_seconds = format!("{}.commit.requested", &text(newest)[..14]);
        let [year, month, day, hour, minute, second, _] = newest;
        let next_second = after([year, month, day, hour, minute, second, 0], 5);
        prop_assert_eq!(clock().requested_time(&[&timeline(&[&in_seconds])]).unwrap().to_string(), text(next_second));
    }

    #[test]
    fn the_millisecond_before_the_one_after_is_the_time(parts in parts()) {
        let next = RequestedTime::parse(&text(after(parts, 6))).unwrap();
        prop_assert_eq!(millisecond_before(&next).unwrap().to_string(), text(parts));
    }

    #[test]
    fn times_are_milliseconds_since_the_epoch(parts in parts(), is_earlier in any::<bool>()) {
        let [year, month, _, hour, minute, second, millisecond] = parts;
        let parts = if is_earlier { [1970 + year % 100, month, 28, hour, minute, second, millisecond] } else { parts };
        let millis = i64::try_from(counted_millis(parts)).unwrap();
        prop_assert_eq!(epoch_millis(&text(parts), TimelineZone::Utc), Some(millis));
        prop_assert_eq!(epoch_text(millis, TimelineZone::Utc), Some(text(parts)));
        prop_assert_eq!(epoch_millis(&text(parts)[..14], TimelineZone::Utc), Some(millis / 1000 * 1000));
        // In the zone of this machine, as it is for all times that exist there once.
        let local = epoch_text(millis, TimelineZone::Local).unwrap();
        let found = epoch_millis(&local, TimelineZone::Local).unwrap();
        prop_assert!((found - millis).abs() <= 3_600_000);
    }
}
