//! File groups that indexes find for the keys of Hudi's tables, against the file that a query says each row is in.
//!
//! Every bundled table is checked; `MORTICE_CORPUS` names a folder of further cases.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, unreachable_pub)]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, StringArray};
use mortice::config::{TableConfig, WriteOptions};
use mortice::index::{IndexOptions, Location, Tagged, choose_index};
use mortice::keys::RowKeys;
use mortice::plan::OpenTable;
use mortice::storage::StorageOptions;
use mortice::{QueryOptions, ReadOptions, SnapshotRows, Table};

use crate::table_cases;

/// The keys of a table's rows, and the file group of each.
struct OpenedRows {
    keys: RowKeys,
    file_ids: Vec<String>,
}

/// A table, open for writing, and its properties.
struct Opened {
    table: Arc<OpenTable>,
    config: TableConfig,
}

fn open(folder: &Path) -> Opened {
    let (uri, storage) = (folder.to_str().unwrap(), StorageOptions::new());
    let config = Table::open(uri, &storage, ReadOptions::default()).unwrap().config().clone();
    Opened { table: Arc::new(OpenTable::open(uri, &storage, ReadOptions::default()).unwrap()), config }
}

fn rows(opened: &Opened) -> Option<OpenedRows> {
    let scan = opened.table.snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).ok()?;
    let (mut keys, mut partitions, mut file_ids) = (Vec::new(), Vec::new(), Vec::new());
    for batch in scan.stream() {
        let batch = batch.ok()?;
        let column = |name: &str| Some(batch.column_by_name(name)?.as_string::<i32>().clone());
        let (key, path, file) =
            (column("_hoodie_record_key")?, column("_hoodie_partition_path")?, column("_hoodie_file_name")?);
        if key.null_count() > 0 {
            return None;
        }
        keys.extend(key.iter().flatten().map(str::to_owned));
        partitions.extend(path.iter().flatten().map(str::to_owned));
        // A base row has the name of its base file, a log row the file id alone.
        file_ids.extend(file.iter().flatten().map(|name| name.split('_').next().unwrap().to_owned()));
    }
    Some(OpenedRows {
        keys: RowKeys { record_keys: StringArray::from(keys), partitions: StringArray::from(partitions) },
        file_ids,
    })
}

fn tagged(opened: &Opened, keys: &RowKeys, pairs: &[(&str, &str)]) -> mortice::Result<Tagged> {
    let options = IndexOptions::resolve(&WriteOptions::resolve(pairs.iter().copied())?)?;
    choose_index(&opened.config, &options)?.tag(&opened.table, keys)
}

/// The buckets of a table whose file ids are such.
fn buckets(rows: &OpenedRows) -> Option<u32> {
    let bucket = |id: &String| {
        id.split('-').next()?.parse::<u32>().ok().filter(|bucket| id.starts_with("00000") && *bucket < 1000)
    };
    rows.file_ids.iter().map(bucket).collect::<Option<Vec<u32>>>()?.into_iter().max().map(|most| most + 1)
}

fn check(name: &str, rows: &OpenedRows, found: &Tagged) {
    assert_eq!(found.locations.len(), rows.file_ids.len(), "{name}");
    for (row, file_id) in rows.file_ids.iter().enumerate() {
        let location = found.location(row).unwrap_or_else(|| panic!("{name}: row {row} was not found"));
        // A base file has a key still whose row a log has moved to another partition.
        let further = found.further.iter().filter(|further| further.row as usize == row);
        let mut groups = further.map(|further| &found.groups[further.group as usize]).chain([location]);
        let partition = rows.keys.partitions.value(row);
        let is_it = |group: &Location| group.file_id == *file_id && group.partition == partition;
        assert!(groups.any(is_it), "{name}: row {row} is in {partition}/{file_id}, found in {location:?}");
    }
}

#[test]
fn keys_are_found_where_queries_read_them() {
    let (mut tables, mut bucketed, mut compared, mut looked_up) = (0, 0, 0, 0);
    for case in &table_cases::all_cases() {
        let folder = table_cases::unpack(case);
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        // Written with an index that puts new keys into the logs of groups that have base files.
        if name == "h12_test_jar_vector_mor" {
            continue;
        }
        let table = open(folder.path());
        let Some(rows) = rows(&table).filter(|rows| !rows.file_ids.is_empty()) else { continue };
        let logs_alone = table.table.write_view(None).unwrap().slices.iter().any(|slice| slice.base_file.is_none());
        if let Some(buckets) = buckets(&rows) {
            let error = tagged(&table, &rows.keys, &[("hoodie.index.type", "SIMPLE")]).unwrap_err();
            assert!(error.to_string().contains("BUCKET"), "{name}: {error}");
            let number = buckets.to_string();
            let options = [("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", number.as_str())];
            check(&name, &rows, &tagged(&table, &rows.keys, &options).unwrap());
            if buckets > 1 {
                let twice = (buckets * 2).to_string();
                let options = [("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", twice.as_str())];
                let error = tagged(&table, &rows.keys, &options).unwrap_err().to_string();
                assert!(error.contains("num.buckets") || logs_alone, "{name}: {error}");
            }
            bucketed += 1;
            compared += rows.file_ids.len();
            continue;
        }
        let is_refused = logs_alone || folder.path().join(".hoodie/.bucket_index").exists();
        for index in ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM", "GLOBAL_BLOOM"] {
            let found = tagged(&table, &rows.keys, &[("hoodie.index.type", index)]);
            if is_refused {
                assert!(found.is_err(), "{name}: {index}");
                continue;
            }
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
            check(&name, &rows, &found);
            compared += rows.file_ids.len();
        }
        if table.config.metadata_partitions.iter().any(|partition| partition == "record_index") {
            for index in ["RECORD_INDEX", "RECORD_LEVEL_INDEX"] {
                let found = tagged(&table, &rows.keys, &[("hoodie.index.type", index)]);
                if is_refused {
                    assert!(found.is_err(), "{name}: {index}");
                    continue;
                }
                check(&name, &rows, &found.unwrap_or_else(|error| panic!("{name}: {error}")));
                looked_up += rows.file_ids.len();
            }
        }
        let error = tagged(&table, &rows.keys, &[("hoodie.index.type", "BUCKET")]).unwrap_err();
        assert!(error.to_string().contains("bucket"), "{name}: {error}");
        tables += 1;
    }
    println!("{compared} rows of {tables} tables and of {bucketed} with buckets; {looked_up} by the record index");
    assert!(tables > 30 && bucketed > 0 && looked_up > 0, "{tables} tables, {bucketed} with buckets");
}

#[test]
fn keys_that_are_not_there_are_new() {
    let folder = table_cases::unpack(&table_cases::bundled().join("h11_composite_keys_encoded_partitions"));
    let table = open(folder.path());
    let all = rows(&table).unwrap();
    let (keys, partitions) = (&all.keys.record_keys, &all.keys.partitions);
    let other = partitions.iter().flatten().find(|path| *path != partitions.value(0)).unwrap();
    let keys = RowKeys {
        record_keys: StringArray::from(vec![keys.value(0), "none", keys.value(0), keys.value(0)]),
        partitions: StringArray::from(vec![partitions.value(0), partitions.value(0), "no/such", other]),
    };
    for index in ["SIMPLE", "BLOOM"] {
        let found = tagged(&table, &keys, &[("hoodie.index.type", index)]).unwrap();
        assert_eq!(found.locations, [Some(0), None, None, None], "{index}");
        assert!(found.positions[0].is_some() && found.groups.len() == 1);
    }
    for index in ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"] {
        let found = tagged(&table, &keys, &[("hoodie.index.type", index)]).unwrap();
        assert_eq!(found.locations, [Some(0), None, Some(0), Some(0)], "{index}");
        assert_eq!(found.groups[0].partition, partitions.value(0));
    }
}

#[test]
fn positions_are_row_numbers_of_base_files() {
    let folder = table_cases::unpack(&table_cases::bundled().join("h12_duplicate_keys_event_time"));
    let table = open(folder.path());
    let all = rows(&table).unwrap();
    let distinct: BTreeSet<&str> = all.keys.record_keys.iter().flatten().collect();
    let keys = RowKeys {
        record_keys: distinct.iter().map(|key| Some(*key)).collect(),
        partitions: distinct.iter().map(|_| Some("")).collect(),
    };
    let found = tagged(&table, &keys, &[]).unwrap();
    assert!(!found.further.is_empty(), "the base file has keys several times");
    let mut places: Vec<(u32, u64)> =
        found.further.iter().map(|further| (further.group, further.position.unwrap())).collect();
    places.extend(
        found.locations.iter().zip(&found.positions).map(|(group, position)| (group.unwrap(), position.unwrap())),
    );
    let count = places.len();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), count, "every row of the base file once");
}
