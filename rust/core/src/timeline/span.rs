//! The stretch of a timeline that an incremental query asks for: after `begin`, up to and with `end`.

use crate::error::Result;
use crate::names::instant_time;

/// What `begin` may be called where nothing is before the span (`START_COMMIT_EARLIEST`).
const EARLIEST: &str = "earliest";

/// A stretch of a timeline. A missing bound does not bind; one that is no instant's time is none the worse for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    /// Itself outside.
    pub begin: Option<String>,
    /// Itself inside.
    pub end: Option<String>,
}

impl Span {
    /// The span between two instants in any form that Hudi takes; `begin` may be `earliest`.
    ///
    /// # Errors
    /// `InvalidArgument` for texts that are no instants.
    pub fn of_query(begin: &str, end: Option<&str>) -> Result<Self> {
        let begin = if begin.eq_ignore_ascii_case(EARLIEST) { None } else { Some(instant_time::of_query(begin)?) };
        Ok(Self { begin, end: end.map(instant_time::of_query).transpose()? })
    }

    /// Whether a time lies inside.
    #[must_use]
    pub fn contains(&self, time: &str) -> bool {
        self.begin.as_deref().is_none_or(|begin| begin < time) && self.end.as_deref().is_none_or(|end| time <= end)
    }
}
