//! Keys that two writes have written, found in their files: the same ones as by comparing their rows.

use std::collections::BTreeSet;

use super::super::concurrent_inserts::last_rows;
use super::super::simulation::{Random, seeds};
use super::super::stopped_services::{Row, Table, batch};
use super::model::{CITIES, KEYS};
use mortice_merge::config::TableType;
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{WrittenRows, first_common_key};

/// What a write has written: its files, and its rows.
type Written = (Vec<WrittenRows>, BTreeSet<(&'static str, &'static str)>);

/// A write of random rows.
fn written(table: &Table, random: &mut Random, ts: i64, given: &[(&str, &str)]) -> Written {
    let mut keys = BTreeSet::new();
    for _ in 0..=random.below(4) {
        keys.insert((KEYS[random.below(KEYS.len())], CITIES[random.below(2)]));
    }
    let rows: Vec<Row> = keys.iter().map(|(key, city)| (*key, *city, ts)).collect();
    let operation = [WriteOperation::Upsert, WriteOperation::Insert][random.below(2)];
    table.write(operation, batch(&rows), given);
    (last_rows(table), keys)
}

#[test]
fn common_keys_are_those_of_the_rows() {
    for seed in seeds(3) {
        let mut random = Random::new(seed);
        let (version, table_type) =
            ([6, 9][random.below(2)], [TableType::MergeOnRead, TableType::CopyOnWrite][random.below(2)]);
        let limit = ["0", "1000000"][random.below(2)];
        let given = [("hoodie.parquet.small.file.limit", limit), ("hoodie.metadata.enable", "false")];
        let table = Table::of_type(version, table_type);
        let writes: Vec<Written> = (1..6).map(|ts| written(&table, &mut random, ts, &given)).collect();
        let open = table.open(false);
        for (own, others) in writes.iter().flat_map(|own| writes.iter().map(move |others| (own, others))) {
            let most = 2 + random.below(4);
            for is_global in [false, true] {
                let context = format!(
                    "MORTICE_TEST_SEED={seed}, version {version}, {table_type:?}, {given:?}, {most}, {is_global}: {own:?}, {others:?}"
                );
                let is_common = |one: &&(&str, &str)| {
                    others.1.iter().any(|other| one.0 == other.0 && (is_global || one.1 == other.1))
                };
                let expected: BTreeSet<&str> = own.1.iter().filter(is_common).map(|(key, _)| *key).collect();
                let found = first_common_key(&open, &own.0, &others.0, is_global, most).unwrap();
                assert_eq!(found.is_some(), !expected.is_empty(), "{context}");
                let Some(found) = found else { continue };
                assert!(expected.contains(found.key.as_str()), "{found:?}: {context}");
                let of_file = &others.0[found.other].partition;
                assert!(
                    others.1.iter().any(|(key, city)| *key == found.key && city == of_file),
                    "{found:?}: {context}"
                );
            }
        }
    }
}
