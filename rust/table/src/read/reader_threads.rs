//! Reader threads of a stream: they belong to it and are joined when it is dropped. After a fork the child has none of
//! them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{Builder, JoinHandle};

use mortice_base::error::{Error, Result};
use mortice_storage::{CancelToken, POLL, check_cancelled};

/// Threads of one process, which are joined on drop. The owner must first release the resources that they wait for.
pub(super) struct ReaderThreads {
    threads: Vec<JoinHandle<()>>,
    process: u32,
    /// Cancels their waits for storage.
    cancel: CancelToken,
}

impl Default for ReaderThreads {
    fn default() -> Self {
        Self { threads: Vec::new(), process: std::process::id(), cancel: CancelToken::child() }
    }
}

impl ReaderThreads {
    /// Starts another thread.
    pub(super) fn start(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let cancel = self.cancel.clone();
        let thread = Builder::new().name(name).spawn(move || cancel.scope(work));
        self.threads.push(thread.map_err(|error| Error::io("could not start a reader thread", error))?);
        Ok(())
    }

    /// Returns true in the process in which they run, and false in a child that was forked from it.
    pub(super) fn are_here(&self) -> bool {
        self.process == std::process::id()
    }

    pub(super) fn check_here(&self) -> Result<()> {
        if self.are_here() {
            return Ok(());
        }
        Err(Error::invalid_argument("a stream cannot be read on in a forked child; read the scan again"))
    }
}

/// Returns the next message of a reader. The wait ends early if this thread is to stop.
pub(super) fn received<T>(queue: &Receiver<T>) -> Result<Result<T, RecvTimeoutError>> {
    loop {
        match queue.recv_timeout(POLL) {
            Err(RecvTimeoutError::Timeout) => check_cancelled()?,
            received => return Ok(received),
        }
    }
}

impl Drop for ReaderThreads {
    fn drop(&mut self) {
        let are_here = self.are_here();
        self.cancel.cancel();
        for thread in std::mem::take(&mut self.threads) {
            if are_here {
                let _ = thread.join();
            } else {
                // In a forked child the thread does not exist; waiting for it would never end.
                std::mem::forget(thread);
            }
        }
    }
}
