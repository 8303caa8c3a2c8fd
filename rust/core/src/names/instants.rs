//! The two times of an instant, and positions between instants, as types: a time of one kind cannot be passed as the other.
//!
//! | type | is | stored in |
//! |---|---|---|
//! | [`RequestedTime`] | when an action was requested: its identity | names of data files, log blocks, `_hoodie_commit_time` |
//! | [`CompletionTime`] | when it was completed | names of timeline files, from table version 8 on |
//! | [`TimelinePosition`] | a bound between instants, on the axis that a timeline is ordered by | nowhere: bounds of incremental queries |
//!
//! All are ordered as text, as Hudi orders them, also those of different lengths. They are serialised as plain strings.
//!
//! Functions of one kind of time take no other:
//!
//! ```
//! use mortice::names::RequestedTime;
//! fn is_older(base: &RequestedTime, log: &RequestedTime) -> bool {
//!     base < log
//! }
//! let (base, log): (RequestedTime, RequestedTime) = ("20240101000000000".parse()?, "20240102000000000".parse()?);
//! assert!(is_older(&base, &log));
//! # Ok::<(), mortice::Error>(())
//! ```
//!
//! ```compile_fail,E0308
//! use mortice::names::{CompletionTime, RequestedTime};
//! fn is_older(base: &RequestedTime, log: &RequestedTime) -> bool {
//!     base < log
//! }
//! let (base, log): (RequestedTime, CompletionTime) = ("20240101000000000".parse()?, "20240102000000000".parse()?);
//! assert!(is_older(&base, &log));
//! # Ok::<(), mortice::Error>(())
//! ```
//!
//! Nor can they be compared with each other by accident:
//!
//! ```compile_fail,E0308
//! use mortice::names::{CompletionTime, RequestedTime};
//! let (requested, completed): (RequestedTime, CompletionTime) = ("1".parse()?, "2".parse()?);
//! assert!(requested < completed);
//! # Ok::<(), mortice::Error>(())
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::instant_text::InstantText;
use super::instant_time;
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
            /// Parses digits, however many; `None` for anything else.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                InstantText::parse(text).map(Self)
            }

            /// Parses the value of a field of the table's metadata.
            ///
            /// # Errors
            /// `InvalidTable`, naming the field, if it is not a time of an instant.
            pub fn from_metadata(field: &str, text: &str) -> Result<Self> {
                let invalid =
                    || Error::invalid_table(format!("{field} {text:?} is not a time of an instant: expected digits"));
                Self::parse(text).ok_or_else(invalid)
            }

            /// The digits.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        /// `InvalidArgument` for anything but digits.
        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::parse(text)
                    .ok_or_else(|| Error::invalid_argument(format!("instant {text:?}: it is written in digits")))
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
                deserializer.deserialize_str(TextVisitor($what)).map(Self)
            }
        }

        /// Tests write times as they are.
        #[cfg(test)]
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                text.parse().unwrap()
            }
        }
    };
}

time_of_an_instant!(RequestedTime, "a requested time");
time_of_an_instant!(CompletionTime, "a completion time");

struct TextVisitor(&'static str);

impl Visitor<'_> for TextVisitor {
    type Value = InstantText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in digits", self.0)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<InstantText, E> {
        InstantText::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

impl RequestedTime {
    /// Parses the instant of a time-travel query, in any form that Hudi accepts ([`instant_time`]).
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn from_query(text: &str) -> Result<Self> {
        instant_time::of_query(text)?.parse()
    }

    /// Compares a request with a completion: `None` if one of the times has more digits, as such times cannot be compared as text.
    #[must_use]
    pub fn compare_to_completion(&self, completion: &CompletionTime) -> Option<Ordering> {
        (self.as_str().len() == completion.as_str().len()).then(|| self.0.cmp(&completion.0))
    }
}

/// A bound on a timeline: before every instant, or at the time of one. Times are requested times in timeline layout 1 (up to
/// table version 7), completion times in layout 2.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimelinePosition(Option<InstantText>);

impl TimelinePosition {
    /// Parses a bound of an incremental query, in any form of an instant that Hudi accepts ([`instant_time`]).
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn from_query(text: &str) -> Result<Self> {
        let digits = instant_time::of_query(text)?;
        Ok(Self(InstantText::parse(&digits)))
    }

    /// The requested time, on a timeline of layout 1; `None` before every instant.
    #[must_use]
    pub fn to_requested(&self) -> Option<RequestedTime> {
        self.0.clone().map(RequestedTime)
    }

    /// The digits; empty before every instant.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", InstantText::as_str)
    }
}

/// `InvalidArgument` for anything but digits or the empty text.
impl FromStr for TimelinePosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = InstantText::parse(text);
        if parsed.is_none() && !text.is_empty() {
            return Err(Error::invalid_argument(format!("position {text:?} on a timeline: it is written in digits")));
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

/// Tests write positions as they are.
#[cfg(test)]
impl From<&str> for TimelinePosition {
    fn from(text: &str) -> Self {
        text.parse().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    /// Times of all releases: seconds, milliseconds, what bootstraps and metadata tables begin with, and short ones of tests.
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
    fn times_of_all_releases_are_parsed_and_ordered_as_text() {
        let requested: Vec<RequestedTime> = TIMES.iter().map(|text| text.parse().unwrap()).collect();
        let completed: Vec<CompletionTime> = TIMES.iter().map(|text| text.parse().unwrap()).collect();
        assert!(requested.is_sorted() && completed.is_sorted());
        assert!(requested.iter().zip(TIMES).all(|(time, text)| *time == text && format!("{time}") == text));
        for wrong in ["", "null", "2024-01-02", "1_2"] {
            assert_eq!(RequestedTime::parse(wrong), None);
            assert_eq!(wrong.parse::<CompletionTime>().unwrap_err().kind(), Kind::InvalidArgument);
            let error = RequestedTime::from_metadata("prevCommit", wrong).unwrap_err();
            assert_eq!(error.kind(), Kind::InvalidTable);
            assert!(error.to_string().contains("prevCommit"), "{error}");
        }
    }

    #[test]
    fn they_are_serialised_as_strings() {
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
    fn positions_begin_before_every_instant() {
        let first = TimelinePosition::default();
        assert!(first < TimelinePosition::from("0") && first.as_str().is_empty() && first.to_requested().is_none());
        assert_eq!(first, TimelinePosition::from(""));
        assert_eq!(TimelinePosition::from_query("2024-01-02").unwrap(), "20240102000000000".into());
        assert_eq!(TimelinePosition::from(RequestedTime::from("1")).to_requested().unwrap(), "1");
        for wrong in ["x", "2024-01-02"] {
            assert_eq!(wrong.parse::<TimelinePosition>().unwrap_err().kind(), Kind::InvalidArgument);
        }
        assert_eq!(RequestedTime::from_query("").unwrap_err().kind(), Kind::InvalidArgument);
    }
}
