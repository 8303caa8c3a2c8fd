//! The stretch of a timeline that an incremental query asks for: after `begin`, up to and with `end`.

use super::commit_metadata::CommitMetadata;
use super::instant::Instant;
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

/// Takes one write of a span and its metadata; nothing is told of a write whose file is empty.
pub type Visit<'v> = dyn FnMut(&Instant, CommitMetadata) -> Result<()> + 'v;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn span(begin: &str, end: &str) -> Span {
        Span { begin: Some(begin.to_owned()), end: Some(end.to_owned()) }
    }

    #[test]
    fn bounds_are_instants_in_any_form() {
        assert_eq!(Span::of_query("earliest", None).unwrap(), Span::default());
        let given = Span::of_query("000", Some("2024-01-02 03:04:05")).unwrap();
        assert_eq!(given, span("000", "20240102030405999"));
        assert!(given.contains("20240102030405999") && given.contains("001") && !given.contains("000"));
        assert!(!given.contains("20240102030406000"));
        for (begin, end) in [("yesterday", None), ("000", Some("earliest")), ("", None)] {
            assert_eq!(Span::of_query(begin, end).unwrap_err().kind(), Kind::InvalidArgument, "{begin}");
        }
    }
}
