//! Parallel requests: storage serves many as fast as one, so sequential requests would add up their latencies.
//!
//! Threads are started when there is work and end with the call. None is started for work that one thread does in the
//! same time.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::cancel::{CancelToken, POLL, check_cancelled, take_interrupted};

/// How many threads have a core each: 1 where the system does not say.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Processes a queue to which `work` itself adds, with up to `threads` threads including the caller's. `work` receives
/// one item and returns the items that follow from it. After an error no more items are started; of several errors that
/// of the smallest item is returned, which is the one that a single thread would return for sorted items.
///
/// # Errors
/// Errors of `work`.
pub fn work_through<T, E>(first: Vec<T>, threads: usize, work: impl Fn(&T) -> Result<Vec<T>, E> + Sync) -> Result<(), E>
where
    T: Ord + Send,
    E: Send,
{
    let queue =
        Queue { state: Mutex::new(State { waiting: first.into(), busy: 0, failed: None }), changed: Condvar::new() };
    let cancel = CancelToken::child();
    std::thread::scope(|scope| {
        let mut helpers = 1;
        // The caller works, too, and starts a thread whenever there is more work than it can take.
        let start_helpers = |waiting| {
            while helpers < threads && helpers < waiting {
                let helper = || cancel.scope(|| queue.run(&work, |_| {}, || {}));
                let helped = std::thread::Builder::new().spawn_scoped(scope, helper);
                // Without another thread it only takes longer.
                helpers = if helped.is_ok() { helpers + 1 } else { threads };
            }
        };
        // A signal reaches the caller only, and ends the helpers' waits for storage, too.
        let check = || {
            if check_cancelled().is_err() {
                cancel.cancel();
            }
        };
        queue.run(&work, start_helpers, check);
        if take_interrupted() {
            cancel.cancel();
        }
    });
    match queue.lock().failed.take() {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// Returns the results of `work` for each item, in the order of the items.
///
/// # Errors
/// The error of the first failed item, of those that were started.
pub fn map<T, R, E>(items: &[T], threads: usize, work: impl Fn(&T) -> Result<R, E> + Sync) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send,
    E: Send,
{
    let found: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    work_through((0..items.len()).collect(), threads, |at: &usize| {
        if let (Some(item), Some(slot)) = (items.get(*at), found.get(*at)) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(item)?);
        }
        Ok(Vec::new())
    })?;
    Ok(found.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

struct Queue<T, E> {
    state: Mutex<State<T, E>>,
    changed: Condvar,
}

struct State<T, E> {
    waiting: VecDeque<T>,
    /// The number of items being processed: they may add to the queue.
    busy: usize,
    failed: Option<(T, E)>,
}

impl<T: Ord, E> Queue<T, E> {
    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes items until none is left. `more` is called with the number of waiting items, `check` repeatedly while
    /// other threads work.
    fn run(&self, work: &impl Fn(&T) -> Result<Vec<T>, E>, mut more: impl FnMut(usize), check: impl Fn()) {
        while let Some((item, waiting)) = self.take(&check) {
            more(waiting);
            let done = InHand(self);
            let outcome = work(&item);
            let mut state = self.lock();
            match outcome {
                Ok(led_to) => state.waiting.extend(led_to),
                Err(error) if state.failed.as_ref().is_none_or(|(least, _)| item < *least) => {
                    state.failed = Some((item, error));
                }
                Err(_) => {}
            }
            drop(state);
            drop(done);
        }
    }

    /// Returns the next item, and the number of waiting items including it; `None` when all are done.
    fn take(&self, check: &impl Fn()) -> Option<(T, usize)> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            let waiting = state.waiting.len();
            if let Some(item) = state.waiting.pop_front() {
                state.busy += 1;
                return Some((item, waiting));
            }
            if state.busy == 0 {
                return None;
            }
            let (waited, timeout) = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner);
            state = waited;
            if timeout.timed_out() {
                drop(state);
                check();
                state = self.lock();
            }
        }
    }
}

/// An item being processed. It is released even if its work panics, so that no thread waits for it.
struct InHand<'a, T: Ord, E>(&'a Queue<T, E>);

impl<T: Ord, E> Drop for InHand<'_, T, E> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A tree of numbers, each with ten children.
    fn below(number: u32) -> Vec<u32> {
        if number < 1000 { (0..10).map(|digit| number * 10 + digit).collect() } else { Vec::new() }
    }

    #[test]
    fn everything_is_done_once_by_a_bounded_number_of_threads() {
        for threads in [1, 4, 64] {
            let (seen, busy, most) = (Mutex::new(Vec::new()), AtomicUsize::new(0), AtomicUsize::new(0));
            let done: Result<(), ()> = work_through((1..10).collect(), threads, |number| {
                most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                seen.lock().unwrap().push(*number);
                busy.fetch_sub(1, Ordering::SeqCst);
                Ok(below(*number))
            });
            assert_eq!(done, Ok(()));
            let seen = seen.into_inner().unwrap();
            assert_eq!((seen.len(), BTreeSet::from_iter(&seen).len()), (9999, 9999));
            assert!(most.into_inner() <= threads);
        }
    }

    #[test]
    fn the_smallest_error_is_returned_without_deadlock() {
        let fails = |number: &u32| if *number % 7 == 3 { Err(*number) } else { Ok(below(*number)) };
        assert_eq!(work_through((1..10).collect(), 1, fails), Err(3));
        assert!(work_through((1..10).collect(), 8, fails).is_err());
        assert_eq!(work_through(Vec::new(), 8, fails), Ok(()));
    }

    #[test]
    fn results_come_in_the_items_order() {
        let items: Vec<u64> = (0..50).collect();
        let slow_first = |item: &u64| {
            (0..50_u64.saturating_sub(*item)).for_each(|_| std::thread::yield_now());
            Ok::<_, ()>(item * 2)
        };
        assert_eq!(map(&items, 8, slow_first).unwrap(), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(map(&items, 8, |item| if *item == 20 { Err(20) } else { Ok(()) }), Err(20));
    }
}
