//! `hoodie.properties` as it is changed and written (`HoodieTableConfig.storeProperties`,
//! `java.util.Properties.store`).
//!
//! Hudi reads all properties, changes them and stores all of them: two comment lines with the time, then the entries in
//! the order of a hash map, with escapes, in ASCII. Here a file may be written in that way, or with all lines kept that
//! were not changed.

use std::collections::HashSet;
use std::fmt::Write as _;

use chrono::{DateTime, SecondsFormat, Utc};

use super::properties::{Properties, decoded, is_continued, logical_lines};
use mortice_base::error::{Error, Result};

pub(super) const NAME: &str = "hoodie.table.name";
pub(super) const DATABASE: &str = "hoodie.database.name";
pub(super) const CHECKSUM: &str = "hoodie.table.checksum";

/// The lines of a properties file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PropertiesFile {
    lines: Vec<Line>,
    is_latin1: bool,
}

/// An entry, or a comment or blank line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// The text, with the end of the line.
    raw: String,
    entry: Option<(String, String)>,
}

impl Line {
    fn new(key: &str, value: &str) -> Self {
        let mut raw = String::new();
        escape(key, true, &mut raw);
        raw.push('=');
        escape(value, false, &mut raw);
        raw.push('\n');
        Self { raw, entry: Some((key.to_owned(), value.to_owned())) }
    }

    /// Makes another line possible after this one. A backslash at the end of a file continues nothing, and must not
    /// continue into that line: a blank one ends what it continues.
    fn end(&mut self) {
        if !self.raw.ends_with(['\n', '\r']) {
            self.raw.push('\n');
        }
        if self.entry.is_some() && is_continued(self.raw.trim_end_matches(['\n', '\r'])) {
            // After a carriage return, the first line feed belongs to it.
            self.raw.push_str(if self.raw.ends_with('\r') { "\n\n" } else { "\n" });
        }
    }

    fn has_key(&self, key: &str) -> bool {
        self.entry.as_ref().is_some_and(|(one, _)| one == key)
    }
}

impl PropertiesFile {
    /// Parses a file.
    ///
    /// # Errors
    /// As for [`Properties::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (text, is_latin1) = decoded(bytes);
        let line =
            |line: super::properties::LogicalLine<'_>| Ok(Line { raw: line.raw.to_owned(), entry: line.entry()? });
        let lines = logical_lines(&text).into_iter().map(line).collect::<Result<_>>()?;
        Ok(Self { lines, is_latin1 })
    }

    /// The value of a key; of several lines with the key the last counts.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let line = self.lines.iter().rev().find(|line| line.has_key(key))?;
        line.entry.as_ref().map(|(_, value)| value.as_str())
    }

    /// Sets the value of a key in its line, or in a new last line.
    pub fn set(&mut self, key: &str, value: &str) {
        if self.get(key) == Some(value) {
            return;
        }
        let line = Line::new(key, value);
        match self.lines.iter_mut().rev().find(|line| line.has_key(key)) {
            Some(old) => *old = line,
            None => {
                self.lines.last_mut().map(Line::end);
                self.lines.push(line);
            }
        }
    }

    /// Removes all lines with a key. Returns true if there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.lines.len();
        self.lines.retain(|line| !line.has_key(key));
        self.lines.len() < before
    }

    /// The properties, for a [`super::TableConfig`].
    #[must_use]
    pub fn properties(&self) -> Properties {
        self.lines.iter().filter_map(|line| line.entry.clone()).collect()
    }

    /// Sets `hoodie.table.checksum` from the names of the database and the table.
    ///
    /// # Errors
    /// `InvalidTable` if the table has no name.
    pub fn update_checksum(&mut self) -> Result<()> {
        let checksum = self.checksum()?.to_string();
        self.set(CHECKSUM, &checksum);
        Ok(())
    }

    /// Returns true unless the file is torn: it has the table's name, and the checksum of the names, if it has one.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let expected = self.checksum().map(|checksum| checksum.to_string());
        expected.is_ok_and(|expected| self.get(CHECKSUM).is_none_or(|stored| stored == expected))
    }

    /// Whether the file has a checksum. Files of old releases have none.
    #[must_use]
    pub fn has_checksum(&self) -> bool {
        self.get(CHECKSUM).is_some()
    }

    fn checksum(&self) -> Result<u32> {
        let name = self.get(NAME).ok_or_else(|| Error::invalid_table(format!("{NAME} is missing")))?;
        Ok(table_checksum(self.get(DATABASE).unwrap_or_default(), name))
    }

    /// The file. Lines that were not changed are as they were read, comments and their order included.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let text = self.lines.iter().map(|line| line.raw.as_str()).collect::<String>();
        if self.is_latin1 {
            // Every character was read from one byte, or is ASCII.
            return text.chars().map(|char| u8::try_from(char).unwrap_or(b'?')).collect();
        }
        text.into_bytes()
    }

    /// The file as Hudi would write it at a time: comments replaced by two with the time, entries in the order of
    /// Java's `Properties`. A checksum that is missing or wrong is set.
    ///
    /// # Errors
    /// As for [`PropertiesFile::update_checksum`].
    pub fn to_hudi_bytes(&self, now: DateTime<Utc>) -> Result<Vec<u8>> {
        let checksum = self.checksum()?.to_string();
        let keys = self.lines.iter().filter_map(|line| line.entry.as_ref()).map(|(key, _)| key.as_str());
        let mut seen = HashSet::new();
        let mut entries: Vec<(&str, &str)> = keys
            .chain([CHECKSUM])
            .filter(|key| seen.insert(*key))
            .map(|key| (key, if key == CHECKSUM { &checksum } else { self.get(key).unwrap_or_default() }))
            .collect();
        sort_as_java(&mut entries);
        let reason = if self.get(CHECKSUM) == Some(&checksum) { "Updated at" } else { "Properties saved on" };
        let time = now.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let mut text = format!("#{reason} {time}\n#{}\n", now.format("%a %b %d %H:%M:%S UTC %Y"));
        entries.iter().for_each(|(key, value)| text.push_str(&Line::new(key, value).raw));
        Ok(text.into_bytes())
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for PropertiesFile {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut file = Self::default();
        entries.into_iter().for_each(|(key, value)| file.set(key.as_ref(), value.as_ref()));
        file
    }
}

/// The CRC-32 of `<database>.<table>` (`HoodieTableConfig.generateChecksum`).
pub(super) fn table_checksum(database: &str, table: &str) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(format!("{database}.{table}").as_bytes());
    crc.sum()
}

/// Sorts entries as `java.util.Properties` stores them from Java 9 on. Entries of one bucket keep their order.
fn sort_as_java(entries: &mut [(&str, &str)]) {
    // A `ConcurrentHashMap(8)` starts with 16 buckets and doubles them when it has three quarters as many entries.
    let mut buckets = 16_usize;
    while entries.len() >= buckets / 4 * 3 {
        buckets = buckets.saturating_mul(2);
    }
    entries.sort_by_key(|(key, _)| bucket(key, buckets));
}

/// The bucket of a key in Java: `String.hashCode`, its upper half folded into the lower.
fn bucket(key: &str, buckets: usize) -> usize {
    let hash = key.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    (hash ^ (hash >> 16)) as usize & (buckets - 1)
}

/// Escapes as `java.util.Properties` does. Blanks are escaped in keys, and at the start of values.
fn escape(text: &str, is_key: bool, out: &mut String) {
    for (at, char) in text.chars().enumerate() {
        match char {
            ' ' if is_key || at == 0 => out.push_str("\\ "),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            '\\' | '=' | ':' | '#' | '!' => out.extend(['\\', char]),
            ' '..='~' => out.push(char),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\u{unit:04X}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "#Properties saved on 2026\r\n! by hand\n\nhoodie.table.name = basic\na\\ b=one \\\n   two\n  c:\\u00e9";

    #[test]
    fn unchanged_lines_are_kept() {
        let mut file = PropertiesFile::parse(FILE.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), FILE);
        assert_eq!((file.get("a b"), file.get("c")), (Some("one two"), Some("é")));
        file.set("c", "é");
        file.set("a b", " x=\t😀");
        file.set("new", "1");
        file.update_checksum().unwrap();
        assert!(file.remove("hoodie.table.name") && !file.remove("none"));
        let expected = "#Properties saved on 2026\r\n! by hand\n\na\\ b=\\ x\\=\\t\\uD83D\\uDE00\n  c:\\u00e9\nnew=1\n\
                        hoodie.table.checksum=3661580203\n";
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), expected);
        let again = PropertiesFile::parse(expected.as_bytes()).unwrap();
        assert_eq!((again.get("a b"), again.properties()), (Some(" x=\t😀"), file.properties()));
        assert_eq!(file.update_checksum().unwrap_err().kind(), mortice_base::ErrorKind::InvalidTable);
    }

    #[test]
    fn latin_1_stays_latin_1() {
        let bytes = b"a=\xe9\nb=1\n";
        let mut file = PropertiesFile::parse(bytes).unwrap();
        assert_eq!((file.get("a"), file.to_bytes().as_slice()), (Some("é"), bytes.as_slice()));
        file.set("b", "ü");
        assert_eq!(file.to_bytes(), b"a=\xe9\nb=\\u00FC\n");
    }

    #[test]
    fn a_backslash_at_the_end_of_a_file_continues_nothing() {
        for (text, expected) in [
            ("a=1\\", "a=1\\\n\nb=2\n"),
            ("a=1\\\n", "a=1\\\n\nb=2\n"),
            ("a=1\\\r\n  ", "a=1\\\r\n  \nb=2\n"),
            ("a=1\\\r", "a=1\\\r\n\nb=2\n"),
            ("a=1\\\\", "a=1\\\\\nb=2\n"),
            ("#a=1\\", "#a=1\\\nb=2\n"),
        ] {
            let mut file = PropertiesFile::parse(text.as_bytes()).unwrap();
            let before = file.get("a").map(str::to_owned);
            file.set("b", "2");
            assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), expected);
            let again = PropertiesFile::parse(&file.to_bytes()).unwrap();
            assert_eq!((again.get("a"), again.get("b")), (before.as_deref(), Some("2")), "{text:?}");
        }
    }

    #[test]
    fn the_last_of_several_lines_counts() {
        let mut file = PropertiesFile::parse(b"a=1\na=2\n").unwrap();
        assert_eq!(file.get("a"), Some("2"));
        file.set("a", "3");
        assert_eq!((file.get("a"), file.properties().get("a")), (Some("3"), Some("3")));
        assert_eq!(file.to_bytes(), b"a=1\na=3\n");
    }

    #[test]
    fn written_as_by_hudi() {
        let file: PropertiesFile =
            [("hoodie.table.name", "basic"), ("hoodie.table.version", "9")].into_iter().collect();
        let now = DateTime::parse_from_rfc3339("2026-01-02T03:04:05.060Z").unwrap().to_utc();
        let text = String::from_utf8(file.to_hudi_bytes(now).unwrap()).unwrap();
        assert!(
            text.starts_with("#Properties saved on 2026-01-02T03:04:05.060Z\n#Fri Jan 02 03:04:05 UTC 2026\n"),
            "{text}"
        );
        let saved = PropertiesFile::parse(text.as_bytes()).unwrap();
        assert_eq!(saved.get("hoodie.table.checksum"), Some("3661580203"));
        let text = String::from_utf8(saved.to_hudi_bytes(now).unwrap()).unwrap();
        assert!(text.starts_with("#Updated at 2026-01-02T03:04:05.060Z\n"), "{text}");
    }
}
