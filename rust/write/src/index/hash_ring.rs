//! The ring of a partition under consistent hashing (`HoodieConsistentHashingMetadata`, `ConsistentBucketIdentifier`):
//! each node has the keys whose hashes are above the node before it, in one file group.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

use super::xx_hash::xx_hash_32;
use mortice_base::error::{Error, Result};

/// The largest hash (`HASH_VALUE_MASK`).
const LARGEST: u32 = i32::MAX.unsigned_abs();
/// The instant of rings that no clustering has made (`INIT_INSTANT_TS`).
pub(super) const FIRST_INSTANT: &str = "00000000000000";

/// What a node of a plan does to the ring (`ConsistentHashingNode.NodeTag`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum NodeTag {
    /// A node of a ring.
    Normal,
    /// Takes the place of the node of its value, or is new.
    Replace,
    /// Removes the node of its value.
    Delete,
}

/// A node as files have it (`ConsistentHashingNode`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RingNode {
    /// The largest hash of its keys.
    pub value: u32,
    /// The id of its file group without the last part, which is `-0`; null for a node that is removed.
    pub file_id_prefix: Option<String>,
    /// What it does.
    pub tag: NodeTag,
}

/// The file of a ring (`HoodieConsistentHashingMetadata`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RingFile {
    version: i16,
    partition_path: String,
    instant: String,
    num_buckets: u32,
    seq_no: i32,
    nodes: Vec<RingNode>,
}

/// The ring of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashRing {
    version: i16,
    partition: String,
    instant: String,
    first_buckets: u32,
    sequence: i32,
    /// The prefixes of file groups by the largest hash of their keys.
    nodes: BTreeMap<u32, String>,
}

impl HashRing {
    /// The ring of a partition without one. All writers make the same (`constructDefaultHashingNodes`).
    pub(super) fn first(partition: &str, buckets: u32) -> Self {
        let (largest, count) = (u64::from(LARGEST), u64::from(buckets.max(1)));
        let step = largest.div_ceil(count);
        let mut nodes = BTreeMap::new();
        let mut start = 0_u64;
        for number in 1..=count {
            let end = step.saturating_mul(number).min(largest);
            // Not beyond the largest hash.
            let value = u32::try_from(end).unwrap_or(LARGEST);
            nodes.insert(value, first_prefix(partition, start, end));
            start = end;
        }
        Self {
            version: 0,
            partition: partition.to_owned(),
            instant: FIRST_INSTANT.to_owned(),
            first_buckets: buckets,
            sequence: 0,
            nodes,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidTable` for what is no ring.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let invalid = |what: &str| Error::invalid_table(format!("the metadata of consistent hashing {what}"));
        let file: RingFile =
            serde_json::from_slice(bytes).map_err(|error| invalid("cannot be read").caused_by(error))?;
        let mut nodes = BTreeMap::new();
        for node in file.nodes {
            let prefix = node.file_id_prefix.filter(|prefix| !prefix.is_empty() && node.value <= LARGEST);
            nodes.insert(node.value, prefix.ok_or_else(|| invalid("has a node without a file group"))?);
        }
        if nodes.is_empty() {
            return Err(invalid("has no nodes"));
        }
        if nodes.values().collect::<BTreeSet<_>>().len() != nodes.len() {
            return Err(invalid("has a file group twice"));
        }
        Ok(Self {
            version: file.version,
            partition: file.partition_path,
            instant: file.instant,
            first_buckets: file.num_buckets,
            sequence: file.seq_no,
            nodes,
        })
    }

    /// The file.
    ///
    /// # Errors
    /// `Internal` if it cannot be serialised.
    pub(super) fn to_bytes(&self) -> Result<Bytes> {
        let nodes = self.nodes.iter().map(|(value, prefix)| RingNode {
            value: *value,
            file_id_prefix: Some(prefix.clone()),
            tag: NodeTag::Normal,
        });
        let file = RingFile {
            version: self.version,
            partition_path: self.partition.clone(),
            instant: self.instant.clone(),
            num_buckets: self.first_buckets,
            seq_no: self.sequence,
            nodes: nodes.collect(),
        };
        let bytes = serde_json::to_vec_pretty(&file);
        bytes.map(Bytes::from).map_err(|error| Error::internal("a ring cannot be serialised").caused_by(error))
    }

    /// The instant of its file.
    pub(super) fn instant(&self) -> &str {
        &self.instant
    }

    /// How many clusterings have changed it (`seqNo`).
    #[must_use]
    pub fn sequence(&self) -> i32 {
        self.sequence
    }

    /// How many nodes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no nodes: never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of hashed values, by its largest hash (`ConsistentBucketIdentifier.getBucket`).
    pub(super) fn node_of(&self, values: &[Option<&str>]) -> Option<u32> {
        // As Java joins null.
        let text: String = values.iter().map(|value| value.unwrap_or("null")).collect();
        let hash = xx_hash_32(text.as_bytes()) & LARGEST;
        self.nodes.range(hash..).next().or_else(|| self.nodes.first_key_value()).map(|(value, _)| *value)
    }

    /// The prefix of a node's file group.
    #[must_use]
    pub fn prefix(&self, node: u32) -> Option<&str> {
        self.nodes.get(&node).map(String::as_str)
    }

    /// The node of a file group, given its id or the prefix of that.
    #[must_use]
    pub fn node_of_group(&self, file_id: &str) -> Option<u32> {
        let prefix = file_id.strip_suffix("-0").unwrap_or(file_id);
        self.nodes.iter().find(|(_, own)| *own == prefix || *own == file_id).map(|(value, _)| *value)
    }

    /// The node before another one, on the ring.
    fn before(&self, node: u32) -> Option<u32> {
        self.nodes.range(..node).next_back().or_else(|| self.nodes.last_key_value()).map(|(value, _)| *value)
    }

    /// The node after another one, on the ring.
    #[must_use]
    pub fn after(&self, node: u32) -> Option<u32> {
        let after = self.nodes.range(node..).find(|(value, _)| **value > node);
        after.or_else(|| self.nodes.first_key_value()).map(|(value, _)| *value)
    }

    /// The two nodes that take the place of one (`splitBucket`); none if its range is one hash.
    #[must_use]
    pub fn split(&self, node: u32, new_prefix: &dyn Fn() -> String) -> Option<[RingNode; 2]> {
        let former = self.before(node)?;
        let wrapped = if former < node { 0 } else { u64::from(LARGEST) + 1 };
        let middle = ((u64::from(former) + u64::from(node) + wrapped) >> 1) & u64::from(LARGEST);
        let middle = u32::try_from(middle).ok().filter(|middle| *middle != former && *middle != node)?;
        let new = |value| RingNode { value, file_id_prefix: Some(new_prefix()), tag: NodeTag::Replace };
        Some([new(middle), new(node)])
    }

    /// The ring with the nodes of plans.
    ///
    /// # Errors
    /// `InvalidTable` for nodes that are not those of a change.
    pub fn with_nodes(&self, changes: &[RingNode]) -> Result<Self> {
        let mut changed = self.clone();
        for node in changes {
            let invalid = || Error::invalid_table(format!("{node:?} is not the change of a ring of file groups"));
            match (node.tag, &node.file_id_prefix) {
                (NodeTag::Replace, Some(prefix)) if node.value <= LARGEST && !prefix.is_empty() => {
                    changed.nodes.insert(node.value, prefix.clone());
                }
                (NodeTag::Delete, _) => {
                    changed.nodes.remove(&node.value).ok_or_else(invalid)?;
                }
                _ => return Err(invalid()),
            }
        }
        if changed.nodes.is_empty() {
            return Err(Error::invalid_table("the change of a ring of file groups leaves none"));
        }
        Ok(changed)
    }

    /// The ring as a completed clustering leaves it.
    pub(super) fn next(self, instant: &str) -> Self {
        Self { instant: instant.to_owned(), sequence: self.sequence.saturating_add(1), ..self }
    }
}

/// The prefix of a first node's file group (`generateUUID`).
fn first_prefix(partition: &str, start: u64, end: u64) -> String {
    let mut digest = Md5::new();
    digest.update(start.to_be_bytes());
    digest.update(end.to_be_bytes());
    digest.update(partition.as_bytes());
    uuid::Builder::from_md5_bytes(digest.finalize().into()).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    /// Measured: those of a table that Hudi 1.2 has written.
    #[test]
    fn first_rings_are_those_of_hudi() {
        let ring = HashRing::first("2024-01-01", 2);
        let nodes: Vec<_> = ring.nodes.iter().map(|(value, prefix)| (*value, prefix.as_str())).collect();
        let expected = [
            (1_073_741_824, "cee44abe-ae6b-37f4-aaf4-5b7141977001"),
            (2_147_483_647, "dfa1fa82-a656-30dd-ae1b-b9abb9efcf3e"),
        ];
        assert_eq!(nodes, expected);
        let text = String::from_utf8(ring.to_bytes().unwrap().to_vec()).unwrap();
        assert!(text.starts_with("{\n  \"version\": 0,\n  \"partitionPath\": \"2024-01-01\",\n  \"instant\": \"00000000000000\",\n  \"numBuckets\": 2,\n  \"seqNo\": 0,\n  \"nodes\": ["), "{text}");
        assert_eq!(HashRing::parse(text.as_bytes()).unwrap(), ring);
        assert_eq!(HashRing::first("p", 100_000).nodes.last_key_value().unwrap().0, &LARGEST);
    }

    #[test]
    fn a_node_has_the_hashes_up_to_its_value_and_the_first_one_those_beyond_the_last() {
        let ring = |values: &[u32]| {
            let nodes = values.iter().map(|value| (*value, format!("f{value}"))).collect();
            HashRing { nodes, ..HashRing::first("p", 1) }
        };
        let hash = xx_hash_32(b"ab") & LARGEST;
        let node = |values: &[u32]| ring(values).node_of(&[Some("a"), Some("b")]).unwrap();
        assert_eq!(node(&[hash - 1, hash, LARGEST]), hash);
        assert_eq!(node(&[1, hash - 1]), 1);
        assert_eq!(ring(&[5, LARGEST]).node_of(&[None]), ring(&[5, LARGEST]).node_of(&[Some("null")]));
        assert_eq!((ring(&[5, 9]).before(5), ring(&[5, 9]).after(9)), (Some(9), Some(5)));
        assert_eq!(ring(&[5, 9]).node_of_group("f9-0"), Some(9));
        assert_eq!(ring(&[5, 9]).node_of_group("f8-0"), None);
    }

    #[test]
    fn nodes_are_split_in_the_middle_and_merged_by_removing_the_former() {
        let ring = HashRing::first("p", 2);
        let prefix = || "new".to_owned();
        let [low, high] = ring.split(LARGEST, &prefix).unwrap();
        assert_eq!((low.value, high.value), (1_610_612_735, LARGEST));
        let [low, _] = ring.split(1_073_741_824, &prefix).unwrap();
        assert_eq!(low.value, 536_870_911, "the hashes beyond the last node are the first one's");
        let delete = RingNode { value: 1_073_741_824, file_id_prefix: None, tag: NodeTag::Delete };
        let merged = ring.with_nodes(&[delete.clone(), high]).unwrap();
        assert_eq!(merged.nodes.values().collect::<Vec<_>>(), ["new"]);
        assert_eq!(merged.next("7").sequence(), 1);
        for wrong in [
            vec![RingNode { value: 3, ..delete.clone() }],
            vec![RingNode { tag: NodeTag::Normal, ..low }],
            vec![delete.clone(), RingNode { value: LARGEST, ..delete }],
        ] {
            assert_eq!(ring.with_nodes(&wrong).unwrap_err().kind(), ErrorKind::InvalidTable, "{wrong:?}");
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let node = |value: &str, prefix: &str| format!(r#"{{"value":{value},"fileIdPrefix":{prefix},"tag":"NORMAL"}}"#);
        let file = |nodes: &str| {
            format!(r#"{{"version":0,"partitionPath":"p","instant":"0","numBuckets":1,"seqNo":0,"nodes":[{nodes}]}}"#)
        };
        let valid = node("1", "\"f\"");
        assert!(HashRing::parse(file(&valid).as_bytes()).is_ok());
        for text in [
            String::new(),
            "{}".to_owned(),
            file(""),
            file(&node("1", "null")),
            file(&node("-1", "\"f\"")),
            file(&node("2147483648", "\"f\"")),
            file(&format!("{valid},{}", node("2", "\"f\""))),
        ] {
            assert_eq!(HashRing::parse(text.as_bytes()).unwrap_err().kind(), ErrorKind::InvalidTable, "{text}");
        }
    }
}
