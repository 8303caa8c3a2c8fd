//! In which file groups keys are, found without an index: by a snapshot of all rows, and by the base files in the
//! folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::super::stopped_services::Table;
use mortice_base::names::meta_columns::{FILE_NAME, PARTITION_PATH, RECORD_KEY};
use mortice_table::plan::{QueryOptions, SnapshotRows};

/// A partition and a file id.
pub(super) type Group = (String, String);

/// A stored row: key, partition, ordering value, and the file group that it is in.
pub(super) type Found = (String, String, i64, String);

fn strings(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
    column.iter().map(|value| value.unwrap().to_owned()).collect()
}

/// The rows of a snapshot, sorted.
pub(super) fn snapshot(table: &Table, metadata: bool) -> Vec<Found> {
    let scan = table.open(metadata).snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
    let mut found = Vec::new();
    for batch in scan.stream() {
        let batch = batch.unwrap();
        let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>().values().to_vec();
        let [keys, partitions, files] = [RECORD_KEY, PARTITION_PATH, FILE_NAME].map(|name| strings(&batch, name));
        for (((key, partition), file), ts) in keys.into_iter().zip(partitions).zip(files).zip(times) {
            let file_id = file.split_once('_').map_or(file.as_str(), |(file_id, _)| file_id).to_owned();
            found.push((key, partition, ts, file_id));
        }
    }
    found.sort();
    found
}

/// The newest base file of each file group.
fn base_files(table: &Table) -> BTreeMap<Group, String> {
    let mut newest: BTreeMap<Group, (String, String)> = BTreeMap::new();
    for city in super::model::CITIES {
        let Ok(entries) = std::fs::read_dir(table.folder.path().join(city)) else { continue };
        for name in entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
            let Some(stem) = name.strip_suffix(".parquet").filter(|stem| !stem.starts_with('.')) else { continue };
            let parts: Vec<&str> = stem.split('_').collect();
            let file = (parts[2].to_owned(), format!("{city}/{name}"));
            let known = newest.entry((city.to_owned(), parts[0].to_owned())).or_default();
            *known = std::mem::take(known).max(file);
        }
    }
    newest.into_iter().map(|(group, (_, path))| (group, path)).collect()
}

/// The file groups with base files.
pub(super) fn groups(table: &Table) -> BTreeSet<Group> {
    base_files(table).into_keys().collect()
}

/// The file group and the number of each row of the newest base files, with its key.
pub(super) fn base_rows(table: &Table, replaced: &BTreeSet<Group>) -> Vec<(String, Group, u64)> {
    let mut rows = Vec::new();
    for (group, path) in base_files(table).into_iter().filter(|(group, _)| !replaced.contains(group)) {
        let file = File::open(table.folder.path().join(path)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let mask = ProjectionMask::columns(reader.parquet_schema(), [RECORD_KEY]);
        let mut number = 0;
        for batch in reader.with_projection(mask).build().unwrap() {
            for key in strings(&batch.unwrap(), RECORD_KEY) {
                rows.push((key, group.clone(), number));
                number += 1;
            }
        }
    }
    rows
}
