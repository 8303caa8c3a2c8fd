//! Limits the concurrent requests of a store's client: halved when the store throttles, and increased by one each
//! second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The limit grows by one in this time, and is halved at most once in it.
const PERIOD: Duration = Duration::from_secs(1);

/// An adaptive limit of concurrent requests.
#[derive(Debug)]
pub(crate) struct RequestLimit {
    most: usize,
    state: Mutex<State>,
    released: Notify,
}

#[derive(Debug)]
struct State {
    limit: usize,
    running: usize,
    /// The time of the last change.
    changed: Instant,
    halved: Option<Instant>,
}

impl RequestLimit {
    /// Permits up to `most` concurrent requests.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let most = most.max(1);
        let state = State { limit: most, running: 0, changed: Instant::now(), halved: None };
        Arc::new(Self { most, state: Mutex::new(state), released: Notify::new() })
    }

    /// Waits until a request may be sent. The permit is valid until it is dropped.
    pub(crate) async fn acquire(self: &Arc<Self>) -> RequestPermit {
        loop {
            let released = self.released.notified();
            if self.try_acquire(Instant::now()) {
                return RequestPermit(Arc::clone(self));
            }
            // The limit also grows with time only.
            let _ = tokio::time::timeout(PERIOD, released).await;
        }
    }

    fn try_acquire(&self, now: Instant) -> bool {
        let mut state = self.state();
        while state.limit < self.most && now.saturating_duration_since(state.changed) >= PERIOD {
            state.limit += 1;
            state.changed += PERIOD;
        }
        let is_free = state.running < state.limit;
        state.running += usize::from(is_free);
        is_free
    }

    /// Halves the limit: the store has throttled a request.
    pub(crate) fn throttled(&self, now: Instant) {
        let mut state = self.state();
        // Concurrent requests receive the same response, which is counted once.
        if state.halved.is_none_or(|halved| now.saturating_duration_since(halved) >= PERIOD) {
            state.limit = (state.limit / 2).max(1);
            (state.changed, state.halved) = (now, Some(now));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permit for one request.
pub(crate) struct RequestPermit(Arc<RequestLimit>);

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running = state.running.saturating_sub(1);
        drop(state);
        self.0.released.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_once_a_second_and_grows_back() {
        let limit = RequestLimit::new(8);
        let start = limit.state().changed;
        let free = |at: Instant| {
            let free = (0..100).take_while(|_| limit.try_acquire(at)).count();
            limit.state().running -= free;
            free
        };
        assert_eq!(free(start), 8);
        limit.throttled(start);
        limit.throttled(start);
        assert_eq!(free(start), 4);
        limit.throttled(start + PERIOD);
        limit.throttled(start + 2 * PERIOD);
        assert_eq!(free(start + 2 * PERIOD), 1);
        assert_eq!((free(start + 4 * PERIOD), free(start + 60 * PERIOD)), (3, 8));
    }
}
