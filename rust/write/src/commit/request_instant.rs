//! The time of a new instant, which no other writer has taken.

use super::clock::Clock;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::PutOutcome;
use mortice_table::timeline::Timeline;

/// Attempts to find a requested time that no other writer has.
const ATTEMPTS: usize = 10;

/// The timelines that a new instant must be later than.
pub trait Timelines {
    /// As they were last read.
    fn timelines(&self) -> Vec<&Timeline>;
}

/// Puts an instant on a timeline, at a time that is later than all that are known. If another writer has taken it, the timelines are read
/// again. Returns the time and the timelines; none if `put` had nothing to put there.
///
/// # Errors
/// `AlreadyExists` if other writers are always earlier; those of the arguments.
pub fn request_instant<T: Timelines>(
    clock: &Clock,
    mut known: T,
    reload: impl Fn() -> Result<T>,
    mut put: impl FnMut(&T, &RequestedTime) -> Result<Option<PutOutcome>>,
) -> Result<Option<(RequestedTime, T)>> {
    for _ in 0..ATTEMPTS {
        let time = clock.requested_time(&known.timelines())?;
        match put(&known, &time)? {
            None => return Ok(None),
            Some(PutOutcome::Written(_)) => return Ok(Some((time, known))),
            Some(PutOutcome::Refused) => known = reload()?,
        }
    }
    let message =
        "other writers keep creating instants at the same times: the table has several writers without a lock";
    Err(Error::new(ErrorKind::AlreadyExists, message))
}
