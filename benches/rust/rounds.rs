//! Times contenders in turns: each round runs every one of them once, so that disturbances affect all. Time is the CPU
//! time of the thread. They run in a thread of their own, as readers do.
//!
//! Where the variable `BENCH_RECORD` names a file, a line for each contender is added to it: benchmark, case,
//! contender, least and median; `benches/compare.py` reads them. Without `--bench`, which `cargo bench` gives,
//! everything is done once, with few rows: whether it works, not how fast it is.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// The options on the command line.
pub(crate) struct BenchArguments {
    pub(crate) rows: usize,
    rounds: usize,
    case: Option<String>,
    main_thread: bool,
    pub(crate) is_timed: bool,
}

impl BenchArguments {
    /// Sets the default numbers of rows and rounds.
    pub(crate) fn from_arguments(rows: usize, rounds: usize) -> Self {
        let is_timed = std::env::args().any(|argument| argument == "--bench");
        let (rows, rounds) = if is_timed { (rows, rounds) } else { (2_000, 1) };
        let mut asked = Self { rows, rounds, case: None, main_thread: false, is_timed };
        let mut arguments = std::env::args().skip(1).filter(|argument| Some(argument) != named_bench().as_ref());
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|number| number.parse().ok()).expect("a number");
            match argument.as_str() {
                "--rows" => asked.rows = number(),
                "--rounds" => asked.rounds = number(),
                "--main-thread" => asked.main_thread = true,
                "--bench" => {}
                _ => asked.case = Some(argument),
            }
        }
        asked
    }

    pub(crate) fn is_asked(&self, case: &str) -> bool {
        self.case.as_ref().is_none_or(|asked| asked == case)
    }

    /// Runs in a thread, or in the main one if that is requested.
    pub(crate) fn run(&self, what: impl FnOnce() + Send) {
        if self.main_thread {
            return what();
        }
        std::thread::scope(|scope| scope.spawn(what).join()).expect("a sound run");
    }
}

/// The benchmark on the command line: its first argument, unless that is an option.
pub(crate) fn named_bench() -> Option<String> {
    std::env::args().nth(1).filter(|argument| !argument.starts_with("--"))
}

/// A timed function and its name.
pub(crate) struct Contender<'a> {
    name: &'a str,
    pass: Box<dyn FnMut() + 'a>,
    clock: fn() -> f64,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'a str, pass: impl FnMut() + 'a) -> Self {
        Self { name, pass: Box::new(pass), clock: thread_time }
    }

    /// Measures the CPU time of all threads.
    pub(crate) fn with_process_time(name: &'a str, pass: impl FnMut() + 'a) -> Self {
        Self { name, pass: Box::new(pass), clock: process_time }
    }

    /// Measures the wall-clock time: for functions that wait, or have threads of their own.
    pub(crate) fn with_wall_time(name: &'a str, pass: impl FnMut() + 'a) -> Self {
        Self { name, pass: Box::new(pass), clock: wall_time }
    }
}

/// Runs the contenders and prints CPU nanoseconds per record, minimum and median, and the ratio of each to the second
/// one's median.
pub(crate) fn race(asked: &BenchArguments, case: &str, contenders: &mut [Contender<'_>]) {
    let mut times: Vec<Vec<f64>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..=asked.rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let before = (contender.clock)();
            (contender.pass)();
            // The first round is a warm-up.
            if round > 0 {
                times.push(((contender.clock)() - before) / asked.rows as f64);
            }
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    let found: Vec<_> = times.iter().map(|times| (times[0], times[times.len() / 2])).collect();
    if !asked.is_timed {
        return;
    }
    show(contenders, &found);
    record(case, contenders, &found);
}

fn show(contenders: &[Contender<'_>], found: &[(f64, f64)]) {
    let ours = found[1];
    println!("{:32} {:>9} {:>9} {:>14} {:>14}", "ns a record", "least", "median", "ratio of least", "of medians");
    for (contender, (least, median)) in contenders.iter().zip(found) {
        let (of_least, of_medians) = (least / ours.0, median / ours.1);
        println!("{:32} {least:9.1} {median:9.1} {of_least:14.2} {of_medians:14.2}", contender.name);
    }
}

fn record(case: &str, contenders: &[Contender<'_>], found: &[(f64, f64)]) {
    let Some(path) = std::env::var_os("BENCH_RECORD") else { return };
    let bench = named_bench().unwrap_or_default();
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file to write to");
    for (contender, (least, median)) in contenders.iter().zip(found) {
        writeln!(file, "{bench}\t{case}\t{}\t{least}\t{median}", contender.name).expect("a line");
    }
}

/// Returns the CPU time of this thread in nanoseconds.
fn thread_time() -> f64 {
    time_of(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of this process in nanoseconds.
fn process_time() -> f64 {
    time_of(ClockId::ProcessCPUTime)
}

fn time_of(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Returns the wall-clock time in nanoseconds.
fn wall_time() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    START.with(|start| start.elapsed().as_nanos() as f64)
}

/// As in the Python module; the rivals use it, too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
