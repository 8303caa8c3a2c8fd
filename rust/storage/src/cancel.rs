//! Ends blocking waits early: on a signal, and when the stream that a thread reads for is closed.
//!
//! A wait checks both every [`POLL`]. Threads that work for another one share its token (see [`CancelToken::child`]),
//! so that an interrupt in the main thread ends their waits, too.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mortice_base::error::{Error, ErrorKind, Result};

/// How often a blocking wait checks for interrupts.
pub const POLL: Duration = Duration::from_millis(50);

static INTERRUPT_CHECK: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
    static CURRENT: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Registers the process's check for signals. `check` returns true if a signal asks the calling thread to stop; it is
/// called about every [`POLL`] from each waiting thread. Only the first registration counts.
pub fn set_interrupt_check(check: fn() -> bool) {
    let _ = INTERRUPT_CHECK.set(check);
}

/// Returns an error if the calling thread must stop.
///
/// # Errors
/// [`ErrorKind::Interrupted`] after a signal, and if the thread's [`CancelToken`] is cancelled.
pub fn check_cancelled() -> Result<()> {
    if CURRENT.with_borrow(|token| token.as_ref().is_some_and(CancelToken::is_cancelled)) {
        return Err(Error::new(ErrorKind::Interrupted, "cancelled: the reader was closed"));
    }
    if INTERRUPT_CHECK.get().is_some_and(|check| check()) {
        INTERRUPTED.set(true);
        return Err(Error::new(ErrorKind::Interrupted, "interrupted by a signal"));
    }
    Ok(())
}

/// Returns true if a signal has ended a wait of the calling thread since the last call.
pub(super) fn take_interrupted() -> bool {
    INTERRUPTED.take()
}

/// Cancels the waits of the threads that run in its scope.
#[derive(Debug, Clone)]
pub struct CancelToken(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cancelled: AtomicBool,
    parent: Option<CancelToken>,
}

impl CancelToken {
    /// Returns a new token, which is cancelled with that of the calling thread.
    #[must_use]
    pub fn child() -> Self {
        let parent = CURRENT.with_borrow(Clone::clone);
        Self(Arc::new(Inner { cancelled: AtomicBool::new(false), parent }))
    }

    /// Ends the waits of all threads in the token's scope.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns true if the token or one of its ancestors was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed) || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Runs `work` with this token as that of the calling thread.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(self.clone()));
        let done = work();
        CURRENT.set(before);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_cancelled_with_its_parent_and_not_the_other_way() {
        let parent = CancelToken::child();
        let child = parent.scope(CancelToken::child);
        child.cancel();
        assert!(!parent.is_cancelled() && child.is_cancelled());
        let other = parent.scope(CancelToken::child);
        assert!(other.scope(|| check_cancelled().is_ok()));
        parent.cancel();
        assert_eq!(other.scope(|| check_cancelled().unwrap_err().kind()), ErrorKind::Interrupted);
        assert!(check_cancelled().is_ok());
    }
}
