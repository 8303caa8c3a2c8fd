//! Contenders timed in turns: each round runs every one of them once, so that what disturbs the machine disturbs all. Time
//! is the CPU time of the thread. They run in a thread of their own, as readers do: there the allocator gives memory back
//! to the system sooner.

use rustix::time::{ClockId, clock_gettime};

/// What the command line asks for.
pub(crate) struct Asked {
    pub(crate) rows: usize,
    rounds: usize,
    case: Option<String>,
    main_thread: bool,
}

impl Asked {
    pub(crate) fn of_arguments() -> Self {
        let mut asked = Self { rows: 300_000, rounds: 15, case: None, main_thread: false };
        let mut arguments = std::env::args().skip(1);
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

    /// Runs in a thread, or in the main one if that is asked for.
    pub(crate) fn run(&self, what: impl FnOnce() + Send) {
        if self.main_thread {
            return what();
        }
        std::thread::scope(|scope| scope.spawn(what).join()).expect("a sound run");
    }
}

/// What is timed, and what it is called.
pub(crate) struct Contender<'a> {
    name: &'a str,
    pass: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'a str, pass: impl FnMut() + 'a) -> Self {
        Self { name, pass: Box::new(pass) }
    }
}

/// Runs the contenders and prints CPU nanoseconds a record, least and median, and how often the second one's median each takes.
pub(crate) fn race(asked: &Asked, contenders: &mut [Contender<'_>]) {
    let mut times: Vec<Vec<f64>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..=asked.rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let before = thread_time();
            (contender.pass)();
            // The first round warms up.
            if round > 0 {
                times.push((thread_time() - before) / asked.rows as f64);
            }
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    let median = |times: &[f64]| times[times.len() / 2];
    let (least_of_ours, median_of_ours) = (times[1][0], median(&times[1]));
    println!("{:24} {:>9} {:>9} {:>14} {:>14}", "ns a record, CPU", "least", "median", "ratio of least", "of medians");
    for (contender, times) in contenders.iter().zip(&times) {
        let (least, median) = (times[0], median(times));
        let (of_least, of_medians) = (least / least_of_ours, median / median_of_ours);
        println!("{:24} {least:9.1} {median:9.1} {of_least:14.2} {of_medians:14.2}", contender.name);
    }
}

/// CPU time of this thread, in nanoseconds.
fn thread_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
