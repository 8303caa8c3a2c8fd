//! The record keys of a file: least, greatest, and a Bloom filter (`HoodieBloomFilterWriteSupport`).
//!
//! Keys are compared as Java's strings are, by UTF-16 units: Hudi's Bloom index compares them so with the range.

use std::cmp::Ordering;

use arrow_array::{Array, StringArray};

use mortice_base::error::{Error, Result};
use mortice_formats::bloom::{BloomBuilder, BloomFilter, BloomOptions};

/// Bytes of keys that wait before there is a filter, whose size is that of a file of full size: many files that are open at the same
/// time have few rows each.
const WAITING_BYTES: usize = 16 << 10;

/// What is known of the keys written so far.
pub(super) struct KeySummary {
    range: Option<(String, String)>,
    bloom: Bloom,
}

enum Bloom {
    /// The first keys, one after the other, and where each ends.
    Waiting { options: BloomOptions, keys: Vec<u8>, ends: Vec<usize> },
    /// The filter of all keys.
    Begun(Box<BloomBuilder>),
}

impl Bloom {
    fn add(&mut self, keys: &StringArray) -> Result<()> {
        if let Self::Waiting { options, keys: waiting, ends } = self {
            if waiting.len().saturating_add(key_bytes(keys)) <= WAITING_BYTES {
                for key in keys.iter().flatten() {
                    waiting.extend_from_slice(key.as_bytes());
                    ends.push(waiting.len());
                }
                return Ok(());
            }
            *self = Self::Begun(Box::new(begun(options, waiting, ends)?));
        }
        match self {
            Self::Begun(builder) => builder.add_all((0..keys.len()).map(|row| keys.value(row).as_bytes())),
            Self::Waiting { .. } => Err(Error::internal("a Bloom filter that is not begun")),
        }
    }

    fn finish(self) -> Result<BloomFilter> {
        match self {
            Self::Waiting { options, keys, ends } => Ok(begun(&options, &keys, &ends)?.finish()),
            Self::Begun(builder) => Ok(builder.finish()),
        }
    }
}

/// A filter of the keys that end there.
fn begun(options: &BloomOptions, keys: &[u8], ends: &[usize]) -> Result<BloomBuilder> {
    let mut builder = BloomBuilder::new(options)?;
    let starts = std::iter::once(&0).chain(ends);
    builder.add_all(starts.zip(ends).filter_map(|(start, end)| keys.get(*start..*end)))?;
    Ok(builder)
}

fn key_bytes(keys: &StringArray) -> usize {
    let offsets = keys.value_offsets();
    let bytes = offsets.last().zip(offsets.first()).map_or(0, |(end, start)| end.saturating_sub(*start));
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl KeySummary {
    pub(super) fn new(options: &BloomOptions) -> Result<Self> {
        // What makes no filter is refused before there is a row.
        options.check()?;
        Ok(Self { range: None, bloom: Bloom::Waiting { options: *options, keys: Vec::new(), ends: Vec::new() } })
    }

    /// Adds keys, none of which is null or empty.
    pub(super) fn add(&mut self, keys: &StringArray) -> Result<()> {
        let mut range: Option<(&str, &str)> = None;
        if keys.iter().any(|key| key.is_none_or(str::is_empty)) {
            return Err(Error::invalid_argument("an empty record key cannot be added to a Bloom filter"));
        }
        self.bloom.add(keys)?;
        for key in (0..keys.len()).map(|row| keys.value(row)) {
            range = Some(widened(range, key));
        }
        let Some((least, greatest)) = range else { return Ok(()) };
        let known = self.range.as_ref().map(|(least, greatest)| (least.as_str(), greatest.as_str()));
        let (least, greatest) = widened(Some(widened(known, least)), greatest);
        self.range = Some((least.to_owned(), greatest.to_owned()));
        Ok(())
    }

    /// The range and the filter.
    ///
    /// # Errors
    /// Internal ones.
    pub(super) fn finish(self) -> Result<(Option<(String, String)>, BloomFilter)> {
        Ok((self.range, self.bloom.finish()?))
    }
}

fn widened<'a>(range: Option<(&'a str, &'a str)>, key: &'a str) -> (&'a str, &'a str) {
    let Some((least, greatest)) = range else { return (key, key) };
    let least = if java_order(key, least) == Ordering::Less { key } else { least };
    let greatest = if java_order(key, greatest) == Ordering::Greater { key } else { greatest };
    (least, greatest)
}

/// `String.compareTo`. UTF-8 has the same order, except for a character above U+FFFF and one from U+E000 on.
fn java_order(one: &str, other: &str) -> Ordering {
    let high = |text: &str| text.bytes().any(|byte| byte >= 0xee);
    if high(one) && high(other) { one.encode_utf16().cmp(other.encode_utf16()) } else { one.cmp(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_in_java() {
        for (less, greater) in [("a", "b"), ("", "a"), ("z", "ü"), ("\u{d7ff}", "\u{10000}"), ("\u{10000}", "\u{e000}")]
        {
            assert_eq!(java_order(less, greater), Ordering::Less, "{less} {greater}");
            assert_eq!(java_order(greater, less), Ordering::Greater);
        }
        let mut summary = KeySummary::new(&BloomOptions::default()).unwrap();
        summary.add(&StringArray::from(vec!["\u{ffff}", "k", "\u{10000}"])).unwrap();
        summary.add(&StringArray::from(vec!["l", "j"])).unwrap();
        summary.add(&StringArray::from(Vec::<&str>::new())).unwrap();
        let (range, bloom) = summary.finish().unwrap();
        assert_eq!(range, Some(("j".to_owned(), "\u{ffff}".to_owned())));
        assert!(["\u{ffff}", "k", "\u{10000}", "l", "j"].iter().all(|key| bloom.may_contain(key)));
    }

    #[test]
    fn the_filter_does_not_depend_on_how_keys_come() {
        let options = BloomOptions { entries: 1000, max_entries: 3000, ..BloomOptions::default() };
        for count in [0, 1, 5, 700, 5000] {
            let keys: Vec<String> = (0..count).map(|number| format!("key {number}")).collect();
            let mut whole = BloomBuilder::new(&options).unwrap();
            whole.add_all(keys.iter().map(String::as_bytes)).unwrap();
            let whole = whole.finish();
            for part in [1, 33, 4096] {
                let mut summary = KeySummary::new(&options).unwrap();
                for keys in keys.chunks(part) {
                    // A slice, whose first key is not at the start of the column.
                    let column =
                        StringArray::from_iter_values(std::iter::once("other").chain(keys.iter().map(String::as_str)));
                    summary.add(&column.slice(1, keys.len())).unwrap();
                }
                assert!(summary.finish().unwrap().1 == whole, "{count} keys in parts of {part}");
            }
        }
    }
}
