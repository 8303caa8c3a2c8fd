//! What each index does with a table: how tasks look keys up, whether what they find may be stale, and what is refused.

use std::sync::Arc;

use super::super::stopped_services::{FIRST, Table, batch};
use super::{WITH_RECORD_INDEX, index, index_options};
use mortice_base::error::ErrorKind;
use mortice_merge::config::TableType;
use mortice_merge::keys::RowKeys;
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{Index, Provenance, TaskLookUp, choose_index, choose_index_of};

const NAMES: [&str; 7] =
    ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM", "GLOBAL_BLOOM", "BUCKET", "RECORD_INDEX", "RECORD_LEVEL_INDEX"];
const BUCKETS: [(&str, &str); 2] = [index("BUCKET"), ("hoodie.bucket.index.num.buckets", "4")];

fn chosen(table: &Table, given: &[(&str, &str)]) -> Arc<dyn Index> {
    choose_index(&table.open(true).config, &index_options(given)).unwrap()
}

/// The index of a name, with as many buckets as the tables here have.
fn named(table: &Table, name: &'static str) -> Arc<dyn Index> {
    chosen(table, &[index(name), BUCKETS[1]])
}

/// The keys of the first rows, as a write of them has them.
fn keys() -> RowKeys {
    RowKeys {
        record_keys: FIRST.iter().map(|(key, ..)| Some(*key)).collect(),
        partitions: FIRST.iter().map(|(_, city, _)| Some(*city)).collect(),
    }
}

/// How an index refuses to look keys up in a table.
fn refusal(table: &Table, given: &[(&'static str, &'static str)]) -> (ErrorKind, String) {
    let error = chosen(table, given).tag(&table.open(false), &keys()).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn tasks_ask_the_record_index_where_there_is_one_and_read_keys_otherwise() {
    for has_record_index in [false, true] {
        for table_type in [TableType::CopyOnWrite, TableType::MergeOnRead] {
            let table = Table::of_type(9, table_type);
            let built = if has_record_index { vec![WITH_RECORD_INDEX] } else { Vec::new() };
            table.upsert(&FIRST, &built);
            let open = table.open(true);
            for name in NAMES {
                let context = format!("{name}, {table_type:?}, record index: {has_record_index}");
                let index = named(&table, name);
                let is_record_index = has_record_index && name.starts_with("RECORD");
                let look_up = index.task_look_up(&open).unwrap();
                let expected = match name {
                    "BUCKET" => TaskLookUp::Buckets,
                    _ if is_record_index => TaskLookUp::RecordIndex,
                    _ => TaskLookUp::StoredKeys,
                };
                assert_eq!(look_up, expected, "{context}");
                assert_eq!(look_up.needs_view(), !is_record_index, "{context}");
                assert_eq!(look_up.reads_base_files(), !is_record_index && name != "BUCKET", "{context}");
                // Logs delete keys of base files; only the record index knows.
                let may_be_stale = table_type == TableType::MergeOnRead && !is_record_index;
                assert_eq!(index.may_be_stale(&open).unwrap(), may_be_stale, "{context}");
            }
        }
    }
}

/// It has one file group of a key: that of the row that was inserted last.
#[test]
fn rows_that_the_record_index_has_forgotten_are_found_for_changes_of_stored_rows() {
    for table_type in [TableType::CopyOnWrite, TableType::MergeOnRead] {
        let table = Table::of_type(9, table_type);
        let given = [index("RECORD_INDEX"), WITH_RECORD_INDEX, ("hoodie.parquet.small.file.limit", "0")];
        table.upsert(&FIRST, &given);
        table.write(WriteOperation::Insert, batch(&FIRST), &given);
        let (open, options) = (table.open(true), index_options(&given));
        let of = |provenance| choose_index_of(&open.config, &options, provenance).unwrap();
        let (known, all) = (of(Provenance::Given), of(Provenance::Stored));
        assert_eq!(all.task_look_up(&open).unwrap(), TaskLookUp::RecordIndexAndStoredKeys);
        assert_eq!(all.may_be_stale(&open).unwrap(), table_type == TableType::MergeOnRead);
        assert!(!known.may_be_stale(&open).unwrap() && !all.may_be_stale_alone(&open).unwrap());
        let [known, all] = [known, all].map(|index| index.tag(&open, &keys()).unwrap());
        assert!(known.further.is_empty());
        for (row, further) in (0_u32..).zip(0..FIRST.len()) {
            let places: Vec<u32> = all.further.iter().filter(|one| one.row == row).map(|one| one.group).collect();
            let [place] = places[..] else { panic!("{table_type:?}: row {row} is in {places:?}") };
            let groups = [all.location(further), all.group(place).ok()].map(|group| group.unwrap().file_id.clone());
            assert_ne!(groups[0], groups[1]);
            assert!(groups.contains(&known.location(further).unwrap().file_id));
        }
    }
}

#[test]
fn a_table_of_buckets_is_refused_by_all_but_the_bucket_index_of_their_number() {
    let table = Table::new(9);
    table.upsert(&FIRST, &BUCKETS);
    for name in NAMES {
        let inserts = named(&table, name).check_inserts(&table.open(false));
        if name == "BUCKET" {
            inserts.unwrap();
            let tagged = named(&table, name).tag(&table.open(false), &keys()).unwrap();
            assert!(tagged.locations.iter().all(Option::is_some));
            continue;
        }
        let (kind, message) = refusal(&table, &[index(name)]);
        let own = if name == "RECORD_INDEX" { "GLOBAL_RECORD_LEVEL_INDEX" } else { name };
        assert_eq!(kind, ErrorKind::InvalidArgument, "{name}: {message}");
        assert!(message.contains("are buckets") && message.contains(&format!("is {own};")), "{name}: {message}");
        assert!(inserts.unwrap_err().to_string().contains("are buckets"), "{name}");
    }
    // Each key is in another bucket of 1; some are of 5.
    for buckets in ["1", "5"] {
        let (kind, message) = refusal(&table, &[index("BUCKET"), ("hoodie.bucket.index.num.buckets", buckets)]);
        assert_eq!(kind, ErrorKind::InvalidArgument, "{message}");
        assert!(message.contains("hoodie.bucket.index.num.buckets"), "{message}");
    }
}

/// Writers with a bucket index do not put keys into the record index: its keys would be taken for new ones.
#[test]
fn a_record_index_of_a_table_of_buckets_is_refused() {
    let table = Table::new(9);
    table.upsert(&FIRST, &[BUCKETS[0], BUCKETS[1], WITH_RECORD_INDEX]);
    let (open, index) = (table.open(true), named(&table, "RECORD_INDEX"));
    assert_eq!(index.task_look_up(&open).unwrap(), TaskLookUp::RecordIndex);
    let error = index.tag(&open, &keys()).unwrap_err();
    assert!(error.to_string().contains("are buckets"), "{error}");
}

#[test]
fn a_table_without_buckets_is_refused_by_the_bucket_index() {
    let table = Table::new(9);
    table.upsert(&FIRST, &[]);
    let (kind, message) = refusal(&table, &BUCKETS);
    assert_eq!(kind, ErrorKind::InvalidArgument, "{message}");
    assert!(message.contains("is not one of 4 buckets"), "{message}");
}

#[test]
fn consistent_hashing_is_refused_by_every_other_index() {
    let table = Table::new(9);
    table.upsert(&FIRST, &BUCKETS);
    let folder = table.folder.path().join(".hoodie/.bucket_index/consistent_hashing_metadata/x");
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    named(&table, "BUCKET").tag(&table.open(false), &keys()).unwrap();
    std::fs::create_dir_all(folder).unwrap();
    for name in NAMES {
        let (kind, message) = refusal(&table, &[index(name), BUCKETS[1]]);
        assert_eq!(kind, ErrorKind::InvalidArgument, "{name}: {message}");
        assert!(message.contains("CONSISTENT_HASHING"), "{name}: {message}");
        let inserts = named(&table, name).check_inserts(&table.open(false)).unwrap_err();
        assert_eq!((inserts.kind(), inserts.to_string()), (kind, message), "{name}");
    }
}

/// Keys that an index puts into logs alone are found by their buckets, and by no search of base files.
#[test]
fn file_groups_without_a_base_file_are_refused_by_all_but_the_bucket_index() {
    for given in [&BUCKETS[..], &[]] {
        let table = Table::new(9);
        table.upsert(&FIRST, given);
        table.upsert(&FIRST, given);
        for entry in std::fs::read_dir(table.folder.path().join("x")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "parquet") {
                std::fs::remove_file(path).unwrap();
            }
        }
        if !given.is_empty() {
            let tagged = chosen(&table, given).tag(&table.open(false), &keys()).unwrap();
            assert!(tagged.locations.iter().all(Option::is_some));
            continue;
        }
        for name in NAMES.into_iter().filter(|name| *name != "BUCKET") {
            let (kind, message) = refusal(&table, &[index(name)]);
            assert_eq!(kind, ErrorKind::InvalidArgument, "{name}: {message}");
            assert!(message.contains("logs and no base file"), "{name}: {message}");
            // Rows that are inserted without a look-up are in new file groups.
            named(&table, name).check_inserts(&table.open(false)).unwrap();
        }
    }
}
