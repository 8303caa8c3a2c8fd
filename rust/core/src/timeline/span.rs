//! The stretch of a timeline that an incremental query asks for: after `begin`, up to and with `end`.

use super::commit_metadata::CommitMetadata;
use super::instant::Instant;
use crate::error::Result;
use crate::names::TimelinePosition;

/// What `begin` may be called where nothing is before the span (`START_COMMIT_EARLIEST`).
const EARLIEST: &str = "earliest";

/// A stretch of a timeline. A missing bound does not bind; a bound need not be the time of an instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    /// Itself outside.
    pub begin: Option<TimelinePosition>,
    /// Itself inside.
    pub end: Option<TimelinePosition>,
}

/// Takes one write of a span and its metadata; nothing is told of a write whose file is empty.
pub type Visit<'v> = dyn FnMut(&Instant, CommitMetadata) -> Result<()> + 'v;

impl Span {
    /// The span between two instants in any form that Hudi takes; `begin` may be `earliest`.
    ///
    /// # Errors
    /// `InvalidArgument` for texts that are no instants.
    pub fn of_query(begin: &str, end: Option<&str>) -> Result<Self> {
        let begin =
            if begin.eq_ignore_ascii_case(EARLIEST) { None } else { Some(TimelinePosition::from_query(begin)?) };
        Ok(Self { begin, end: end.map(TimelinePosition::from_query).transpose()? })
    }

    /// Whether a time lies inside.
    #[must_use]
    pub fn contains(&self, time: &TimelinePosition) -> bool {
        self.begin.as_ref().is_none_or(|begin| begin < time) && self.end.as_ref().is_none_or(|end| time <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn span(begin: &str, end: &str) -> Span {
        Span { begin: Some(begin.into()), end: Some(end.into()) }
    }

    #[test]
    fn bounds_are_instants_in_any_form() {
        assert_eq!(Span::of_query("earliest", None).unwrap(), Span::default());
        let given = Span::of_query("000", Some("2024-01-02 03:04:05")).unwrap();
        assert_eq!(given, span("000", "20240102030405999"));
        assert!(
            given.contains(&"20240102030405999".into())
                && given.contains(&"001".into())
                && !given.contains(&"000".into())
        );
        assert!(!given.contains(&"20240102030406000".into()));
        for (begin, end) in [("yesterday", None), ("000", Some("earliest")), ("", None)] {
            assert_eq!(Span::of_query(begin, end).unwrap_err().kind(), Kind::InvalidArgument, "{begin}");
        }
    }
}
