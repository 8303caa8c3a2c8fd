//! The lock of a table, which one writer holds at a time (`LockProvider`).

use std::sync::Arc;
use std::time::Duration;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;
use mortice_storage::{POLL, check_cancelled};

/// How long to wait for a lock (`hoodie.write.lock.wait_time_ms` and its siblings).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWait {
    /// At most so long altogether.
    pub limit: Duration,
    /// Between two attempts.
    pub pause: Duration,
}

/// A lock that can be taken.
pub trait TableLock: Send + Sync {
    /// Takes the lock if it is free.
    fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>>;

    /// Where the lock is, for messages.
    fn location(&self) -> String;

    /// Whether the lock is a file, which a writer that was killed may have left.
    fn is_file(&self) -> bool {
        true
    }

    /// What a writer waits beyond the limit of its options: as long as the lock that it has found is valid, for locks
    /// of which it is not known whether their writer is alive.
    fn added_wait(&self) -> Duration {
        Duration::ZERO
    }

    /// The longest time between two attempts. It is short for a lock that is given to those who wait in turn.
    fn longest_pause(&self) -> Duration {
        Duration::MAX
    }

    /// Ends the attempts of a writer that has waited in vain.
    fn give_up(&self) {}
}

/// A lock that is held. It is released when it is dropped, as well as that can be done.
pub trait HeldLock: Send {
    /// Makes sure, by the lock as it is in the storage now, that it is still this writer's. Nothing may be completed
    /// otherwise.
    fn check(&mut self) -> Result<()>;

    /// Returns what says whether the lock was lost; none for a lock that cannot be lost.
    fn state(&self) -> Option<Arc<dyn LockState>>;

    /// Releases the lock.
    fn release(self: Box<Self>) -> Result<()>;
}

/// Whether a lock is still its holder's.
pub trait LockState: Send + Sync {
    /// Makes sure that the lock has not expired by the clock of this process. This costs nothing.
    fn check_time(&self) -> Result<()>;

    /// As [`HeldLock::check`].
    fn check(&self) -> Result<()>;
}

/// Takes a lock, waiting for other writers.
///
/// # Errors
/// `Io` if the lock is not free within the limit; `Interrupted` by a signal; those of the storage.
pub fn acquire(lock: &dyn TableLock, wait: LockWait, time: &dyn Time) -> Result<Box<dyn HeldLock>> {
    let acquired = acquire_within(lock, wait, time);
    if acquired.is_err() {
        lock.give_up();
    }
    acquired
}

fn acquire_within(lock: &dyn TableLock, wait: LockWait, time: &dyn Time) -> Result<Box<dyn HeldLock>> {
    let began = time.monotonic();
    loop {
        // A process may be stopped, or a storage take long, during an attempt: the last one begins after the limit.
        let limit = wait.limit.saturating_add(lock.added_wait());
        let is_last = time.since(began) >= limit;
        if let Some(held) = lock.try_acquire()? {
            return Ok(held);
        }
        if is_last {
            let last = if lock.is_file() { ", or remove the lock if no writer is running" } else { "" };
            let message = format!(
                "another writer held the lock of the table for {} s; try again, wait longer (hoodie.write.lock.wait_time_ms){last}",
                limit.as_secs_f64()
            );
            return Err(Error::new(ErrorKind::Io, message).in_file(lock.location()));
        }
        let left = wait.limit.saturating_add(lock.added_wait()).saturating_sub(time.since(began));
        pause(time, wait.pause.min(lock.longest_pause()).min(left))?;
    }
}

/// Sleeps, unless a signal ends the wait.
///
/// # Errors
/// `Interrupted` then.
pub fn pause(time: &dyn Time, duration: Duration) -> Result<()> {
    let until = time.monotonic().saturating_add(duration);
    loop {
        check_cancelled()?;
        let left = until.saturating_sub(time.monotonic());
        if left.is_zero() {
            return Ok(());
        }
        time.sleep(left.min(POLL));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use mortice_base::time::SimulatedTime;

    /// A lock whose first attempt takes long and fails, as a writer does that is stopped meanwhile.
    struct SlowLock(AtomicUsize, SimulatedTime);

    struct FreeLock;

    impl HeldLock for FreeLock {
        fn check(&mut self) -> Result<()> {
            Ok(())
        }

        fn state(&self) -> Option<Arc<dyn LockState>> {
            None
        }

        fn release(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    impl TableLock for SlowLock {
        fn try_acquire(&self) -> Result<Option<Box<dyn HeldLock>>> {
            if self.0.fetch_add(1, Ordering::Relaxed) > 0 {
                return Ok(Some(Box::new(FreeLock)));
            }
            self.1.sleep(Duration::from_millis(30));
            Ok(None)
        }

        fn location(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn an_attempt_that_takes_longer_than_the_limit_is_not_the_last() {
        let wait = LockWait { limit: Duration::from_millis(10), pause: Duration::from_millis(1) };
        let time = SimulatedTime::default();
        let lock = SlowLock(AtomicUsize::new(0), time.clone());
        acquire(&lock, wait, &time).unwrap().release().unwrap();
        assert_eq!(lock.0.load(Ordering::Relaxed), 2);
    }
}
