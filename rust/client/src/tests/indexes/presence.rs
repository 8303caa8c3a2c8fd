//! Keys that are in the table, for inserts that are not to repeat them; and keys that are found by tasks which have
//! read a part each.

use std::sync::Arc;

use arrow_array::{Array, UInt64Array};

use super::super::simulation::seeds;
use super::super::stopped_services::{Table, batch};
use super::super::upkeep_rules::by_hand::{ALL, ByHand, Written, group, time};
use super::places::snapshot;
use super::{CITIES, KEYS, Run, index, index_options, tagged_places};
use mortice_base::error::ErrorKind;
use mortice_merge::keys::RowKeys;
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::index::{
    StoredKeyBatch, TaskLookUp, choose_index, group_of, present_keys, read_stored_keys, tag_by_buckets,
    tag_by_record_index, tag_by_stored_keys,
};

/// Writes of each table.
const STEPS: usize = 4;

fn pairs() -> Vec<(&'static str, &'static str)> {
    KEYS.iter().flat_map(|key| CITIES.map(|city| (*key, city))).collect()
}

fn keys_of(pairs: &[(&str, &str)]) -> RowKeys {
    RowKeys {
        record_keys: pairs.iter().map(|(key, _)| Some(*key)).collect(),
        partitions: pairs.iter().map(|(_, city)| Some(*city)).collect(),
    }
}

/// Logs delete keys of base files, and a bucket is that of a key whether or not it is there: a row of such a key is
/// new.
#[test]
fn keys_are_present_that_a_query_finds() {
    for seed in seeds(3) {
        let mut run = Run::new(seed);
        (0..STEPS).for_each(|_| run.step());
        let (open, pairs) = (run.table.open(true), pairs());
        let keys = keys_of(&pairs);
        let tagged = run.index.tag(&open, &keys).unwrap();
        let present = present_keys(&open, run.index.as_ref(), &keys, &tagged).unwrap();
        let found = snapshot(&run.table, false);
        for ((key, city), is_present) in pairs.into_iter().zip(present) {
            let is_there =
                found.iter().any(|(other, path, ..)| other == key && (run.index.is_global() || path == city));
            assert_eq!(is_present, is_there, "{key:?} of {city:?}: {}", run.context);
            assert_eq!(is_present, run.model.has(key, city), "{key:?} of {city:?}: {}", run.context);
        }
    }
}

/// Places where an index finds a key that is there no more, or in another one, or was never there.
#[test]
fn keys_that_an_index_finds_in_vain_are_not_present() {
    let given = [index("GLOBAL_SIMPLE"), ("hoodie.simple.index.update.partition.path", "true")];
    let table = Table::new(9);
    table.upsert(&[("a", "x", 1), ("b", "x", 1), ("c", "x", 1)], &given);
    table.write(WriteOperation::Delete, batch(&[("a", "x", 2)]), &given);
    // The base file of the first partition has the key still.
    table.upsert(&[("b", "y", 2)], &given);
    let open = table.open(true);
    let chosen = choose_index(&open.config, &index_options(&given)).unwrap();
    let keys = keys_of(&[("a", "x"), ("b", "z"), ("c", "x"), ("d", "x")]);
    let tagged = chosen.tag(&open, &keys).unwrap();
    assert_eq!(tagged.locations.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, true, false]);
    let stale = tagged.location(1).unwrap();
    assert!(tagged.further.iter().any(|one| one.row == 1), "{tagged:?}");
    assert_eq!(stale.partition, "x", "the first place is the one that has it no more");
    assert_eq!(present_keys(&open, chosen.as_ref(), &keys, &tagged).unwrap(), [false, true, true, false]);
    // The index of another partition does not find it there.
    let chosen = choose_index(&open.config, &index_options(&[index("SIMPLE")])).unwrap();
    let keys = keys_of(&[("b", "x"), ("b", "y"), ("b", "z"), ("a", "x")]);
    let tagged = chosen.tag(&open, &keys).unwrap();
    assert_eq!(present_keys(&open, chosen.as_ref(), &keys, &tagged).unwrap(), [false, true, false, false]);
}

/// A bucket is that of a key whether or not the key is in it.
#[test]
fn keys_whose_bucket_is_there_are_present_only_with_a_row() {
    let given = [index("BUCKET"), ("hoodie.bucket.index.num.buckets", "2")];
    let table = Table::new(9);
    table.upsert(&[("a", "x", 1), ("b", "x", 1), ("c", "x", 1), ("d", "x", 1)], &given);
    table.write(WriteOperation::Delete, batch(&[("b", "x", 2)]), &given);
    let open = table.open(true);
    let chosen = choose_index(&open.config, &index_options(&given)).unwrap();
    let keys = keys_of(&[("a", "x"), ("b", "x"), ("e", "x"), ("f", "x"), ("a", "y")]);
    let tagged = chosen.tag(&open, &keys).unwrap();
    assert!(tagged.locations[..4].iter().all(Option::is_some), "both buckets are there: {tagged:?}");
    assert_eq!(present_keys(&open, chosen.as_ref(), &keys, &tagged).unwrap(), [true, false, false, false, false]);
}

/// Tasks of one write find keys in the same places as a write in one process does.
#[test]
fn tasks_find_keys_where_one_process_finds_them() {
    for seed in seeds(3) {
        let mut run = Run::new(seed);
        (0..STEPS).for_each(|_| run.step());
        let (open, pairs) = (run.table.open(true), pairs());
        let keys = keys_of(&pairs);
        let expected = run.index.tag(&open, &keys).unwrap();
        let is_global = run.index.is_global();
        let found = match run.index.task_look_up(&open).unwrap() {
            TaskLookUp::RecordIndex | TaskLookUp::RecordIndexAndStoredKeys => {
                tag_by_record_index(&open, &keys, is_global).unwrap()
            }
            TaskLookUp::Buckets => {
                let slices = run.index.view(&open, None).unwrap().slices.clone();
                let layout = run.index.bucket_layout(&open).unwrap().unwrap();
                tag_by_buckets(slices, &keys, &layout).unwrap()
            }
            TaskLookUp::StoredKeys => {
                let mut batches = Vec::new();
                for slice in &run.index.view(&open, None).unwrap().base_files {
                    read_stored_keys(&open, slice, |keys, first| {
                        let positions: UInt64Array = (0..keys.len() as u64).map(|row| Some(first? + row)).collect();
                        batches.push(Ok(StoredKeyBatch { location: group_of(slice), keys: keys.clone(), positions }));
                        Ok(())
                    })
                    .unwrap();
                }
                tag_by_stored_keys(&keys, is_global, batches.into_iter()).unwrap()
            }
        };
        for (row, pair) in pairs.iter().enumerate() {
            let sorted = |tagged| {
                let mut places = tagged_places(tagged, row);
                places.sort();
                places
            };
            assert_eq!(sorted(&found), sorted(&expected), "{pair:?}: {}", run.context);
        }
    }
}

/// A record index that names a file group which is no longer there: a row that was tagged with it would be lost.
#[test]
fn a_record_index_that_names_a_file_group_that_is_gone_is_refused() {
    let by_hand = ByHand::new(9, &ALL[..2]);
    by_hand.insert(1, "x", &["a"]);
    by_hand.insert(2, "x", &["b"]);
    // A writer that replaces a file group, and does not say so to the index.
    let statuses = vec![by_hand.base_file(("y", 3), &time(3), &["c".to_owned()].into(), None)];
    let mut written = Written { statuses, ..Written::default() };
    by_hand.begin(&time(3), Action::ReplaceCommit);
    by_hand.write(&by_hand.upkeep(), &time(3), WriteOperation::InsertOverwrite, &written).unwrap();
    written.replaced.insert("x".to_owned(), vec![group(1)]);
    by_hand.complete(&time(3), WriteOperation::InsertOverwrite, &written);
    let open = by_hand.table.open(true);
    let chosen = choose_index(&open.config, &index_options(&[index("RECORD_INDEX")])).unwrap();
    let tagged = chosen.tag(&open, &keys_of(&[("b", "x"), ("c", "y"), ("new", "x")])).unwrap();
    let groups: Vec<_> = (0..3).map(|row| tagged.location(row).map(|one| one.file_id.clone())).collect();
    assert_eq!(groups, [Some(group(2)), Some(group(3)), None]);
    assert!(tagged.groups.iter().all(|one| [time(2), time(3)].contains(&one.base_instant)), "{:?}", tagged.groups);
    let error = chosen.tag(&open, &keys_of(&[("a", "x")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidTable);
    for part in [group(1).as_str(), "\"x\"", "mortice metadata build --rebuild"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

/// Rows of a file whose key is null would never be found again.
#[test]
fn a_stored_row_without_a_key_is_refused() {
    let by_hand = ByHand::new(9, &[("hoodie.metadata.enable", "true")]);
    by_hand.insert(1, "x", &["a", "b"]);
    let open = by_hand.table.open(false);
    let view = open.write_view(None).unwrap();
    let mut seen = Vec::new();
    read_stored_keys(&open, &view.base_files[0], |keys, first| {
        seen.push((keys.iter().flatten().map(str::to_owned).collect::<Vec<_>>(), first));
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, [(vec!["a".to_owned(), "b".to_owned()], Some(0))]);
    let path = by_hand.path(&view.base_files[0].base_file.as_ref().unwrap().path);
    let ids: arrow_array::ArrayRef = Arc::new(arrow_array::StringArray::from(vec![Some("a"), None]));
    let rows = arrow_array::RecordBatch::try_from_iter_with_nullable([("_hoodie_record_key", ids, true)]).unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let open = by_hand.table.open(false);
    let slice = &open.write_view(None).unwrap().base_files[0];
    let error = read_stored_keys(&open, slice, |_, _| Ok(())).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidTable && error.to_string().contains("row 1"), "{error}");
    let chosen = choose_index(&open.config, &index_options(&[index("SIMPLE")])).unwrap();
    let error = chosen.tag(&open, &keys_of(&[("a", "x")])).unwrap_err();
    assert!(error.to_string().contains(&group(1)), "{error}: which file it is");
}
