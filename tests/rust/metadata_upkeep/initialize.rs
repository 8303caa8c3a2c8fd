//! New metadata tables: of new tables, and of tables that have commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mortice::avro::{Schema, Value, decode_value};
use mortice::config::{PropertiesFile, ReadOptions, WriteOptions};
use mortice::hfile::HFile;
use mortice::metadata_upkeep::{MetadataOptions, MetadataUpkeep};
use mortice::storage::MemoryFile;

use super::hudi_commit::commits;
use super::metadata_records::{member, records_of, sorted};
use super::table_copy::{METADATA, TableCopy, check_listing};

fn options(entries: &[(&str, &str)]) -> MetadataOptions {
    MetadataOptions::resolve(&WriteOptions::resolve(entries.iter().copied()).unwrap()).unwrap()
}

fn initialize(table: &TableCopy, entries: &[(&str, &str)]) -> bool {
    MetadataUpkeep::initialize(&table.store(), &table.open(ReadOptions::default()), &options(entries)).unwrap()
}

fn properties(table: &TableCopy, path: &str) -> PropertiesFile {
    PropertiesFile::parse(&table.read(path)).unwrap()
}

const OFF: &[(&str, &str)] = &[("hoodie.metadata.enable", "false")];
const ALL: &[(&str, &str)] =
    &[("hoodie.metadata.record.index.enable", "true"), ("hoodie.metadata.index.bloom.filter.enable", "true")];

/// The records of base files, by partition.
fn base_records(table: &TableCopy) -> BTreeMap<String, BTreeMap<String, Value<'static>>> {
    let mut found: BTreeMap<String, BTreeMap<String, Value<'static>>> = BTreeMap::new();
    for path in table.metadata_files().iter().filter(|path| path.ends_with(".hfile")) {
        let partition = path[METADATA.len() + 1..].split('/').next().unwrap();
        let file = HFile::open(Arc::new(MemoryFile::new("base", table.read(path)))).unwrap();
        let schema = Schema::parse(file.schema().unwrap()).unwrap();
        for cells in file.scan() {
            for (key, value) in cells.unwrap().iter() {
                let value = sorted(decode_value(schema.root(), value).unwrap().into_owned());
                found.entry(partition.to_owned()).or_default().insert(String::from_utf8(key.to_vec()).unwrap(), value);
            }
        }
    }
    found
}

#[test]
fn a_metadata_table_is_deleted_and_built_again() {
    for (name, partitions) in [
        ("h12_column_stats", "files,column_stats,bloom_filters,record_index,partition_stats"),
        ("h12_moved_partitions", "files,column_stats,bloom_filters,record_index,partition_stats"),
        ("h10_types", "files,column_stats,bloom_filters,record_index"),
        ("h015_mdt_hfile", "files,bloom_filters,record_index"),
        ("h015_cow_partitioned", "files,bloom_filters,record_index"),
    ] {
        let table = TableCopy::new(name);
        initialize(&table, OFF);
        assert!(table.files_below(METADATA).is_empty(), "{name}");
        assert!(!initialize(&table, OFF), "{name}");
        assert!(initialize(&table, ALL), "{name}");
        assert!(!initialize(&table, ALL), "{name}");
        let key = "hoodie.table.metadata.partitions";
        assert_eq!(properties(&table, ".hoodie/hoodie.properties").get(key), Some(partitions), "{name}");
        check_listing(&table, name);
        let upkeep =
            MetadataUpkeep::open(table.store(), &table.open(ReadOptions::default()), &MetadataOptions::default());
        assert!(upkeep.unwrap().is_some(), "{name}");
    }
}

/// Statistics and locations that are read from files are those that Hudi wrote when it wrote the files.
#[test]
fn records_of_a_listing_are_those_of_the_commits() {
    let table = TableCopy::new("h12_column_stats");
    let mut theirs: BTreeMap<String, Value<'static>> = BTreeMap::new();
    let mut locations: BTreeMap<String, Value<'static>> = BTreeMap::new();
    for commit in commits(&table) {
        let mut records = records_of(&table, &commit.instant);
        theirs.extend(records.remove("column_stats").unwrap_or_default().upserts);
        let records = records.remove("record_index").unwrap_or_default();
        locations.retain(|key, _| !records.deletes.contains(key));
        locations.extend(records.upserts);
    }
    initialize(&table, OFF);
    initialize(&table, ALL);
    let ours = base_records(&table);
    let statistics = &ours["column_stats"];
    let files: BTreeSet<String> = statistics.values().map(|record| text(record, "fileName")).collect();
    assert!(!files.is_empty());
    for (key, record) in &theirs {
        let what = format!("{} of {}", text(record, "columnName"), text(record, "fileName"));
        if !files.contains(&text(record, "fileName")) {
            assert!(what.contains(".log."), "{what}");
            continue;
        }
        let [ours, theirs] = [&statistics[key], record].map(|record| member(record, "ColumnStatsMetadata"));
        // Hudi notes 0 and 0 for bounds that begin with NaN, and takes a chunk without statistics for nulls.
        let is_known = !["f", "d", "large"].contains(&text(record, "columnName").as_str());
        for name in
            ["valueCount", "valueType"].iter().chain(["nullCount", "minValue", "maxValue"].iter().filter(|_| is_known))
        {
            assert_eq!(member(ours, name), member(theirs, name), "{name}: {what}");
        }
    }
    let keys = |records: &BTreeMap<String, Value<'static>>| records.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(keys(&ours["record_index"]), keys(&locations));
    for (key, record) in &ours["record_index"] {
        let [ours, theirs] = [record, &locations[key]].map(|record| member(record, "recordIndexMetadata"));
        for name in ["partitionName", "fileIdHighBits", "fileIdLowBits", "fileIndex", "fileIdEncoding"] {
            assert_eq!(member(ours, name), member(theirs, name), "{name} of {key}");
        }
    }
}

fn text(record: &Value<'static>, name: &str) -> String {
    let Value::String(text) = member(member(record, "ColumnStatsMetadata"), name) else { panic!() };
    text.to_string()
}
