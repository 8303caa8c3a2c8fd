//! The numbers of buckets of partitions by rules (`PartitionBucketIndexCalculator`, `RegexRuleEngine`), which options
//! or the table's hashing configuration have (`PartitionBucketIndexHashingConfig`).

use bytes::Bytes;
use regex::Regex;
use serde::Deserialize;

use super::hashing_files::{CONFIG_FOLDER, CONFIG_SUFFIX};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::option_names::BUCKET_INDEX_PARTITION_EXPRESSIONS;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Action;

/// Rules as text: `expression,buckets;expression,buckets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionExpressions {
    /// The rules.
    pub expressions: String,
    /// Their kind: `regex`.
    pub rule: String,
}

/// Numbers of buckets by partition path.
#[derive(Debug)]
pub(super) struct PartitionRules {
    /// The first that finds a match in a path has its number.
    rules: Vec<(Regex, u32)>,
    /// Partitions of no rule.
    default: u32,
}

impl PartitionRules {
    /// Parses rules.
    ///
    /// # Errors
    /// `InvalidArgument` for text that is no list of rules; `Unsupported` for kinds of rules, and for expressions of
    /// Java's, that are not known here.
    pub(super) fn parse(given: &PartitionExpressions, default: u32) -> Result<Self> {
        let PartitionExpressions { expressions, rule } = given;
        if !rule.eq_ignore_ascii_case("regex") {
            return Err(Error::unsupported(format!(
                "rules of kind {rule:?} for numbers of buckets (supported: regex)"
            )));
        }
        let invalid = |what: &str| {
            Error::invalid_argument(format!(
                "{BUCKET_INDEX_PARTITION_EXPRESSIONS} {expressions:?}: {what}; expected expression,buckets;expression,buckets"
            ))
        };
        let mut rules = Vec::new();
        // Java's split leaves out empty parts at the end.
        for part in expressions.trim_end_matches(';').split(';') {
            let (pattern, number) = match part.trim().trim_end_matches(',').split(',').collect::<Vec<_>>().as_slice() {
                [pattern, number] => (pattern.trim(), number.trim()),
                _ => return Err(invalid(&format!("{part:?} is no expression and a number"))),
            };
            let number: u32 = match number.strip_prefix('+').unwrap_or(number).parse() {
                Ok(number) if (1..=i32::MAX.unsigned_abs()).contains(&number) => number,
                _ => return Err(invalid(&format!("{number:?} is no number of buckets"))),
            };
            let regex = Regex::new(&ascii_classes(pattern)).map_err(|error| {
                Error::unsupported(format!(
                    "{BUCKET_INDEX_PARTITION_EXPRESSIONS} {expressions:?}: the expression {pattern:?} is not supported (no look-around, back-references or possessive quantifiers); write to this table with Hudi"
                ))
                .caused_by(error)
            })?;
            rules.push((regex, number));
        }
        Ok(Self { rules, default })
    }

    /// The number of buckets of a partition.
    pub(super) fn buckets_of(&self, partition: &str) -> u32 {
        let matching = self.rules.iter().find(|(regex, _)| regex.is_match(partition));
        matching.map_or(self.default, |(_, number)| *number)
    }
}

/// The expression with `\d`, `\w` and `\s` as Java has them: of ASCII.
fn ascii_classes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            Some('s') => out.push_str(r"[ \t\n\x0B\f\r]"),
            Some('S') => out.push_str(r"[^ \t\n\x0B\f\r]"),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

/// What a table's hashing configuration says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HashingConfig {
    expressions: String,
    default_bucket_number: u32,
    rule: String,
}

/// The rules of the table, which take the place of those of options (`HoodieSparkSqlWriter`), with the number of
/// buckets of other partitions; none if it has none. A configuration whose change of the buckets is pending is not one
/// yet.
///
/// # Errors
/// `InvalidTable`, naming the file, if it cannot be read.
pub(super) fn stored_rules(table: &OpenTable) -> Result<Option<(PartitionExpressions, u32)>> {
    let mut instants = Vec::new();
    for entry in table.storage.list(CONFIG_FOLDER)?.into_iter().flatten() {
        if let Some(instant) = entry.name().strip_suffix(CONFIG_SUFFIX).and_then(RequestedTime::parse) {
            instants.push(instant);
        }
    }
    let is_pending = |time: &RequestedTime| {
        table.timeline.pending(Action::ReplaceCommit).any(|instant| instant.requested_time == *time)
    };
    instants.retain(|instant| !is_pending(instant));
    let Some(latest) = instants.into_iter().max() else { return Ok(None) };
    let path = format!("{CONFIG_FOLDER}/{latest}{CONFIG_SUFFIX}");
    let bytes: Bytes = table.storage.open(&path)?.read_all()?;
    let HashingConfig { expressions, default_bucket_number, rule } =
        serde_json::from_slice(&bytes).map_err(|error| {
            Error::invalid_table("the configuration of a bucket index cannot be read").caused_by(error).in_file(&path)
        })?;
    if default_bucket_number == 0 || default_bucket_number > i32::MAX.unsigned_abs() {
        return Err(Error::invalid_table(format!("{default_bucket_number} buckets of a partition")).in_file(path));
    }
    Ok(Some((PartitionExpressions { expressions, rule }, default_bucket_number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    fn rules(expressions: &str) -> Result<PartitionRules> {
        PartitionRules::parse(&PartitionExpressions { expressions: expressions.to_owned(), rule: "REGEX".into() }, 7)
    }

    #[test]
    fn the_first_expression_that_is_found_in_the_path_has_the_number() {
        let rules = rules(r" 2024-01-\d\d , 4 ;2024,3;^x$,+5,;").unwrap();
        for (partition, expected) in [
            ("2024-01-31", 4),
            ("day=2024-01-31/hour=1", 4),
            ("2024-01-x", 3),
            ("2024-01-\u{0661}\u{0662}", 3),
            ("x", 5),
            ("xy", 7),
            ("", 7),
        ] {
            assert_eq!(rules.buckets_of(partition), expected, "{partition:?}");
        }
    }

    #[test]
    fn other_text_is_refused_by_name() {
        for (text, kind) in [
            ("", ErrorKind::InvalidArgument),
            ("a", ErrorKind::InvalidArgument),
            (r"\d{1,2},4", ErrorKind::InvalidArgument),
            ("a,0", ErrorKind::InvalidArgument),
            ("a,-1", ErrorKind::InvalidArgument),
            ("a,2147483648", ErrorKind::InvalidArgument),
            ("(?=a),1", ErrorKind::Unsupported),
            (r"(a)\1,1", ErrorKind::Unsupported),
        ] {
            let error = rules(text).unwrap_err();
            assert!(error.kind() == kind && error.to_string().contains("partition.expressions"), "{text:?}: {error}");
        }
        let other = PartitionExpressions { expressions: "a,1".into(), rule: "range".into() };
        assert_eq!(PartitionRules::parse(&other, 1).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
