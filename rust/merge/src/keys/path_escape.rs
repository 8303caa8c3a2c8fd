//! Partition values escaped for a path (`PartitionPathEncodeUtils.escapePathName`).

use std::fmt::Write as _;

/// Appends the value, each character that cannot be in a file's name as `%XX`.
pub(super) fn escape_into(value: &str, path: &mut String) {
    for letter in value.chars() {
        if needs_escaping(letter) {
            let _ = write!(path, "%{:02X}", u32::from(letter));
        } else {
            path.push(letter);
        }
    }
}

fn needs_escaping(letter: char) -> bool {
    letter < ' ' || letter == '\u{7F}' || "\"#%'*/:=?\\{[]^".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_are_escaped() {
        let mut path = String::new();
        escape_into("a b/c:d=é%\n\"{}[]^~_-", &mut path);
        assert_eq!(path, "a b%2Fc%3Ad%3Dé%25%0A%22%7B}%5B%5D%5E~_-");
    }
}
