//! Limits how far readers are ahead of the consumer: waiting batches are counted by their bytes, over all splits.
//!
//! The split that the consumer reads may always continue, so that there is no deadlock; it exceeds the limit by one
//! batch at most.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The bytes of waiting batches.
#[derive(Debug)]
pub(in crate::read) struct WaitingBytes {
    limit: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: u64,
    /// The split that the consumer reads.
    front: usize,
    closed: bool,
}

impl WaitingBytes {
    pub(in crate::read) fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until a batch of a split may be sent. Returns false if the consumer was dropped.
    pub(in crate::read) fn admit(&self, split: usize, bytes: u64) -> bool {
        let must_wait = |state: &mut State| {
            !state.closed && split != state.front && state.waiting.saturating_add(bytes) > self.limit
        };
        let mut state = self.changed.wait_while(self.state(), must_wait).unwrap_or_else(PoisonError::into_inner);
        state.waiting = state.waiting.saturating_add(bytes);
        !state.closed
    }

    /// Called when the consumer has taken a batch.
    pub(in crate::read) fn taken(&self, bytes: u64) {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Called when the consumer continues with the next split.
    pub(in crate::read) fn next_split(&self) {
        self.state().front += 1;
        self.changed.notify_all();
    }

    /// Called when the consumer is dropped.
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
        let ahead = Arc::new(WaitingBytes::new(10));
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
        let ahead = Arc::new(WaitingBytes::new(0));
        let waiting = std::thread::spawn({
            let ahead = Arc::clone(&ahead);
            move || ahead.admit(1, 1)
        });
        ahead.close();
        assert!(!waiting.join().unwrap());
    }
}
