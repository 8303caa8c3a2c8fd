//! A scheduler of threads: of those that are about to use the storage, one at a time goes on, chosen by a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Numbers from a seed (xorshift64*).
pub(in super::super) struct Random(u64);

impl Random {
    pub(in super::super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(in super::super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % limit
    }
}

struct State {
    random: Random,
    /// Threads that have not ended.
    alive: BTreeSet<usize>,
    /// Those among them that wait for their turn.
    waiting: BTreeSet<usize>,
    /// Threads that have no turn until the turn with a number.
    paused: BTreeMap<usize, usize>,
    turns: usize,
    running: Option<usize>,
}

/// Gives turns to threads. A turn lasts from one use of the storage to the next one of the same thread.
pub(super) struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
}

impl Scheduler {
    pub(super) fn new(seed: u64, threads: usize) -> Self {
        let alive = (0..threads).collect();
        let state = State {
            random: Random::new(seed),
            alive,
            waiting: BTreeSet::new(),
            paused: BTreeMap::new(),
            turns: 0,
            running: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the thread's next turn.
    pub(super) fn wait(&self, thread: usize) {
        let mut state = self.state();
        if state.running == Some(thread) {
            state.running = None;
        }
        state.waiting.insert(thread);
        self.choose(&mut state);
        while state.running != Some(thread) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.remove(&thread);
    }

    /// The same, after so many turns of other threads, if they have so many.
    pub(super) fn pause(&self, thread: usize, turns: usize) {
        {
            let mut state = self.state();
            let until = state.turns.saturating_add(turns);
            state.paused.insert(thread, until);
        }
        self.wait(thread);
    }

    /// The thread has ended.
    pub(super) fn end(&self, thread: usize) {
        let mut state = self.state();
        state.alive.remove(&thread);
        state.waiting.remove(&thread);
        if state.running == Some(thread) {
            state.running = None;
        }
        self.choose(&mut state);
    }

    /// Chooses among the threads once all that have not ended wait, so that the choice depends on the seed alone.
    fn choose(&self, state: &mut State) {
        if state.running.is_some() || state.waiting.is_empty() || state.waiting != state.alive {
            return;
        }
        state.turns = state.turns.saturating_add(1);
        let now = state.turns;
        state.paused.retain(|_, until| *until > now);
        let mut able: Vec<usize> =
            state.waiting.iter().filter(|one| !state.paused.contains_key(one)).copied().collect();
        if able.is_empty() {
            // Otherwise one of them had a turn at a time, and might hold the lock meanwhile.
            state.paused.clear();
            able.extend(&state.waiting);
        }
        let at = state.random.below(able.len());
        state.running = able.get(at).copied();
        self.changed.notify_all();
    }
}
