//! Timelines, schemas and file slices of real tables against what Hudi says of them.
//!
//! `MORTICE_CORPUS` names a folder of cases, each a folder with `table.zip`, `case.json` and Hudi's answers as Parquet
//! files; without it the test does nothing. Rows are not read here. But an answer names the file of each row, and a
//! read-optimized answer is all rows of its base files, so that the choice of slices can be judged by both.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use mortice::config::TableConfig;
use mortice::file_group::list_table;
use mortice::file_group::{FileSlice, FileSystemView, PartitionFiles};
use mortice::filter::Filter;
use mortice::metadata_table;
use mortice::names::{BaseFileName, LogFileName, RequestedTime};
use mortice::schema::table_schema;
use mortice::storage::{Storage, StorageOptions, open};
use mortice::timeline::{Instant, Timeline};
use mortice::{QueryKind, QueryOptions, ReadOptions, SnapshotRows};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

/// Unzips with names in UTF-8 and modification times as stored, which timelines may go by.
const UNZIP: &str = "
import os, sys, time, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    for member in archive.infolist():
        path = archive.extract(member, sys.argv[2])
        moment = time.mktime(member.date_time + (0, 0, -1))
        os.utime(path, (moment, moment))
";

struct Table {
    folder: PathBuf,
    place: Arc<dyn Storage>,
    config: TableConfig,
    timeline: Timeline,
    listing: Vec<PartitionFiles>,
}

impl Table {
    fn unpack(case: &Path) -> mortice::Result<Self> {
        let name = case.file_name().unwrap().to_string_lossy();
        let folder = std::env::temp_dir().join(format!("mortice-corpus-{}", std::process::id())).join(&*name);
        std::fs::create_dir_all(&folder).unwrap();
        let unzip = Command::new("python3").args(["-c", UNZIP]).arg(case.join("table.zip")).arg(&folder).status();
        assert!(unzip.unwrap().success(), "{name} does not unzip");
        let place = open(folder.to_str().unwrap(), &StorageOptions::new(), true)?;
        let config = TableConfig::load(&*place)?;
        let timeline = Timeline::load(&place, &config)?;
        let listing = list_table(&*place)?;
        Ok(Self { folder, place, config, timeline, listing })
    }

    fn slices(&self, as_of: Option<&RequestedTime>, base_files_alone: bool) -> mortice::Result<Vec<FileSlice>> {
        let view = FileSystemView::new(&self.timeline, &self.config, as_of)?;
        let of = |files| if base_files_alone { view.base_files(files) } else { view.slices(files) };
        Ok(self.listing.iter().map(of).collect::<mortice::Result<Vec<_>>>()?.concat())
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn slices_of_real_tables() {
    let Some(corpus) = std::env::var_os("MORTICE_CORPUS") else { return };
    let children = std::fs::read_dir(corpus).unwrap().map(|child| child.unwrap().path());
    let mut cases: Vec<PathBuf> = children.filter(|path| path.join("table.zip").exists()).collect();
    cases.sort();
    assert!(!cases.is_empty(), "MORTICE_CORPUS holds no case");
    let mut faults = Vec::new();
    for case in cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let described: Value = serde_json::from_slice(&std::fs::read(case.join("case.json")).unwrap()).unwrap();
        let outcome = Table::unpack(&case).map_err(|error| vec![error.to_string()]);
        match outcome.map(|table| examine(&table, &case, &described)) {
            Ok(found) | Err(found) => faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}"))),
        }
    }
    let _ = std::fs::remove_dir(std::env::temp_dir().join(format!("mortice-corpus-{}", std::process::id())));
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

fn examine(table: &Table, case: &Path, described: &Value) -> Vec<String> {
    let mut faults = instants_that_differ(table, described);
    faults.extend(listings_that_differ(table));
    match table_schema::at(&table.timeline, &table.config, None) {
        Ok(Some(_)) => {}
        Ok(None) => faults.push("no schema".to_owned()),
        Err(error) => faults.push(format!("schema: {error}")),
    }
    for query in described["queries"].as_array().into_iter().flatten() {
        let kind = query["type"].as_str().unwrap_or_default();
        let of_slices = ["snapshot", "read_optimized", "time_travel"].contains(&kind);
        if !of_slices || query.get("quirk").is_some() {
            continue;
        }
        let as_of = query["options"]["as.of.instant"].as_str();
        let as_of = as_of.map(|text| RequestedTime::from_query(text, table.config.timeline_zone).unwrap());
        let chosen = table.slices(as_of.as_ref(), kind == "read_optimized");
        if let Err(error) = table_schema::at(&table.timeline, &table.config, as_of.as_ref()) {
            faults.push(format!("schema as of {as_of:?}: {error}"));
        }
        let refused = query.get("hudi_error").is_some_and(|error| !error.is_null());
        let found = match chosen {
            Ok(_) if refused => vec!["Hudi refuses".to_owned()],
            Ok(slices) => judge(table, &slices, case, described, query),
            Err(_) if refused => Vec::new(),
            Err(error) => vec![error.to_string()],
        };
        let id = query["id"].as_str().unwrap_or_default();
        faults.extend(found.into_iter().map(|fault| format!("{id}: {fault}")));
    }
    faults
}

/// Slices by the metadata table's listing against those by the storage's, at every instant.
fn listings_that_differ(table: &Table) -> Vec<String> {
    let uri = table.folder.to_str().unwrap();
    let opened = |metadata| {
        let options = ReadOptions { metadata, ..ReadOptions::default() };
        mortice::Table::open(uri, &StorageOptions::new(), options).unwrap()
    };
    let (by_metadata, by_storage) = (opened(true), opened(false));
    let slices = |of: &mortice::Table, as_of: Option<&str>| {
        of.file_slices(as_of, &Filter::default()).map_err(|error| error.to_string())
    };
    let instants = table.timeline.instants().iter().map(|instant| Some(instant.requested_time.as_str()));
    let differ = |as_of: &Option<&str>| slices(&by_metadata, *as_of) != slices(&by_storage, *as_of);
    let mut faults: Vec<String> =
        instants.chain([None]).filter(differ).map(|as_of| format!("listings differ as of {as_of:?}")).collect();
    let listed = by_metadata
        .query(QueryKind::Snapshot(SnapshotRows::Unmerged), QueryOptions::default())
        .scan()
        .map(|scan| scan.explain());
    let has_one = table.config.metadata_partitions.iter().any(|name| name == metadata_table::FILES);
    if listed.is_ok_and(|plan| plan.contains("listing    metadata table") != has_one) {
        faults.push("the metadata table was not used".to_owned());
    }
    faults
}

/// Completed instants against those that the case lists: `commits` has the writes with their times, `timeline` the
/// names of all files.
fn instants_that_differ(table: &Table, described: &Value) -> Vec<String> {
    let completed = || table.timeline.instants().iter().filter(|instant| instant.is_completed());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (expected, found): (BTreeSet<_>, BTreeSet<_>) = match described["commits"].as_array() {
        Some(commits) => {
            let writes = completed().filter(|instant| instant.action.is_write());
            let time = |instant: &Instant| instant.completion_time.as_ref().map(String::from).unwrap_or_default();
            (
                commits.iter().map(|it| [&it["instant"], &it["completion"], &it["action"]].map(text)).collect(),
                writes.map(|it| [it.requested_time.to_string(), time(it), it.action.to_string()]).collect(),
            )
        }
        None => {
            let names = described["timeline"].as_array().unwrap().iter().map(text);
            let names = names.filter(|name| !name.ends_with("inflight") && !name.ends_with("requested"));
            let parts = |name: String| name.split_once('.').map(|(time, action)| [time, "", action].map(str::to_owned));
            (
                names.filter_map(parts).collect(),
                completed().map(|it| [it.requested_time.to_string(), String::new(), it.action.to_string()]).collect(),
            )
        }
    };
    expected.symmetric_difference(&found).map(|instant| format!("instant {instant:?} on one side only")).collect()
}

fn judge(table: &Table, slices: &[FileSlice], case: &Path, described: &Value, query: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut base_rows = 0;
    let mut names = BTreeSet::new();
    for slice in slices {
        names.insert(slice.file_id.clone());
        if let Some(base) = &slice.base_file {
            names.insert(base.name().to_owned());
            base_rows += rows_of(&table.folder.join(&base.path));
        }
        let files = slice.base_file.iter().map(|file| (&file.path, file.len));
        for (path, len) in files.chain(slice.log_files.iter().map(|file| (&file.path, file.len))) {
            match table.place.open(path) {
                Ok(source) if source.len() == len => {}
                _ => faults.push(format!("{path} is not there with {len} bytes")),
            }
        }
    }
    faults.extend(uncommitted_files(table, slices, described));
    let rows = query["rows"].as_i64().unwrap_or_default();
    if query["type"] == "read_optimized" && rows != base_rows {
        faults.push(format!("{base_rows} rows in base files where Hudi gives {rows}"));
    }
    let answer = query["expected"].as_str().unwrap_or_default();
    let known = |name: &String| match name.split_once('_') {
        // Hudi 0.9 leaves a row the name of the file that it first lay in.
        Some((file_id, _)) if table.config.version.number() < 3 => names.contains(file_id),
        _ => names.contains(name),
    };
    let strangers: Vec<String> = file_names_in(&case.join(answer)).into_iter().filter(|name| !known(name)).collect();
    if !strangers.is_empty() {
        faults.push(format!("Hudi's answer has rows of {strangers:?}, which are not chosen"));
    }
    faults
}

/// Chosen files of instants that the case does not list as committed; older ones are archived. Up to version 7 a log's
/// name tells only of its base file's instant.
fn uncommitted_files(table: &Table, slices: &[FileSlice], described: &Value) -> Vec<String> {
    let Some(commits) = described["commits"].as_array() else { return Vec::new() };
    let committed: BTreeSet<&str> = commits.iter().filter_map(|commit| commit["instant"].as_str()).collect();
    let pending =
        |instant: &str| committed.first().is_some_and(|first| instant >= *first) && !committed.contains(instant);
    let bases = slices.iter().filter_map(|slice| slice.base_file.as_ref());
    let bases = bases.map(|file| (file.path.clone(), BaseFileName::parse(file.name()).unwrap().instant));
    let logs = slices.iter().flat_map(|slice| &slice.log_files).filter(|_| table.config.version.number() >= 8);
    let logs = logs.map(|file| (file.path.clone(), LogFileName::parse(file.name()).unwrap().instant));
    let uncommitted = bases.chain(logs).filter(|(_, instant)| pending(instant.as_str()));
    uncommitted.map(|(path, _)| format!("{path} is of no committed instant")).collect()
}

fn rows_of(path: &Path) -> i64 {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    builder.metadata().file_metadata().num_rows()
}

/// The distinct `_hoodie_file_name` of an answer; none where it has no meta columns.
fn file_names_in(path: &Path) -> BTreeSet<String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["_hoodie_file_name"]);
    let batches = builder.with_projection(mask).build().unwrap();
    let mut names = BTreeSet::new();
    for batch in batches.map(Result::unwrap) {
        let Some(column) = batch.column_by_name("_hoodie_file_name") else { continue };
        let column = column.as_string::<i32>();
        names.extend((0..column.len()).map(|at| column.value(at).to_owned()));
    }
    names
}
