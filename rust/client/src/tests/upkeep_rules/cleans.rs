//! A clean in the metadata table: what it deletes, and that it goes on wherever it was stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::by_hand::{ALL, ByHand, Written, time};
use crate::tests::stops;
use mortice_base::error::ErrorKind;
use mortice_commit::commit::{CleanedFiles, CleanedPartition, Clock, update_properties};
use mortice_storage::LocalStorage;
use mortice_storage::failing_store::FailingStore;
use mortice_table::timeline::metadata::{HoodieCleanMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, WriteOperation};

const COMPLETED: &str = "hoodie.table.metadata.partitions";

/// A table with two versions of a file in one partition, a file in another, and what cleans delete of them: the older
/// version, and a partition.
fn cleaned(version: u8) -> (ByHand, CleanedFiles) {
    let by_hand = ByHand::new(version, &ALL);
    let first = by_hand.insert(1, "x", &["a", "b"]);
    by_hand.insert(2, "y", &["c"]);
    let name = |written: &Written| {
        let path = &written.statuses[0].file.as_ref().unwrap().path;
        path.rsplit('/').next().unwrap().to_owned()
    };
    let old = name(&first);
    let keys = ["a", "b"].map(str::to_owned).into();
    let statuses = vec![by_hand.base_file(("x", 1), &time(3), &keys, Some((&time(1), &old)))];
    by_hand.commit(&time(3), WriteOperation::Compact, &Written { statuses, ..Written::default() });
    let gone: BTreeSet<String> = by_hand.listed()["y"].clone();
    let partition =
        |files: Vec<String>, is_deleted| CleanedPartition { files: files.into_iter().collect(), is_deleted };
    let partitions = BTreeMap::from([
        ("x".to_owned(), partition(vec![old], false)),
        ("y".to_owned(), partition(gone.into_iter().collect(), true)),
    ]);
    by_hand.begin(&time(4), Action::Clean);
    (by_hand, CleanedFiles { partitions })
}

fn complete(by_hand: &ByHand) {
    let content = Bytes::from(HoodieCleanMetadata::default().to_avro().unwrap());
    let open = by_hand.table.open(false);
    let completion =
        Clock::new(&open.config, by_hand.store().time()).completion_time(&time(4), &[&open.timeline]).unwrap();
    by_hand.timeline().complete_or_fail(&time(4), Action::Clean, &completion, &content).unwrap();
}

#[test]
fn a_clean_takes_the_records_of_its_files_and_no_others() {
    for version in [6, 9] {
        let (by_hand, cleaned) = cleaned(version);
        let (before, locations) = (by_hand.records(), by_hand.locations());
        by_hand.upkeep().write_clean(&time(4), &cleaned).unwrap();
        assert_eq!(by_hand.records(), before, "version {version}: the clean is pending in the table");
        complete(&by_hand);
        let after = by_hand.records();
        let listed = by_hand.listed();
        assert_eq!(listed.keys().collect::<Vec<_>>(), ["x"], "version {version}");
        assert!(listed["x"].iter().all(|name| name.contains(time(3).as_str())), "version {version}: {listed:?}");
        let names: BTreeSet<&String> = cleaned.partitions.values().flat_map(|one| &one.files).collect();
        assert_eq!(names.len(), 2);
        let left = &listed["x"];
        for partition in ["column_stats", "bloom_filters"] {
            let (before, after) = (&before[partition], &after[partition]);
            assert_eq!(before.len(), 3, "version {version}, {partition}: {before:?}");
            assert_eq!(after.len(), 1, "version {version}, {partition}: {after:?}");
            assert!(after.iter().all(|(key, record)| before.get(key) == Some(record)));
        }
        assert!(after["column_stats"].values().all(|record| left.iter().any(|name| record.contains(name.as_str()))));
        // Keys move with writes, and partitions keep their bounds: they may be too wide.
        assert_eq!(by_hand.locations(), locations, "version {version}");
        assert_eq!(before.get("partition_stats"), after.get("partition_stats"), "version {version}");
    }
}

#[test]
fn a_clean_that_was_stopped_anywhere_is_repeated() {
    for (version, is_lost) in [(6, false), (9, true)] {
        let (origin, cleaned) = cleaned(version);
        let expected = {
            let by_hand = origin.copy();
            by_hand.upkeep().write_clean(&time(4), &cleaned).unwrap();
            complete(&by_hand);
            by_hand.listed()
        };
        for stopped in stops(12) {
            let context = format!("version {version}, stopped at {stopped}, lost: {is_lost}");
            let by_hand = origin.copy();
            let store = Arc::new(FailingStore::new(LocalStorage::new(&by_hand.table.uri(), true), stopped, is_lost));
            let done = by_hand.upkeep_in(Arc::clone(&store) as _).unwrap().write_clean(&time(4), &cleaned);
            by_hand.upkeep().write_clean(&time(4), &cleaned).unwrap_or_else(|error| panic!("{context}: {error}"));
            let files = by_hand.files_below(".hoodie/metadata");
            by_hand.upkeep().write_clean(&time(4), &cleaned).unwrap();
            assert_eq!(by_hand.files_below(".hoodie/metadata"), files, "{context}: it is complete");
            complete(&by_hand);
            assert_eq!(by_hand.listed(), expected, "{context}");
            let left = by_hand.records();
            assert_eq!([left["column_stats"].len(), left["bloom_filters"].len()], [1, 1], "{context}");
            if done.is_ok() && store.changes() <= stopped {
                break;
            }
        }
    }
}

/// The files that it deletes would stay in an index that is not kept up.
#[test]
fn a_clean_is_refused_with_a_partition_that_is_not_maintained() {
    let (by_hand, cleaned) = cleaned(9);
    update_properties(by_hand.store().as_ref(), |properties| {
        let listed = format!("{},vector_index_x", properties.get(COMPLETED).unwrap_or_default());
        properties.set(COMPLETED, &listed);
        Ok(())
    })
    .unwrap();
    let error = by_hand.upkeep_in(by_hand.store()).err().unwrap();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("vector_index_x"), "{error}");
    // Options that drop it at the next write do not let this clean go on without it.
    let by_hand = ByHand { given: vec![("mortice.metadata.drop_unsupported", "true")], ..by_hand };
    let before = by_hand.files_below(".hoodie/metadata");
    let error = by_hand.upkeep().write_clean(&time(4), &cleaned).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("vector_index_x"), "{error}");
    assert_eq!(by_hand.files_below(".hoodie/metadata"), before);
}
