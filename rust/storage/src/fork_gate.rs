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
    enter_within(ENTER_PATIENCE)
}

/// The same, and waits for forks for so long at most.
fn enter_within(patience: Duration) -> ForkGate {
    let depth = DEPTH.get();
    if depth == 0 {
        let deadline = Instant::now() + patience;
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
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    use super::*;

    /// Lets other threads go on that have nothing to wait for.
    fn let_others_go_on() {
        (0..1000).for_each(|_| std::thread::yield_now());
    }

    #[test]
    fn a_fork_waits_for_other_threads_and_not_for_its_own() {
        let (entered, is_entered) = channel();
        let (is_left, is_opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let leaves = Arc::clone(&is_left);
        let other = std::thread::spawn(move || {
            let outer = enter();
            let inner = enter();
            entered.send(()).unwrap();
            let_others_go_on();
            drop(outer);
            let_others_go_on();
            leaves.store(true, Ordering::SeqCst);
            drop(inner);
        });
        is_entered.recv().unwrap();
        before_fork();
        assert!(is_left.load(Ordering::SeqCst), "a fork within a section of another thread");
        let (begun, is_begun) = channel();
        let opens = Arc::clone(&is_opened);
        let third = std::thread::spawn(move || {
            begun.send(()).unwrap();
            let _gate = enter();
            opens.load(Ordering::SeqCst)
        });
        is_begun.recv().unwrap();
        let_others_go_on();
        is_opened.store(true, Ordering::SeqCst);
        after_fork_in_parent();
        other.join().unwrap();
        assert!(third.join().unwrap(), "a section that begins during a fork");

        let own = enter();
        before_fork();
        after_fork_in_parent();
        drop(own);

        before_fork();
        // It would take an hour if the thread waited for its own fork.
        drop(enter_within(Duration::from_secs(3600)));
        after_fork_in_parent();
    }
}
