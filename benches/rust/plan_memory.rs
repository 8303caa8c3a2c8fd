//! Planning a snapshot of a large table from its metadata table: 100 file groups in each partition, all of them, with a
//! filter on partitions and without, half of the partitions, and one. Prints the wall-clock time, and by how much the
//! resident memory grows at most meanwhile, looked at each millisecond; the files of the table are in memory, too, and
//! are not part of that.
//!
//! `cargo bench -p mortice-benches --bench parts -- plan_memory [CASE] [--rows FILE_GROUPS]`. The allocator keeps freed
//! memory: the memory of a case is that of the first one in a process.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mortice::QueryOptions;
use mortice::filter::{Filter, Literal, Operator, Term};

use crate::rounds::BenchArguments;
use crate::synthetic::Synthetic;

/// Per partition.
const GROUPS: usize = 100;

/// The resident memory in MB; zero on systems that do not say it.
fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

/// Returns what a function returns, its seconds, and by how many MB the resident memory grew at most.
fn measured<T>(run: impl FnOnce() -> T) -> (T, f64, f64) {
    let (before, is_done) = (resident_mb(), AtomicBool::new(false));
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = before;
            while !is_done.load(Ordering::Relaxed) {
                most = most.max(resident_mb());
                thread::sleep(Duration::from_millis(1));
            }
            most
        });
        let begun = Instant::now();
        let found = run();
        let seconds = begun.elapsed().as_secs_f64();
        is_done.store(true, Ordering::Relaxed);
        (found, seconds, watch.join().unwrap() - before)
    })
}

fn days_below(count: usize) -> Filter {
    // The numbers in the paths have leading zeros, so that they are no integers to a filter of the column.
    let path = Literal::Text(format!("day={count:06}"));
    Filter::any_of(vec![vec![Term::new("_hoodie_partition_path", Operator::Lt, vec![path]).unwrap()]])
}

pub(crate) fn run() {
    let asked = BenchArguments::from_arguments(1_000_000, 1);
    let partitions = asked.rows / GROUPS;
    let place = Arc::new(Synthetic::new(partitions, GROUPS, true));
    let cases = [("all", None), ("each", Some(partitions)), ("half", Some(partitions / 2)), ("one", Some(1))];
    for (name, selected) in cases.into_iter().filter(|(name, _)| asked.is_asked(name)) {
        let query = QueryOptions { filter: selected.map(days_below).unwrap_or_default(), ..QueryOptions::default() };
        let count = selected.unwrap_or(partitions);
        // The allocator gives its memory back after a while.
        thread::sleep(Duration::from_millis(if asked.is_timed { 2_000 } else { 0 }));
        let (splits, seconds, peak) = measured(|| place.table().snapshot(&query).unwrap().splits().len());
        assert_eq!(splits, count * GROUPS);
        println!("  {name}: {splits} file slices, {seconds:.2} s, {peak:.0} MB");
    }
}
