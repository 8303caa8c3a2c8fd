//! Which partitions expire, by Hudi's options (`HoodieTTLConfig`).

use mortice_base::error::Result;
use mortice_merge::config::{WriteOptions, option_names};

const MILLIS_OF_DAY: i64 = 86_400_000;

/// What the age of a partition is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionAge {
    /// The last write to it (`KeepByTimeStrategy`).
    LastWrite,
    /// The write that created it (`KeepByCreationTimeStrategy`).
    Creation,
}

/// Which partitions expire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionTtlOptions {
    /// What their age is counted from.
    pub age: PartitionAge,
    /// The age at which they expire, in milliseconds; none expires without it.
    pub ttl_millis: Option<i64>,
    /// The partitions that may expire; all if there are none.
    pub selected: Vec<String>,
    /// How many expire at once.
    pub limit: usize,
}

impl PartitionTtlOptions {
    /// By the options of a write or the service.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, naming the option.
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let class = options.text(option_names::PARTITION_TTL_STRATEGY_CLASS).unwrap_or_default();
        let by_creation = if class.is_empty() {
            let word = options.word(option_names::PARTITION_TTL_MANAGEMENT_STRATEGY_TYPE)?;
            word.eq_ignore_ascii_case("KEEP_BY_CREATION_TIME")
        } else {
            class.ends_with("KeepByCreationTimeStrategy")
        };
        let days: i64 = options.integer(option_names::PARTITION_TTL_STRATEGY_DAYS_RETAIN)?;
        let selected = options.text(option_names::PARTITION_TTL_STRATEGY_PARTITION_SELECTED).unwrap_or_default();
        let selected = selected.split(',').map(str::trim).filter(|path| !path.is_empty()).map(str::to_owned);
        Ok(Self {
            age: if by_creation { PartitionAge::Creation } else { PartitionAge::LastWrite },
            ttl_millis: (days > 0).then(|| days.saturating_mul(MILLIS_OF_DAY)),
            selected: selected.collect(),
            limit: options.integer(option_names::PARTITION_TTL_STRATEGY_MAX_DELETE_PARTITIONS)?,
        })
    }
}
