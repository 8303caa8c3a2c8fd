//! Planning a snapshot of a large table from its metadata table: 100 file groups in each partition, all of them, half
//! of the partitions, and one. Prints the wall-clock time, and by how much the resident memory grows at most meanwhile;
//! the files of the table are in memory, too, and are not part of that.
//!
//! `cargo bench -p mortice-benches --bench parts -- plan_memory [--rows FILE_GROUPS]`.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use mortice::QueryOptions;
use mortice::filter::{Filter, Literal, Operator, Term};

use crate::rounds::BenchArguments;
use crate::synthetic::Synthetic;

/// Per partition.
const GROUPS: usize = 100;

/// A line of `/proc/self/status` in MB; zero on systems that have none.
fn status_mb(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

fn days_below(count: usize) -> Filter {
    let day = Literal::Int(count.try_into().unwrap());
    Filter::any_of(vec![vec![Term::new("day", Operator::Lt, vec![day]).unwrap()]])
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(1_000_000, 1);
    let partitions = asked.rows / GROUPS;
    let place = Arc::new(Synthetic::new(partitions, GROUPS, true));
    for (name, count) in [("all partitions", partitions), ("half of them", partitions / 2), ("one", 1)] {
        let query = QueryOptions { filter: days_below(count), ..QueryOptions::default() };
        // Sets the peak to what is resident now.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let (resident, begun) = (status_mb("VmRSS:"), Instant::now());
        let scan = place.table().snapshot(&query).unwrap();
        assert_eq!(scan.splits().len(), count * GROUPS);
        let (seconds, peak) = (begun.elapsed().as_secs_f64(), status_mb("VmHWM:") - resident);
        println!("  {name}: {} file slices, {seconds:.2} s, {peak:.0} MB", scan.splits().len());
    }
}
