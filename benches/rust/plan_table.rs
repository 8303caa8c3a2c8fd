//! Planning a snapshot of a table of 10,000 partitions with 10 file groups each, from the metadata table and from
//! storage, with the table opened again each time; and the number of storage requests. Storage is memory; where the
//! name says so, each request takes 1 ms, which is little for an object store. Times are wall-clock times per file
//! group.
//!
//! `cargo bench -p mortice-benches --bench parts -- plan_table [--rows FILE_GROUPS] [--rounds N]`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use crate::rounds::{BenchArguments, Contender, race};
use crate::synthetic::Synthetic;
use mortice::QueryOptions;

/// Per partition.
const GROUPS: usize = 10;

const PLACES: [(&str, bool, Duration); 4] = [
    ("storage", false, Duration::ZERO),
    ("metadata table", true, Duration::ZERO),
    ("storage, 1 ms a request", false, Duration::from_millis(1)),
    ("metadata table, 1 ms a request", true, Duration::from_millis(1)),
];

fn place(asked: &BenchArguments, with_metadata: bool, latency: Duration) -> Arc<Synthetic> {
    let mut place = Synthetic::new(asked.rows / GROUPS, GROUPS, with_metadata);
    place.latency = latency;
    Arc::new(place)
}

fn splits(place: &Arc<Synthetic>) -> usize {
    place.table().snapshot(&QueryOptions::default()).unwrap().splits().len()
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(100_000, 5);
    let places = PLACES.map(|(name, with_metadata, latency)| (name, place(&asked, with_metadata, latency)));
    for (name, place) in &places {
        assert_eq!(splits(place), asked.rows / GROUPS * GROUPS);
        let (listed, opened) = place.requests();
        println!("{name}: {listed} listings, {opened} files opened");
    }
    let contender = |(name, place): &(&'static str, Arc<Synthetic>)| {
        let place = Arc::clone(place);
        Contender::with_wall_time(name, move || _ = black_box(splits(&place)))
    };
    let mut contenders: Vec<Contender<'_>> = places.iter().map(contender).collect();
    race(&asked, "10 file groups a partition", &mut contenders);
}
