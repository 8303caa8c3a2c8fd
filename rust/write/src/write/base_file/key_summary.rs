//! The record keys of a file: least, greatest, and a Bloom filter (`HoodieBloomFilterWriteSupport`).
//!
//! Keys are compared as Java's strings are, by UTF-16 units: Hudi's Bloom index compares them so with the range.

use std::cmp::Ordering;

use arrow_array::StringArray;

use mortice_base::error::Result;
use mortice_formats::bloom::{BloomBuilder, BloomFilter, BloomOptions};

/// What is known of the keys written so far.
pub(super) struct KeySummary {
    range: Option<(String, String)>,
    bloom: BloomBuilder,
}

impl KeySummary {
    pub(super) fn new(options: &BloomOptions) -> Result<Self> {
        Ok(Self { range: None, bloom: BloomBuilder::new(options)? })
    }

    /// Adds keys, none of which is null or empty.
    pub(super) fn add(&mut self, keys: &StringArray) -> Result<()> {
        let mut range: Option<(&str, &str)> = None;
        let is_java_order = keys_of_bytes_in_java_order(keys);
        // A null is refused as the empty key is.
        let keys = keys.iter().map(|key| key.unwrap_or("")).inspect(|key| {
            range = Some(match (is_java_order, range) {
                (true, Some((least, greatest))) => (least.min(*key), greatest.max(*key)),
                _ => widened(range, key),
            });
        });
        self.bloom.add_all(keys.map(str::as_bytes))?;
        let Some((least, greatest)) = range else { return Ok(()) };
        let known = self.range.as_ref().map(|(least, greatest)| (least.as_str(), greatest.as_str()));
        let (least, greatest) = widened(Some(widened(known, least)), greatest);
        self.range = Some((least.to_owned(), greatest.to_owned()));
        Ok(())
    }

    /// The range and the filter.
    pub(super) fn finish(self) -> (Option<(String, String)>, BloomFilter) {
        (self.range, self.bloom.finish())
    }
}

fn widened<'a>(range: Option<(&'a str, &'a str)>, key: &'a str) -> (&'a str, &'a str) {
    let Some((least, greatest)) = range else { return (key, key) };
    let least = if java_order(key, least) == Ordering::Less { key } else { least };
    let greatest = if java_order(key, greatest) == Ordering::Greater { key } else { greatest };
    (least, greatest)
}

/// Whether keys have no byte by which their order could differ from Java's (see [`java_order`]): known by one pass over
/// all bytes, where each comparison would look for them.
fn keys_of_bytes_in_java_order(keys: &StringArray) -> bool {
    let (first, last) = (keys.value_offsets().first(), keys.value_offsets().last());
    let range =
        first.zip(last).and_then(|(first, last)| Some(usize::try_from(*first).ok()?..usize::try_from(*last).ok()?));
    range.and_then(|range| keys.value_data().get(range)).is_some_and(<[u8]>::is_ascii)
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
        let (range, bloom) = summary.finish();
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
                assert!(summary.finish().1 == whole, "{count} keys in parts of {part}");
            }
        }
    }
}
