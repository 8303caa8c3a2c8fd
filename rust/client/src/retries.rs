//! Writes that are repeated after a conflict with another writer
//! (`HoodieWriteConfig.NUM_RETRIES_ON_CONFLICT_FAILURES`).

use std::collections::BTreeMap;
use std::time::Duration;

use mortice_base::error::{ErrorKind, Result};
use mortice_base::time::Time;
use mortice_commit::commit::pause;
use mortice_merge::config::{WriteOptions, option_names};
use mortice_services::transaction::WriteResult;
use uuid::Uuid;

/// The pause doubles with each attempt, up to so many times of the first.
const LONGEST: u32 = 5;

/// How long a caller that repeats writes by itself waits after an attempt, counted from 1, that had a conflict; none if
/// it does not repeat the write.
///
/// # Errors
/// `InvalidArgument`, naming the option.
pub fn pause_after_conflict(options: &BTreeMap<String, String>, attempt: u32) -> Result<Option<Duration>> {
    let retries = ConflictRetries::resolve(&WriteOptions::resolve(options)?)?;
    Ok((attempt <= retries.most).then(|| retries.pause_after(attempt)))
}

/// How often a write is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConflictRetries {
    /// Attempts after the first.
    most: u32,
    pause: Duration,
}

impl ConflictRetries {
    /// By Hudi's options. Without them no write is repeated.
    pub(super) fn resolve(options: &WriteOptions) -> Result<Self> {
        let most = options.integer(option_names::WRITE_NUM_RETRIES_ON_CONFLICT_FAILURES)?;
        let pause = Duration::from_millis(options.integer(option_names::WRITE_LOCK_WAIT_TIME_MS_BETWEEN_RETRY)?);
        Ok(Self { most, pause })
    }

    /// For writes that are the caller's to repeat.
    #[must_use]
    pub(super) fn none() -> Self {
        Self { most: 0, pause: Duration::ZERO }
    }

    /// Writes, and after a conflict again, as often as options say. `write` gets whether it may be called again.
    pub(super) fn run(
        self,
        time: &dyn Time,
        mut write: impl FnMut(bool) -> Result<WriteResult>,
    ) -> Result<WriteResult> {
        let mut attempts = 1;
        loop {
            let may_repeat = attempts <= self.most;
            match write(may_repeat) {
                Err(error) if may_repeat && error.kind() == ErrorKind::WriteConflict => {
                    pause(time, self.pause_after(attempts))?;
                    attempts += 1;
                }
                result => return result.map(|result| WriteResult { attempts, ..result }),
            }
        }
    }

    /// A random part of a time that doubles with each attempt: writers that conflicted go on at different times.
    fn pause_after(self, attempt: u32) -> Duration {
        let longest = self.pause.saturating_mul(1 << attempt.saturating_sub(1).min(LONGEST));
        let [first, second, ..] = Uuid::new_v4().into_bytes();
        longest.mul_f64(f64::from(u16::from_be_bytes([first, second])) / f64::from(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::Error;
    use mortice_base::time::SimulatedTime;

    fn retries(given: &[(&str, &str)]) -> ConflictRetries {
        let options = WriteOptions::resolve(given.iter().copied()).unwrap();
        ConflictRetries::resolve(&options).unwrap()
    }

    fn attempts_until(retries: ConflictRetries, kind: ErrorKind) -> Vec<bool> {
        let mut seen = Vec::new();
        let error = retries.run(&SimulatedTime::default(), |may_repeat| {
            seen.push(may_repeat);
            Err(Error::new(kind, "no"))
        });
        assert_eq!(error.unwrap_err().kind(), kind);
        seen
    }

    #[test]
    fn conflicts_alone_are_repeated_as_often_as_options_say() {
        let two = retries(&[
            (option_names::WRITE_NUM_RETRIES_ON_CONFLICT_FAILURES.name(), "2"),
            (option_names::WRITE_LOCK_WAIT_TIME_MS_BETWEEN_RETRY.name(), "5000"),
        ]);
        assert_eq!(attempts_until(two, ErrorKind::WriteConflict), [true, true, false]);
        assert_eq!(attempts_until(two, ErrorKind::Io), [true]);
        assert_eq!(attempts_until(retries(&[]), ErrorKind::WriteConflict), [false]);
        assert_eq!(attempts_until(ConflictRetries::none(), ErrorKind::WriteConflict), [false]);
    }

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let retries = retries(&[(option_names::WRITE_NUM_RETRIES_ON_CONFLICT_FAILURES.name(), "99")]);
        for (attempt, most) in [(1, 1000), (2, 2000), (6, 32_000), (99, 32_000)] {
            let pauses: Vec<Duration> = (0..20).map(|_| retries.pause_after(attempt)).collect();
            assert!(pauses.iter().all(|pause| *pause <= Duration::from_millis(most)), "{attempt}: {pauses:?}");
            assert!(pauses.windows(2).any(|two| two[0] != two[1]), "{pauses:?}");
        }
    }
}
