//! Planning a snapshot of a table of 10,000 partitions with 10 file groups each, from the metadata table and from storage, the
//! table opened anew each time; and how many requests that makes of storage. Storage is memory; where it says so, each request takes
//! 1 ms, which is little for an object store.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, unreachable_pub)]

#[allow(dead_code)]
#[path = "../../tests/rust/hfile/builder.rs"]
mod builder;
#[allow(dead_code)]
#[path = "../../tests/rust/planning/synthetic.rs"]
mod synthetic;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use mortice::Ask;
use synthetic::Synthetic;

const PARTITIONS: usize = 10_000;
const GROUPS: usize = 10;

fn plan(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan 10,000 partitions of 10 file groups");
    group.sample_size(10);
    for (name, with_metadata, latency) in [
        ("metadata table", true, Duration::ZERO),
        ("storage", false, Duration::ZERO),
        ("metadata table, 1 ms a request", true, Duration::from_millis(1)),
        ("storage, 1 ms a request", false, Duration::from_millis(1)),
    ] {
        let mut place = Synthetic::new(PARTITIONS, GROUPS, with_metadata);
        place.latency = latency;
        let place = Arc::new(place);
        let splits = || place.table().snapshot(&Ask::default()).unwrap().splits().len();
        assert_eq!(splits(), PARTITIONS * GROUPS);
        let (listed, opened) = place.requests();
        println!("{name}: {listed} listings, {opened} files opened");
        group.bench_function(name, |b| b.iter(|| black_box(splits())));
    }
    group.finish();
}

criterion_group!(benches, plan);
criterion_main!(benches);
