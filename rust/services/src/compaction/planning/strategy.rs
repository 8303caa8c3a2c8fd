//! Which of the file slices that may be compacted are (`CompactionStrategy` and its classes).
//!
//! | class | takes |
//! |---|---|
//! | `UnBoundedCompactionStrategy` | all |
//! | `BoundedIOCompactionStrategy` | slices until so much is read and written |
//! | `LogFileSizeBasedCompactionStrategy` | the same, those with most bytes in logs first, above a threshold |
//! | `LogFileNumBasedCompactionStrategy` | the same, those with most log files first, above a threshold |
//! | `DayBasedCompactionStrategy` | of the latest partitions, which are days, slices until so much is read and written |
//! | `BoundedPartitionAwareCompactionStrategy` | those of the partitions of the last days |
//! | `UnBoundedPartitionAwareCompactionStrategy` | those of all other partitions |
//! | `PartitionRegexBasedCompactionStrategy` | those of partitions in whose paths a pattern is found |
//!
//! As in Hudi, partitions are chosen first, by all strategies, then slices.

use std::cmp::Reverse;

use chrono::{Days, NaiveDate};
use regex::Regex;

use mortice_base::error::{Error, Result};
use mortice_merge::config::WriteOptions;
use mortice_merge::config::option_names::{
    COMPACTION_DAYBASED_TARGET_PARTITIONS, COMPACTION_LOGFILE_NUM_THRESHOLD, COMPACTION_LOGFILE_SIZE_THRESHOLD,
    COMPACTION_PARTITION_PATH_REGEX, COMPACTION_STRATEGY, COMPACTION_TARGET_IO,
};
use mortice_table::timeline::metadata::HoodieCompactionOperation;

const PACKAGE: &str = "org.apache.hudi.table.action.compact.strategy.";

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    All,
    BoundedIo,
    LogBytes,
    LogFiles,
    LatestDays,
    LastDays,
    BeforeLastDays,
    Pattern,
}

const RULES: [(&str, Rule); 8] = [
    ("UnBoundedCompactionStrategy", Rule::All),
    ("BoundedIOCompactionStrategy", Rule::BoundedIo),
    ("LogFileSizeBasedCompactionStrategy", Rule::LogBytes),
    ("LogFileNumBasedCompactionStrategy", Rule::LogFiles),
    ("DayBasedCompactionStrategy", Rule::LatestDays),
    ("BoundedPartitionAwareCompactionStrategy", Rule::LastDays),
    ("UnBoundedPartitionAwareCompactionStrategy", Rule::BeforeLastDays),
    ("PartitionRegexBasedCompactionStrategy", Rule::Pattern),
];

/// The strategies of a table's compactions, applied one after the other.
#[derive(Debug, Clone)]
pub(crate) struct CompactionStrategy {
    rules: Vec<Rule>,
    /// Megabytes that a compaction reads and writes.
    target_io: u64,
    /// The least bytes in log files of a slice.
    log_bytes: u64,
    /// The least log files of a slice.
    log_files: u64,
    /// Partitions, or days.
    partitions: usize,
    /// The pattern of partition paths, of the rule that has one.
    pattern: Option<Regex>,
}

impl CompactionStrategy {
    /// Reads the options.
    pub(crate) fn resolve(options: &WriteOptions) -> Result<Self> {
        let given = options.word(COMPACTION_STRATEGY)?;
        let names = given.split(',').map(str::trim).filter(|name| !name.is_empty());
        let rules = names.map(rule).collect::<Result<Vec<_>>>()?;
        let pattern = rules.contains(&Rule::Pattern).then(|| pattern(options)).transpose()?;
        Ok(Self {
            rules,
            pattern,
            target_io: options.integer(COMPACTION_TARGET_IO)?,
            log_bytes: options.integer(COMPACTION_LOGFILE_SIZE_THRESHOLD)?,
            log_files: options.integer(COMPACTION_LOGFILE_NUM_THRESHOLD)?,
            partitions: options.integer(COMPACTION_DAYBASED_TARGET_PARTITIONS)?,
        })
    }

    /// The partitions that a compaction takes slices of.
    pub(crate) fn chosen_partitions<'a>(&self, paths: Vec<&'a str>, today: NaiveDate) -> Result<Vec<&'a str>> {
        let mut paths = paths;
        for rule in &self.rules {
            paths = match rule {
                Rule::All | Rule::BoundedIo | Rule::LogBytes | Rule::LogFiles => paths,
                Rule::Pattern => {
                    let is_found = |path: &&str| self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(path));
                    paths.into_iter().filter(is_found).collect()
                }
                Rule::LatestDays | Rule::LastDays | Rule::BeforeLastDays => self.of_days(*rule, paths, today)?,
            };
        }
        Ok(paths)
    }

    /// The operations that a compaction takes, in the order of the plan.
    pub(crate) fn chosen(&self, operations: Vec<HoodieCompactionOperation>) -> Result<Vec<HoodieCompactionOperation>> {
        let mut operations = operations;
        for rule in &self.rules {
            operations = self.chosen_by(*rule, operations)?;
        }
        Ok(operations)
    }

    fn chosen_by(
        &self,
        rule: Rule,
        mut operations: Vec<HoodieCompactionOperation>,
    ) -> Result<Vec<HoodieCompactionOperation>> {
        match rule {
            Rule::All | Rule::Pattern | Rule::BeforeLastDays => Ok(operations),
            Rule::BoundedIo => Ok(self.bounded(operations)),
            Rule::LogBytes | Rule::LogFiles => {
                let (metric, least) = match rule {
                    Rule::LogBytes => ("TOTAL_LOG_FILES_SIZE", self.log_bytes),
                    _ => ("TOTAL_LOG_FILES", self.log_files),
                };
                operations.retain(|operation| metric_of(operation, metric) >= least);
                operations.sort_by_key(|operation| Reverse(metric_of(operation, metric)));
                Ok(self.bounded(operations))
            }
            Rule::LatestDays | Rule::LastDays => {
                let day = |one: &HoodieCompactionOperation| day_of(one.partition_path.as_deref().unwrap_or_default());
                let dated = operations.into_iter().map(|operation| Ok((day(&operation)?, operation)));
                let mut dated = dated.collect::<Result<Vec<_>>>()?;
                dated.sort_by_key(|(day, _)| Reverse(*day));
                let operations = dated.into_iter().map(|(_, operation)| operation).collect();
                Ok(if rule == Rule::LatestDays { self.bounded(operations) } else { operations })
            }
        }
    }

    /// Operations until the target is reached.
    fn bounded(&self, operations: Vec<HoodieCompactionOperation>) -> Vec<HoodieCompactionOperation> {
        let mut sum = 0_u64;
        let mut kept = Vec::new();
        for operation in operations {
            sum = sum.saturating_add(metric_of(&operation, "TOTAL_IO_MB"));
            kept.push(operation);
            if sum >= self.target_io {
                break;
            }
        }
        kept
    }

    fn of_days<'a>(&self, rule: Rule, paths: Vec<&'a str>, today: NaiveDate) -> Result<Vec<&'a str>> {
        let dated = paths.into_iter().map(|path| Ok((day_of(path)?, path)));
        let mut dated = dated.collect::<Result<Vec<_>>>()?;
        dated.sort_by_key(|(day, _)| Reverse(*day));
        let first = today.checked_sub_days(Days::new(self.partitions as u64)).unwrap_or(NaiveDate::MIN);
        match rule {
            Rule::LastDays => dated.retain(|(day, _)| *day >= first),
            Rule::BeforeLastDays => dated.retain(|(day, _)| *day < first),
            _ => dated.truncate(self.partitions),
        }
        Ok(dated.into_iter().map(|(_, path)| path).collect())
    }
}

/// The pattern of partition paths, which is searched in them (`Pattern.asPredicate`).
fn pattern(options: &WriteOptions) -> Result<Regex> {
    let Some(given) = options.given_text(COMPACTION_PARTITION_PATH_REGEX) else {
        let message = format!(
            "{COMPACTION_STRATEGY}=PartitionRegexBasedCompactionStrategy needs option {COMPACTION_PARTITION_PATH_REGEX}"
        );
        return Err(Error::invalid_argument(message));
    };
    Regex::new(given).map_err(|error| {
        let message = format!(
            "option {COMPACTION_PARTITION_PATH_REGEX} must be a regular expression without look-around and back-references, got {given:?}"
        );
        Error::invalid_argument(message).caused_by(error)
    })
}

fn rule(name: &str) -> Result<Rule> {
    let short = name.strip_prefix(PACKAGE).unwrap_or(name);
    let found = RULES.iter().find(|(class, _)| *class == short);
    found.map(|(_, rule)| *rule).ok_or_else(|| {
        let names: Vec<&str> = RULES.iter().map(|(class, _)| *class).collect();
        Error::unsupported(format!("{COMPACTION_STRATEGY}={name} (supported: {}, in {PACKAGE})", names.join(", ")))
    })
}

/// A metric of a plan. All are whole numbers.
fn metric_of(operation: &HoodieCompactionOperation, name: &str) -> u64 {
    let value = operation.metrics.as_ref().and_then(|metrics| metrics.get(name)).copied().unwrap_or_default();
    if value > 0.0 { value as u64 } else { 0 }
}

/// The day of a partition: `yyyy/MM/dd`, or the same in Hive style.
fn day_of(partition: &str) -> Result<NaiveDate> {
    let values = partition.split('/').map(|part| part.split_once('=').map_or(part, |(_, value)| value));
    let path = values.collect::<Vec<_>>().join("/");
    NaiveDate::parse_from_str(&path, "%Y/%m/%d").map_err(|_| {
        let message = format!(
            "{COMPACTION_STRATEGY} takes partitions by day, and {partition:?} is not a day of the form yyyy/MM/dd"
        );
        Error::invalid_argument(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_merge::config::option_names;

    const STRATEGY: &str = option_names::COMPACTION_STRATEGY.name();
    const TARGET_IO: &str = option_names::COMPACTION_TARGET_IO.name();
    const LOG_BYTES: &str = option_names::COMPACTION_LOGFILE_SIZE_THRESHOLD.name();
    const LOG_FILES: &str = option_names::COMPACTION_LOGFILE_NUM_THRESHOLD.name();
    const PATTERN: &str = option_names::COMPACTION_PARTITION_PATH_REGEX.name();
    const PARTITIONS: &str = option_names::COMPACTION_DAYBASED_TARGET_PARTITIONS.name();

    const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2024, 2, 1).unwrap();

    fn operation(partition: &str, metrics: [(&str, f64); 3]) -> HoodieCompactionOperation {
        HoodieCompactionOperation {
            partition_path: Some(partition.to_owned()),
            file_id: Some(format!("{partition} {}", metrics[0].1)),
            metrics: Some(metrics.into_iter().collect()),
            ..HoodieCompactionOperation::default()
        }
    }

    fn operations() -> Vec<HoodieCompactionOperation> {
        let of = |partition: &str, log_bytes: f64, log_files: f64| {
            operation(
                partition,
                [("TOTAL_LOG_FILES_SIZE", log_bytes), ("TOTAL_LOG_FILES", log_files), ("TOTAL_IO_MB", 10.0)],
            )
        };
        vec![of("2024/01/01", 5.0, 9.0), of("2024/01/02", 7.0, 1.0), of("day=2024/01/03", 6.0, 2.0)]
    }

    fn chosen(options: &[(&str, &str)]) -> Vec<String> {
        let options = WriteOptions::resolve(options.iter().copied()).unwrap();
        let strategy = CompactionStrategy::resolve(&options).unwrap();
        let all = operations();
        let paths = all.iter().map(|operation| operation.partition_path.as_deref().unwrap()).collect();
        let paths: Vec<String> =
            strategy.chosen_partitions(paths, TODAY).unwrap().into_iter().map(str::to_owned).collect();
        let all = all.into_iter().filter(|one| paths.contains(one.partition_path.as_ref().unwrap())).collect();
        let chosen = strategy.chosen(all).unwrap();
        chosen.into_iter().map(|operation| operation.partition_path.unwrap()).collect()
    }

    #[test]
    fn slices_are_ordered_by_their_logs_and_bounded() {
        assert_eq!(chosen(&[]), ["2024/01/02", "day=2024/01/03", "2024/01/01"]);
        assert_eq!(chosen(&[(TARGET_IO, "15")]), ["2024/01/02", "day=2024/01/03"]);
        assert_eq!(chosen(&[(LOG_BYTES, "7")]), ["2024/01/02"]);
        let by_number = (STRATEGY, "org.apache.hudi.table.action.compact.strategy.LogFileNumBasedCompactionStrategy");
        assert_eq!(chosen(&[by_number, (LOG_FILES, "2")]), ["2024/01/01", "day=2024/01/03"]);
        assert_eq!(chosen(&[(STRATEGY, "UnBoundedCompactionStrategy"), (TARGET_IO, "1")]).len(), 3);
    }

    #[test]
    fn partitions_are_chosen_by_day() {
        let latest = (STRATEGY, "DayBasedCompactionStrategy");
        assert_eq!(chosen(&[latest, (PARTITIONS, "2")]), ["day=2024/01/03", "2024/01/02"]);
        assert!(chosen(&[(STRATEGY, "BoundedPartitionAwareCompactionStrategy")]).is_empty());
        assert_eq!(chosen(&[(STRATEGY, "UnBoundedPartitionAwareCompactionStrategy")]).len(), 3);
    }

    #[test]
    fn partitions_are_chosen_by_a_pattern_that_is_found_in_their_paths() {
        let strategy = (STRATEGY, "PartitionRegexBasedCompactionStrategy");
        assert_eq!(chosen(&[strategy, (PATTERN, "/0[23]$")]), ["2024/01/02", "day=2024/01/03"]);
        assert_eq!(chosen(&[strategy, (PATTERN, "^2024")]), ["2024/01/01", "2024/01/02"]);
        let both = (STRATEGY, "PartitionRegexBasedCompactionStrategy,LogFileNumBasedCompactionStrategy");
        assert_eq!(chosen(&[both, (PATTERN, "0[13]"), (LOG_FILES, "3")]), ["2024/01/01"]);
        let error = |options: &[(&str, &str)]| {
            let strategy =
                WriteOptions::resolve(options.iter().copied()).and_then(|given| CompactionStrategy::resolve(&given));
            strategy.unwrap_err().to_string()
        };
        assert!(error(&[strategy]).contains("needs option hoodie.compaction.partition.path.regex"));
        assert!(error(&[strategy, (PATTERN, "(?=x)")]).contains("(?=x)"));
    }

    #[test]
    fn the_latest_days_are_those_of_all_partitions_and_bounded() {
        let latest = (STRATEGY, "DayBasedCompactionStrategy");
        assert_eq!(chosen(&[latest, (TARGET_IO, "15")]), ["day=2024/01/03", "2024/01/02"]);
        assert_eq!(chosen(&[latest, (TARGET_IO, "5")]), ["day=2024/01/03"]);
        let options = WriteOptions::resolve([latest, (PARTITIONS, "1")]).unwrap();
        let strategy = CompactionStrategy::resolve(&options).unwrap();
        assert_eq!(strategy.chosen_partitions(vec!["2024/01/01", "2024/01/02"], TODAY).unwrap(), ["2024/01/02"]);
    }

    #[test]
    fn other_classes_and_partitions_are_refused_by_name() {
        let error = WriteOptions::resolve([(STRATEGY, "my.Own")]).unwrap_err().to_string();
        assert!(error.contains("my.Own") && error.contains("LogFileSizeBasedCompactionStrategy"), "{error}");
        let days = WriteOptions::resolve([(STRATEGY, "DayBasedCompactionStrategy")]).unwrap();
        let strategy = CompactionStrategy::resolve(&days).unwrap();
        let error = strategy.chosen_partitions(vec!["oslo"], TODAY).unwrap_err().to_string();
        assert!(error.contains("oslo"), "{error}");
    }
}
