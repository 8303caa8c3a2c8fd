//! Clustering plans read again (`ClusteringUtils.getClusteringPlan`), to be executed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::options::{RING_STRATEGIES, SORT_AND_SIZE, is_ring_strategy, listed};
use crate::data_paths::DataPath;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::option_names::CLUSTERING_PLAN_STRATEGY_SORT_COLUMNS;
use mortice_table::file_group::{BaseFile, FileSlice, LogFile};
use mortice_table::timeline::metadata::{
    HoodieClusteringGroup, HoodieRequestedReplaceMetadata, HoodieSliceInfo, TimelineMetadata,
};
use mortice_write::index::RingNode;

/// What a group of a plan of consistent hashing says besides (`BaseConsistentHashingBucketClusteringPlanStrategy`).
pub(super) const GROUP_PARTITION: &str = "clustering.group.partition";
pub(super) const CHILD_NODES: &str = "clustering.group.child.node";
pub(super) const SEQUENCE: &str = "clustering.group.sequence.no";

/// What a plan says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedClustering {
    /// What is rewritten.
    pub groups: Vec<PlannedGroup>,
    /// The columns that rows are sorted by; none are not sorted.
    pub sort_columns: Vec<String>,
}

/// File slices of a partition that are rewritten together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedGroup {
    /// The partition.
    pub partition: String,
    /// The slices.
    pub slices: Vec<FileSlice>,
    /// How many files are expected.
    pub outputs: usize,
    /// Under consistent hashing: what becomes of the nodes of the slices.
    pub nodes: Vec<RingNode>,
    /// The number of the ring that the plan was made for.
    pub sequence: Option<i32>,
    /// Whether slices have logs that are newer than the plan: rows that were written to the new file groups, too
    /// (`SparkConsistentBucketDuplicateUpdateStrategy`).
    pub has_newer_logs: bool,
}

impl PlannedClustering {
    /// The file groups that the plan replaces, by partition.
    #[must_use]
    pub fn replaced_groups(&self) -> BTreeMap<String, Vec<String>> {
        let mut replaced: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for slice in self.groups.iter().flat_map(|group| &group.slices) {
            replaced.entry(slice.partition.clone()).or_default().push(slice.file_id.clone());
        }
        replaced
    }
}

impl PlannedGroup {
    /// The bytes of its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.slices.iter().fold(0, |sum, slice| sum.saturating_add(slice.total_len()))
    }
}

/// Reads a plan. `live` has the latest slice of each file group.
pub(crate) fn planned_clustering(
    bytes: &[u8],
    live: &[FileSlice],
    instant: &RequestedTime,
) -> Result<PlannedClustering> {
    let in_plan = |error: Error| error.at_instant(instant);
    let requested = HoodieRequestedReplaceMetadata::from_bytes(bytes).map_err(in_plan)?.unwrap_or_default();
    let plan = requested.clustering_plan;
    let plan = plan.ok_or_else(|| in_plan(Error::invalid_table("a pending clustering has no plan")))?;
    let strategy = plan.strategy.unwrap_or_default();
    let class = strategy.strategy_class_name.unwrap_or_default();
    let is_ring = is_ring_strategy(&class);
    if !class.is_empty() && !class.ends_with(SORT_AND_SIZE) && !is_ring {
        let message = format!(
            "a clustering plan of strategy {class} (supported: Spark{SORT_AND_SIZE}, {}); execute it with Hudi, or roll it back",
            RING_STRATEGIES.join(", ")
        );
        return Err(in_plan(Error::unsupported(message)));
    }
    if plan.preserve_hoodie_metadata == Some(false) {
        let message = "a clustering plan that gives rows new commit times; execute it with Hudi, or roll it back";
        return Err(in_plan(Error::unsupported(message)));
    }
    let live: BTreeMap<(&str, &str), &FileSlice> =
        live.iter().map(|slice| ((slice.partition.as_str(), slice.file_id.as_str()), slice)).collect();
    let groups = plan.input_groups.into_iter().flatten();
    let groups = groups.map(|group| group_of_plan(group, &live)).collect::<Result<Vec<_>>>().map_err(in_plan)?;
    if let Some(group) = groups.iter().find(|group| group.nodes.is_empty() == is_ring) {
        let message = format!("strategy {class:?} of a clustering plan and {} nodes of a group", group.nodes.len());
        return Err(in_plan(Error::invalid_table(message)));
    }
    let params = strategy.strategy_params.unwrap_or_default();
    let sort_columns =
        params.get(CLUSTERING_PLAN_STRATEGY_SORT_COLUMNS.name()).map(|columns| listed(columns)).unwrap_or_default();
    Ok(PlannedClustering { groups, sort_columns })
}

fn group_of_plan(group: HoodieClusteringGroup, live: &BTreeMap<(&str, &str), &FileSlice>) -> Result<PlannedGroup> {
    let outputs = usize::try_from(group.num_output_file_groups.unwrap_or(1)).unwrap_or(1).max(1);
    let slices = group.slices.unwrap_or_default().into_iter();
    let extra = group.extra_metadata.unwrap_or_default();
    let nodes = extra.get(CHILD_NODES).map_or(Ok(Vec::new()), |text| nodes_of_plan(text))?;
    let mut has_newer_logs = false;
    let slices = slices
        .map(|info| {
            let (slice, newer) = slice_of_plan(&info, live, !nodes.is_empty())?;
            has_newer_logs |= newer;
            Ok(slice)
        })
        .collect::<Result<Vec<_>>>()?;
    let first =
        slices.first().ok_or_else(|| Error::invalid_table("a group of a clustering plan has no file slices"))?;
    let partition = first.partition.clone();
    if slices.iter().any(|slice| slice.partition != partition) {
        return Err(Error::unsupported("a clustering plan with a group of several partitions; execute it with Hudi"));
    }
    let sequence = extra.get(SEQUENCE).and_then(|number| number.parse().ok());
    Ok(PlannedGroup { partition, slices, outputs, nodes, sequence, has_newer_logs })
}

fn nodes_of_plan(text: &str) -> Result<Vec<RingNode>> {
    serde_json::from_str(text).map_err(|error| {
        Error::invalid_table(format!("{CHILD_NODES} of a clustering plan cannot be read")).caused_by(error)
    })
}

/// A slice as it was planned, and whether it has newer logs by now, if these may be.
fn slice_of_plan(
    info: &HoodieSliceInfo,
    live: &BTreeMap<(&str, &str), &FileSlice>,
    may_be_newer: bool,
) -> Result<(FileSlice, bool)> {
    // Null, its default, for a table without partitions.
    let partition = info.partition_path.clone().unwrap_or_default();
    let file_id = info.file_id.clone();
    let file_id = file_id.ok_or_else(|| Error::invalid_table("a file slice of a clustering plan has no fileId"))?;
    let name = |path: &String| DataPath::of_plan(&partition, path).map(|path| path.name);
    let base = info.data_file_path.as_ref().filter(|path| !path.is_empty()).map(name).transpose()?;
    let mut logs = info.delta_file_paths.iter().flatten().map(name).collect::<Result<Vec<_>>>()?;
    logs.sort_unstable();
    let slice = live.get(&(partition.as_str(), file_id.as_str()));
    let is_planned = |name: &str| logs.iter().any(|planned| planned == name);
    let is_same = |slice: &&&FileSlice| {
        let mut of_slice: Vec<&str> = slice.log_files.iter().map(LogFile::name).collect();
        if may_be_newer {
            of_slice.retain(|name| is_planned(name));
        }
        of_slice.sort_unstable();
        slice.base_file.as_ref().map(BaseFile::name) == base.as_deref() && of_slice == logs
    };
    let as_planned = |slice: &FileSlice| {
        let planned: Vec<LogFile> = slice.log_files.iter().filter(|log| is_planned(log.name())).cloned().collect();
        let has_newer = planned.len() < slice.log_files.len();
        (FileSlice { log_files: planned, ..slice.clone() }, has_newer)
    };
    slice.filter(is_same).map(|slice| as_planned(slice)).ok_or_else(|| {
        let message = format!(
            "file group {file_id:?} in partition {partition:?} was written to or replaced after its clustering was planned; roll the clustering back"
        );
        Error::new(ErrorKind::WriteConflict, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::metadata::{HoodieClusteringPlan, HoodieClusteringStrategy};

    const BASE: &str = "f-0_0-1-2_7.parquet";
    const LOG: &str = ".f-0_8.log.1_0-1-2";

    fn live() -> FileSlice {
        let base = BaseFile {
            path: format!("p/{BASE}"),
            len: 1,
            etag: None,
            instant: "7".into(),
            source: None,
            registered_name: None,
        };
        let log = LogFile { path: format!("p/{LOG}"), len: 1, etag: None };
        FileSlice {
            partition: "p".into(),
            file_id: "f-0".into(),
            base_instant: "7".into(),
            base_file: Some(base),
            log_files: vec![log],
        }
    }

    fn read(partition: &str, base: &str, logs: &[&str], class: &str) -> Result<PlannedClustering> {
        let slice = HoodieSliceInfo {
            data_file_path: Some(base.into()),
            delta_file_paths: Some(logs.iter().map(|log| (*log).to_owned()).collect()),
            file_id: Some("f-0".into()),
            partition_path: Some(partition.into()),
            ..HoodieSliceInfo::default()
        };
        let group = HoodieClusteringGroup { slices: Some(vec![slice]), ..HoodieClusteringGroup::default() };
        let strategy = HoodieClusteringStrategy {
            strategy_class_name: Some(class.into()),
            strategy_params: Some(
                [(CLUSTERING_PLAN_STRATEGY_SORT_COLUMNS.name(), "a, b".to_owned())].into_iter().collect(),
            ),
            ..HoodieClusteringStrategy::default()
        };
        let plan = HoodieClusteringPlan {
            input_groups: Some(vec![group]),
            strategy: Some(strategy),
            ..HoodieClusteringPlan::default()
        };
        let requested =
            HoodieRequestedReplaceMetadata { clustering_plan: Some(plan), ..HoodieRequestedReplaceMetadata::default() };
        planned_clustering(&requested.to_avro().unwrap(), &[live()], &"9".into())
    }

    #[test]
    fn plans_name_the_files_of_live_slices() {
        let (base, log) = (format!("s3a://b/t/p/{BASE}"), format!("/t/p/{LOG}"));
        let plan = read("p", &base, &[&log], "org.apache.hudi.SparkSortAndSizeExecutionStrategy").unwrap();
        assert_eq!(
            plan.groups,
            [PlannedGroup {
                partition: "p".into(),
                slices: vec![live()],
                outputs: 1,
                nodes: Vec::new(),
                sequence: None,
                has_newer_logs: false
            }]
        );
        assert_eq!(plan.sort_columns, ["a", "b"]);
    }

    #[test]
    fn plans_of_other_files_and_strategies_are_refused() {
        let log = format!("/t/p/{LOG}");
        for (partition, base, logs, class, kind) in [
            ("p", BASE, vec![], "", ErrorKind::WriteConflict),
            ("p", "f-0_0-1-2_6.parquet", vec![log.as_str()], "", ErrorKind::WriteConflict),
            ("q", BASE, vec![LOG], "", ErrorKind::WriteConflict),
            ("../p", BASE, vec![LOG], "", ErrorKind::InvalidTable),
            ("p", "/t/q/f-0_0-1-2_7.parquet", vec![LOG], "", ErrorKind::InvalidTable),
            ("p", BASE, vec![LOG], "org.apache.hudi.SparkSingleFileSortExecutionStrategy", ErrorKind::Unsupported),
        ] {
            assert_eq!(read(partition, base, &logs, class).unwrap_err().kind(), kind, "{partition} {base} {class}");
        }
    }
}
