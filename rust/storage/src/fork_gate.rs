//! Keeps a process from being forked while another thread holds a lock or initialises a static that the child needs.
//!
//! A forked child has only the thread that forked it. A lock that another thread held stays locked in the child
//! forever. So short critical sections of process-wide state run inside of the gate ([`enter`]), and a fork waits until
//! they have ended ([`before_fork`]). All waits have a limit: a fork that has waited too long goes on, as it would
//! without a gate.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a fork waits for critical sections.
const FORK_PATIENCE: Duration = Duration::from_secs(10);
/// How long a critical section waits for forks.
const ENTER_PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_micros(200);

/// Threads inside of the gate.
static ENTERED: AtomicUsize = AtomicUsize::new(0);
/// Threads that are about to fork.
static FORKING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Guards of this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread is about to fork. What it does until then waits for no fork, which would be its own.
    static IS_FORKING: Cell<bool> = const { Cell::new(false) };
}

/// A critical section. The process is not forked by another thread before this is dropped.
#[must_use]
pub(super) struct ForkGate {
    // It is not `Send`, as it counts guards of a thread.
    _thread: std::marker::PhantomData<*const ()>,
}

/// Begins a critical section, after forks that are about to happen. Sections may be nested.
pub(super) fn enter() -> ForkGate {
    let depth = DEPTH.get();
    if depth == 0 {
        let deadline = Instant::now() + ENTER_PATIENCE;
        loop {
            ENTERED.fetch_add(1, Ordering::SeqCst);
            if FORKING.load(Ordering::SeqCst) == 0 || IS_FORKING.get() || Instant::now() >= deadline {
                break;
            }
            ENTERED.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(POLL);
        }
    }
    DEPTH.set(depth + 1);
    ForkGate { _thread: std::marker::PhantomData }
}

impl Drop for ForkGate {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            ENTERED.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Returns 1 if this thread is inside of the gate, else 0.
fn own() -> usize {
    usize::from(DEPTH.get() > 0)
}

/// Closes the gate and waits, up to 10 s, until no other thread is inside. To be called by the thread that forks.
pub(super) fn before_fork() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    IS_FORKING.set(true);
    let deadline = Instant::now() + FORK_PATIENCE;
    while ENTERED.load(Ordering::SeqCst) > own() && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
}

/// Opens the gate again in the process that was forked, also after a fork that failed.
pub fn after_fork_in_parent() {
    IS_FORKING.set(false);
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// Opens the gate in a forked child, which has only the calling thread.
pub fn after_fork_in_child() {
    IS_FORKING.set(false);
    ENTERED.store(own(), Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_fork_waits_for_other_threads_and_not_for_its_own() {
        let (entered, is_entered) = channel();
        let other = std::thread::spawn(move || {
            let outer = enter();
            let inner = enter();
            entered.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            drop(outer);
            std::thread::sleep(Duration::from_millis(30));
            let end = Instant::now();
            drop(inner);
            end
        });
        is_entered.recv().unwrap();
        before_fork();
        let waited = Instant::now();
        let third = std::thread::spawn(|| {
            let _gate = enter();
            Instant::now()
        });
        std::thread::sleep(Duration::from_millis(30));
        let opened = Instant::now();
        after_fork_in_parent();
        assert!(other.join().unwrap() <= waited);
        assert!(third.join().unwrap() >= opened);

        let own = enter();
        before_fork();
        after_fork_in_parent();
        drop(own);

        before_fork();
        let begun = Instant::now();
        drop(enter());
        assert!(begun.elapsed() < ENTER_PATIENCE, "a thread waits for its own fork");
        after_fork_in_parent();
    }
}
