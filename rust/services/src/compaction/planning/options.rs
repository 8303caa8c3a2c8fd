//! When tables and logs are compacted, and what they take, by Hudi's options (`HoodieCompactionConfig`).

use super::strategy::CompactionStrategy;
use super::trigger::{Trigger, TriggerStrategy};
use mortice_base::error::Result;
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

/// How a table is compacted.
#[derive(Debug, Clone)]
pub(crate) struct CompactionOptions {
    pub(super) trigger: Trigger,
    pub(super) strategy: CompactionStrategy,
    pub(super) base_bytes: u64,
}

impl CompactionOptions {
    /// Reads the options. `commits` is the number of delta commits after which a compaction is due if options do not
    /// say it, in place of the option's default.
    pub(crate) fn resolve(options: &WriteOptions, commits: Option<u64>) -> Result<Self> {
        let names = TriggerNames {
            strategy: option_names::COMPACT_INLINE_TRIGGER_STRATEGY,
            commits: option_names::COMPACT_INLINE_MAX_DELTA_COMMITS,
            seconds: option_names::COMPACT_INLINE_MAX_DELTA_SECONDS,
        };
        let commits = commits.filter(|_| !options.is_given(names.commits));
        let trigger = trigger(options, names)?;
        Ok(Self {
            trigger: commits.map_or(trigger, |commits| Trigger { commits, ..trigger }),
            strategy: CompactionStrategy::resolve(options)?,
            base_bytes: options.integer(option_names::PARQUET_MAX_FILE_SIZE)?,
        })
    }
}

/// How the logs of a table are compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogCompactionOptions {
    /// Log blocks or files of a slice, and delta commits of the table, from which on logs are compacted.
    pub(super) threshold: u64,
    pub(super) base_bytes: u64,
}

impl LogCompactionOptions {
    /// Reads the options.
    pub(crate) fn resolve(options: &WriteOptions) -> Result<Self> {
        Ok(Self {
            threshold: options.integer(option_names::LOG_COMPACTION_BLOCKS_THRESHOLD)?,
            base_bytes: options.integer(option_names::PARQUET_MAX_FILE_SIZE)?,
        })
    }
}

/// The options of a trigger: a table has others than its metadata table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TriggerNames {
    pub(crate) strategy: WriteOption<option_names::Word>,
    pub(crate) commits: WriteOption<option_names::Integer>,
    pub(crate) seconds: WriteOption<option_names::Integer>,
}

/// Reads the options of a trigger.
pub(crate) fn trigger(options: &WriteOptions, names: TriggerNames) -> Result<Trigger> {
    Ok(Trigger {
        strategy: TriggerStrategy::parse(options.word(names.strategy)?, names.strategy.name())?,
        commits: options.integer(names.commits)?,
        seconds: options.integer(names.seconds)?,
    })
}
