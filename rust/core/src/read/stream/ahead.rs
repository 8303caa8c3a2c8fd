//! How far readers may be ahead of the consumer: batches that wait are counted by their bytes, over all splits together.
//!
//! The split that the consumer is at may always go on, so that nobody waits for ever, and holds one batch beyond the limit at the
//! most.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that wait.
#[derive(Debug)]
pub(in crate::read) struct Ahead {
    limit: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: u64,
    /// The split that the consumer is at.
    front: usize,
    closed: bool,
}

impl Ahead {
    pub(in crate::read) fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until a batch of a split may be sent; false where nobody takes it any more.
    pub(in crate::read) fn admit(&self, split: usize, bytes: u64) -> bool {
        let must_wait = |state: &mut State| {
            !state.closed && split != state.front && state.waiting.saturating_add(bytes) > self.limit
        };
        let mut state = self.changed.wait_while(self.state(), must_wait).unwrap_or_else(PoisonError::into_inner);
        state.waiting = state.waiting.saturating_add(bytes);
        !state.closed
    }

    /// The consumer has taken a batch.
    pub(in crate::read) fn taken(&self, bytes: u64) {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// The consumer goes on to the next split.
    pub(in crate::read) fn next_split(&self) {
        self.state().front += 1;
        self.changed.notify_all();
    }

    /// The consumer has gone.
    pub(in crate::read) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn only_the_front_split_passes_a_full_queue() {
        let ahead = Arc::new(Ahead::new(10));
        assert!(ahead.admit(0, 8) && ahead.admit(1, 2) && ahead.admit(0, 100));
        let (sender, admitted) = channel();
        let waiting = std::thread::spawn({
            let ahead = Arc::clone(&ahead);
            move || sender.send(ahead.admit(1, 1))
        });
        assert!(admitted.try_recv().is_err());
        ahead.taken(8);
        ahead.taken(100);
        assert!(admitted.recv().unwrap());
        waiting.join().unwrap().unwrap();
        ahead.next_split();
        assert!(ahead.admit(1, 100));
    }

    #[test]
    fn who_waits_is_let_go_when_the_consumer_goes() {
        let ahead = Arc::new(Ahead::new(0));
        let waiting = std::thread::spawn({
            let ahead = Arc::clone(&ahead);
            move || ahead.admit(1, 1)
        });
        ahead.close();
        assert!(!waiting.join().unwrap());
    }
}
