//! Clustering plans by size (`PartitionAwareClusteringPlanStrategy`, `SparkSizeBasedClusteringPlanStrategy`): the small
//! file slices of a partition, the largest first, in groups of at most so many bytes.

use std::collections::{BTreeMap, BTreeSet};

use super::options::ClusteringOptions;
use super::partitions::chosen_partitions;
use crate::data_paths::plan_path;
use mortice_base::error::Result;
use mortice_merge::config::option_names::CLUSTERING_PLAN_STRATEGY_SORT_COLUMNS;
use mortice_storage::Storage;
use mortice_table::file_group::{BaseFile, FileSlice};
use mortice_table::timeline::Timeline;
use mortice_table::timeline::metadata::{
    HoodieClusteringGroup, HoodieClusteringPlan, HoodieClusteringStrategy, HoodieRequestedReplaceMetadata,
    HoodieSliceInfo, OrderedMap,
};

/// The version of plans and their parts.
const VERSION: i32 = 1;

/// Plans a clustering of these slices, the latest of each file group; none if there is nothing to do. Slices in other
/// pending plans are left out. `hour` is that of the day, in the zone of the timeline.
pub(crate) fn clustering_plan(
    store: &dyn Storage,
    timeline: &Timeline,
    slices: Vec<FileSlice>,
    options: &ClusteringOptions,
    hour: usize,
) -> Result<Option<HoodieRequestedReplaceMetadata>> {
    let planned = groups_of_plans(timeline)?;
    let mut by_partition: BTreeMap<String, Vec<FileSlice>> = BTreeMap::new();
    for slice in slices {
        let eligible = by_partition.entry(slice.partition.clone()).or_default();
        let is_planned = planned.contains(&(slice.partition.clone(), slice.file_id.clone()));
        if !is_planned && base_bytes(&slice, 0) < options.small_file_bytes {
            eligible.push(slice);
        }
    }
    let partitions: BTreeSet<String> = by_partition.keys().cloned().collect();
    let mut groups = Vec::new();
    for partition in chosen_partitions(partitions, options, hour)? {
        let eligible = by_partition.remove(&partition).unwrap_or_default();
        groups.extend(groups_of_partition(eligible, options));
    }
    groups.truncate(options.max_groups);
    if groups.is_empty() {
        return Ok(None);
    }
    let groups = groups.iter().map(|group| group_of_plan(store, group, options)).collect();
    Ok(Some(requested(groups, options)))
}

/// Partition and file id of the file groups in pending compactions, log compactions and clustering.
pub(super) fn groups_of_plans(timeline: &Timeline) -> Result<BTreeSet<(String, String)>> {
    let compactions = timeline.pending_compactions()?.into_iter().chain(timeline.pending_log_compactions()?);
    let operations = compactions.flat_map(|plan| plan.operations);
    let compacted = operations.map(|operation| (operation.partition, operation.file_id));
    let clustered = timeline.file_groups_in_pending_clustering()?;
    Ok(compacted.chain(clustered.into_iter().map(|group| (group.partition, group.file_id))).collect())
}

fn base_bytes(slice: &FileSlice, otherwise: u64) -> u64 {
    slice.base_file.as_ref().map_or(otherwise, |base| base.len)
}

/// Slices that are rewritten together.
struct SliceGroup {
    slices: Vec<FileSlice>,
    bytes: u64,
}

fn groups_of_partition(mut slices: Vec<FileSlice>, options: &ClusteringOptions) -> Vec<SliceGroup> {
    let bytes_of = |slice: &FileSlice| base_bytes(slice, options.base_file_bytes);
    slices.sort_by_key(|slice| std::cmp::Reverse(bytes_of(slice)));
    let mut groups = Vec::new();
    let mut current = SliceGroup { slices: Vec::new(), bytes: 0 };
    for slice in slices {
        let bytes = bytes_of(&slice);
        if current.bytes.saturating_add(bytes) > options.max_group_bytes && !current.slices.is_empty() {
            groups.push(std::mem::replace(&mut current, SliceGroup { slices: Vec::new(), bytes: 0 }));
            if groups.len() >= options.max_groups {
                return groups;
            }
        }
        current.bytes = current.bytes.saturating_add(bytes);
        current.slices.push(slice);
    }
    if current.slices.len() > 1 || (options.single_slices && !current.slices.is_empty()) {
        groups.push(current);
    }
    groups
}

fn group_of_plan(store: &dyn Storage, group: &SliceGroup, options: &ClusteringOptions) -> HoodieClusteringGroup {
    new_group(store, &group.slices, group.bytes.div_ceil(options.target_file_bytes.max(1)), options)
}

/// A group of slices that become so many file groups.
pub(super) fn new_group(
    store: &dyn Storage,
    slices: &[FileSlice],
    outputs: u64,
    options: &ClusteringOptions,
) -> HoodieClusteringGroup {
    HoodieClusteringGroup {
        slices: Some(slices.iter().map(|slice| slice_of_plan(store, slice)).collect()),
        metrics: Some(metrics(slices, options.base_file_bytes)),
        num_output_file_groups: Some(i32::try_from(outputs).unwrap_or(i32::MAX)),
        version: Some(VERSION),
        ..HoodieClusteringGroup::default()
    }
}

/// Numbers on what is read and written, in MiB (`FileSliceMetricUtils`).
fn metrics(slices: &[FileSlice], new_base_bytes: u64) -> OrderedMap<f64> {
    const MEBI: u64 = 1 << 20;
    let sum = |of: &dyn Fn(&FileSlice) -> u64| slices.iter().fold(0_u64, |sum, slice| sum.saturating_add(of(slice)));
    let logs = sum(&|slice| slice.log_files.iter().fold(0_u64, |sum, log| sum.saturating_add(log.len)));
    let read = sum(&|slice| base_bytes(slice, 0)).saturating_add(logs) / MEBI;
    let written = sum(&|slice| base_bytes(slice, new_base_bytes)) / MEBI;
    let metrics = [
        ("TOTAL_LOG_FILES", sum(&|slice| slice.log_files.len() as u64)),
        ("TOTAL_IO_MB", read.saturating_add(written)),
        ("TOTAL_IO_READ_MB", read),
        ("TOTAL_LOG_FILES_SIZE", logs),
        ("TOTAL_IO_WRITE_MB", written),
    ];
    metrics.iter().map(|(name, value)| (*name, *value as f64)).collect()
}

fn slice_of_plan(store: &dyn Storage, slice: &FileSlice) -> HoodieSliceInfo {
    let base = slice.base_file.as_ref().map(|base| plan_path(store, &base.path));
    HoodieSliceInfo {
        data_file_path: Some(base.unwrap_or_default()),
        delta_file_paths: Some(slice.log_files.iter().map(|log| plan_path(store, &log.path)).collect()),
        file_id: Some(slice.file_id.clone()),
        partition_path: Some(slice.partition.clone()),
        bootstrap_file_path: Some(
            slice.base_file.as_ref().and_then(BaseFile::source_path).unwrap_or_default().to_owned(),
        ),
        version: Some(VERSION),
        ..HoodieSliceInfo::default()
    }
}

pub(super) fn requested(
    groups: Vec<HoodieClusteringGroup>,
    options: &ClusteringOptions,
) -> HoodieRequestedReplaceMetadata {
    let params = options
        .sort_columns
        .iter()
        .map(|columns| (CLUSTERING_PLAN_STRATEGY_SORT_COLUMNS.name().to_owned(), columns.clone()));
    HoodieRequestedReplaceMetadata {
        operation_type: Some("CLUSTER".to_owned()),
        clustering_plan: Some(HoodieClusteringPlan {
            input_groups: Some(groups),
            strategy: Some(HoodieClusteringStrategy {
                strategy_class_name: Some(options.execution_class.clone()),
                strategy_params: Some(params.collect()),
                version: Some(VERSION),
                ..HoodieClusteringStrategy::default()
            }),
            extra_metadata: Some(OrderedMap::new()),
            version: Some(VERSION),
            preserve_hoodie_metadata: Some(true),
            missing_schedule_partitions: Some(Vec::new()),
            ..HoodieClusteringPlan::default()
        }),
        extra_metadata: Some(OrderedMap::new()),
        version: Some(VERSION),
        ..HoodieRequestedReplaceMetadata::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_merge::config::WriteOptions;

    fn slice(file_id: &str, len: Option<u64>) -> FileSlice {
        let base = |len| BaseFile {
            path: file_id.into(),
            len,
            etag: None,
            instant: "1".into(),
            source: None,
            registered_name: None,
        };
        FileSlice {
            partition: String::new(),
            file_id: file_id.into(),
            base_instant: "1".into(),
            base_file: len.map(base),
            log_files: Vec::new(),
        }
    }

    fn grouped(options: &[(&str, &str)]) -> Vec<(Vec<String>, u64)> {
        let options = options.iter().map(|(name, value)| (format!("hoodie.{name}"), *value));
        let options = ClusteringOptions::resolve(&WriteOptions::resolve(options).unwrap()).unwrap();
        let slices = vec![slice("a", Some(10)), slice("b", Some(40)), slice("logs", None), slice("c", Some(30))];
        let groups = groups_of_partition(slices, &options).into_iter();
        groups.map(|group| (group.slices.into_iter().map(|slice| slice.file_id).collect(), group.bytes)).collect()
    }

    #[test]
    fn the_largest_slices_come_first_in_groups_of_limited_size() {
        let group = |ids: &[&str], bytes| (ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(), bytes);
        let limit = ("clustering.plan.strategy.max.bytes.per.group", "70");
        let new_base = ("parquet.max.file.size", "35");
        let all = group(&["b", "logs", "c", "a"], 115);
        assert_eq!(grouped(&[new_base]), [all]);
        assert_eq!(grouped(&[new_base, limit]), [group(&["b"], 40), group(&["logs", "c"], 65), group(&["a"], 10)]);
        let single = ("clustering.plan.strategy.single.group.clustering.enabled", "false");
        assert_eq!(grouped(&[new_base, limit, single]), [group(&["b"], 40), group(&["logs", "c"], 65)]);
        let two = ("clustering.plan.strategy.max.num.groups", "2");
        assert_eq!(grouped(&[new_base, limit, two]), [group(&["b"], 40), group(&["logs", "c"], 65)]);
    }
}
