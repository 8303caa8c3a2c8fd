//! The records of one commit in the metadata table, by its partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::group_records::GroupRecords;
use super::key_locations::{DividedKeys, KeyLocations};
use crate::metadata_upkeep::partition_kind::PartitionKind;
use mortice_base::error::{Error, Result};
use mortice_table::metadata_table::shard;

/// Records of one partition.
#[derive(Default)]
pub(in crate::metadata_upkeep) struct PartitionRecords {
    /// Avro bytes by key, sorted as HFiles are.
    pub(in crate::metadata_upkeep) upserts: BTreeMap<String, Vec<u8>>,
    /// Keys that are deleted; none of them is upserted.
    pub(in crate::metadata_upkeep) deletes: BTreeSet<String>,
    /// The records of the partition `record_index`, which has no others.
    pub(in crate::metadata_upkeep) keys: KeyLocations,
}

impl PartitionRecords {
    pub(in crate::metadata_upkeep) fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.deletes.is_empty() && self.keys.is_empty()
    }

    /// Divides the records among so many file groups, by their keys.
    pub(in crate::metadata_upkeep) fn divided(self, groups: usize) -> Result<DividedRecords> {
        let groups = u32::try_from(groups).map_err(|_| Error::internal("4,294,967,296 file groups of an index"))?;
        Ok(DividedRecords { groups, keys: self.keys.divided(groups)?, upserts: self.upserts, deletes: self.deletes })
    }
}

/// Records by partition. Partitions without records are left out.
pub(in crate::metadata_upkeep) type Records = BTreeMap<PartitionKind, PartitionRecords>;

/// Records of one partition, divided among its file groups.
pub(in crate::metadata_upkeep) struct DividedRecords {
    groups: u32,
    upserts: BTreeMap<String, Vec<u8>>,
    deletes: BTreeSet<String>,
    keys: DividedKeys,
}

impl DividedRecords {
    /// The records of a file group.
    pub(in crate::metadata_upkeep) fn group(&self, number: u32) -> Result<GroupRecords<'_>> {
        let is_of_group = |key: &str| shard::number_of(key, self.groups) == number;
        let upserts = self.upserts.iter().filter(|(key, _)| is_of_group(key));
        let mut records = GroupRecords {
            upserts: upserts.map(|(key, record)| (key.as_str(), record.as_slice())).collect(),
            deletes: self.deletes.iter().map(String::as_str).filter(|key| is_of_group(key)).collect(),
        };
        self.keys.add_group(number, &mut records)?;
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Readers look a key up in the file group of its hash alone.
        #[test]
        fn each_record_is_in_the_file_group_of_its_key(
            upserts in proptest::collection::btree_map("[a-zß-ø/=]{1,9}", proptest::collection::vec(any::<u8>(), 0..3), 0..20),
            deletes in proptest::collection::btree_set("[A-Z]{1,9}", 0..9),
            groups in 1_usize..9,
        ) {
            let records =
                PartitionRecords { upserts: upserts.clone(), deletes: deletes.clone(), ..PartitionRecords::default() };
            prop_assert_eq!(records.is_empty(), upserts.is_empty() && deletes.is_empty());
            let divided = records.divided(groups).unwrap();
            let (mut upserted, mut deleted) = (BTreeMap::new(), BTreeSet::new());
            for number in 0..u32::try_from(groups).unwrap() {
                let group = divided.group(number).unwrap();
                for (key, record) in group.upserts {
                    prop_assert_eq!(shard::number_of(key, u32::try_from(groups).unwrap()), number);
                    prop_assert!(upserted.insert(key.to_owned(), record.to_vec()).is_none());
                }
                for key in group.deletes {
                    prop_assert!(deleted.insert(key.to_owned()));
                }
            }
            prop_assert_eq!((upserted, deleted), (upserts, deletes));
        }
    }
}
