//! Which of the file slices that may be compacted are (`CompactionStrategy` and its classes).
//!
//! | class | takes |
//! |---|---|
//! | `UnBoundedCompactionStrategy` | all |
//! | `BoundedIOCompactionStrategy` | slices until so much is read and written |
//! | `LogFileSizeBasedCompactionStrategy` | the same, those with most bytes in logs first, above a threshold |
//! | `LogFileNumBasedCompactionStrategy` | the same, those with most log files first, above a threshold |
//! | `DayBasedCompactionStrategy` | those of the latest partitions, which are days |
//! | `BoundedPartitionAwareCompactionStrategy` | those of the partitions of the last days |
//! | `UnBoundedPartitionAwareCompactionStrategy` | those of all other partitions |

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{Days, Local, NaiveDate};

use crate::config::option_values;
use crate::error::{Error, Result};
use crate::timeline::metadata::HoodieCompactionOperation;

const STRATEGY: &str = "hoodie.compaction.strategy";
const DEFAULT: &str = "LogFileSizeBasedCompactionStrategy";
const PACKAGE: &str = "org.apache.hudi.table.action.compact.strategy.";
const TARGET_IO: (&str, u64) = ("hoodie.compaction.target.io", 500 * 1024);
const LOG_BYTES: &str = "hoodie.compaction.logfile.size.threshold";
const LOG_FILES: &str = "hoodie.compaction.logfile.num.threshold";
const PARTITIONS: (&str, usize) = ("hoodie.compaction.daybased.target.partitions", 10);

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
}

const RULES: [(&str, Rule); 7] = [
    ("UnBoundedCompactionStrategy", Rule::All),
    ("BoundedIOCompactionStrategy", Rule::BoundedIo),
    (DEFAULT, Rule::LogBytes),
    ("LogFileNumBasedCompactionStrategy", Rule::LogFiles),
    ("DayBasedCompactionStrategy", Rule::LatestDays),
    ("BoundedPartitionAwareCompactionStrategy", Rule::LastDays),
    ("UnBoundedPartitionAwareCompactionStrategy", Rule::BeforeLastDays),
];

/// The strategies of a table's compactions, applied one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::services) struct CompactionStrategy {
    rules: Vec<Rule>,
    /// Megabytes that a compaction reads and writes.
    target_io: u64,
    /// The least bytes in log files of a slice.
    log_bytes: u64,
    /// The least log files of a slice.
    log_files: u64,
    /// Partitions, or days.
    partitions: usize,
}

impl CompactionStrategy {
    /// By Hudi's options.
    ///
    /// # Errors
    /// `Unsupported` for other classes; `InvalidArgument`, naming the option, for what is no number.
    pub(in crate::services) fn from_options(options: &BTreeMap<String, String>) -> Result<Self> {
        let given = options.get(STRATEGY).map_or(DEFAULT, String::as_str);
        let names = given.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self {
            rules: names.map(rule).collect::<Result<_>>()?,
            target_io: option_values::number(options, TARGET_IO.0, TARGET_IO.1)?,
            log_bytes: option_values::number(options, LOG_BYTES, 0)?,
            log_files: option_values::number(options, LOG_FILES, 0)?,
            partitions: option_values::number(options, PARTITIONS.0, PARTITIONS.1)?,
        })
    }

    /// The operations that a compaction takes, in the order of the plan.
    ///
    /// # Errors
    /// `InvalidArgument` if partitions are to be days and are not.
    pub(in crate::services) fn chosen(
        &self,
        operations: Vec<HoodieCompactionOperation>,
    ) -> Result<Vec<HoodieCompactionOperation>> {
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
            Rule::All => Ok(operations),
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
            Rule::LatestDays | Rule::LastDays | Rule::BeforeLastDays => self.of_days(rule, operations),
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

    fn of_days(
        &self,
        rule: Rule,
        operations: Vec<HoodieCompactionOperation>,
    ) -> Result<Vec<HoodieCompactionOperation>> {
        let dated = operations.into_iter().map(|operation| Ok((day_of(&operation)?, operation)));
        let mut dated = dated.collect::<Result<Vec<_>>>()?;
        dated.sort_by_key(|(day, _)| Reverse(*day));
        let days: BTreeSet<NaiveDate> = dated.iter().map(|(day, _)| *day).collect();
        let latest: BTreeSet<NaiveDate> = days.into_iter().rev().take(self.partitions).collect();
        let today = Local::now().date_naive();
        let first = today.checked_sub_days(Days::new(self.partitions as u64)).unwrap_or(NaiveDate::MIN);
        let is_chosen = |day: NaiveDate| match rule {
            Rule::LastDays => day >= first,
            Rule::BeforeLastDays => day < first,
            _ => latest.contains(&day),
        };
        Ok(dated.into_iter().filter(|(day, _)| is_chosen(*day)).map(|(_, operation)| operation).collect())
    }
}

fn rule(name: &str) -> Result<Rule> {
    let short = name.strip_prefix(PACKAGE).unwrap_or(name);
    let found = RULES.iter().find(|(class, _)| *class == short);
    found.map(|(_, rule)| *rule).ok_or_else(|| {
        let names: Vec<&str> = RULES.iter().map(|(class, _)| *class).collect();
        Error::unsupported(format!("{STRATEGY}={name} (supported: {}, in {PACKAGE})", names.join(", ")))
    })
}

/// A metric of a plan. All are whole numbers.
fn metric_of(operation: &HoodieCompactionOperation, name: &str) -> u64 {
    let value = operation.metrics.as_ref().and_then(|metrics| metrics.get(name)).copied().unwrap_or_default();
    if value > 0.0 { value as u64 } else { 0 }
}

/// The day of a partition: `yyyy/MM/dd`, or the same in Hive style.
fn day_of(operation: &HoodieCompactionOperation) -> Result<NaiveDate> {
    let partition = operation.partition_path.as_deref().unwrap_or_default();
    let values = partition.split('/').map(|part| part.split_once('=').map_or(part, |(_, value)| value));
    let path = values.collect::<Vec<_>>().join("/");
    NaiveDate::parse_from_str(&path, "%Y/%m/%d").map_err(|_| {
        let message =
            format!("{STRATEGY} takes partitions by day, and {partition:?} is not a day of the form yyyy/MM/dd");
        Error::invalid_argument(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let options: BTreeMap<String, String> =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let chosen = CompactionStrategy::from_options(&options).unwrap().chosen(operations()).unwrap();
        chosen.into_iter().map(|operation| operation.partition_path.unwrap()).collect()
    }

    #[test]
    fn slices_are_ordered_by_their_logs_and_bounded() {
        assert_eq!(chosen(&[]), ["2024/01/02", "day=2024/01/03", "2024/01/01"]);
        assert_eq!(chosen(&[(TARGET_IO.0, "15")]), ["2024/01/02", "day=2024/01/03"]);
        assert_eq!(chosen(&[(LOG_BYTES, "7")]), ["2024/01/02"]);
        let by_number = (STRATEGY, "org.apache.hudi.table.action.compact.strategy.LogFileNumBasedCompactionStrategy");
        assert_eq!(chosen(&[by_number, (LOG_FILES, "2")]), ["2024/01/01", "day=2024/01/03"]);
        assert_eq!(chosen(&[(STRATEGY, "UnBoundedCompactionStrategy"), (TARGET_IO.0, "1")]).len(), 3);
    }

    #[test]
    fn partitions_are_chosen_by_day() {
        let latest = (STRATEGY, "DayBasedCompactionStrategy");
        assert_eq!(chosen(&[latest, (PARTITIONS.0, "2")]), ["day=2024/01/03", "2024/01/02"]);
        assert!(chosen(&[(STRATEGY, "BoundedPartitionAwareCompactionStrategy")]).is_empty());
        assert_eq!(chosen(&[(STRATEGY, "UnBoundedPartitionAwareCompactionStrategy")]).len(), 3);
    }

    #[test]
    fn other_classes_and_partitions_are_refused_by_name() {
        let options = BTreeMap::from([(STRATEGY.to_owned(), "my.Own".to_owned())]);
        let error = CompactionStrategy::from_options(&options).unwrap_err().to_string();
        assert!(error.contains("my.Own") && error.contains(DEFAULT), "{error}");
        let days = BTreeMap::from([(STRATEGY.to_owned(), "DayBasedCompactionStrategy".to_owned())]);
        let odd = vec![operation("oslo", [("a", 0.0), ("b", 0.0), ("c", 0.0)])];
        let error = CompactionStrategy::from_options(&days).unwrap().chosen(odd).unwrap_err().to_string();
        assert!(error.contains("oslo"), "{error}");
    }
}
