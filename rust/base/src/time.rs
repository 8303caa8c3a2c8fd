//! Time as a value: what the clock shows, how long something took, waiting, and work that is repeated.
//!
//! What waits or compares times is given a [`Time`], which comes from the store of its table. It is [`SystemTime`], or
//! in tests a simulated one, in which nothing waits: who sleeps moves it on.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

#[cfg(any(test, feature = "testing"))]
mod simulated;

#[cfg(any(test, feature = "testing"))]
pub use simulated::SimulatedTime;

/// Work that is repeated until it asks for an end.
pub type RepeatedWork = Box<dyn FnMut() -> ControlFlow<()> + Send>;

/// A clock, and ways to wait for it.
pub trait Time: Debug + Send + Sync {
    /// What the clock shows. It may be set back.
    fn now(&self) -> DateTime<Utc>;

    /// How long ago an arbitrary moment is, which stays the same one: it only grows.
    fn monotonic(&self) -> Duration;

    /// Waits so long.
    fn sleep(&self, time: Duration);

    /// Does something once after each interval, beside what its caller does, until the returned value is ended or
    /// dropped.
    ///
    /// Args:
    ///     name: That of the thread, if there is one.
    ///     interval: How long it is from the end of the work to its next beginning.
    ///     work: What is done.
    fn repeat(&self, name: &str, interval: Duration, work: RepeatedWork) -> std::io::Result<Repetition>;
}

impl dyn Time + '_ {
    /// How long it is since a moment that [`Time::monotonic`] has given.
    #[must_use]
    pub fn since(&self, moment: Duration) -> Duration {
        self.monotonic().saturating_sub(moment)
    }

    /// The same, in milliseconds.
    #[must_use]
    pub fn millis_since(&self, moment: Duration) -> i64 {
        i64::try_from(self.since(moment).as_millis()).unwrap_or(i64::MAX)
    }

    /// What the clock shows, since the epoch.
    #[must_use]
    pub fn since_epoch(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().timestamp_millis()).unwrap_or_default())
    }
}

type End = Box<dyn FnOnce() -> thread::Result<()> + Send + Sync>;

/// Work that is repeated. It ends when this is dropped.
pub struct Repetition(Option<End>);

impl Repetition {
    fn new(end: End) -> Self {
        Self(Some(end))
    }

    /// Ends it. Work that is under way is finished before.
    ///
    /// # Errors
    /// The panic of the work, if it panicked on a thread of its own.
    pub fn end(mut self) -> thread::Result<()> {
        self.0.take().map_or(Ok(()), |end| end())
    }
}

impl Drop for Repetition {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            let _ = end();
        }
    }
}

/// The time of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTime;

/// The time of this machine, shared.
#[must_use]
pub fn system_time() -> Arc<dyn Time> {
    Arc::new(SystemTime)
}

impl Time for SystemTime {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn monotonic(&self) -> Duration {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        START.elapsed()
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }

    fn repeat(&self, name: &str, interval: Duration, mut work: RepeatedWork) -> std::io::Result<Repetition> {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let signal = Arc::clone(&ended);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let (is_ended, changed) = &*signal;
            loop {
                let guard = is_ended.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = changed.wait_timeout_while(guard, interval, |is_ended| !*is_ended);
                if *waited.unwrap_or_else(PoisonError::into_inner).0 || work().is_break() {
                    return;
                }
            }
        })?;
        Ok(Repetition::new(Box::new(move || {
            let (is_ended, changed) = &*ended;
            *is_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
            changed.notify_all();
            thread.join()
        })))
    }
}
