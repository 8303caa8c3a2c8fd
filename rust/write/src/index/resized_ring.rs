//! A part of a partition's ring that a clustering changes: which of the new file groups the rows of the old ones go to.

use std::collections::BTreeSet;

use super::bucket_layout::BucketLayout;
use super::hash_ring::{HashRing, NodeTag, RingNode};
use mortice_base::error::{Error, Result};

/// The nodes of a clustering group.
#[derive(Debug)]
pub struct ResizedRing<'a> {
    layout: &'a BucketLayout,
    partition: String,
    ring: HashRing,
    /// The nodes whose rows are rewritten.
    former: BTreeSet<u32>,
    /// Those that they go to.
    new: BTreeSet<u32>,
}

impl<'a> ResizedRing<'a> {
    /// Args:
    ///     layout: The buckets of the table, which have consistent hashing.
    ///     partition: The partition.
    ///     sources: The file groups that are rewritten.
    ///     changes: What becomes of their nodes.
    ///
    /// # Errors
    /// `InvalidTable` for changes of other nodes than those of the file groups.
    pub fn new(
        layout: &'a BucketLayout,
        partition: &str,
        sources: &mut dyn Iterator<Item = &str>,
        changes: &[RingNode],
    ) -> Result<Self> {
        let mut former = BTreeSet::new();
        for file_id in sources {
            let node = layout.bucket_of_group(partition, file_id)?;
            former.insert(node.ok_or_else(|| {
                Error::invalid_table(format!(
                    "file group {file_id:?} in partition {partition:?}, whose clustering is planned, is not on the ring of its partition; roll the clustering back"
                ))
            })?);
        }
        let ring = layout.ring(partition)?.with_nodes(changes)?;
        let new = changes.iter().filter(|node| node.tag == NodeTag::Replace).map(|node| node.value).collect();
        Ok(Self { layout, partition: partition.to_owned(), ring, former, new })
    }

    /// The node that a key goes to, by its largest hash.
    ///
    /// # Errors
    /// `InvalidArgument` for keys that are not those of the rewritten nodes, or go to another one: the table was
    /// written with other hashed fields.
    pub fn node_of(&self, key: &str) -> Result<u32> {
        let former = self.layout.bucket_of(key, &self.partition)?;
        let node = self.layout.node_on(&self.ring, key)?;
        if self.former.contains(&former) && self.new.contains(&node) {
            return Ok(node);
        }
        Err(Error::invalid_argument(format!(
            "key {key:?} of partition {:?} does not belong to the file group that has it; set hoodie.bucket.index.hash.field to that of the table's writers",
            self.partition
        )))
    }

    /// The prefix of a node's file group.
    ///
    /// # Errors
    /// `Internal` for others than those of [`Self::node_of`].
    pub fn prefix(&self, node: u32) -> Result<&str> {
        self.ring.prefix(node).ok_or_else(|| Error::internal(format_args!("no node {node} on a ring")))
    }
}
