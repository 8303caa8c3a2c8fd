//! Plans that split and merge the file groups of consistent hashing
//! (`BaseConsistentHashingBucketClusteringPlanStrategy`).

use std::collections::{BTreeMap, BTreeSet};

use super::options::ClusteringOptions;
use super::partitions::chosen_partitions;
use super::plan::{groups_of_plans, new_group, requested};
use super::planned::{CHILD_NODES, GROUP_PARTITION, SEQUENCE};
use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOptions, option_names};
use mortice_storage::Storage;
use mortice_table::file_group::FileSlice;
use mortice_table::timeline::metadata::{HoodieClusteringGroup, HoodieRequestedReplaceMetadata};
use mortice_table::timeline::{Action, Timeline};
use mortice_write::index::{BucketLayout, HashRing, NodeTag, RingNode, new_group_prefix};

/// Bounds of rings, and of the sizes of their file groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RingBounds {
    most: usize,
    fewest: usize,
    /// A larger file group is split.
    split_bytes: u64,
    /// File groups that are not larger are merged with their neighbours.
    merge_bytes: u64,
}

impl RingBounds {
    /// Reads the options.
    ///
    /// # Errors
    /// Those of [`WriteOptions`].
    pub(crate) fn resolve(options: &WriteOptions) -> Result<Self> {
        let first: usize = options.integer(option_names::BUCKET_INDEX_NUM_BUCKETS)?;
        let or_first = |given: usize| if given == 0 { first } else { given };
        let file: u64 = options.integer(option_names::PARQUET_MAX_FILE_SIZE)?;
        // As Java casts them: what is beyond the largest number is that number.
        let share = |threshold: f64| (file as f64 * threshold) as u64;
        Ok(Self {
            most: or_first(options.integer(option_names::BUCKET_INDEX_MAX_NUM_BUCKETS)?),
            fewest: or_first(options.integer(option_names::BUCKET_INDEX_MIN_NUM_BUCKETS)?),
            split_bytes: share(options.number(option_names::BUCKET_INDEX_SPLIT_THRESHOLD)?),
            merge_bytes: share(options.number(option_names::BUCKET_INDEX_MERGE_THRESHOLD)?),
        })
    }
}

/// What a plan is made of.
pub(crate) struct RingPlan<'a> {
    pub(crate) store: &'a dyn Storage,
    pub(crate) timeline: &'a Timeline,
    pub(crate) layout: &'a BucketLayout,
    pub(crate) options: &'a ClusteringOptions,
    pub(crate) bounds: &'a RingBounds,
}

impl RingPlan<'_> {
    /// Plans the resizing of these slices, the latest of each file group; none while writes are pending, or if there is
    /// nothing to do. Partitions that a pending plan resizes are left out.
    ///
    /// # Errors
    /// `InvalidArgument` for file groups that are not those of the rings.
    pub(crate) fn make(&self, slices: Vec<FileSlice>, hour: usize) -> Result<Option<HoodieRequestedReplaceMetadata>> {
        if self.timeline.pending(Action::DeltaCommit).next().is_some() {
            return Ok(None);
        }
        let planned = groups_of_plans(self.timeline)?;
        let resized = self.timeline.file_groups_in_pending_clustering()?;
        let resized: BTreeSet<String> = resized.into_iter().map(|group| group.partition).collect();
        let mut by_partition: BTreeMap<String, Vec<FileSlice>> = BTreeMap::new();
        for slice in slices {
            let is_planned = planned.contains(&(slice.partition.clone(), slice.file_id.clone()));
            if !is_planned && !resized.contains(&slice.partition) {
                by_partition.entry(slice.partition.clone()).or_default().push(slice);
            }
        }
        let mut groups = Vec::new();
        for partition in chosen_partitions(by_partition.keys().cloned().collect(), self.options, hour)? {
            let slices = by_partition.remove(&partition).unwrap_or_default();
            groups.extend(self.groups_of_partition(&partition, slices)?);
        }
        groups.truncate(self.options.max_groups);
        Ok((!groups.is_empty()).then(|| requested(groups, self.options)))
    }

    fn groups_of_partition(&self, partition: &str, slices: Vec<FileSlice>) -> Result<Vec<HoodieClusteringGroup>> {
        let ring = self.layout.ring(partition)?;
        let changes = changes_of(&ring, self.bounds, slices)?;
        changes.into_iter().map(|change| self.group(partition, ring.sequence(), change)).collect()
    }

    fn group(&self, partition: &str, sequence: i32, change: Change) -> Result<HoodieClusteringGroup> {
        let nodes = serde_json::to_string_pretty(&change.nodes)
            .map_err(|error| Error::internal("the nodes of a plan cannot be serialised").caused_by(error))?;
        let outputs = change.nodes.iter().filter(|node| node.tag == NodeTag::Replace).count();
        let extra = [(GROUP_PARTITION, partition.to_owned()), (CHILD_NODES, nodes), (SEQUENCE, sequence.to_string())];
        let group = new_group(self.store, &change.slices, outputs as u64, self.options);
        Ok(HoodieClusteringGroup {
            extra_metadata: Some(extra.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()),
            ..group
        })
    }
}

/// What becomes of some neighbours.
#[derive(Debug)]
struct Change {
    slices: Vec<FileSlice>,
    nodes: Vec<RingNode>,
}

fn replacing(value: u32) -> RingNode {
    RingNode { value, file_id_prefix: Some(new_group_prefix()), tag: NodeTag::Replace }
}

/// Large file groups are split, small neighbours are merged, and all others are sorted.
fn changes_of(ring: &HashRing, bounds: &RingBounds, slices: Vec<FileSlice>) -> Result<Vec<Change>> {
    let mut by_node = BTreeMap::new();
    for slice in slices {
        let unknown = || {
            Error::invalid_argument(format!(
                "file group {:?} in partition {:?} is not one of consistent hashing",
                slice.file_id, slice.partition
            ))
        };
        by_node.insert(ring.node_of_group(&slice.file_id).ok_or_else(unknown)?, slice);
    }
    let mut changes = split(ring, bounds, &mut by_node);
    changes.extend(merged(ring, bounds, changes.len(), &mut by_node));
    let rest = by_node.into_iter().map(|(node, slice)| Change { slices: vec![slice], nodes: vec![replacing(node)] });
    changes.extend(rest);
    Ok(changes)
}

fn split(ring: &HashRing, bounds: &RingBounds, by_node: &mut BTreeMap<u32, FileSlice>) -> Vec<Change> {
    let mut changes = Vec::new();
    let large: Vec<u32> =
        by_node.iter().filter(|(_, slice)| slice.total_len() > bounds.split_bytes).map(|(node, _)| *node).collect();
    for node in large {
        if changes.len() >= bounds.most.saturating_sub(ring.len()) {
            break;
        }
        let Some(nodes) = ring.split(node, &new_group_prefix) else { continue };
        if let Some(slice) = by_node.remove(&node) {
            changes.push(Change { slices: vec![slice], nodes: nodes.to_vec() });
        }
    }
    changes
}

/// Each small file group with the small ones after it, as long as the sum of their sizes is small, too.
fn merged(ring: &HashRing, bounds: &RingBounds, added: usize, by_node: &mut BTreeMap<u32, FileSlice>) -> Vec<Change> {
    let mut slots = ring.len().saturating_add(added).saturating_sub(bounds.fewest);
    let mut changes = Vec::new();
    let is_small = |slice: &FileSlice| slice.total_len() <= bounds.merge_bytes;
    let candidates: Vec<u32> = by_node.keys().copied().collect();
    for first in candidates {
        let Some(slice) = by_node.get(&first).filter(|slice| is_small(slice)) else { continue };
        let (mut bytes, mut nodes) = (slice.total_len(), vec![first]);
        let mut last = first;
        while slots > 0 && bytes <= bounds.merge_bytes {
            let Some(next) = ring.after(last).filter(|next| !nodes.contains(next)) else { break };
            let Some(slice) = by_node.get(&next).filter(|slice| is_small(slice)) else { break };
            bytes = bytes.saturating_add(slice.total_len());
            slots -= 1;
            nodes.push(next);
            last = next;
        }
        if nodes.len() < 2 {
            continue;
        }
        let delete = |value: &u32| RingNode { value: *value, file_id_prefix: None, tag: NodeTag::Delete };
        let mut changed: Vec<RingNode> = nodes.iter().filter(|node| **node != last).map(delete).collect();
        changed.push(replacing(last));
        let slices = nodes.iter().filter_map(|node| by_node.remove(node)).collect();
        changes.push(Change { slices, nodes: changed });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::file_group::BaseFile;

    const LARGEST: u32 = i32::MAX.unsigned_abs();

    fn ring(values: &[u32]) -> HashRing {
        let nodes: Vec<String> = values
            .iter()
            .map(|value| format!(r#"{{"value":{value},"fileIdPrefix":"f{value}","tag":"NORMAL"}}"#))
            .collect();
        let text = format!(
            r#"{{"version":0,"partitionPath":"p","instant":"0","numBuckets":1,"seqNo":4,"nodes":[{}]}}"#,
            nodes.join(",")
        );
        HashRing::parse(text.as_bytes()).unwrap()
    }

    fn slice(value: u32, len: u64) -> FileSlice {
        let base = BaseFile {
            path: format!("p/f{value}-0_0_1.parquet"),
            len,
            etag: None,
            instant: "1".into(),
            source: None,
            registered_name: None,
        };
        FileSlice {
            partition: "p".into(),
            file_id: format!("f{value}-0"),
            base_instant: "1".into(),
            base_file: Some(base),
            log_files: Vec::new(),
        }
    }

    /// The file groups that are rewritten, and the nodes that they become, of each change.
    type Described = Vec<(Vec<String>, Vec<(u32, bool)>)>;

    fn changes(values: &[u32], sizes: &[u64], fewest: usize, most: usize) -> Described {
        let bounds = RingBounds { most, fewest, split_bytes: 100, merge_bytes: 10 };
        let slices = values.iter().zip(sizes).map(|(value, len)| slice(*value, *len)).collect();
        let found = changes_of(&ring(values), &bounds, slices).unwrap();
        let described = found.into_iter().map(|change| {
            let sources = change.slices.into_iter().map(|slice| slice.file_id).collect();
            (sources, change.nodes.iter().map(|node| (node.value, node.tag == NodeTag::Replace)).collect())
        });
        described.collect()
    }

    fn ids(values: &[u32]) -> Vec<String> {
        values.iter().map(|value| format!("f{value}-0")).collect()
    }

    #[test]
    fn large_nodes_are_split_up_to_the_bound_and_others_sorted() {
        let found = changes(&[1000, LARGEST], &[101, 101], 2, 3);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].0, ids(&[1000]));
        assert_eq!((found[0].1.len(), found[0].1[1]), (2, (1000, true)));
        assert_eq!(found[1], (ids(&[LARGEST]), vec![(LARGEST, true)]));
        assert_eq!(changes(&[1000, LARGEST], &[100, 50], 2, 9)[0].1.len(), 1, "not larger than the bound");
    }

    #[test]
    fn small_neighbours_are_merged_down_to_the_bound() {
        let found = changes(&[10, 20, 30, LARGEST], &[1, 2, 3, 50], 1, 4);
        assert_eq!(found[0], (ids(&[10, 20, 30]), vec![(10, false), (20, false), (30, true)]));
        assert_eq!(found[1], (ids(&[LARGEST]), vec![(LARGEST, true)]));
        let found = changes(&[10, 20, 30, LARGEST], &[1, 2, 3, 50], 3, 4);
        assert_eq!(found[0].0, ids(&[10, 20]));
        // The last node's neighbour is the first one.
        let found = changes(&[10, 20, LARGEST], &[5, 50, 5], 1, 3);
        assert_eq!(found[0].0, ids(&[LARGEST, 10]));
        assert_eq!(found[0].1, [(LARGEST, false), (10, true)]);
        assert_eq!(found.len(), 2);
    }
}
