//! Locations of record keys, of which a commit can have many millions: the records of the partition `record_index`.
//!
//! Keys are set aside in a file once there are many. In memory are eight bytes for each, and the sorted keys of the
//! file group that is being written.

use bytes::Bytes;

use super::group_records::GroupRecords;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_merge::spill::{AppendedBytes, SpillFolder};
use mortice_table::metadata_table::{SecondaryIndexVersion, shard};

/// In place of a record's number: the key is deleted.
const DELETED: u32 = u32::MAX;
/// Bytes before a key: its length, and the number of its record.
const HEADER: usize = 8;

/// New locations of keys, and keys without one any more, in the order in which a commit has them.
pub(in crate::metadata_upkeep) struct KeyLocations {
    entries: AppendedBytes,
    records: Vec<Vec<u8>>,
    is_empty: bool,
    /// Of keys of a secondary index: by which part they are divided.
    version: Option<SecondaryIndexVersion>,
}

impl Default for KeyLocations {
    fn default() -> Self {
        Self { entries: AppendedBytes::new(SpillFolder::new(None)), records: Vec::new(), is_empty: true, version: None }
    }
}

impl KeyLocations {
    /// No keys of a secondary index.
    pub(in crate::metadata_upkeep) fn of_secondary_index(version: SecondaryIndexVersion) -> Self {
        Self { version: Some(version), ..Self::default() }
    }

    /// Adds a record, which many keys can have. Returns its number.
    pub(in crate::metadata_upkeep) fn add_record(&mut self, record: Vec<u8>) -> Result<u32> {
        let number = u32::try_from(self.records.len()).ok().filter(|number| *number < DELETED);
        let number = number.ok_or_else(|| Error::unsupported("4,294,967,295 file groups in one commit"))?;
        self.records.push(record);
        Ok(number)
    }

    /// Gives a key the record of this number.
    pub(in crate::metadata_upkeep) fn locate(&mut self, key: &str, record: u32) -> Result<()> {
        let len = u32::try_from(key.len()).map_err(|_| Error::unsupported("a record key of 4 GiB"))?;
        self.entries.append(&len.to_le_bytes())?;
        self.entries.append(&record.to_le_bytes())?;
        self.entries.append(key.as_bytes())?;
        self.is_empty = false;
        Ok(())
    }

    /// Deletes a key, if the commit gives it no location, before or after this.
    pub(in crate::metadata_upkeep) fn delete(&mut self, key: &str) -> Result<()> {
        self.locate(key, DELETED)
    }

    pub(in crate::metadata_upkeep) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Divides the keys among so many file groups.
    pub(in crate::metadata_upkeep) fn divided(self, groups: u32) -> Result<DividedKeys> {
        let mut keys = DividedKeys {
            entries: self.entries.finish()?,
            records: self.records,
            places: vec![Vec::new(); at(groups)],
        };
        let mut place = 0;
        while place < keys.entries.len() {
            let (key, _) = keys.entry(place)?;
            let hashed = self.version.map_or(key, |version| version.hashed_part(key));
            let (len, group) = (key.len(), shard::number_of(hashed, groups));
            let places = keys.places.get_mut(at(group));
            places.ok_or_else(|| Error::internal("a record key without a file group"))?.push(place);
            place = place.saturating_add(HEADER).saturating_add(len);
        }
        Ok(keys)
    }
}

/// The keys by file group.
pub(in crate::metadata_upkeep) struct DividedKeys {
    entries: Bytes,
    records: Vec<Vec<u8>>,
    places: Vec<Vec<usize>>,
}

impl DividedKeys {
    fn entry(&self, place: usize) -> Result<(&str, u32)> {
        let lost = || Error::internal("a record key that was set aside is lost");
        let (len, rest) = self.entries.get(place..).and_then(<[u8]>::split_first_chunk).ok_or_else(lost)?;
        let (record, rest) = rest.split_first_chunk().ok_or_else(lost)?;
        let key = usize::try_from(u32::from_le_bytes(*len)).ok().and_then(|len| rest.get(..len)).ok_or_else(lost)?;
        Ok((std::str::from_utf8(key).map_err(|_| lost())?, u32::from_le_bytes(*record)))
    }

    /// Adds the records of a file group, in the order of their keys.
    pub(in crate::metadata_upkeep) fn add_group<'a>(
        &'a self,
        group: u32,
        records: &mut GroupRecords<'a>,
    ) -> Result<()> {
        let places = usize::try_from(group).ok().and_then(|group| self.places.get(group));
        let entries = places.into_iter().flatten().map(|place| self.entry(*place));
        let mut entries = entries.collect::<Result<Vec<_>>>()?;
        entries.sort_by_key(|(key, _)| *key);
        for of_key in entries.chunk_by(|(one, _), (other, _)| one == other) {
            let newest = of_key.iter().rfind(|(_, record)| *record != DELETED);
            match (newest, of_key.first()) {
                (Some((key, record)), _) => {
                    let record = usize::try_from(*record).ok().and_then(|number| self.records.get(number));
                    let record = record.ok_or_else(|| Error::internal("a key of a record that was not added"))?;
                    records.upserts.push((key, record));
                }
                (None, Some((key, _))) => records.deletes.push(key),
                (None, None) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    /// What a commit does to the keys, by maps.
    fn expected(steps: &[(String, Option<u32>)]) -> (BTreeMap<String, u32>, BTreeSet<String>) {
        let mut located = BTreeMap::new();
        located.extend(steps.iter().filter_map(|(key, record)| Some((key.clone(), (*record)?))));
        let deleted = steps.iter().map(|(key, _)| key).filter(|key| !located.contains_key(*key)).cloned().collect();
        (located, deleted)
    }

    proptest! {
        #[test]
        fn keys_are_those_of_maps(
            steps in prop::collection::vec(("[a-dé🐎]{0,2}", prop::option::of(0_u32..3)), 0..60),
            groups in 1_u32..5,
        ) {
            let mut keys = KeyLocations::default();
            for record in 0..3_u8 {
                prop_assert_eq!(keys.add_record(vec![record; 3]).unwrap(), u32::from(record));
            }
            for (key, record) in &steps {
                match record {
                    Some(record) => keys.locate(key, *record).unwrap(),
                    None => keys.delete(key).unwrap(),
                }
            }
            prop_assert_eq!(keys.is_empty(), steps.is_empty());
            let divided = keys.divided(groups).unwrap();
            let (mut located, mut deleted) = (BTreeMap::new(), BTreeSet::new());
            for group in 0..groups {
                let mut found = GroupRecords::default();
                divided.add_group(group, &mut found).unwrap();
                prop_assert!(found.upserts.is_sorted() && found.deletes.is_sorted());
                let mut of_group = found.upserts.iter().map(|(key, _)| key).chain(&found.deletes);
                prop_assert!(of_group.all(|key| shard::number_of(key, groups) == group));
                located.extend(found.upserts.iter().map(|(key, record)| ((*key).to_owned(), u32::from(record[0]))));
                deleted.extend(found.deletes.iter().map(|key| (*key).to_owned()));
            }
            prop_assert_eq!((located, deleted), expected(&steps));
        }
    }

    #[test]
    fn many_keys_come_back() {
        let mut keys = KeyLocations::default();
        let record = keys.add_record(b"there".to_vec()).unwrap();
        let key = |number: u32| format!("{number:0100}");
        (0..100_000).try_for_each(|number| keys.locate(&key(number), record)).unwrap();
        let divided = keys.divided(3).unwrap();
        let mut found = GroupRecords::default();
        (0..3).try_for_each(|group| divided.add_group(group, &mut found)).unwrap();
        found.upserts.sort_unstable();
        assert_eq!(found.upserts.len(), 100_000);
        assert!((0..).zip(&found.upserts).all(|(number, (one, of))| **one == key(number) && **of == *b"there"));
    }
}
