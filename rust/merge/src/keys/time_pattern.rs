//! Patterns of times as Joda-Time has them (`DateTimeFormat`), as far as partition paths use them: written, and parsed.
//!
//! `y` `Y` year, `M` month, `d` day, `H` hour, `m` minute, `s` second, `S` fraction of a second, `Z` offset; text in
//! single quotes and every character that is not a letter stand for themselves.

use std::fmt::Write as _;

use chrono::{DateTime, Datelike, NaiveDate, Timelike};

use mortice_base::error::{Error, Result};

/// A pattern, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimePattern {
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Text(String),
    /// A field and how often its letter stands there.
    Field(char, usize),
}

/// A time that was parsed: milliseconds of its clock, and the clock's offset from UTC in seconds if the text says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParsedTime {
    pub(super) clock_millis: i64,
    pub(super) offset_seconds: Option<i32>,
}

/// The fields as parsed; those that are absent are those of 1970-01-01 00:00.
struct Fields {
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    millis: u32,
    offset_seconds: Option<i32>,
}

impl TimePattern {
    /// Compiles `pattern`; `option` is named in errors. [`mortice_base::ErrorKind::Unsupported`] for other letters.
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
                if !"yYMdHmsSZ".contains(letter) || (letter == 'M' && count > 2) {
                    let field = letter.to_string().repeat(count);
                    return Err(Error::unsupported(format!(
                        "{option} {pattern:?} has the field {field:?} (supported: y, M, d, H, m, s, S, Z, months as numbers)"
                    )));
                }
                items.push(Item::Field(letter, count));
            } else {
                push_text(&mut items, letter.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(Self { items })
    }

    /// Writes the moment `millis` on a clock that is `offset_seconds` ahead of UTC. False if it is out of range.
    pub(super) fn write(&self, millis: i64, offset_seconds: i32, out: &mut String) -> bool {
        let clock = i64::from(offset_seconds).checked_mul(1000).and_then(|ahead| millis.checked_add(ahead));
        let Some(clock) = clock.and_then(DateTime::from_timestamp_millis) else { return false };
        for item in &self.items {
            match item {
                Item::Text(text) => out.push_str(text),
                Item::Field(letter, count) => write_field(&clock, *letter, *count, offset_seconds, out),
            }
        }
        true
    }

    /// Parses a text, all of it; none if it does not match.
    pub(super) fn parse(&self, text: &str) -> Option<ParsedTime> {
        let mut fields =
            Fields { year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0, millis: 0, offset_seconds: None };
        let mut rest = text;
        let mut items = self.items.iter().peekable();
        while let Some(item) = items.next() {
            rest = match item {
                Item::Text(text) => rest.strip_prefix(text.as_str())?,
                Item::Field('Z', _) => parse_offset(rest, &mut fields)?,
                Item::Field(letter, count) => {
                    let before_digits = matches!(items.peek(), Some(Item::Field(next, _)) if *next != 'Z');
                    parse_field(rest, *letter, *count, before_digits, &mut fields)?
                }
            };
        }
        if !rest.is_empty() {
            return None;
        }
        let date = NaiveDate::from_ymd_opt(fields.year, fields.month, fields.day)?;
        let clock = date.and_hms_milli_opt(fields.hour, fields.minute, fields.second, fields.millis)?;
        let clock_millis = clock.and_utc().timestamp_millis();
        Some(ParsedTime { clock_millis, offset_seconds: fields.offset_seconds })
    }

    /// Whether a text of this pattern says in which year it is.
    pub(super) fn has_year(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Field('y' | 'Y', count) if *count > 2))
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

fn write_field(clock: &DateTime<chrono::Utc>, letter: char, count: usize, offset_seconds: i32, out: &mut String) {
    let number = match letter {
        'M' => clock.month(),
        'd' => clock.day(),
        'H' => clock.hour(),
        'm' => clock.minute(),
        's' => clock.second(),
        'S' => {
            let millis = format!("{:03}", clock.timestamp_subsec_millis());
            let _ = write!(out, "{:0<count$}", millis.get(..count.min(3)).unwrap_or(&millis));
            return;
        }
        'Z' => {
            let (sign, minutes) = (if offset_seconds < 0 { '-' } else { '+' }, offset_seconds.unsigned_abs() / 60);
            let colon = if count == 1 { "" } else { ":" };
            let _ = write!(out, "{sign}{:02}{colon}{:02}", minutes / 60, minutes % 60);
            return;
        }
        _ if count == 2 => clock.year().rem_euclid(100).unsigned_abs(),
        _ => {
            let sign = if clock.year() < 0 { "-" } else { "" };
            let _ = write!(out, "{sign}{:0>count$}", clock.year().unsigned_abs());
            return;
        }
    };
    let _ = write!(out, "{number:0>count$}");
}

fn parse_field<'a>(
    text: &'a str,
    letter: char,
    count: usize,
    before_digits: bool,
    fields: &mut Fields,
) -> Option<&'a str> {
    let most = match letter {
        'S' => count,
        'y' | 'Y' if before_digits => count,
        'y' | 'Y' => 9,
        _ => 2,
    };
    let digits = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(digits)?;
    let number: u32 = digits.parse().ok()?;
    match letter {
        'M' => fields.month = number,
        'd' => fields.day = number,
        'H' => fields.hour = number,
        'm' => fields.minute = number,
        's' => fields.second = number,
        'S' => fields.millis = format!("{digits:0<3}").get(..3)?.parse().ok()?,
        _ => fields.year = i32::try_from(number).ok()?,
    }
    Some(rest)
}

/// `Z`, `+hhmm` or `+hh:mm`.
fn parse_offset<'a>(text: &'a str, fields: &mut Fields) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix('Z') {
        fields.offset_seconds = Some(0);
        return Some(rest);
    }
    let (sign, text) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let two = |text: &'a str| {
        let (digits, rest) = text.split_at_checked(2)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        Some((digits.parse::<i32>().ok().filter(|_| plain)?, rest))
    };
    let (hours, rest) = two(text)?;
    let (minutes, rest) = two(rest.strip_prefix(':').unwrap_or(rest)).unwrap_or((0, rest));
    fields.offset_seconds = Some(sign * (hours * 3600 + minutes * 60));
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pattern: &str, millis: i64, offset: i32) -> String {
        let mut text = String::new();
        assert!(TimePattern::new("o", pattern).unwrap().write(millis, offset, &mut text));
        text
    }

    fn parsed(pattern: &str, text: &str) -> Option<(i64, Option<i32>)> {
        TimePattern::new("o", pattern).unwrap().parse(text).map(|time| (time.clock_millis, time.offset_seconds))
    }

    #[test]
    fn times_are_written() {
        let moment = 1_704_164_645_006;
        assert_eq!(written("yyyy/MM/dd", moment, 0), "2024/01/02");
        assert_eq!(written("yyyyMMdd'T'HH:mm:ss.SSS", moment, 3600), "20240102T04:04:05.006");
        assert_eq!(written("yy-M-d H 'o''clock' ZZ Z S", moment, -5400), "24-1-2 1 o'clock -01:30 -0130 0");
        assert_eq!(written("yyyy-MM-dd", -1, 0), "1969-12-31");
    }

    #[test]
    fn times_are_parsed() {
        assert_eq!(parsed("yyyy-MM-dd", "1970-01-02"), Some((86_400_000, None)));
        assert_eq!(parsed("yyyyMMdd", "19700102"), Some((86_400_000, None)));
        assert_eq!(parsed("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "1970-1-1T00:00:01.5+01:00"), Some((1500, Some(3600))));
        assert_eq!(parsed("yyyy-MM-dd'T'HH:mm:ssZ", "1970-01-01T00:00:01Z"), Some((1000, Some(0))));
        for wrong in ["1970-13-01", "1970-01-01 ", "x", "", "1970-01-"] {
            assert_eq!(parsed("yyyy-MM-dd", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn other_fields_are_refused_by_name() {
        for pattern in ["yyyy MMM", "hh a", "EEE", "yyyy D"] {
            assert!(TimePattern::new("hoodie.keygen.timebased.output.dateformat", pattern).is_err(), "{pattern}");
        }
    }
}
