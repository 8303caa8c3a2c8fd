//! Keys of secondary indexes: the value of the indexed column and the record key, both escaped, with `$` between them
//! (`SecondaryIndexKeyUtils`).
//!
//! | character | in a key |
//! |---|---|
//! | `\`, `$`, the character 0 | the same after a `\` |
//! | none: the value is null | the character 0 |

use std::borrow::Cow;

/// Between a value and a record key.
const SEPARATOR: char = '$';
const ESCAPE: char = '\\';
/// Stands for null.
const NULL: char = '\0';

/// By which part of a key the file group is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondaryIndexVersion {
    /// The whole key: table version 8.
    V1,
    /// The value, escaped, with the separator: all keys of a value are in one file group.
    V2,
}

/// The key of a value and a record key.
#[must_use]
pub fn secondary_key(value: Option<&str>, record_key: &str) -> String {
    let mut key = value_prefix(value);
    escape(record_key, &mut key);
    key
}

/// What all keys of a value begin with.
#[must_use]
pub fn value_prefix(value: Option<&str>) -> String {
    let mut prefix = String::with_capacity(value.map_or(1, str::len).saturating_add(1));
    match value {
        None => prefix.push(NULL),
        Some(value) => escape(value, &mut prefix),
    }
    prefix.push(SEPARATOR);
    prefix
}

fn escape(text: &str, out: &mut String) {
    for char in text.chars() {
        if matches!(char, ESCAPE | SEPARATOR | NULL) {
            out.push(ESCAPE);
        }
        out.push(char);
    }
}

/// The value and the record key of a key; `None` if it has no separator.
#[must_use]
pub fn split_secondary_key(key: &str) -> Option<(Option<Cow<'_, str>>, Cow<'_, str>)> {
    let (value, rest) = key.split_at_checked(separator(key)?)?;
    let record_key = rest.strip_prefix(SEPARATOR)?;
    Some((unescaped(value), unescaped(record_key)?))
}

/// `None` if the string stands for null.
fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if text.chars().eq([NULL]) {
        return None;
    }
    if !text.contains(ESCAPE) {
        return Some(text.into());
    }
    let mut out = String::with_capacity(text.len());
    let mut is_escaped = false;
    for char in text.chars() {
        if char == ESCAPE && !is_escaped {
            is_escaped = true;
        } else {
            out.push(char);
            is_escaped = false;
        }
    }
    Some(out.into())
}

impl SecondaryIndexVersion {
    /// The part of a key whose hash says in which file group it is.
    #[must_use]
    pub fn hashed_part(self, key: &str) -> &str {
        let end = match self {
            Self::V1 => None,
            Self::V2 => separator(key).map(|at| at.saturating_add(SEPARATOR.len_utf8())),
        };
        end.and_then(|end| key.get(..end)).unwrap_or(key)
    }
}

/// Where the separator of a key is.
fn separator(key: &str) -> Option<usize> {
    let mut is_escaped = false;
    let found = key.char_indices().find(|(_, char)| {
        let is_separator = *char == SEPARATOR && !is_escaped;
        is_escaped = *char == ESCAPE && !is_escaped;
        is_separator
    });
    found.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_hudis() {
        assert_eq!(secondary_key(Some("x$y"), "a"), r"x\$y$a");
        assert_eq!(secondary_key(Some(r"q\z"), "b$"), r"q\\z$b\$");
        assert_eq!(secondary_key(None, "c"), "\0$c");
        assert_eq!(secondary_key(Some("\0"), "c"), "\\\0$c");
        assert_eq!(secondary_key(Some(""), "d"), "$d");
        assert_eq!(split_secondary_key("no separator"), None);
        assert_eq!(split_secondary_key(r"no\$separator"), None);
    }

    /// Measured on a table that Hudi 1.2 wrote, with ten file groups.
    #[test]
    fn keys_are_in_hudis_file_groups() {
        let group = |value| {
            let key = secondary_key(value, "a");
            crate::metadata_table::shard::number_of(SecondaryIndexVersion::V2.hashed_part(&key), 10)
        };
        let found = [Some("x$y"), Some("q\\\\z"), Some("new"), Some("notnull"), Some(""), None].map(group);
        assert_eq!(found, [5, 5, 6, 8, 6, 6]);
    }

    proptest! {
        #[test]
        fn keys_are_split_into_what_they_were_made_of(
            value in prop::option::of("[a$\\\\\0é🐎]{0,6}"), record_key in "[a$\\\\\0é🐎]{1,6}",
        ) {
            let key = secondary_key(value.as_deref(), &record_key);
            prop_assert!(key.starts_with(&value_prefix(value.as_deref())));
            let (found, found_key) = split_secondary_key(&key).unwrap();
            prop_assert_eq!((found.as_deref(), &*found_key), (value.as_deref(), record_key.as_str()));
            prop_assert_eq!(SecondaryIndexVersion::V2.hashed_part(&key), value_prefix(value.as_deref()));
            prop_assert_eq!(SecondaryIndexVersion::V1.hashed_part(&key), &key);
        }
    }
}
