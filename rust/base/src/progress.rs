//! The progress of the table service that this process runs: how much of its work is done. A command shows it on a
//! terminal.
//!
//! There is one for the process, as a command runs one service. Services that run at the same time add up, which no
//! result depends on.

use std::sync::atomic::{AtomicU64, Ordering};

static TOTAL: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);

/// Begins a part of a service. Its amount of work is in bytes of files, or a number of files or instants.
pub fn begin(total: u64) {
    DONE.store(0, Ordering::Relaxed);
    TOTAL.store(total, Ordering::Relaxed);
}

/// Adds work that is done.
pub fn advance(amount: u64) {
    DONE.fetch_add(amount, Ordering::Relaxed);
}

/// Returns how much is done, and of how much.
#[must_use]
pub fn current() -> (u64, u64) {
    (DONE.load(Ordering::Relaxed), TOTAL.load(Ordering::Relaxed))
}
