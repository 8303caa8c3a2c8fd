//! The changes of a schedule in their order, which a failure prints: file ids and times differ from run to run, so that
//! a seed alone may not repeat it.

use std::sync::{Mutex, PoisonError};

/// The changes of a schedule. They are printed if it is dropped by a panic.
#[derive(Default)]
pub(super) struct Trace(Mutex<Vec<String>>);

impl Trace {
    pub(super) fn note(&self, change: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let changes = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
            eprintln!("the changes of the processes, in their order:\n{}", changes.join("\n"));
        }
    }
}
