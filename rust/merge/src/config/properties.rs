//! Java's properties text (`java.util.Properties.load`), as `hoodie.properties` and partition markers are written.
//!
//! ```text
//! # comment          ! comment
//! key=value          key:value          key value
//! long = one \
//!        two         the break and the blanks that lead the next line vanish
//! \: \= \t \u00e9    escapes, in keys and in values
//! ```
//! The last of several lines with one key wins. Java reads the bytes as latin-1 and writes ASCII with escapes; a file
//! that was edited by hand is more likely UTF-8, so valid UTF-8 is taken as such and anything else as latin-1.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use mortice_base::error::{Error, Result};

/// Properties by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Parses the text.
    ///
    /// # Errors
    /// [`mortice_base::ErrorKind::InvalidTable`] where a `\u` is not followed by four hexadecimal digits, with the
    /// line.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (text, _) = decoded(bytes);
        let entries = logical_lines(&text).iter().filter_map(|line| line.entry().transpose()).collect::<Result<_>>()?;
        Ok(Self(entries))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The trimmed value of the first of several names of one setting that is there and not empty.
    #[must_use]
    pub fn first_of(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().filter_map(|key| self.get(key)).map(str::trim).find(|value| !value.is_empty())
    }

    /// The parts of a comma list: trimmed, without empty ones.
    #[must_use]
    pub fn list(&self, keys: &[&str]) -> Vec<String> {
        let parts = self.first_of(keys).into_iter().flat_map(|value| value.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// All entries, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// The text of a file, and whether its bytes are latin-1 rather than UTF-8.
pub(super) fn decoded(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    match str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (bytes.iter().map(|byte| char::from(*byte)).collect(), true),
    }
}

fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\u{c}')
}

/// An entry with its continuation lines, or another line: a comment, a blank one.
pub(super) struct LogicalLine<'a> {
    /// All of it, with the ends of its lines.
    pub(super) raw: &'a str,
    /// The text of the entry, continuation lines joined.
    text: Option<String>,
}

impl LogicalLine<'_> {
    /// Key and value, if it is an entry.
    pub(super) fn entry(&self) -> Result<Option<(String, String)>> {
        let Some(text) = &self.text else { return Ok(None) };
        let mut chars = text.chars().peekable();
        let key = unescaped(&mut chars, true)?;
        skip_separator(&mut chars);
        Ok(Some((key, unescaped(&mut chars, false)?)))
    }
}

/// The lines of a text; together they are all of it. A comment is never continued; a blank line ends a continuation.
pub(super) fn logical_lines(text: &str) -> Vec<LogicalLine<'_>> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    let mut rest = text;
    // Bytes of `rest` that continued lines have taken.
    let mut taken = 0;
    while taken < rest.len() {
        let natural = rest.get(taken..).unwrap_or_default();
        let content_len = natural.find(['\n', '\r']).unwrap_or(natural.len());
        let (content, end) = natural.split_at(content_len);
        let end_len = if end.starts_with("\r\n") { 2 } else { end.len().min(1) };
        taken += content_len + end_len;
        let content = content.trim_start_matches(is_blank);
        let text = match open.take() {
            None if content.is_empty() || content.starts_with(['#', '!']) => None,
            line => {
                let mut line = line.unwrap_or_default();
                if is_continued(content) {
                    line.push_str(content.strip_suffix('\\').unwrap_or(content));
                    open = Some(line);
                    if taken < rest.len() {
                        continue;
                    }
                    open.take()
                } else {
                    line.push_str(content);
                    Some(line)
                }
            }
        };
        let (raw, after) = rest.split_at(taken);
        lines.push(LogicalLine { raw, text: text.filter(|line| !line.is_empty()) });
        (rest, taken) = (after, 0);
    }
    lines
}

/// Whether a line ends with a backslash that is not escaped, so that the next line continues it.
pub(super) fn is_continued(content: &str) -> bool {
    content.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Reads with escapes undone: a key up to its separator, or all that is left.
fn unescaped(chars: &mut Peekable<Chars<'_>>, is_key: bool) -> Result<String> {
    // Escapes are UTF-16 units: a character outside the first plane takes two of them.
    let mut units: Vec<u16> = Vec::new();
    while let Some(&char) = chars.peek() {
        if is_key && (is_blank(char) || matches!(char, '=' | ':')) {
            break;
        }
        chars.next();
        let meant = if char == '\\' { chars.next() } else { Some(char) };
        match (char, meant) {
            ('\\', Some('u')) => units.push(unit(chars)?),
            ('\\', Some('t')) => units.push(b'\t'.into()),
            ('\\', Some('n')) => units.push(b'\n'.into()),
            ('\\', Some('r')) => units.push(b'\r'.into()),
            ('\\', Some('f')) => units.push(0xc),
            (_, Some(plain)) => units.extend_from_slice(plain.encode_utf16(&mut [0; 2])),
            (_, None) => {}
        }
    }
    Ok(String::from_utf16_lossy(&units))
}

fn unit(chars: &mut Peekable<Chars<'_>>) -> Result<u16> {
    let digits: String = chars.by_ref().take(4).collect();
    let hexadecimal = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(&digits, 16)
        .ok()
        .filter(|_| hexadecimal)
        .ok_or_else(|| Error::invalid_table(format!("a \\u escape needs four hexadecimal digits, found {digits:?}")))
}

fn skip_separator(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|char| is_blank(*char)).is_some() {}
    if chars.next_if(|char| matches!(char, '=' | ':')).is_some() {
        while chars.next_if(|char| is_blank(*char)).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, String)> {
        let properties = Properties::parse(text.as_bytes()).unwrap();
        properties.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn separators_comments_and_blanks() {
        for (text, key, value) in [
            ("a=b", "a", "b"),
            ("a = b ", "a", "b "),
            ("a:b", "a", "b"),
            ("a b=c", "a", "b=c"),
            ("  \t a\t:\t b", "a", "b"),
            ("#no\n ! no\\\na==b", "a", "=b"),
            ("a", "a", ""),
            ("a=1\na=2", "a", "2"),
            ("a=b\r\n\r\n", "a", "b"),
            ("=b", "", "b"),
        ] {
            assert_eq!(parsed(text), [(key.to_owned(), value.to_owned())], "{text:?}");
        }
    }

    #[test]
    fn escapes_and_continuations() {
        for (text, key, value) in [
            (r"a\:b\=c\ d=e\:\=f", "a:b=c d", "e:=f"),
            (r"a=\u00e9\uD83D\uDE00\t\q", "a", "é😀\tq"),
            ("a=one \\\n   two\\\r\n three", "a", "one twothree"),
            ("a=b\\\\\n", "a", "b\\"),
            ("a=b\\", "a", "b"),
            ("a=b\\\n#c", "a", "b#c"),
        ] {
            assert_eq!(parsed(text), [(key.to_owned(), value.to_owned())], "{text:?}");
        }
        assert_eq!(parsed("a=b\\\n\nc=d").len(), 2);
        for wrong in [r"a=\u12", r"a=\u12g4", r"\uxxxx=1", r"a=\u+123"] {
            assert_eq!(
                Properties::parse(wrong.as_bytes()).unwrap_err().kind(),
                mortice_base::ErrorKind::InvalidTable,
                "{wrong}"
            );
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_latin_1() {
        assert_eq!(Properties::parse(b"a=\xe9").unwrap().get("a"), Some("é"));
        assert_eq!(Properties::parse("a=é".as_bytes()).unwrap().get("a"), Some("é"));
    }

    #[test]
    fn lists_and_alternative_names() {
        let properties = Properties::parse(b"new= \nold= a, b,,c ").unwrap();
        assert_eq!(properties.list(&["new", "old"]), ["a", "b", "c"]);
        assert!(properties.list(&["none"]).is_empty());
    }
}
