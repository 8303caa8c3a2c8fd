//! What a clean deletes: the records that commits wrote of the files that it removed, and no others.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;

use crate::commit::{CleanedFiles, CleanedPartition};
use crate::metadata_upkeep::clean::{keys_of_filters, keys_of_statistics};
use crate::metadata_upkeep::records::column_kind::{ColumnKind, IndexVersion};
use crate::metadata_upkeep::records::commit_update::CommitUpdate;
use crate::metadata_upkeep::records::indexed_columns::IndexedColumns;
use crate::metadata_upkeep::records::record_schema::{OF_0_15, OF_1_2, RecordSchema};
use crate::metadata_upkeep::records::{column_stats, files};
use mortice_avro::{Schema, Value, decode_value};
use mortice_base::error::Error;
use mortice_base::property::check;
use mortice_table::metadata_table::{ALL_PARTITIONS, bloom_filter_key, partition_name};
use mortice_table::timeline::WriteOperation;
use mortice_write::write::{ColumnRange, LogFileStatus, WriteStatus, WrittenFile};

const INSTANT: &str = "20240101000000000";

/// Files of partitions: whether each is a log, and whether it is cleaned.
type Files = BTreeMap<String, BTreeMap<(String, bool), bool>>;

fn files() -> impl Strategy<Value = Files> {
    let partition = prop_oneof![1 => Just(String::new()), 4 => "[a-c]=[0-9é]{1,2}(/d=1)?"];
    btree_map(partition, btree_map(("[a-f0-9]{4}", any::<bool>()), any::<bool>(), 0..5), 0..4)
}

fn name(file_id: &str, is_log: bool) -> String {
    match is_log {
        true => format!(".{file_id}-0_{INSTANT}.log.1_0-1-2"),
        false => format!("{file_id}-0_0-1-2_{INSTANT}.parquet"),
    }
}

fn path(partition: &str, name: &str) -> String {
    if partition.is_empty() { name.to_owned() } else { format!("{partition}/{name}") }
}

fn statuses(files: &Files, columns: &BTreeSet<String>) -> Vec<WriteStatus> {
    let all = files.iter().flat_map(|(partition, files)| files.keys().map(move |file| (partition, file)));
    let status = |(partition, (file_id, is_log)): (&String, &(String, bool))| {
        let columns = columns.iter().map(|column| ColumnRange::new(column)).collect();
        let log = LogFileStatus { version: 1, offset: 0, base_file: String::new(), log_files: Vec::new() };
        let file = WrittenFile::new(path(partition, &name(file_id, *is_log)), 7);
        let file = WrittenFile { columns, log: is_log.then_some(log), ..file };
        WriteStatus { file: Some(file), ..WriteStatus::new(partition, &format!("{file_id}-0")) }
    };
    all.map(status).collect()
}

/// What is cleaned: a partition is gone with the last of its files.
fn cleaned(files: &Files) -> CleanedFiles {
    let partition = |files: &BTreeMap<(String, bool), bool>| CleanedPartition {
        files: files.iter().filter(|(_, is_cleaned)| **is_cleaned).map(|((id, is_log), _)| name(id, *is_log)).collect(),
        is_deleted: files.values().all(|is_cleaned| *is_cleaned),
    };
    CleanedFiles { partitions: files.iter().map(|(name, files)| (name.clone(), partition(files))).collect() }
}

/// Entries of a record of the partition `files`: whether each is deleted, and its size.
fn entries(schema: &RecordSchema, record: &[u8]) -> BTreeMap<String, (bool, i64)> {
    let parsed = Schema::parse(schema.block).unwrap();
    let Value::Object(members) = decode_value(parsed.root(), record).unwrap().into_owned() else { panic!() };
    let list = members.into_iter().find(|(name, _)| name == "filesystemMetadata").map(|(_, list)| list);
    let Some(Value::Object(list)) = list else { panic!("{list:?}") };
    let entry = |(name, entry): (std::borrow::Cow<'static, str>, Value<'static>)| {
        let Value::Object(members) = &entry else { panic!("{entry:?}") };
        let [(_, Value::Int(size)), (_, Value::Boolean(is_deleted))] = &members[..] else { panic!("{members:?}") };
        (name.into_owned(), (*is_deleted, *size))
    };
    list.into_iter().map(entry).collect()
}

#[test]
fn a_clean_deletes_the_statistics_of_its_files_alone() {
    let columns = btree_set("[a-d](.[x-z])?", 0..4);
    check(200, &(files(), columns), |(files, columns)| {
        let kind = ColumnKind::string();
        let indexed = columns.iter().map(|column| (column.clone(), kind.clone())).collect();
        let indexed = IndexedColumns { version: IndexVersion::V2, columns: indexed };
        let schema = Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap();
        let replaced = BTreeMap::new();
        let written = |files: &Files| {
            let (statuses, operation) = (statuses(files, &columns), WriteOperation::Upsert);
            let update = CommitUpdate { operation, statuses: &statuses, replaced: &replaced, schema: &schema };
            let records = column_stats::of_commit(&OF_1_2, &indexed, &update).unwrap();
            records.upserts.into_keys().collect::<BTreeSet<String>>()
        };
        let mut gone = files.clone();
        gone.values_mut().for_each(|files| files.retain(|_, is_cleaned| *is_cleaned));
        let deleted = keys_of_statistics(&indexed, &cleaned(&files));
        prop_assert!(deleted.upserts.is_empty());
        prop_assert_eq!(&deleted.deletes, &written(&gone));
        let mut left = files.clone();
        left.values_mut().for_each(|files| files.retain(|_, is_cleaned| !*is_cleaned));
        prop_assert!(written(&left).is_disjoint(&deleted.deletes), "files that stay keep their statistics");
        // Base files alone have Bloom filters.
        let bases = files.iter().flat_map(|(partition, files)| files.iter().map(move |file| (partition, file)));
        let bases = bases.filter(|(_, ((_, is_log), is_cleaned))| !is_log && **is_cleaned);
        let filters = bases.map(|(partition, ((id, _), _))| bloom_filter_key(partition, &name(id, false)));
        prop_assert_eq!(keys_of_filters(&cleaned(&files)).deletes, filters.collect::<BTreeSet<_>>());
        Ok(())
    });
}

/// A commit's records of `files` with a clean's over them are the files that are left, in each partition.
#[test]
fn files_that_are_left_after_a_clean_are_listed() {
    check(200, &(files(), any::<bool>()), |(files, is_1x)| {
        let schema = if is_1x { &OF_1_2 } else { &OF_0_15 };
        let empty = Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap();
        let (statuses, replaced) = (statuses(&files, &BTreeSet::new()), BTreeMap::new());
        let operation = WriteOperation::Insert;
        let update = CommitUpdate { operation, statuses: &statuses, replaced: &replaced, schema: &empty };
        let written = files::of_commit(schema, &update, || Err(Error::invalid_table("a damaged metadata table")));
        let records = [written.unwrap(), files::of_clean(schema, &cleaned(&files))];
        let mut listed: BTreeMap<String, BTreeMap<String, (bool, i64)>> = BTreeMap::new();
        for (key, record) in records.iter().flat_map(|records| &records.upserts) {
            // As readers merge them: the newer entry of a file counts.
            listed.entry(key.clone()).or_default().extend(entries(schema, record));
        }
        prop_assert!(records.iter().all(|records| records.deletes.is_empty()));
        let live = |key: &str| {
            let entries = listed.get(key).into_iter().flatten().filter(|(_, (is_deleted, _))| !is_deleted);
            entries.map(|(name, (_, size))| (name.clone(), *size)).collect::<Vec<_>>()
        };
        let mut partitions = Vec::new();
        for (partition, files) in &files {
            let left = files.iter().filter(|(_, is_cleaned)| !**is_cleaned);
            let mut left: Vec<(String, i64)> = left.map(|((id, is_log), _)| (name(id, *is_log), 7)).collect();
            left.sort();
            prop_assert_eq!(live(partition_name(partition)), left.clone());
            partitions.extend((!left.is_empty()).then(|| (partition_name(partition).to_owned(), 0)));
        }
        partitions.sort();
        prop_assert_eq!(live(ALL_PARTITIONS), partitions);
        Ok(())
    });
}
