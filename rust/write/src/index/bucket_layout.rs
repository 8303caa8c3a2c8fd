//! Which bucket of a partition has a key, and which file group a bucket is: by fixed numbers of buckets
//! (`BucketIdentifier`), or by rings of consistent hashing (`ConsistentBucketIdentifier`).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::bucket_hash::{hash_keys, hash_of, new_bucket_prefix};
use super::hash_ring::HashRing;
use super::hash_rings::HashRings;
use super::layout_check::refuse_consistent_hashing;
use super::options::{BucketEngine, BucketOptions};
use super::partition_rules::{PartitionRules, stored_rules};
use mortice_base::error::{Error, Result};
use mortice_base::names::bucket_in;
use mortice_merge::config::TableType;
use mortice_storage::FileStore;
use mortice_table::plan::OpenTable;

/// The buckets of a table. A bucket is known by its partition and a number: its own, or under consistent hashing the
/// largest hash of its keys.
#[derive(Debug)]
pub struct BucketLayout {
    options: BucketOptions,
    kind: LayoutKind,
}

#[derive(Debug)]
enum LayoutKind {
    /// So many in each partition.
    Fixed(u32),
    /// As many as rules say, which are known of these partitions.
    ByPartition(PartitionRules, Mutex<HashMap<String, u32>>),
    /// The nodes of rings.
    Rings(Box<HashRings>),
}

/// The same options: those of one table make the same buckets.
impl PartialEq for BucketLayout {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl BucketLayout {
    /// The buckets of a table by options, which what the table has stored of them takes the place of.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported` for options of which there are no buckets; `InvalidTable` for files that
    /// cannot be read.
    pub fn of_table(table: &OpenTable, options: &BucketOptions) -> Result<Self> {
        if options.engine == BucketEngine::ConsistentHashing {
            if table.config.table_type == TableType::CopyOnWrite {
                let message = "a bucket index with consistent hashing of a copy-on-write table, which Hudi has none of; set hoodie.index.bucket.engine to SIMPLE, or create a merge-on-read table";
                return Err(Error::unsupported(message).in_file(&table.uri));
            }
            let kind = LayoutKind::Rings(Box::new(HashRings::new(table, options.buckets)));
            return Ok(Self { options: options.clone(), kind });
        }
        refuse_consistent_hashing(table)?;
        match stored_rules(table)? {
            Some((rules, buckets)) => Self::fixed(&BucketOptions { rules: Some(rules), buckets, ..options.clone() }),
            None => Self::fixed(options),
        }
    }

    /// Fixed numbers of buckets, by options alone.
    ///
    /// # Errors
    /// As for [`Self::of_table`].
    pub fn fixed(options: &BucketOptions) -> Result<Self> {
        let kind = match &options.rules {
            None => LayoutKind::Fixed(options.buckets),
            Some(rules) => LayoutKind::ByPartition(PartitionRules::parse(rules, options.buckets)?, Mutex::default()),
        };
        Ok(Self { options: options.clone(), kind })
    }

    /// Whether each bucket is known by a hash.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        matches!(self.kind, LayoutKind::Rings(_))
    }

    /// The number of buckets of a partition.
    ///
    /// # Errors
    /// `InvalidTable` for a ring that cannot be read.
    pub fn buckets_in(&self, partition: &str) -> Result<usize> {
        match &self.kind {
            LayoutKind::Fixed(buckets) => Ok(*buckets as usize),
            LayoutKind::ByPartition(rules, known) => Ok(by_rules(rules, known, partition) as usize),
            LayoutKind::Rings(rings) => rings.with(partition, HashRing::len),
        }
    }

    /// The bucket of a record key.
    ///
    /// # Errors
    /// As for [`Self::buckets_in`].
    pub fn bucket_of(&self, key: &str, partition: &str) -> Result<u32> {
        let values = hash_keys(key, &self.options.fields);
        match &self.kind {
            LayoutKind::Fixed(buckets) => Ok(hash_of(&values) % (*buckets).max(1)),
            LayoutKind::ByPartition(rules, known) => Ok(hash_of(&values) % by_rules(rules, known, partition).max(1)),
            LayoutKind::Rings(rings) => rings
                .with(partition, |ring| ring.node_of(&values))?
                .ok_or_else(|| Error::internal(format_args!("the ring of partition {partition:?} has no nodes"))),
        }
    }

    /// The bucket that a file group is, given its id or the prefix of that; none if it is not one.
    ///
    /// # Errors
    /// As for [`Self::buckets_in`].
    pub fn bucket_of_group(&self, partition: &str, file_id: &str) -> Result<Option<u32>> {
        let numbered = |buckets: u32| bucket_in(file_id).filter(|bucket| *bucket < buckets);
        match &self.kind {
            LayoutKind::Fixed(buckets) => Ok(numbered(*buckets)),
            LayoutKind::ByPartition(rules, known) => Ok(numbered(by_rules(rules, known, partition))),
            LayoutKind::Rings(rings) => rings.with(partition, |ring| ring.node_of_group(file_id)),
        }
    }

    /// The id of a new file group of a bucket, without its last part.
    ///
    /// # Errors
    /// As for [`Self::buckets_in`].
    pub fn new_prefix(&self, partition: &str, bucket: u32) -> Result<String> {
        let LayoutKind::Rings(rings) = &self.kind else { return Ok(new_bucket_prefix(bucket)) };
        rings
            .with(partition, |ring| ring.prefix(bucket).map(str::to_owned))?
            .ok_or_else(|| Error::internal(format_args!("the ring of partition {partition:?} has no node {bucket}")))
    }

    /// Stores what writers after this one need to know of the buckets of partitions that may be new.
    ///
    /// # Errors
    /// `WriteConflict` if another writer has begun one of them with other buckets; those of the store.
    pub fn store_new(&self, store: &dyn FileStore, partitions: &mut dyn Iterator<Item = &str>) -> Result<()> {
        match &self.kind {
            LayoutKind::Fixed(_) | LayoutKind::ByPartition(..) => Ok(()),
            LayoutKind::Rings(rings) => rings.store_first(store, partitions),
        }
    }

    /// The ring of a partition.
    ///
    /// # Errors
    /// `Internal` without consistent hashing; as for [`Self::buckets_in`].
    pub fn ring(&self, partition: &str) -> Result<HashRing> {
        match &self.kind {
            LayoutKind::Rings(rings) => rings.with(partition, HashRing::clone),
            _ => Err(Error::internal("a ring of fixed numbers of buckets")),
        }
    }

    /// The node of a key on a ring.
    pub(super) fn node_on(&self, ring: &HashRing, key: &str) -> Result<u32> {
        let node = ring.node_of(&hash_keys(key, &self.options.fields));
        node.ok_or_else(|| Error::internal("a ring without nodes"))
    }

    /// What options and the table say of the numbers of buckets, for messages.
    pub(super) fn described(&self, partition: &str) -> Result<String> {
        Ok(match &self.kind {
            LayoutKind::Fixed(_) | LayoutKind::ByPartition(..) => format!("{} buckets", self.buckets_in(partition)?),
            LayoutKind::Rings(_) => format!("{} file groups of consistent hashing", self.buckets_in(partition)?),
        })
    }
}

fn by_rules(rules: &PartitionRules, known: &Mutex<HashMap<String, u32>>, partition: &str) -> u32 {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(buckets) = known.get(partition) {
        return *buckets;
    }
    let buckets = rules.buckets_of(partition);
    known.insert(partition.to_owned(), buckets);
    buckets
}
