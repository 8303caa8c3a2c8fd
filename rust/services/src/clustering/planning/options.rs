//! Options of clustering plans (`HoodieClusteringConfig`).

use mortice_base::error::{Error, Result};
use mortice_merge::config::option_names::{
    CLUSTERING_EXECUTION_STRATEGY_CLASS, CLUSTERING_PLAN_PARTITION_FILTER_MODE, CLUSTERING_PLAN_STRATEGY_CLASS,
    LAYOUT_OPTIMIZE_CURVE_BUILD_METHOD, LAYOUT_OPTIMIZE_STRATEGY,
};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

/// How the class of a strategy ends that rewrites rows in the order of columns: Spark's, Java's, Flink's.
pub(super) const SORT_AND_SIZE: &str = "SortAndSizeExecutionStrategy";
const DEFAULT_EXECUTION: &str = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy";

/// The classes of plans of consistent hashing, by which rows go to the new file groups of their nodes.
pub(super) const RING_STRATEGIES: [&str; 2] =
    ["SparkConsistentBucketClusteringExecutionStrategy", "SingleSparkJobConsistentHashingExecutionStrategy"];
/// Hudi's default of them.
const DEFAULT_RING_EXECUTION: &str =
    "org.apache.hudi.client.clustering.run.strategy.SingleSparkJobConsistentHashingExecutionStrategy";
/// The class that makes them.
const RING_PLAN: &str = "SparkConsistentBucketClusteringPlanStrategy";

/// Whether a class is of a plan of consistent hashing.
pub(super) fn is_ring_strategy(class: &str) -> bool {
    RING_STRATEGIES.iter().any(|known| class.ends_with(known))
}

/// Which partitions are planned (`ClusteringPlanPartitionFilterMode`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PartitionMode {
    /// All.
    All,
    /// So many of the last by path, without so many of the very last.
    RecentDays {
        /// How many; 0 is no limit.
        taken: usize,
        /// How many of the last are left out.
        skipped: usize,
    },
    /// Those between two paths, both included.
    Between(String, String),
    /// Of the partitions by path, those whose number modulo 24 is the hour of the day.
    DayRolling,
}

/// How columns make an order (`LayoutOptimizationStrategy`, `SpatialCurveCompositionStrategyType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowLayout {
    /// By the first column, then by the next.
    Linear,
    /// Along a curve through the values.
    Values(Curve),
    /// Along a curve through the ranks of values among so many rows.
    Ranks(Curve, usize),
}

/// A curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    /// The bits of the columns, interleaved.
    ZOrder,
    /// The Hilbert curve: without jumps.
    Hilbert,
}

/// Options of clustering: of its plans, and of the new files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusteringOptions {
    /// Base files below this size are rewritten.
    pub(super) small_file_bytes: u64,
    /// The size of new files.
    pub(crate) target_file_bytes: u64,
    pub(super) max_group_bytes: u64,
    pub(super) max_groups: usize,
    /// The size that is expected of a file group without a base file.
    pub(super) base_file_bytes: u64,
    /// Whether a single file slice is rewritten.
    pub(super) single_slices: bool,
    pub(super) sort_columns: Option<String>,
    pub(super) execution_class: String,
    /// Whether a class of consistent hashing is given.
    asks_for_rings: bool,
    has_execution_class: bool,
    pub(super) mode: PartitionMode,
    /// Partitions by path; none are all.
    pub(super) selected: Option<Vec<String>>,
    pub(super) pattern: Option<String>,
    /// How columns make an order.
    pub(crate) layout: RowLayout,
}

impl ClusteringOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, naming the option.
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        let small = options.integer(option_names::CLUSTERING_PLAN_STRATEGY_SMALL_FILE_LIMIT)?;
        let target = options.integer(option_names::CLUSTERING_PLAN_STRATEGY_TARGET_FILE_MAX_BYTES)?;
        let of_group = options.integer(option_names::CLUSTERING_PLAN_STRATEGY_MAX_BYTES_PER_GROUP)?;
        let singles = option_names::CLUSTERING_PLAN_STRATEGY_SINGLE_GROUP_CLUSTERING_ENABLED;
        let given = options.given_text(CLUSTERING_EXECUTION_STRATEGY_CLASS);
        let execution = given.unwrap_or(DEFAULT_EXECUTION);
        let plan_class = options.text(CLUSTERING_PLAN_STRATEGY_CLASS).unwrap_or_default();
        if !execution.ends_with(SORT_AND_SIZE) && !is_ring_strategy(execution) {
            let message = format!(
                "unsupported {CLUSTERING_EXECUTION_STRATEGY_CLASS}={execution} (supported: {DEFAULT_EXECUTION}, and with consistent hashing {})",
                RING_STRATEGIES.join(", ")
            );
            return Err(Error::unsupported(message));
        }
        Ok(Self {
            small_file_bytes: small,
            target_file_bytes: target,
            max_group_bytes: of_group,
            max_groups: options.integer(option_names::CLUSTERING_PLAN_STRATEGY_MAX_NUM_GROUPS)?,
            base_file_bytes: options.integer(option_names::PARQUET_MAX_FILE_SIZE)?,
            single_slices: options.boolean(singles)?,
            sort_columns: options.text(option_names::CLUSTERING_PLAN_STRATEGY_SORT_COLUMNS).map(str::to_owned),
            execution_class: execution.to_owned(),
            asks_for_rings: is_ring_strategy(execution) || plan_class.ends_with(RING_PLAN),
            has_execution_class: given.is_some(),
            mode: partition_mode(options)?,
            selected: options.text(option_names::CLUSTERING_PLAN_STRATEGY_PARTITION_SELECTED).map(listed),
            layout: row_layout(options)?,
            pattern: options.text(option_names::CLUSTERING_PLAN_STRATEGY_PARTITION_REGEX_PATTERN).map(str::to_owned),
        })
    }

    /// The same, for plans of a table that has consistent hashing, or has not: each has classes of its own.
    ///
    /// # Errors
    /// `InvalidArgument` for classes of the other.
    pub(crate) fn of_table(mut self, has_rings: bool) -> Result<Self> {
        let is_other = if has_rings { self.has_execution_class && !self.asks_for_rings } else { self.asks_for_rings };
        if is_other {
            let (is, class) = if has_rings {
                ("has", RING_STRATEGIES.join(" or "))
            } else {
                ("does not have", DEFAULT_EXECUTION.to_owned())
            };
            return Err(Error::invalid_argument(format!(
                "the table {is} consistent hashing; leave {CLUSTERING_EXECUTION_STRATEGY_CLASS} and {CLUSTERING_PLAN_STRATEGY_CLASS} out, or set the first to {class}"
            )));
        }
        if has_rings && !is_ring_strategy(&self.execution_class) {
            DEFAULT_RING_EXECUTION.clone_into(&mut self.execution_class);
        }
        Ok(self)
    }

    /// The columns that rows are sorted by; none are not sorted.
    #[must_use]
    pub(crate) fn sort_columns(&self) -> Vec<String> {
        self.sort_columns.as_deref().map(listed).unwrap_or_default()
    }
}

fn row_layout(options: &WriteOptions) -> Result<RowLayout> {
    let named = |name: WriteOption<option_names::Word>| {
        Result::Ok(options.word(name)?.to_ascii_lowercase().replace(['-', '_'], ""))
    };
    let curve = match named(LAYOUT_OPTIMIZE_STRATEGY)?.as_str() {
        "linear" => return Ok(RowLayout::Linear),
        "zorder" => Curve::ZOrder,
        "hilbert" => Curve::Hilbert,
        other => {
            let message =
                format!("option {LAYOUT_OPTIMIZE_STRATEGY} must be linear, z-order or hilbert, got {other:?}");
            return Err(Error::invalid_argument(message));
        }
    };
    match named(LAYOUT_OPTIMIZE_CURVE_BUILD_METHOD)?.as_str() {
        "direct" => Ok(RowLayout::Values(curve)),
        "sample" => {
            Ok(RowLayout::Ranks(curve, options.integer(option_names::LAYOUT_OPTIMIZE_BUILD_CURVE_SAMPLE_SIZE)?))
        }
        other => Err(Error::invalid_argument(format!(
            "option {LAYOUT_OPTIMIZE_CURVE_BUILD_METHOD} must be direct or sample, got {other:?}"
        ))),
    }
}

/// The parts of a list, which are separated by commas.
pub(super) fn listed(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|column| !column.is_empty()).map(str::to_owned).collect()
}

/// The partition filter: that of the option, or of an older plan strategy (`checkAndGetClusteringPlanStrategy`).
fn partition_mode(options: &WriteOptions) -> Result<PartitionMode> {
    let class = options.text(CLUSTERING_PLAN_STRATEGY_CLASS).unwrap_or("");
    let strategy = class.rsplit('.').next().unwrap_or(class);
    let mode = match strategy {
        "" | "SparkSizeBasedClusteringPlanStrategy" | "JavaSizeBasedClusteringPlanStrategy" | RING_PLAN => {
            options.word(CLUSTERING_PLAN_PARTITION_FILTER_MODE)?
        }
        "SparkRecentDaysClusteringPlanStrategy" | "JavaRecentDaysClusteringPlanStrategy" => "RECENT_DAYS",
        "SparkSelectedPartitionsClusteringPlanStrategy" => "SELECTED_PARTITIONS",
        _ => {
            let message = format!(
                "unsupported {CLUSTERING_PLAN_STRATEGY_CLASS}={class} (supported: SparkSizeBasedClusteringPlanStrategy, with {CLUSTERING_PLAN_PARTITION_FILTER_MODE})"
            );
            return Err(Error::unsupported(message));
        }
    };
    let bound = |name: WriteOption<option_names::Text>| {
        let given = options.given_text(name).map(|path| path.trim().to_owned());
        given.ok_or_else(|| {
            Error::invalid_argument(format!(
                "{CLUSTERING_PLAN_PARTITION_FILTER_MODE}=SELECTED_PARTITIONS needs option {name}"
            ))
        })
    };
    match mode.to_ascii_uppercase().as_str() {
        "NONE" => Ok(PartitionMode::All),
        "RECENT_DAYS" => Ok(PartitionMode::RecentDays {
            taken: options.integer(option_names::CLUSTERING_PLAN_STRATEGY_DAYBASED_LOOKBACK_PARTITIONS)?,
            skipped: options.integer(option_names::CLUSTERING_PLAN_STRATEGY_DAYBASED_SKIPFROMLATEST_PARTITIONS)?,
        }),
        "SELECTED_PARTITIONS" => Ok(PartitionMode::Between(
            bound(option_names::CLUSTERING_PLAN_STRATEGY_CLUSTER_BEGIN_PARTITION)?,
            bound(option_names::CLUSTERING_PLAN_STRATEGY_CLUSTER_END_PARTITION)?,
        )),
        "DAY_ROLLING" => Ok(PartitionMode::DayRolling),
        _ => Err(Error::invalid_argument(format!(
            "option {CLUSTERING_PLAN_PARTITION_FILTER_MODE} must be NONE, RECENT_DAYS, SELECTED_PARTITIONS or DAY_ROLLING, got {mode:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &[(&str, &str)]) -> Result<ClusteringOptions> {
        let options = WriteOptions::resolve(options.iter().copied())?;
        ClusteringOptions::resolve(&options)
    }

    #[test]
    fn defaults_are_those_of_hudi() {
        let options = parse(&[]).unwrap();
        assert_eq!((options.small_file_bytes, options.target_file_bytes), (314_572_800, 1_073_741_824));
        assert_eq!((options.max_group_bytes, options.max_groups), (2_147_483_648, 30));
        assert_eq!((options.mode, options.single_slices), (PartitionMode::All, true));
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        for (name, value) in [
            (CLUSTERING_PLAN_PARTITION_FILTER_MODE.name(), "YESTERDAY"),
            (CLUSTERING_PLAN_PARTITION_FILTER_MODE.name(), "SELECTED_PARTITIONS"),
            (CLUSTERING_PLAN_STRATEGY_CLASS.name(), "org.apache.hudi.Other"),
            ("hoodie.clustering.plan.strategy.max.num.groups", "0"),
        ] {
            assert!(parse(&[(name, value)]).unwrap_err().to_string().contains(name), "{name}");
        }
    }
}
