//! The storage requests of a plan and its memory, counted on tables of many partitions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, unreachable_pub)]

mod synthetic;

use std::sync::Arc;

use mortice::QueryOptions;
use mortice::filter::{Filter, Literal, Operator, Term};
use synthetic::Synthetic;

use crate::allocations::peak_of;
use crate::hfile::builder;

const GROUPS: usize = 3;

fn asking(days: &[&str]) -> QueryOptions {
    let literals = days.iter().map(|day| Literal::Int(day.parse().unwrap())).collect::<Vec<_>>();
    let lists =
        if days.is_empty() { Vec::new() } else { vec![vec![Term::new("day", Operator::In, literals).unwrap()]] };
    QueryOptions { filter: Filter::any_of(lists), ..QueryOptions::default() }
}

fn all_days() -> Filter {
    let path = Literal::Text("day=".into());
    Filter::any_of(vec![vec![Term::new("_hoodie_partition_path", Operator::GtEq, vec![path]).unwrap()]])
}

/// Requests of a snapshot's plan, and its splits.
fn planned(partitions: usize, with_metadata: bool, ask: &QueryOptions) -> ((usize, usize), usize) {
    let place = Arc::new(Synthetic::new(partitions, GROUPS, with_metadata));
    let table = place.table();
    place.requests();
    let scan = table.snapshot(ask).unwrap();
    let listing = if with_metadata { "metadata table" } else { "storage" };
    assert!(scan.explain().contains(&format!("listing    {listing}\n")), "{}", scan.explain());
    (place.requests(), scan.splits().len())
}

#[test]
fn with_a_metadata_table_requests_do_not_grow_with_the_table() {
    let (requests, splits) = planned(20, true, &asking(&[]));
    assert_eq!(splits, 20 * GROUPS);
    let (more, splits) = planned(2000, true, &asking(&[]));
    assert_eq!((more, splits), (requests, 2000 * GROUPS));
    assert!(requests.0 + requests.1 < 15, "{requests:?}");
}

#[test]
fn without_one_each_folder_is_listed_once() {
    let ((listed, opened), splits) = planned(500, false, &asking(&[]));
    // The root, each partition, and the timeline once more, for files that a cleaner has removed meanwhile.
    assert_eq!((listed, splits), (502, 500 * GROUPS));
    assert!(opened <= 2, "{opened}");
}

/// The bytes that the plan of a slice may take: 280 without its strings, 130 of strings, and its share of what is read
/// at once. A listing of all files at once took 1,500.
const SLICE_BYTES: usize = 450;

#[test]
fn a_plan_from_the_metadata_table_takes_little_more_memory_than_its_slices() {
    for ask in [asking(&[]), QueryOptions { filter: all_days(), ..QueryOptions::default() }] {
        let place = Arc::new(Synthetic::new(1_500, 20, true));
        let table = place.table();
        let (scan, peak) = peak_of(|| table.snapshot(&ask).unwrap());
        let slices = scan.splits().len();
        assert_eq!(slices, 30_000);
        assert!(peak < SLICE_BYTES * slices, "{peak} bytes for {slices} slices");
    }
}

#[test]
fn what_is_made_of_a_scan_shares_its_slices() {
    let scan = Arc::new(Synthetic::new(1, 1, true)).table().snapshot(&asking(&[])).unwrap();
    let [split] = scan.splits() else { panic!("{} splits", scan.splits().len()) };
    let (counted, divided) = (scan.without_columns(), scan.splits_within(1));
    for other in counted.splits().iter().chain(&divided) {
        assert!(Arc::ptr_eq(&other.slice, &split.slice));
    }
}

#[test]
fn both_listings_give_the_same_splits() {
    let splits = |with_metadata| {
        let table = Arc::new(Synthetic::new(50, GROUPS, with_metadata)).table();
        let slices = table.file_slices(None, &Filter::default()).unwrap();
        slices
            .into_iter()
            .map(|slice| (slice.partition, slice.file_id, slice.base_file.unwrap().len))
            .collect::<Vec<_>>()
    };
    assert_eq!(splits(true), splits(false));
}
