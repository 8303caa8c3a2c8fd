//! Times of new instants that other writers take at the same time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::TimeDelta;
use proptest::prelude::*;

use crate::commit::{Clock, Timelines, request_instant};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_base::time::SimulatedTime;
use mortice_merge::config::{Properties, TableConfig};
use mortice_storage::{FileVersion, PutOutcome};
use mortice_table::timeline::{Timeline, timeline};

/// The timelines of a table and of its metadata table.
struct Both(Vec<Timeline>);

impl Timelines for Both {
    fn timelines(&self) -> Vec<&Timeline> {
        self.0.iter().collect()
    }
}

fn clock() -> Clock {
    clock_with(TimeDelta::zero())
}

/// A clock that is ahead by so much.
fn clock_with(skew: TimeDelta) -> Clock {
    let entries =
        [("hoodie.table.name", "t"), ("hoodie.table.version", "6"), ("hoodie.table.timeline.timezone", "UTC")];
    let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
    Clock::new(&config, Arc::new(SimulatedTime::default().with_skew(skew)))
}

fn both(table: &BTreeSet<String>, metadata: &BTreeSet<String>) -> Both {
    let of_times = |times: &BTreeSet<String>| {
        let names: Vec<String> = times.iter().map(|time| format!("{time}.commit.requested")).collect();
        timeline(&names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    Both(vec![of_times(table), of_times(metadata)])
}

fn written() -> Result<Option<PutOutcome>> {
    Ok(Some(PutOutcome::Written(FileVersion::default())))
}

/// A time of a year that no clock has reached.
fn later_time() -> impl Strategy<Value = String> {
    (0_u32..3, 0_u32..50).prop_map(|(second, milli)| format!("209901010000{second:02}{milli:03}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Other writers take the time again and again, some of them a later one.
    #[test]
    fn the_time_is_later_than_all_that_others_took(
        table in proptest::collection::btree_set(later_time(), 0..4),
        metadata in proptest::collection::btree_set(later_time(), 0..4),
        taken in proptest::collection::vec(proptest::option::of(later_time()), 0..10),
        skew in prop_oneof![Just(0_i64), Just(-86_400_000), Just(86_400_000)],
    ) {
        let others = RefCell::new(table);
        let mut left = taken.clone().into_iter();
        let clock = clock_with(TimeDelta::milliseconds(skew));
        let put = |_: &Both, time: &RequestedTime| {
            let newest = others.borrow().iter().chain(&metadata).next_back().cloned();
            assert!(newest.is_none_or(|newest| time.as_str() > newest.as_str()), "{time}");
            let Some(other) = left.next() else { return written() };
            others.borrow_mut().extend([time.to_string()].into_iter().chain(other));
            Ok(Some(PutOutcome::Refused))
        };
        let known = both(&others.borrow(), &metadata);
        let found = request_instant(&clock, known, || Ok(both(&others.borrow(), &metadata)), put);
        if taken.len() >= 10 {
            prop_assert_eq!(found.err().unwrap().kind(), ErrorKind::AlreadyExists);
            return Ok(());
        }
        let (time, known) = found.unwrap().unwrap();
        let all = known.timelines().into_iter().flat_map(|timeline| timeline.instants().to_vec()).collect::<Vec<_>>();
        prop_assert!(all.iter().all(|instant| instant.requested_time < time), "{}", time);
        // What was put was decided by the timelines that are returned.
        prop_assert_eq!(all.len(), others.borrow().len() + metadata.len());
    }
}

#[test]
fn a_failure_is_not_tried_again() {
    let failed = |what: &str| Error::new(ErrorKind::Unreachable, what.to_owned());
    let none = BTreeSet::new();
    let mut puts = 0;
    let put = |_: &Both, _: &RequestedTime| {
        puts += 1;
        Err(failed("put"))
    };
    let error = request_instant(&clock(), both(&none, &none), || Ok(both(&none, &none)), put).err().unwrap();
    assert!(error.to_string().contains("put"), "{error}");
    assert_eq!(puts, 1, "whether the instant is there is not known");
    let refused = |_: &Both, _: &RequestedTime| Ok(Some(PutOutcome::Refused));
    let error = request_instant(&clock(), both(&none, &none), || Err(failed("reload")), refused).err().unwrap();
    assert!(error.to_string().contains("reload"), "{error}");
}

/// The time that such a table needs cannot be written.
#[test]
fn a_time_that_no_calendar_has_is_an_error_before_anything_is_put() {
    let (last, none) = (BTreeSet::from(["99991231235959999".to_owned()]), BTreeSet::new());
    let put = |_: &Both, time: &RequestedTime| panic!("an instant was put at {time}");
    let error = request_instant(&clock(), both(&last, &none), || Ok(both(&last, &none)), put).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidTable);
    assert!(error.to_string().contains("99991231235959999"), "{error}");
}
