//! The time of an instant as a string of decimal digits, ordered as a string (`InstantComparison` compares the
//! strings).
//!
//! Up to 22 digits are stored inline. That covers every time that Hudi writes: 14 digits (seconds), 17 (milliseconds),
//! 20 (milliseconds and the suffix of a metadata table's action). Cloning these does not allocate.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The maximum number of digits stored inline. With the length and the tag, the type has the size of a `String`.
const INLINE: usize = 22;

/// One or more ASCII digits.
#[derive(Clone)]
pub(super) enum InstantText {
    /// Up to 22 digits. Bytes from `len` on are 0.
    Inline { len: u8, digits: [u8; INLINE] },
    /// More digits.
    Shared(Arc<str>),
}

impl InstantText {
    /// Parses digits. Returns `None` if the string is empty or contains anything but ASCII digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut digits = [0; INLINE];
        match (digits.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(inline), Ok(len)) => {
                inline.copy_from_slice(text.as_bytes());
                Some(Self::Inline { len, digits })
            }
            _ => Some(Self::Shared(text.into())),
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Inline { len, digits } => digits.get(..usize::from(*len)).unwrap_or(digits),
            Self::Shared(text) => text.as_bytes(),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            // `parse` is the only constructor, and ASCII digits are UTF-8.
            Self::Inline { .. } => str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Self::Shared(text) => text,
        }
    }
}

impl PartialEq for InstantText {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for InstantText {}

impl PartialOrd for InstantText {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InstantText {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for InstantText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for InstantText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_alone_are_accepted() {
        for text in ["0", "001", "20240102030405", "20240102030405678", "20240102030405678010", "00000000000000010"] {
            assert_eq!(InstantText::parse(text).unwrap().as_str(), text);
        }
        for text in ["", " 1", "1 ", "-1", "+1", "1.0", "null", "2024-01-02", "20240102T030405", "٣", "1\0"] {
            assert_eq!(InstantText::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn has_the_size_of_a_string() {
        assert_eq!(size_of::<InstantText>(), size_of::<String>());
        assert_eq!(size_of::<Option<InstantText>>(), size_of::<Option<String>>());
    }

    proptest! {
        /// Short and long strings, so that inline and shared ones are compared with each other.
        #[test]
        fn order_and_equality_are_those_of_the_string(one in "[0-2]{1,3}|[01]{20,25}", other in "[0-2]{1,3}|[01]{20,25}") {
            let (left, right) = (InstantText::parse(&one).unwrap(), InstantText::parse(&other).unwrap());
            prop_assert_eq!(left.as_str(), one.as_str());
            prop_assert_eq!(left.cmp(&right), one.cmp(&other));
            prop_assert_eq!(left == right, one == other);
        }
    }
}
