//! The progress of a table service: how much of its work is done. A command shows it on a terminal.
//!
//! Who runs a service hands its progress in, with the place of the table. Services that are given the same one add up,
//! which no result depends on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much is done. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Amounts>);

#[derive(Debug, Default)]
struct Amounts {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Begins a part of a service. Its amount of work is in bytes of files, or a number of files or instants.
    pub fn begin(&self, total: u64) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Adds work that is done.
    pub fn advance(&self, amount: u64) {
        self.0.done.fetch_add(amount, Ordering::Relaxed);
    }

    /// Returns how much is done, and of how much.
    #[must_use]
    pub fn current(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.total.load(Ordering::Relaxed))
    }
}
