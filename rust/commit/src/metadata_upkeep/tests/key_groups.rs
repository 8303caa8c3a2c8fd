//! The file group of a key: readers look only into the one of its hash
//! (`HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex`).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::metadata_upkeep::records::partition_records::PartitionRecords;
use mortice_base::property::check;
use mortice_table::metadata_table::shard;

/// `h = 0; for c in utf16(k): h = 31 * h + c`, as an int; `abs(abs(h) % n)`.
fn group_of_java(key: &str, groups: u32) -> u32 {
    let mut hash = 0_i64;
    for unit in key.encode_utf16() {
        hash = (31 * hash + i64::from(unit)) & 0xffff_ffff;
    }
    let hash = if hash > i64::from(i32::MAX) { hash - (1_i64 << 32) } else { hash };
    // Java's absolute value of the least int is that int.
    let absolute = if hash == i64::from(i32::MIN) { hash } else { hash.abs() };
    u32::try_from((absolute % i64::from(groups)).abs()).unwrap()
}

fn keys() -> impl Strategy<Value = String> {
    // The hash of the last two is the least int.
    prop_oneof![
        6 => "\\PC{0,12}",
        2 => "[0-9a-f]{8}-[0-9a-f]{4}",
        1 => Just("polygenelubricants".to_owned()),
        1 => Just("DESIGNING WORKHOUSES".to_owned()),
    ]
}

#[test]
fn the_hash_is_that_of_java() {
    check(2000, &(keys(), 1_u32..10_001), |(key, groups)| {
        prop_assert_eq!(shard::number_of(&key, groups), group_of_java(&key, groups));
        prop_assert_eq!(shard::number_of(&key, 1), 0);
        Ok(())
    });
}

/// Files, statistics and locations of keys are divided by the same hash, deletes among them.
#[test]
fn all_records_of_a_commit_are_divided_by_the_hash() {
    let upserts = proptest::collection::btree_set(keys(), 0..12);
    let located = proptest::collection::vec((keys(), any::<bool>()), 0..12);
    check(200, &(upserts, located, 1_usize..12), |(upserts, located, groups)| {
        let mut records = PartitionRecords::default();
        records.upserts.extend(upserts.iter().map(|key| (format!("u{key}"), b"upsert".to_vec())));
        records.deletes.extend(upserts.iter().map(|key| format!("d{key}")));
        let number = records.keys.add_record(b"location".to_vec()).unwrap();
        let mut expected = BTreeMap::new();
        for (key, is_deleted) in &located {
            let key = format!("k{key}");
            if *is_deleted {
                records.keys.delete(&key).unwrap();
                expected.entry(key).or_insert(false);
            } else {
                records.keys.locate(&key, number).unwrap();
                expected.insert(key, true);
            }
        }
        expected.extend(upserts.iter().flat_map(|key| [(format!("u{key}"), true), (format!("d{key}"), false)]));
        let divided = records.divided(groups).unwrap();
        let groups = u32::try_from(groups).unwrap();
        let mut found = BTreeMap::new();
        for group in 0..groups {
            let records = divided.group(group).unwrap();
            let upserts = records.upserts.iter().map(|(key, _)| (*key, true));
            for (key, is_live) in upserts.chain(records.deletes.iter().map(|key| (*key, false))) {
                prop_assert_eq!(group_of_java(key, groups), group, "{}", key);
                prop_assert!(found.insert(key.to_owned(), is_live).is_none(), "{} is there twice", key);
            }
            // A key that is upserted and deleted would be lost: the delete block follows the records.
            let upserted: BTreeSet<&str> = records.upserts.iter().map(|(key, _)| *key).collect();
            prop_assert!(records.deletes.iter().all(|key| !upserted.contains(key)));
        }
        prop_assert_eq!(found, expected);
        Ok(())
    });
}
