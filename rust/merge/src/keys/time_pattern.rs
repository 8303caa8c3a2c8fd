//! Patterns of times as Joda-Time has them (`DateTimeFormat`), which partition paths and their input formats use.
//!
//! | letter | field |
//! |---|---|
//! | `G` | era: `AD`, `BC` |
//! | `C` `Y` | century and year of the era |
//! | `y` `x` | year, year of weeks; two letters stand for two digits |
//! | `M` | month: a number, `MMM` its short name, `MMMM` its name |
//! | `w` `D` `d` | week of the year, day of the year, day of the month |
//! | `e` `E` | day of the week from Monday as a number; its short name, `EEEE` its name |
//! | `a` | `AM`, `PM` |
//! | `H` `k` | hour of the day from 0 and from 1 |
//! | `K` `h` | hour of the half day from 0 and from 1 |
//! | `m` `s` `S` | minute, second, fraction of a second |
//! | `z` | short name of the zone, `zzzz` its name |
//! | `Z` | offset: `+0100`, `ZZ` `+01:00`, `ZZZ` the zone's identifier |
//!
//! Text in single quotes and every character that is not a letter stand for themselves. Hudi takes names in the
//! language of its process. Here they are English, as they are for it in the locales `en` and `en_US`.
//!
//! `pattern_output` writes them, `pattern_input` parses them.

use super::pattern_input::{self, ParsedTime};
use super::pattern_item::Item;
use super::pattern_output::{self, Moment};
use mortice_base::error::{Error, Result};

const LETTERS: &str = "GCYyxMwDdeEaHkKhmsSzZ";

/// A pattern, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimePattern {
    items: Vec<Item>,
}

impl TimePattern {
    /// Compiles `pattern`; `option` is named in errors.
    pub(super) fn new(option: &str, pattern: &str) -> Result<Self> {
        let mut items: Vec<Item> = Vec::new();
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == '\'' {
                push_text(&mut items, &quoted(&mut letters));
            } else if letter.is_ascii_alphabetic() {
                let mut count = 1;
                while letters.next_if_eq(&letter).is_some() {
                    count += 1;
                }
                if !LETTERS.contains(letter) {
                    return Err(Error::invalid_argument(format!(
                        "{option} {pattern:?} has the letter {letter:?}, which is no field of a Joda-Time pattern \
                         (fields: {LETTERS}); put text in single quotes"
                    )));
                }
                items.push(Item::Field(letter, count));
            } else {
                push_text(&mut items, letter.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(Self { items })
    }

    /// Writes the moment `millis` on a clock that is `offset_seconds` ahead of UTC, of the zone with the identifier
    /// `zone`. False if it is out of range.
    pub(super) fn write(&self, millis: i64, offset_seconds: i32, zone: &str, out: &mut String) -> bool {
        let Some(moment) = Moment::new(millis, offset_seconds, zone) else { return false };
        for item in &self.items {
            match item {
                Item::Text(text) => out.push_str(text),
                Item::Field(letter, count) => pattern_output::write_field(&moment, *letter, *count, out),
            }
        }
        true
    }

    /// Parses a text, all of it; none if it does not match.
    pub(super) fn parse(&self, text: &str) -> Option<ParsedTime> {
        pattern_input::parse(&self.items, text)
    }

    fn has(&self, of: impl Fn(char, usize) -> bool) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Field(letter, count) if of(*letter, *count)))
    }

    /// Returns true if the pattern has the name of the zone, which depends on the release of Java.
    pub(super) fn has_zone_name(&self) -> bool {
        self.has(|letter, _| letter == 'z')
    }

    /// Returns the field that cannot be parsed here: the long name of a zone, which Joda-Time does not parse either; an
    /// era or a century, which it parses without effect or with surprising ones.
    pub(super) fn unparsable(&self) -> Option<&'static str> {
        if self.has(|letter, count| letter == 'z' && count > 3) {
            Some("zzzz")
        } else if self.has(|letter, _| letter == 'G') {
            Some("G")
        } else if self.has(|letter, _| letter == 'C') {
            Some("C")
        } else {
            None
        }
    }

    /// Returns true if a text of this pattern may have a zone other than an offset.
    pub(super) fn has_zone_input(&self) -> bool {
        self.has(|letter, count| letter == 'z' || (letter == 'Z' && count > 2))
    }
}

/// Text up to the closing quote; two quotes are one.
fn quoted(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    if letters.next_if_eq(&'\'').is_some() {
        return "'".to_owned();
    }
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
            break;
        }
        text.push(letter);
    }
    text
}

fn push_text(items: &mut Vec<Item>, more: &str) {
    if let Some(Item::Text(text)) = items.last_mut() {
        text.push_str(more);
    } else {
        items.push(Item::Text(more.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUTS: &str = include_str!("pattern_outputs.tsv");
    const INPUTS: &str = include_str!("pattern_inputs.tsv");

    /// What `TimestampBasedAvroKeyGenerator` of Hudi 1.2 wrote: pattern, zone, milliseconds, path.
    #[test]
    fn times_are_written_as_hudi_writes_them() {
        let mut count = 0;
        for line in OUTPUTS.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let [pattern, name, rest @ ..] = cells.as_slice() else { panic!("{line}") };
            let zone = super::super::time_zone::TimeZone::named(name).unwrap();
            let compiled = TimePattern::new("o", pattern).unwrap();
            for pair in rest.chunks(2) {
                let [millis, expected] = pair else { panic!("{line}") };
                let millis = millis.parse().unwrap();
                let mut text = String::new();
                assert!(compiled.write(millis, zone.offset_at(millis), &zone.id(), &mut text));
                assert_eq!(text, *expected, "{pattern} {name} {millis}");
                count += 1;
            }
        }
        assert!(count > 2000, "{count}");
    }

    /// What the same class parsed: pattern, text, milliseconds of the clock and its zone, or `-` if it refused it.
    #[test]
    fn texts_are_parsed_as_hudi_parses_them() {
        let mut count = 0;
        for line in INPUTS.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let [pattern, text, expected] = cells.as_slice() else { panic!("{line}") };
            let parsed = TimePattern::new("o", pattern).unwrap().parse(text);
            let found = parsed.and_then(|time| {
                let mut shown = String::new();
                let clock = TimePattern::new("o", "yyyy-MM-dd HH:mm:ss.SSS").unwrap();
                clock.write(time.clock_millis, 0, "UTC", &mut shown).then_some(())?;
                let offset = time.zone.map_or(Some(0), |zone| zone.offset_of_clock(time.clock_millis))?;
                let mut zone = String::new();
                TimePattern::new("o", " ZZ").unwrap().write(0, offset, "", &mut zone).then_some(())?;
                Some(shown + &zone)
            });
            assert_eq!(found.as_deref().unwrap_or("-"), *expected, "{pattern} {text}");
            count += 1;
        }
        assert!(count > 90, "{count}");
    }

    #[test]
    fn other_letters_are_refused_by_name() {
        for pattern in ["yyyy u", "B", "L", "QQ", "W", "F", "A", "n", "c", "q", "VV"] {
            let error = TimePattern::new("output.dateformat", pattern).unwrap_err();
            assert!(error.to_string().contains("no field of a Joda-Time pattern"), "{error}");
        }
    }

    #[test]
    fn years_of_other_numbers_of_digits_are_as_they_are_written() {
        let year = |text: &str| {
            let time = TimePattern::new("o", "yy-MM-dd").unwrap().parse(text).unwrap();
            chrono::DateTime::from_timestamp_millis(time.clock_millis).unwrap().format("%Y").to_string()
        };
        // Years of two digits are those around the present.
        assert_eq!(year("26-01-01").len(), 4);
        assert_eq!([year("2024-01-01"), year("7-01-01"), year("+24-01-01")], ["2024", "0007", "0024"]);
    }
}
