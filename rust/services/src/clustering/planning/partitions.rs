//! Which partitions are planned (`ClusteringPlanPartitionFilter`).

use std::collections::BTreeSet;

use super::options::{ClusteringOptions, PartitionMode};
use mortice_base::error::Result;

/// Chooses among partition paths. `hour` is that of the day, in the zone of the timeline.
pub(super) fn chosen_partitions(
    partitions: BTreeSet<String>,
    options: &ClusteringOptions,
    hour: usize,
) -> Result<Vec<String>> {
    let mut paths: Vec<String> = match &options.selected {
        Some(selected) => selected.iter().filter(|path| partitions.contains(*path)).cloned().collect(),
        None => partitions.into_iter().collect(),
    };
    if let Some(pattern) = &options.pattern {
        paths = matching(paths, pattern)?;
    }
    Ok(match &options.mode {
        PartitionMode::All => paths,
        PartitionMode::RecentDays { taken, skipped } => {
            paths.sort_unstable_by(|one, other| other.cmp(one));
            let limit = if *taken == 0 { usize::MAX } else { *taken };
            paths.into_iter().skip(*skipped).take(limit).collect()
        }
        PartitionMode::Between(begin, end) => {
            paths.into_iter().filter(|path| *path >= *begin && *path <= *end).collect()
        }
        PartitionMode::DayRolling => {
            paths.sort_unstable();
            paths.into_iter().enumerate().filter(|(number, _)| number % 24 == hour).map(|(_, path)| path).collect()
        }
    })
}

/// The paths that a pattern matches as a whole.
fn matching(paths: Vec<String>, pattern: &str) -> Result<Vec<String>> {
    const OPTION: &str = "hoodie.clustering.plan.strategy.partition.regex.pattern";
    let regex = regex::Regex::new(&format!("^(?:{pattern})$")).map_err(|error| {
        mortice_base::error::Error::invalid_argument(format!("option {OPTION} is no regular expression: {pattern:?}"))
            .caused_by(error)
    })?;
    Ok(paths.into_iter().filter(|path| regex.is_match(path)).collect())
}

#[cfg(test)]
mod tests {

    use super::*;
    use mortice_merge::config::WriteOptions;

    #[test]
    fn partitions_are_chosen_by_mode_and_pattern() {
        const PREFIX: &str = "hoodie.clustering.plan.";
        let all = || ["2024/01", "2024/02", "2024/03", "2024/04"].map(str::to_owned).into_iter().collect();
        for (options, chosen) in [
            (vec![], vec!["2024/01", "2024/02", "2024/03", "2024/04"]),
            (vec![("partition.filter.mode", "RECENT_DAYS")], vec!["2024/04", "2024/03"]),
            (
                vec![
                    ("partition.filter.mode", "recent_days"),
                    ("strategy.daybased.lookback.partitions", "1"),
                    ("strategy.daybased.skipfromlatest.partitions", "1"),
                ],
                vec!["2024/03"],
            ),
            (
                vec![
                    ("partition.filter.mode", "SELECTED_PARTITIONS"),
                    ("strategy.cluster.begin.partition", "2024/02"),
                    ("strategy.cluster.end.partition", "2024/03"),
                ],
                vec!["2024/02", "2024/03"],
            ),
            (vec![("partition.filter.mode", "DAY_ROLLING")], vec!["2024/02"]),
            (vec![("strategy.partition.regex.pattern", ".*/0[13]")], vec!["2024/01", "2024/03"]),
            (vec![("strategy.partition.regex.pattern", "01")], vec![]),
            (vec![("strategy.partition.selected", "2024/04,2025/01")], vec!["2024/04"]),
        ] {
            let named = options.iter().map(|(name, value)| (format!("{PREFIX}{name}"), *value));
            let parsed = ClusteringOptions::resolve(&WriteOptions::resolve(named).unwrap()).unwrap();
            assert_eq!(chosen_partitions(all(), &parsed, 1).unwrap(), chosen, "{options:?}");
        }
    }
}
