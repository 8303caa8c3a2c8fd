//! The values of options that are followed: their kind, limits, default and unit.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::option_value::OptionValue;
use mortice_base::error::{Error, Result};

/// Options by name: kind, values, default, unit.
const TABLE: &str = include_str!("values.tsv");

/// Which values an option has.
///
/// Lists of words are separated by commas. Behind `|` are words that Hudi knows and that are refused, with a reason, by
/// what would follow them.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ValueKind {
    /// `true` or `false`.
    Boolean,
    /// Whole numbers between two limits, both included.
    Integer { least: i64, most: i64 },
    /// Numbers from 0 on.
    Number,
    /// Numbers between 0 and 1, both excluded.
    Share,
    /// One of several words.
    Words(&'static str),
    /// The same, with or without dashes and underscores.
    Dashed(&'static str),
    /// The same, where Hudi has others that are not supported.
    Supported(&'static str),
    /// One of several classes of Hudi, with or without the package.
    Class(&'static str),
    /// A list of such classes.
    Classes(&'static str),
    /// A regular expression.
    Pattern,
    /// Any string, or a list of strings.
    Text,
}

/// The values of one option.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OptionValues {
    name: &'static str,
    kind: ValueKind,
    /// The value if the option is not given; empty if that depends on the table or the operation.
    default: &'static str,
}

/// Reads the value of an option, by the kind that it has. Options that are not followed are text.
pub(super) fn resolve_value(name: &str, value: &str) -> Result<OptionValue> {
    match by_name()?.get(name) {
        Some(known) => known.resolve(value),
        None => Ok(OptionValue::Text(value.to_owned())),
    }
}

/// The value that an option has if it is not given.
///
/// # Errors
/// An internal error for an option that has no value, or one that depends on the table or the operation.
pub fn default_of(name: &str) -> Result<&'static str> {
    let default = by_name()?.get(name).map(|known| known.default).filter(|default| !default.is_empty());
    default.ok_or_else(|| Error::internal(format!("option {name} has no default")))
}

/// The options that Hudi does not have.
pub(super) fn own_options() -> Result<impl Iterator<Item = &'static str>> {
    Ok(by_name()?.keys().copied().filter(|name| is_own(name)))
}

/// Returns whether a name is that of an option which Hudi does not have.
pub(super) fn is_own_option(name: &str) -> Result<bool> {
    Ok(is_own(name) && by_name()?.contains_key(name))
}

fn is_own(name: &str) -> bool {
    name.starts_with("mortice.")
}

fn by_name() -> Result<&'static HashMap<&'static str, OptionValues>> {
    static BY_NAME: LazyLock<Option<HashMap<&'static str, OptionValues>>> =
        LazyLock::new(|| read_table()?.into_iter().map(|one| Some((one.name, one))).collect());
    BY_NAME.as_ref().ok_or_else(|| Error::internal("the table of values of write options is not well formed"))
}

impl OptionValues {
    fn resolve(&self, value: &str) -> Result<OptionValue> {
        let name = self.name;
        match self.kind {
            ValueKind::Boolean => boolean(name, value),
            ValueKind::Integer { least, most } => integer(name, value, (least, most)).map(OptionValue::Integer),
            ValueKind::Number => match number(name, value)? {
                number @ 0.0.. => Ok(OptionValue::Number(number)),
                _ => Err(refused(name, "at least 0", value)),
            },
            ValueKind::Share => match number(name, value)? {
                share if share > 0.0 && share < 1.0 => Ok(OptionValue::Number(share)),
                _ => Err(refused(name, "above 0 and below 1", value)),
            },
            _ => self.check_text(value).map(|()| OptionValue::Text(value.to_owned())),
        }
    }

    fn check_text(&self, value: &str) -> Result<()> {
        let (name, text) = (self.name, value.trim());
        let is_one_of = |words: &str| parts(words).any(|word| word.eq_ignore_ascii_case(text));
        match self.kind {
            ValueKind::Words(words) | ValueKind::Supported(words) if is_one_of(words) => Ok(()),
            ValueKind::Dashed(words) if parts(words).any(|word| plain(word) == plain(text)) => Ok(()),
            ValueKind::Words(words) | ValueKind::Dashed(words) => Err(refused(name, &alternatives(words), value)),
            ValueKind::Supported(words) => unsupported(name, words, text),
            ValueKind::Class(classes) => self.check_class(classes, text),
            ValueKind::Classes(classes) => {
                text.split(',').map(str::trim).try_for_each(|class| self.check_class(classes, class))
            }
            ValueKind::Pattern => Regex::new(value).map(drop).map_err(|error| {
                let what = "a regular expression without look-around and back-references";
                Error::invalid_argument(format!("option {name} must be {what}, got {value:?}")).caused_by(error)
            }),
            ValueKind::Text | ValueKind::Boolean | ValueKind::Integer { .. } | ValueKind::Number | ValueKind::Share => {
                Ok(())
            }
        }
    }

    /// No class is the default one.
    fn check_class(&self, classes: &str, class: &str) -> Result<()> {
        let short = class.rsplit('.').next().unwrap_or(class);
        let is_it = |known: &str| known.strip_prefix('*').map_or(known == short, |end| short.ends_with(end));
        match class.is_empty() || parts(classes).any(is_it) {
            true => Ok(()),
            false => unsupported(self.name, classes, class),
        }
    }
}

fn boolean(name: &str, value: &str) -> Result<OptionValue> {
    match value.trim() {
        word if word.eq_ignore_ascii_case("true") => Ok(OptionValue::Boolean(true)),
        word if word.eq_ignore_ascii_case("false") => Ok(OptionValue::Boolean(false)),
        _ => Err(refused(name, "true or false", value)),
    }
}

fn integer(name: &str, value: &str, (least, most): (i64, i64)) -> Result<i64> {
    match value.trim().parse::<i128>() {
        Err(_) => Err(refused(name, "a number", value)),
        Ok(number) if number < least.into() => {
            Err(Error::invalid_argument(format!("option {name} must be at least {least}, got {number}")))
        }
        Ok(number) => {
            let number = i64::try_from(number).ok().filter(|number| *number <= most);
            number.ok_or_else(|| refused(name, &format!("at most {most}"), value))
        }
    }
}

fn number(name: &str, value: &str) -> Result<f64> {
    let parsed = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    parsed.ok_or_else(|| Error::invalid_argument(format!("option {name} must be a number, got {value:?}")))
}

fn refused(name: &str, what: &str, value: &str) -> Error {
    Error::invalid_argument(format!("option {name} must be {what}, got {value:?}"))
}

fn unsupported(name: &str, words: &str, value: &str) -> Result<()> {
    let supported: Vec<&str> = named(words).collect();
    Err(Error::unsupported(format!("unsupported {name}={value} (supported: {})", supported.join(", "))))
}

/// All words, those that are refused later too.
fn parts(words: &str) -> impl Iterator<Item = &str> {
    words.split(['|', ','])
}

/// The words that a user may choose from.
fn named(words: &str) -> impl Iterator<Item = &str> {
    let words = words.split('|').next().unwrap_or_default().split(',');
    words.filter(|word| !word.is_empty() && !word.starts_with('*'))
}

/// `A, B or C`.
fn alternatives(words: &str) -> String {
    let words: Vec<&str> = named(words).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn plain(word: &str) -> String {
    word.to_ascii_lowercase().replace(['-', '_'], "")
}

fn read_table() -> Option<Vec<OptionValues>> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(read_line).collect()
}

fn read_line(line: &'static str) -> Option<OptionValues> {
    let mut cells = line.split('\t');
    let [name, kind, values, default, _unit] = std::array::from_fn(|_| cells.next());
    let values = values?;
    let kind = match kind? {
        "boolean" => ValueKind::Boolean,
        "integer" => {
            let (least, most) = values.split_once("..")?;
            let limit = |text: &str, otherwise: i64| if text.is_empty() { Some(otherwise) } else { text.parse().ok() };
            ValueKind::Integer { least: limit(least, i64::MIN)?, most: limit(most, i64::MAX)? }
        }
        "number" => ValueKind::Number,
        "share" => ValueKind::Share,
        "words" => ValueKind::Words(values),
        "dashed" => ValueKind::Dashed(values),
        "supported" => ValueKind::Supported(values),
        "class" => ValueKind::Class(values),
        "classes" => ValueKind::Classes(values),
        "pattern" => ValueKind::Pattern,
        "text" | "list" => ValueKind::Text,
        _ => return None,
    };
    Some(OptionValues { name: name?, kind, default: default? })
}

#[cfg(test)]
mod tests {
    use super::super::decisions::{OptionHandling, decisions};
    use super::*;

    #[test]
    fn exactly_the_options_that_are_followed_have_values() {
        let all = read_table().unwrap();
        assert!(all.is_sorted_by(|one, next| one.name < next.name));
        let described: Vec<&str> = all.iter().map(|one| one.name).filter(|name| !is_own(name)).collect();
        let taken = decisions().unwrap().iter().filter(|one| one.decision == OptionHandling::Taken);
        assert_eq!(described, taken.map(|one| one.name).collect::<Vec<_>>());
    }

    #[test]
    fn defaults_are_values() {
        for one in read_table().unwrap().iter().filter(|one| !one.default.is_empty()) {
            one.resolve(one.default).unwrap();
        }
    }

    #[test]
    fn values_are_read_as_their_readers_read_them() {
        for (name, value) in [
            ("hoodie.metadata.enable", " TRUE "),
            ("hoodie.parquet.max.file.size", " 1024 "),
            ("hoodie.parquet.small.file.limit", "-1"),
            ("hoodie.index.bloom.fpp", "1e-3"),
            ("hoodie.index.type", "global_bloom"),
            ("hoodie.index.type", "FLINK_STATE"),
            ("hoodie.layout.optimize.strategy", "Z_ORDER"),
            ("hoodie.parquet.compression.codec", ""),
            ("hoodie.parquet.compression.codec", "LZ4_RAW"),
            ("hoodie.compaction.strategy", "org.apache.hudi.table.action.compact.strategy.UnBoundedCompactionStrategy"),
            ("hoodie.clustering.execution.strategy.class", "a.b.FlinkSortAndSizeExecutionStrategy"),
            ("hoodie.write.concurrency.mode", ""),
        ] {
            resolve_value(name, value).unwrap();
        }
    }

    #[test]
    fn other_values_are_refused_with_what_they_must_be() {
        for (name, value, what) in [
            ("hoodie.metadata.enable", "yes", "true or false"),
            ("hoodie.parquet.max.file.size", "abc", "a number"),
            ("hoodie.parquet.max.file.size", "-1", "at least 1, got -1"),
            ("hoodie.index.bloom.num_entries", "4294967296", "at most 4294967295"),
            ("hoodie.index.bloom.fpp", "1", "above 0 and below 1"),
            ("hoodie.parquet.compression.ratio", "NaN", "a number"),
            ("hoodie.parquet.compression.codec", "brotli", "uncompressed or none, got \"brotli\""),
            ("hoodie.clean.trigger.strategy", "x", "must be NUM_COMMITS, got"),
            ("hoodie.logfile.data.block.format", "hfile", "supported: avro, parquet"),
            ("hoodie.clustering.updates.strategy", "x.Other", "supported: SparkRejectUpdateStrategy"),
            ("hoodie.compaction.strategy", "UnBoundedCompactionStrategy,Other", "=Other (supported"),
            ("hoodie.compaction.partition.path.regex", "(", "regular expression"),
        ] {
            let error = resolve_value(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(what), "{error}");
        }
    }
}
