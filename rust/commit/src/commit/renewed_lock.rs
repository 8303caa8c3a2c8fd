//! A lock that is renewed while it is held, on a thread of its own, and that is lost if it is not renewed in time.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::lock::{HeldLock, LockState};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::{Repetition, Time};

/// A lock in a service or on a storage, which this writer has.
pub(super) trait Lease: Send + 'static {
    /// Renews it; none if the service says that this writer does not have it.
    ///
    /// Returns how long it is valid, from the moment before the request.
    fn renew(&mut self) -> Result<Option<Duration>>;

    /// Returns true if the service says that this writer has it.
    fn is_own(&mut self) -> Result<bool>;

    /// Gives it back. If another writer has it, nothing is changed.
    fn give_back(&mut self) -> Result<()>;
}

/// A moment by two clocks: the monotonic one stands still while a machine is suspended, and the other one may be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    monotonic: Duration,
    clock: Duration,
}

impl Moment {
    /// The moment at which the lease was requested last.
    pub(super) fn now(time: &dyn Time) -> Self {
        Self { monotonic: time.monotonic(), clock: time.since_epoch() }
    }

    fn after(self, valid: Duration) -> Self {
        Self { monotonic: self.monotonic.saturating_add(valid), clock: self.clock.saturating_add(valid) }
    }

    /// By either clock.
    fn is_past(self, time: &dyn Time) -> bool {
        time.monotonic() >= self.monotonic || time.since_epoch() >= self.clock
    }
}

/// How a lease is renewed, and what is said when it is lost.
pub(super) struct Renewal {
    pub(super) time: Arc<dyn Time>,
    /// How often.
    pub(super) interval: Duration,
    /// Where the lock is.
    pub(super) location: String,
    /// The option that makes a lock valid for longer.
    pub(super) option: &'static str,
}

/// Holds a lease that was confirmed at a request which began at a moment, and is valid so long.
pub(super) fn hold<L: Lease>(lease: L, begun: Moment, valid: Duration, renewal: Renewal) -> Result<Box<dyn HeldLock>> {
    let (time, interval) = (Arc::clone(&renewal.time), renewal.interval);
    let until = Mutex::new(Some(begun.after(valid)));
    let shared = Arc::new(Shared { lease: Mutex::new(lease), until, renewal });
    let renewing = Arc::clone(&shared);
    let renewals = time.repeat("mortice-lock", interval, Box::new(move || renewing.renew()));
    match renewals {
        Ok(renewals) => Ok(Box::new(RenewedLock { shared, renewals: Some(renewals) })),
        Err(error) => {
            let _ = locked(&shared.lease).give_back();
            Err(Error::io("could not start the thread that renews the lock", error))
        }
    }
}

/// What the holder and its renewals share.
struct Shared<L> {
    lease: Mutex<L>,
    /// When the lock ends; none if it is lost. To be read while a renewal takes long.
    until: Mutex<Option<Moment>>,
    renewal: Renewal,
}

impl<L: Lease> Shared<L> {
    /// A service that does not answer is tried again later: the lock is valid until its time is up.
    fn renew(&self) -> ControlFlow<()> {
        let mut lease = locked(&self.lease);
        let begun = Moment::now(&*self.renewal.time);
        let renewed = lease.renew();
        let mut until = locked(&self.until);
        match renewed {
            _ if until.is_none() => ControlFlow::Break(()),
            Ok(Some(valid)) => {
                *until = Some(begun.after(valid));
                ControlFlow::Continue(())
            }
            Ok(None) => {
                *until = None;
                ControlFlow::Break(())
            }
            Err(_) => ControlFlow::Continue(()),
        }
    }

    fn is_in_time(&self) -> bool {
        locked(&self.until).is_some_and(|until| !until.is_past(&*self.renewal.time))
    }

    fn lost(&self) -> Error {
        let message = format!(
            "the lock of the table was lost to another writer, or could not be renewed in time; write again, or raise {}",
            self.renewal.option
        );
        Error::new(ErrorKind::WriteConflict, message).in_file(&self.renewal.location)
    }
}

impl<L: Lease> LockState for Shared<L> {
    fn check_time(&self) -> Result<()> {
        if self.is_in_time() { Ok(()) } else { Err(self.lost()) }
    }

    fn check(&self) -> Result<()> {
        // Renewals wait meanwhile.
        let mut lease = locked(&self.lease);
        self.check_time()?;
        if !lease.is_own()? {
            *locked(&self.until) = None;
        }
        // The answer may have taken long.
        self.check_time()
    }
}

/// A lock that is held, and renewed.
struct RenewedLock<L: Lease> {
    shared: Arc<Shared<L>>,
    /// None once it is released.
    renewals: Option<Repetition>,
}

impl<L: Lease> RenewedLock<L> {
    fn end(&mut self) -> Result<()> {
        let Some(renewals) = self.renewals.take() else { return Ok(()) };
        if renewals.end().is_err() {
            return Err(Error::internal("the thread that renews a lock panicked"));
        }
        let is_held = self.shared.is_in_time();
        let given_back = locked(&self.shared.lease).give_back();
        // What is no longer held need not be given back.
        if is_held { given_back } else { Ok(()) }
    }
}

impl<L: Lease> HeldLock for RenewedLock<L> {
    fn check(&mut self) -> Result<()> {
        self.shared.check()
    }

    fn state(&self) -> Option<Arc<dyn LockState>> {
        Some(Arc::clone(&self.shared) as _)
    }

    fn release(mut self: Box<Self>) -> Result<()> {
        self.end()
    }
}

impl<L: Lease> Drop for RenewedLock<L> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use mortice_base::time::SimulatedTime;

    const VALID: Duration = Duration::from_secs(60);
    const INTERVAL: Duration = Duration::from_secs(20);

    /// A service that may not answer, and in which another writer may have the lock.
    #[derive(Clone, Default)]
    struct LockService {
        is_silent: Arc<AtomicBool>,
        is_taken: Arc<AtomicBool>,
        given_back: Arc<AtomicUsize>,
    }

    impl LockService {
        fn is_own(&self) -> Result<bool> {
            match self.is_silent.load(Ordering::Relaxed) {
                true => Err(Error::new(ErrorKind::Unreachable, "no answer")),
                false => Ok(!self.is_taken.load(Ordering::Relaxed)),
            }
        }
    }

    impl Lease for LockService {
        fn renew(&mut self) -> Result<Option<Duration>> {
            Ok(LockService::is_own(self)?.then_some(VALID))
        }

        fn is_own(&mut self) -> Result<bool> {
            LockService::is_own(self)
        }

        fn give_back(&mut self) -> Result<()> {
            self.given_back.fetch_add(1, Ordering::Relaxed);
            LockService::is_own(self).map(drop)
        }
    }

    fn held(time: &SimulatedTime, service: &LockService) -> Box<dyn HeldLock> {
        let (time, location) = (Arc::new(time.clone()), "here".to_owned());
        let begun = Moment::now(&*time);
        hold(service.clone(), begun, VALID, Renewal { time, interval: INTERVAL, location, option: "an option" })
            .unwrap()
    }

    #[test]
    fn it_is_held_for_as_long_as_it_is_renewed() {
        let (time, service) = (SimulatedTime::default(), LockService::default());
        let mut lock = held(&time, &service);
        time.advance(VALID * 3);
        lock.check().unwrap();
        service.is_silent.store(true, Ordering::Relaxed);
        time.advance(VALID - INTERVAL);
        lock.state().unwrap().check_time().unwrap();
        assert_eq!(lock.check().unwrap_err().kind(), ErrorKind::Unreachable);
        // The service answers again, in time.
        service.is_silent.store(false, Ordering::Relaxed);
        time.advance(INTERVAL - Duration::from_millis(1));
        lock.check().unwrap();
        lock.release().unwrap();
        assert_eq!(service.given_back.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn it_is_lost_when_its_time_is_up() {
        let (time, service) = (SimulatedTime::default(), LockService::default());
        let lock = held(&time, &service);
        service.is_silent.store(true, Ordering::Relaxed);
        time.advance(VALID);
        let error = lock.state().unwrap().check_time().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict);
        assert!(error.to_string().contains("an option"), "{error}");
        lock.release().unwrap();
    }

    #[test]
    fn it_is_lost_when_another_writer_has_it_and_stays_so() {
        let (time, service) = (SimulatedTime::default(), LockService::default());
        let mut lock = held(&time, &service);
        service.is_taken.store(true, Ordering::Relaxed);
        lock.state().unwrap().check_time().unwrap();
        assert_eq!(lock.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        service.is_taken.store(false, Ordering::Relaxed);
        time.advance(INTERVAL);
        assert_eq!(lock.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        drop(lock);
        assert_eq!(service.given_back.load(Ordering::Relaxed), 1);
    }

    /// The monotonic clock of a machine does not go on while that is suspended.
    #[test]
    fn either_clock_ends_it() {
        let time = SimulatedTime::default();
        let until = Moment::now(&time).after(VALID);
        assert!(!until.is_past(&time));
        assert!(until.is_past(&time.with_skew(chrono::TimeDelta::seconds(60))));
    }
}
