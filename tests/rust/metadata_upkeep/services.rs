//! Services of the metadata table: compactions that Hudi planned are executed, and compared with Hudi's own base files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mortice::ErrorKind;
use mortice::avro::{Schema, Value, decode_value};
use mortice::commit::Clock;
use mortice::config::{ReadOptions, TableConfig, WriteOptions};
use mortice::hfile::HFile;
use mortice::metadata_upkeep::{MetadataOptions, MetadataUpkeep};
use mortice::services::{MetadataServiceOptions, MetadataServices};
use mortice::storage::{MemoryFile, Storage};
use mortice::timeline::Timeline;
use mortice::timeline::metadata::{HoodieCommitMetadata, HoodieWriteStat, TimelineMetadata};

use super::metadata_records::sorted;
use super::table_copy::{METADATA, TableCopy, check_listing};

type Records = BTreeMap<String, Value<'static>>;

fn options(entries: &[(&str, &str)]) -> MetadataServiceOptions {
    MetadataServiceOptions::resolve(&WriteOptions::resolve(entries.iter().copied()).unwrap()).unwrap()
}

fn upkeep(table: &TableCopy) -> MetadataUpkeep {
    let open = table.open(ReadOptions::default());
    MetadataUpkeep::open(table.store(), &open, &MetadataOptions::default()).unwrap().unwrap()
}

fn timeline_of(table: &TableCopy) -> Timeline {
    let storage: Arc<dyn Storage> = table.store();
    let config = TableConfig::load(storage.as_ref()).unwrap();
    Timeline::load(&storage, &config).unwrap()
}

/// Runs the services of the metadata table as a write does. Returns whether anything changed.
fn run(table: &TableCopy, entries: &[(&str, &str)]) -> bool {
    let (store, options, timeline) = (table.store(), options(entries), timeline_of(table));
    let config = TableConfig::load(store.as_ref()).unwrap();
    let clock = Clock::new(&config, store.time());
    let services =
        MetadataServices { store: &store, config: &config, timeline: &timeline, clock: &clock, options: &options };
    services.run(upkeep(table).timeline()).unwrap()
}

/// The records of the base files of an instant, by partition and file group. Hudi writes the file's name into each
/// record.
fn base_records(table: &TableCopy, instant: &str) -> BTreeMap<(String, String), Records> {
    let mut found = BTreeMap::new();
    for path in table.metadata_files() {
        if !path.ends_with(&format!("_{instant}.hfile")) {
            continue;
        }
        let (partition, name) = path[METADATA.len() + 1..].split_once('/').unwrap();
        let group = name.split('_').next().unwrap().to_owned();
        let file = HFile::open(Arc::new(MemoryFile::new("base", table.read(&path)))).unwrap();
        let schema = Schema::parse(file.schema().unwrap()).unwrap();
        let mut records = Records::new();
        for cells in file.scan() {
            for (key, value) in cells.unwrap().iter() {
                let Value::Object(mut members) = decode_value(schema.root(), value).unwrap().into_owned() else {
                    panic!()
                };
                members.retain(|(name, _)| !name.starts_with("_hoodie_"));
                records.insert(String::from_utf8(key.to_vec()).unwrap(), sorted(Value::Object(members)));
            }
        }
        assert!(found.insert((partition.to_owned(), group), records).is_none());
    }
    found
}

/// What the commit of a compaction says of each base file: rows written, inserted, updated, deleted.
fn counts(table: &TableCopy, instant: &str) -> BTreeMap<String, [i64; 4]> {
    let folder = table.timeline(METADATA);
    let is_commit = |name: &&String| name.starts_with(instant) && name.ends_with(".commit");
    let names = table.instant_files(METADATA);
    let name = names.iter().find(is_commit).unwrap();
    let commit = HoodieCommitMetadata::from_bytes(&table.read(&format!("{folder}/{name}"))).unwrap().unwrap();
    assert_eq!((commit.compacted, commit.operation_type.as_deref()), (Some(true), Some("COMPACT")));
    let stats = commit.partition_to_write_stats.unwrap();
    let stats = stats.values().flatten();
    let of = |stat: &HoodieWriteStat| {
        [stat.num_writes, stat.num_inserts, stat.num_update_writes, stat.num_deletes].map(Option::unwrap)
    };
    stats.map(|stat| (stat.file_id.clone().unwrap(), of(stat))).collect()
}

/// Makes of a table what it was when a compaction of its metadata table had been planned.
fn cut_to_plan(table: &TableCopy, instant: &str) {
    let remove = |path: String| std::fs::remove_file(table.root().join(path)).unwrap();
    let mut undone = BTreeSet::new();
    for root in ["", METADATA] {
        for name in table.instant_files(root) {
            let times: Vec<&str> = name.split('.').next().unwrap().split('_').collect();
            let is_later = times[0] > instant || times.get(1).is_some_and(|completed| *completed > instant);
            let is_begun = !root.is_empty() && times[0] == instant && !name.ends_with(".requested");
            if is_later || is_begun {
                undone.insert(times[0].to_owned());
                remove(format!("{}/{name}", table.timeline(root)));
            }
        }
    }
    for path in table.metadata_files() {
        if undone.contains(&table.instant_of(&path)) {
            remove(path);
        }
    }
}

#[test]
fn plans_of_hudi_are_executed_as_hudi_does() {
    for (name, instants) in [
        ("h12_column_stats", vec!["20261121144914402"]),
        ("h015_mdt_hfile", vec!["20261121022920444001", "20261121022941610001"]),
    ] {
        for instant in instants {
            let table = TableCopy::new(name);
            let theirs = (base_records(&table, instant), counts(&table, instant));
            assert!(!theirs.0.is_empty());
            cut_to_plan(&table, instant);
            assert!(base_records(&table, instant).is_empty());
            assert!(run(&table, &[]), "{name}");
            let ours = (base_records(&table, instant), counts(&table, instant));
            for (group, records) in &theirs.0 {
                for (key, record) in records {
                    assert_eq!(ours.0[group].get(key), Some(record), "{name} {instant} {group:?} {key}");
                }
                assert!(ours.0[group].keys().eq(records.keys()), "{name} {instant} {group:?}");
            }
            assert!(ours.0.keys().eq(theirs.0.keys()), "{name} {instant}");
            assert_eq!(ours.1, theirs.1, "{name} {instant}");
            assert!(!run(&table, &[]), "{name}: there is nothing more to do");
        }
    }
}

/// All rows of a partition of the metadata table, as readers see them.
fn rows(table: &TableCopy, partition: &str) -> Vec<String> {
    let open = table.open(ReadOptions::default());
    let metadata = open.metadata_table().unwrap();
    let names: Vec<&str> = metadata.schema().fields().iter().map(|field| field.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.starts_with("_hoodie_")).collect();
    let mut rows = Vec::new();
    for batch in metadata.rows(partition, &names).unwrap() {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| {
                let value = arrow_cast::display::array_value_to_string(column, row).unwrap();
                // Maps have no order.
                let mut parts: Vec<&str> = value.split("}, ").map(|part| part.trim_matches(['{', '}'])).collect();
                parts.sort_unstable();
                parts.join("; ")
            });
            rows.push(values.collect::<Vec<_>>().join(" | "));
        }
    }
    rows.sort();
    rows
}

#[test]
fn a_compaction_changes_nothing_that_readers_see() {
    for (name, partitions) in [
        ("h12_column_stats", vec!["files", "column_stats", "partition_stats", "record_index"]),
        ("h12_moved_partitions", vec!["files", "column_stats", "partition_stats"]),
        ("h11_record_index_move", vec!["files", "record_index"]),
        ("h015_mdt_hfile", vec!["files", "column_stats", "record_index"]),
        ("h12_removed_partition", vec!["files"]),
    ] {
        let table = TableCopy::new(name);
        let before: Vec<Vec<String>> = partitions.iter().map(|partition| rows(&table, partition)).collect();
        assert!(before.iter().all(|rows| !rows.is_empty()), "{name}");
        assert!(run(&table, &[("hoodie.metadata.compact.max.delta.commits", "1")]), "{name}");
        for (partition, before) in partitions.iter().zip(&before) {
            assert_eq!(&rows(&table, partition), before, "{name} {partition}");
        }
        check_listing(&table, name);
        assert!(!run(&table, &[("hoodie.metadata.compact.max.delta.commits", "1")]), "{name}: no logs are left");
    }
}

#[test]
fn a_metadata_table_is_compacted_one_commit_before_hudi_would() {
    let table = TableCopy::new("h12_moved_partitions");
    // Six delta commits: four that initialise the partitions, two of the table.
    assert!(!run(&table, &[("hoodie.metadata.compact.max.delta.commits", "8")]));
    assert!(run(&table, &[("hoodie.metadata.compact.max.delta.commits", "7")]));
}

#[test]
fn what_is_in_a_base_file_of_the_metadata_table_is_not_rolled_back() {
    for name in ["h12_moved_partitions", "h015_mdt_hfile"] {
        let table = TableCopy::new(name);
        let latest = timeline_of(&table).completed_writes().next_back().unwrap().clone();
        upkeep(&table).check_not_compacted(&latest.requested_time).unwrap();
        assert!(run(&table, &[("hoodie.metadata.compact.max.delta.commits", "1")]), "{name}");
        let error = upkeep(&table).check_not_compacted(&latest.requested_time).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Unsupported && error.to_string().contains("mortice metadata build --rebuild"),
            "{error}"
        );
    }
}
