//! Time that a test moves on.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{RepeatedWork, Repetition, Time};

/// Otherwise time would stand still for work that is repeated without a pause.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// Time in which nothing waits. It stands still until somebody sleeps, which moves it on for all that share it.
///
/// Repeated work has no thread: it is done when it is due, in the order of the times at which it is due, by the thread
/// that moves the time on. Clones share the time.
#[derive(Debug, Clone)]
pub struct SimulatedTime {
    state: Arc<Mutex<State>>,
    start: DateTime<Utc>,
    skew: TimeDelta,
}

#[derive(Debug, Default)]
struct State {
    passed: Duration,
    /// By when it is due, and a number.
    work: BTreeMap<(Duration, u64), Repeated>,
    next_number: u64,
}

/// Work that has ended has none.
#[derive(Clone)]
struct Repeated {
    interval: Duration,
    work: Arc<Mutex<Option<RepeatedWork>>>,
}

impl std::fmt::Debug for Repeated {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Repeated").field("interval", &self.interval).finish_non_exhaustive()
    }
}

impl Default for SimulatedTime {
    /// The first moment of 2026, which is later than the tables of tests.
    fn default() -> Self {
        Self::starting_at(DateTime::from_timestamp_millis(1_767_225_600_000).unwrap_or_default())
    }
}

impl SimulatedTime {
    /// Time that begins at a moment.
    #[must_use]
    pub fn starting_at(start: DateTime<Utc>) -> Self {
        Self { state: Arc::default(), start, skew: TimeDelta::zero() }
    }

    /// The same time, as a clock shows it that is ahead by so much.
    #[must_use]
    pub fn with_skew(&self, skew: TimeDelta) -> Self {
        Self { skew, ..self.clone() }
    }

    /// Moves the time on. Work that is due meanwhile is done.
    pub fn advance(&self, by: Duration) {
        let until = self.state().passed.saturating_add(by);
        loop {
            let mut state = self.state();
            let due = state.work.first_entry().filter(|first| first.key().0 <= until).map(|first| first.remove_entry());
            let Some(((due, number), repeated)) = due else {
                state.passed = state.passed.max(until);
                return;
            };
            state.passed = state.passed.max(due);
            drop(state);
            if repeated.is_continued() {
                let mut state = self.state();
                let next = state.passed.saturating_add(repeated.interval);
                state.work.insert((next, number), repeated);
            }
        }
    }

    /// What the clock shows, as the times of files are given.
    #[must_use]
    pub fn file_time(&self) -> std::time::SystemTime {
        self.now().into()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Repeated {
    /// Does the work, and says whether it is done again.
    fn is_continued(&self) -> bool {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let is_continued = work.as_mut().is_some_and(|work| work() == ControlFlow::Continue(()));
        if !is_continued {
            *work = None;
        }
        is_continued
    }
}

impl Time for SimulatedTime {
    fn now(&self) -> DateTime<Utc> {
        let passed = TimeDelta::from_std(self.monotonic()).unwrap_or(TimeDelta::MAX);
        let now = self.start.checked_add_signed(passed).and_then(|now| now.checked_add_signed(self.skew));
        now.unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    fn monotonic(&self) -> Duration {
        self.state().passed
    }

    fn sleep(&self, time: Duration) {
        self.advance(time);
        // What is waited for may be another thread's work.
        thread::yield_now();
    }

    fn repeat(&self, _name: &str, interval: Duration, work: RepeatedWork) -> std::io::Result<Repetition> {
        let work = Arc::new(Mutex::new(Some(work)));
        let repeated = Repeated { interval: interval.max(LEAST_INTERVAL), work: Arc::clone(&work) };
        let mut state = self.state();
        state.next_number += 1;
        let key = (state.passed.saturating_add(repeated.interval), state.next_number);
        state.work.insert(key, repeated);
        drop(state);
        let clock = self.clone();
        Ok(Repetition::new(Box::new(move || {
            // Waits for another thread that does the work now.
            *work.lock().unwrap_or_else(PoisonError::into_inner) = None;
            clock.state().work.retain(|(_, number), _| *number != key.1);
            Ok(())
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Work that notes a name and the time, and whether it goes on.
    fn noted(
        time: &SimulatedTime,
        notes: &Arc<Mutex<Vec<(&'static str, u64)>>>,
        name: &'static str,
        last: u64,
    ) -> RepeatedWork {
        let (time, notes) = (time.clone(), Arc::clone(notes));
        Box::new(move || {
            let now = time.monotonic().as_secs();
            notes.lock().unwrap().push((name, now));
            if now >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    #[test]
    fn who_sleeps_moves_time_on_for_all_clocks_that_share_it() {
        let time = SimulatedTime::default();
        let ahead = time.with_skew(TimeDelta::seconds(5));
        let start = time.now();
        ahead.sleep(seconds(60));
        assert_eq!(time.now() - start, TimeDelta::seconds(60));
        assert_eq!((ahead.now() - time.now(), time.monotonic()), (TimeDelta::seconds(5), seconds(60)));
        let shared: Arc<dyn Time> = Arc::new(time);
        assert_eq!((shared.since(seconds(20)), shared.millis_since(seconds(59))), (seconds(40), 1000));
    }

    #[test]
    fn repeated_work_is_done_in_the_order_in_which_it_is_due() {
        let (time, notes) = (SimulatedTime::default(), Arc::default());
        let never = u64::MAX;
        let _slow = time.repeat("slow", seconds(3), noted(&time, &notes, "slow", never)).unwrap();
        let quick = time.repeat("quick", seconds(2), noted(&time, &notes, "quick", never)).unwrap();
        let _once = time.repeat("once", seconds(1), noted(&time, &notes, "once", 1)).unwrap();
        time.sleep(seconds(5));
        assert_eq!(*notes.lock().unwrap(), [("once", 1), ("quick", 2), ("slow", 3), ("quick", 4)]);
        quick.end().unwrap();
        time.advance(seconds(4));
        assert_eq!(notes.lock().unwrap().get(4..), Some([("slow", 6), ("slow", 9)].as_slice()));
    }
}
