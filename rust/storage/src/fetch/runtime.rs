//! The I/O thread of a store: one thread with a current-thread runtime that runs all requests of a client.
//!
//! No state is process-wide. After a fork the child has no such thread: waiting for it would never end, and the
//! parent's sockets must not be used. So a thread stores its process, and its owner starts another one in a child
//! ([`IoThread::is_here`]).

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::cancel::{POLL, check_cancelled};
use mortice_base::error::{Error, ErrorKind, Result};

/// Locks a mutex whose value is consistent even after a panic.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that runs futures.
pub(crate) struct IoThread {
    handle: Handle,
    process: u32,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Self> {
        let failed = |error| Error::io("could not start the I/O thread of an object store", error);
        let runtime: Runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            let _ = runtime.block_on(stopped);
            // A name lookup may still be running on its own thread; it is not waited for.
            runtime.shutdown_background();
        };
        let thread = Builder::new().name("mortice-io".to_owned()).spawn(run).map_err(failed)?;
        Ok(Self { handle, process: std::process::id(), stop: Some(stop), thread: Some(thread) })
    }

    /// Returns true if the thread runs in this process, and not in its parent.
    pub(crate) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// Returns the runtime, for a client that starts tasks.
    #[cfg(feature = "hdfs")]
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Starts a future; its result is kept for waiting threads.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> PendingResult<T> {
        let state = Arc::new(State { value: Mutex::new(PromiseValue::Running), changed: Condvar::new() });
        // If the task is dropped before it ends, waiting threads get an error.
        let promise = Promise(Arc::clone(&state));
        let task = self.handle.spawn(async move {
            let value = future.await;
            promise.0.set(PromiseValue::Done(value));
        });
        PendingResult { state, process: self.process, task: task.abort_handle() }
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        let thread = self.thread.take();
        if !self.is_here() {
            std::mem::forget((self.stop.take(), thread));
            return;
        }
        drop(self.stop.take());
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

enum PromiseValue<T> {
    Running,
    Done(T),
    Lost,
}

struct State<T> {
    value: Mutex<PromiseValue<T>>,
    changed: Condvar,
}

impl<T> State<T> {
    fn lock(&self) -> MutexGuard<'_, PromiseValue<T>> {
        locked(&self.value)
    }

    fn set(&self, value: PromiseValue<T>) {
        *self.lock() = value;
        self.changed.notify_all();
    }
}

struct Promise<T>(Arc<State<T>>);

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if matches!(*self.0.lock(), PromiseValue::Running) {
            self.0.set(PromiseValue::Lost);
        }
    }
}

/// The result of a future on an I/O thread. The future is aborted when this is dropped.
pub(crate) struct PendingResult<T> {
    state: Arc<State<T>>,
    process: u32,
    task: AbortHandle,
}

impl<T: Clone> PendingResult<T> {
    /// Returns true if it was started in this process.
    pub(crate) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// Returns true if the result is available.
    pub(crate) fn is_done(&self) -> bool {
        !matches!(*self.state.lock(), PromiseValue::Running)
    }

    /// Waits for the result. Any number of threads may wait.
    pub(crate) fn wait(&self) -> Result<T> {
        loop {
            let value = self.state.lock();
            let (value, _) = self
                .state
                .changed
                .wait_timeout_while(value, POLL, |value| matches!(value, PromiseValue::Running))
                .unwrap_or_else(PoisonError::into_inner);
            match &*value {
                PromiseValue::Done(value) => return Ok(value.clone()),
                PromiseValue::Lost => return Err(Error::internal("a request ended without an answer")),
                PromiseValue::Running => {}
            }
            drop(value);
            check_cancelled()?;
            if !self.is_here() {
                return Err(Error::new(ErrorKind::Internal, "a request of the process that this one was forked from"));
            }
        }
    }
}

impl<T> Drop for PendingResult<T> {
    fn drop(&mut self) {
        // In a forked child there is no such task, and a lock of the runtime may have been held at the fork.
        if self.process == std::process::id() {
            self.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn futures_run_while_nobody_waits_and_results_are_kept() {
        let thread = IoThread::start().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let pending = thread.spawn(async move {
            sender.send(()).unwrap();
            7
        });
        receiver.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!((pending.wait().unwrap(), pending.wait().unwrap()), (7, 7));
        assert!(thread.is_here());
    }

    #[test]
    fn a_future_that_is_lost_is_an_error_and_no_hang() {
        let thread = IoThread::start().unwrap();
        let pending = thread.spawn(std::future::pending::<()>());
        drop(thread);
        assert_eq!(pending.wait().unwrap_err().kind(), ErrorKind::Internal);
    }

    #[test]
    fn a_cancelled_wait_ends() {
        let thread = IoThread::start().unwrap();
        let pending = thread.spawn(std::future::pending::<()>());
        let token = crate::CancelToken::child();
        token.cancel();
        assert_eq!(token.scope(|| pending.wait().unwrap_err().kind()), ErrorKind::Interrupted);
    }
}
