//! Ranges of instants (`InstantRange`). Instants are compared as strings of any length.

use serde::{Deserialize, Serialize};

use super::instants::RequestedTime;

/// A set of instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstantRange {
    /// `start < instant <= end`. A bound of `None` does not limit the range.
    OpenClosed {
        /// Exclusive lower bound.
        start: Option<RequestedTime>,
        /// Inclusive upper bound.
        end: Option<RequestedTime>,
    },
    /// `start <= instant <= end`. A bound of `None` does not limit the range.
    ClosedClosed {
        /// Inclusive lower bound.
        start: Option<RequestedTime>,
        /// Inclusive upper bound.
        end: Option<RequestedTime>,
    },
    /// Exactly these instants.
    ExactMatch(std::collections::BTreeSet<RequestedTime>),
    /// The union of several ranges.
    Composition(Vec<InstantRange>),
}

impl InstantRange {
    /// Returns true if the range contains the instant.
    #[must_use]
    pub fn contains(&self, instant: &RequestedTime) -> bool {
        let is_up_to = |end: &Option<RequestedTime>| end.as_ref().is_none_or(|end| instant <= end);
        match self {
            Self::OpenClosed { start, end } => start.as_ref().is_none_or(|start| start < instant) && is_up_to(end),
            Self::ClosedClosed { start, end } => start.as_ref().is_none_or(|start| start <= instant) && is_up_to(end),
            Self::ExactMatch(instants) => instants.contains(instant),
            Self::Composition(ranges) => ranges.iter().any(|range| range.contains(instant)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_hudi() {
        let bounds = |start: &str, end: &str| (Some(start.into()), Some(end.into()));
        let (start, end) = bounds("20210901", "20240101000000001");
        let open = InstantRange::OpenClosed { start: start.clone(), end: end.clone() };
        let closed = InstantRange::ClosedClosed { start, end };
        for (instant, in_open, in_closed) in [
            ("2021090", false, false),
            ("20210901", false, true),
            ("20210901000000", true, true),
            ("20240101000000001", true, true),
            ("20240101000000002", false, false),
        ] {
            let instant = RequestedTime::from(instant);
            assert_eq!((open.contains(&instant), closed.contains(&instant)), (in_open, in_closed), "{instant}");
        }
    }

    #[test]
    fn missing_bounds_are_unlimited_and_compositions_are_unions() {
        assert!(InstantRange::OpenClosed { start: None, end: None }.contains(&"0".into()));
        let exact = InstantRange::ExactMatch(["1".into(), "3".into()].into());
        let later = InstantRange::ClosedClosed { start: Some("5".into()), end: None };
        let both = InstantRange::Composition(vec![exact.clone(), later]);
        assert_eq!(["1", "2", "3", "5", "9"].map(|one| exact.contains(&one.into())), [true, false, true, false, false]);
        assert_eq!(["1", "2", "3", "5", "9"].map(|one| both.contains(&one.into())), [true, false, true, true, true]);
    }
}
