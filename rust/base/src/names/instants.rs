//! The two times of an instant, and positions between instants, as types: a time of one kind cannot be passed as the
//! other.
//!
//! | type | is | stored in |
//! |---|---|---|
//! | [`RequestedTime`] | when an action was requested: its identity | names of data files, log blocks, `_hoodie_commit_time` |
//! | [`CompletionTime`] | when it was completed | names of timeline files, from table version 8 on |
//! | [`TimelinePosition`] | a bound between instants, on the axis that a timeline is ordered by | nowhere: bounds of incremental queries |
//!
//! All are ordered as strings, as in Hudi, even if their lengths differ. They are serialized as strings.
//!
//! A function that takes one kind of time does not accept another:
//!
//! ```
//! use mortice_base::names::RequestedTime;
//! fn is_older(base: &RequestedTime, log: &RequestedTime) -> bool {
//!     base < log
//! }
//! let (base, log): (RequestedTime, RequestedTime) = ("20240101000000000".parse()?, "20240102000000000".parse()?);
//! assert!(is_older(&base, &log));
//! # Ok::<(), mortice_base::Error>(())
//! ```
//!
//! ```compile_fail,E0308
//! use mortice_base::names::{CompletionTime, RequestedTime};
//! fn is_older(base: &RequestedTime, log: &RequestedTime) -> bool {
//!     base < log
//! }
//! let (base, log): (RequestedTime, CompletionTime) = ("20240101000000000".parse()?, "20240102000000000".parse()?);
//! assert!(is_older(&base, &log));
//! # Ok::<(), mortice_base::Error>(())
//! ```
//!
//! Nor can they be compared with each other by accident:
//!
//! ```compile_fail,E0308
//! use mortice_base::names::{CompletionTime, RequestedTime};
//! let (requested, completed): (RequestedTime, CompletionTime) = ("1".parse()?, "2".parse()?);
//! assert!(requested < completed);
//! # Ok::<(), mortice_base::Error>(())
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::instant_text::InstantText;
use super::query_instant::query_instant;
use super::timeline_zone::TimelineZone;
use crate::error::{Error, Result};

/// When an instant was requested.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestedTime(InstantText);

/// When an instant was completed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompletionTime(InstantText);

macro_rules! time_of_an_instant {
    ($name:ident, $what:literal) => {
        impl $name {
            /// Parses a string of digits, of any length. Returns `None` for anything else.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                InstantText::parse(text).map(Self)
            }

            /// Parses the value of a field of the table's metadata.
            ///
            /// # Errors
            /// `InvalidTable` with the name of the field, if the value is not an instant time.
            pub fn from_metadata(field: &str, text: &str) -> Result<Self> {
                let invalid =
                    || Error::invalid_table(format!("{field} {text:?} is not a time of an instant: expected digits"));
                Self::parse(text).ok_or_else(invalid)
            }

            /// Returns the digits.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        /// Fails with `InvalidArgument` for anything but digits.
        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::parse(text)
                    .ok_or_else(|| Error::invalid_argument(format!("invalid instant {text:?}: expected digits")))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl From<&$name> for String {
            fn from(time: &$name) -> Self {
                time.as_str().to_owned()
            }
        }

        impl From<$name> for String {
            fn from(time: $name) -> Self {
                time.as_str().to_owned()
            }
        }

        impl From<$name> for TimelinePosition {
            fn from(time: $name) -> Self {
                Self(Some(time.0))
            }
        }

        impl From<&$name> for TimelinePosition {
            fn from(time: &$name) -> Self {
                Self(Some(time.0.clone()))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                deserializer.deserialize_str(InstantVisitor($what)).map(Self)
            }
        }

        /// Instants in tests are string literals.
        #[cfg(any(test, feature = "testing"))]
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                text.parse().unwrap()
            }
        }
    };
}

time_of_an_instant!(RequestedTime, "a requested time");
time_of_an_instant!(CompletionTime, "a completion time");

struct InstantVisitor(&'static str);

impl Visitor<'_> for InstantVisitor {
    type Value = InstantText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (a string of digits)", self.0)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<InstantText, E> {
        InstantText::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

impl RequestedTime {
    /// Parses the instant of a time-travel query, in any format of [`query_instant`].
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn from_query(text: &str, zone: TimelineZone) -> Result<Self> {
        query_instant("as_of", text, zone)?.parse()
    }

    /// Compares a requested time with a completion time. Returns `None` if their numbers of digits differ: then the
    /// strings cannot be compared.
    #[must_use]
    pub fn compare_to_completion(&self, completion: &CompletionTime) -> Option<Ordering> {
        (self.as_str().len() == completion.as_str().len()).then(|| self.0.cmp(&completion.0))
    }
}

/// A position on a timeline: before all instants, or at the time of one. The time is a requested time in timeline
/// layout 1 (up to table version 7), a completion time in layout 2.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimelinePosition(Option<InstantText>);

impl TimelinePosition {
    /// Parses the bound of an incremental query that is named `bound`, in any format of [`query_instant`].
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn from_query(bound: &str, text: &str, zone: TimelineZone) -> Result<Self> {
        let digits = query_instant(bound, text, zone)?;
        Ok(Self(InstantText::parse(&digits)))
    }

    /// Returns the requested time of a position on a timeline of layout 1, `None` for the position before all instants.
    #[must_use]
    pub fn to_requested(&self) -> Option<RequestedTime> {
        self.0.clone().map(RequestedTime)
    }

    /// Returns the digits, or an empty string for the position before all instants.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", InstantText::as_str)
    }
}

/// Fails with `InvalidArgument` for anything but digits or the empty string.
impl FromStr for TimelinePosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = InstantText::parse(text);
        if parsed.is_none() && !text.is_empty() {
            return Err(Error::invalid_argument(format!("invalid position {text:?} on a timeline: expected digits")));
        }
        Ok(Self(parsed))
    }
}

impl fmt::Display for TimelinePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for TimelinePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl From<TimelinePosition> for String {
    fn from(position: TimelinePosition) -> Self {
        position.as_str().to_owned()
    }
}

/// Positions in tests are string literals.
#[cfg(any(test, feature = "testing"))]
#[expect(clippy::unwrap_used, reason = "for tests")]
impl From<&str> for TimelinePosition {
    fn from(text: &str) -> Self {
        text.parse().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// Times of all releases: seconds, milliseconds, the first instants of bootstraps and metadata tables, and short
    /// times of tests.
    const TIMES: [&str; 9] = [
        "000",
        "00000000000000",
        "00000000000000010",
        "00000000000001",
        "001",
        "20240102030405",
        "20240102030405678",
        "20240102030405678001",
        "20240102030406",
    ];

    #[test]
    fn times_of_all_releases_are_parsed_and_ordered_as_strings() {
        let requested: Vec<RequestedTime> = TIMES.iter().map(|text| text.parse().unwrap()).collect();
        let completed: Vec<CompletionTime> = TIMES.iter().map(|text| text.parse().unwrap()).collect();
        assert!(requested.is_sorted() && completed.is_sorted());
        assert!(requested.iter().zip(TIMES).all(|(time, text)| *time == text && format!("{time}") == text));
        for wrong in ["", "null", "2024-01-02", "1_2"] {
            assert_eq!(RequestedTime::parse(wrong), None);
            assert_eq!(wrong.parse::<CompletionTime>().unwrap_err().kind(), ErrorKind::InvalidArgument);
            let error = RequestedTime::from_metadata("prevCommit", wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTable);
            assert!(error.to_string().contains("prevCommit"), "{error}");
        }
    }

    #[test]
    fn times_are_serialized_as_strings() {
        let time: RequestedTime = "20240102030405678".into();
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, r#""20240102030405678""#);
        assert_eq!(serde_json::from_str::<RequestedTime>(&json).unwrap(), time);
        for wrong in ["\"\"", "\"x\"", "1", "null"] {
            assert!(serde_json::from_str::<RequestedTime>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_of_different_precision_are_not_compared() {
        let requested = RequestedTime::from("20240102030405");
        assert_eq!(requested.compare_to_completion(&"20240102030405".into()), Some(Ordering::Equal));
        assert_eq!(requested.compare_to_completion(&"20240102030406".into()), Some(Ordering::Less));
        assert_eq!(requested.compare_to_completion(&"20240102030405000".into()), None);
    }

    #[test]
    fn the_first_position_is_before_all_instants() {
        let first = TimelinePosition::default();
        assert!(first < TimelinePosition::from("0") && first.as_str().is_empty() && first.to_requested().is_none());
        assert_eq!(first, TimelinePosition::from(""));
        assert_eq!(
            TimelinePosition::from_query("begin", "2024-01-02", TimelineZone::Utc).unwrap(),
            "20240102000000000".into()
        );
        assert_eq!(TimelinePosition::from(RequestedTime::from("1")).to_requested().unwrap(), "1");
        for wrong in ["x", "2024-01-02"] {
            assert_eq!(wrong.parse::<TimelinePosition>().unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        assert_eq!(RequestedTime::from_query("", TimelineZone::Utc).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
