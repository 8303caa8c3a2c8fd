//! Writes files of Hudi tables for tests, before there is a commit:
//! `cargo run -p mortice --example write_files COMMAND …`.
//!
//! | command | what it does |
//! |---|---|
//! | `rewrite FILE TABLE [OPTION=VALUE …]` | writes the rows of a base file again, as a file of the same name below `TABLE` |
//! | `commit TABLE` | makes one delta commit, described in JSON on standard input |
//! | `transact TABLE` | the same as a transaction of mortice, with the metadata table; the instant is generated |
//! | `time FILE TABLE [OPTION=VALUE …]` | writes the rows of a parquet file, and prints seconds of CPU |
//!
//! `tests/spark/test_hudi_reads_our_files.py` has Hudi read the files.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema as ArrowSchema};
use bytes::Bytes;
use mortice::BatchLimit;
use mortice::avro::{ArrowMapping, Schema, arrow_schema, hudi_schema};
use mortice::avro_parquet::ListStructure;
use mortice::base_file::open_parquet;
use mortice::config::{TimelineLayout, WriteOptions};
use mortice::log::writer::{DeleteColumns, PartitionPath};
use mortice::names::RequestedTime;
use mortice::names::{BaseFileName, meta_columns};
use mortice::storage::{FileSource, FileStore, LocalStorage, PutOutcome, StorageOptions, open_file_store};
use mortice::timeline::WriteOperation;
use mortice::timeline::metadata::{HoodieCommitMetadata, OrderedMap, TimelineMetadata};
use mortice::transaction::{CommitExtra, Transaction};
use mortice::writable_table::{TableLocation, WritableTable};
use mortice::write::{
    AppendHandle, AppendOptions, BaseFileOptions, BaseFileTarget, BaseFileWriter, CreateHandle, CreateTarget,
    LogNaming, LogRows, LogTarget, Markers, MetaColumns, WriteStatus, WriteToken,
};
use serde::Deserialize;

/// How a rewritten file has its lists, as Hudi's Avro writer does by Hadoop's configuration.
const OLD_LISTS: &str = "parquet.avro.write-old-list-structure=true";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["rewrite", file, table, options @ ..] => rewrite(file, table, options),
        ["commit", table] => commit(table),
        ["transact", table] => transact(table),
        ["time", file, table, options @ ..] => time(file, table, options),
        _ => Err("usage: write_files rewrite FILE TABLE … | commit TABLE | transact TABLE | time FILE TABLE …".into()),
    }
}

fn parse_options(options: &[&str]) -> Outcome<WriteOptions> {
    let pairs = options.iter().map(|option| option.split_once('=')).collect::<Option<Vec<_>>>();
    Ok(WriteOptions::resolve(pairs.ok_or("options are NAME=VALUE")?)?)
}

fn source(path: &str) -> Outcome<Arc<dyn FileSource>> {
    Ok(LocalStorage::open_file(path.as_ref(), true)?)
}

fn rewrite(path: &str, table: &str, options: &[&str]) -> Outcome<()> {
    let file = open_parquet(source(path)?)?;
    let schema = Schema::parse(&file.avro_schema().ok_or("the file has no Avro schema")?)?;
    let name = path.rsplit('/').next().and_then(BaseFileName::parse).ok_or("not the name of a base file")?;
    let token: Vec<u32> = name.write_token.split('-').map(str::parse).collect::<Result<_, _>>()?;
    let [task, stage, attempt] = *token else { return Err("not a write token".into()) };
    let token = WriteToken { task, stage, attempt: attempt.into() };
    let target = BaseFileTarget { partition: String::new(), file_id: name.file_id, instant: name.instant, token };
    // Of Hadoop's configuration, not of a write.
    let (lists, options): (Vec<&str>, Vec<&str>) = options.iter().partition(|option| **option == OLD_LISTS);
    let lists = if lists.is_empty() { ListStructure::ThreeLevels } else { ListStructure::TwoLevels };
    let options = BaseFileOptions { lists, ..BaseFileOptions::resolve(&parse_options(&options)?, LAYOUT)? };
    let store = open_file_store(table, &StorageOptions::new())?;
    let mut writer = BaseFileWriter::new(store.as_ref(), &schema, &target, &options)?;
    for batch in file.batches(&Arc::new(arrow_schema(&schema, ArrowMapping::File)?), BatchLimit::with_rows(1000))? {
        let batch = batch?;
        assert_eq!(writer.write(&batch, MetaColumns::Kept)?, batch.num_rows());
    }
    println!("{:?}", writer.finish()?.columns);
    Ok(())
}

/// A delta commit.
#[derive(Deserialize)]
struct Commit {
    instant: RequestedTime,
    completion: String,
    /// The schema of rows, without meta columns.
    schema: serde_json::Value,
    key: String,
    options: BTreeMap<String, String>,
    inserts: Vec<Inserts>,
    logs: Vec<Log>,
}

#[derive(Deserialize)]
struct Inserts {
    partition: String,
    prefix: String,
    rows: String,
}

#[derive(Deserialize)]
struct Log {
    partition: String,
    file_id: String,
    base_instant: Option<RequestedTime>,
    /// Up to table version 7: base file and log files of the slice.
    slice: Option<(String, Vec<String>)>,
    rows: Option<String>,
    positions: Option<Vec<u64>>,
    deletes: Vec<String>,
    delete_positions: Option<Vec<u64>>,
}

/// Of tables whose files are like those that Hudi writes by default.
const LAYOUT: TimelineLayout = TimelineLayout::V1;
const TOKEN: WriteToken = WriteToken { task: 3, stage: 1, attempt: 7 };

fn commit(table: &str) -> Outcome<()> {
    let commit: Commit = serde_json::from_reader(std::io::stdin())?;
    let store = open_file_store(table, &StorageOptions::new())?;
    let own = Schema::parse(&commit.schema.to_string())?;
    let schema = own.with_leading_nullable_strings(&meta_columns::ALL)?;
    let is_old = commit.logs.iter().any(|log| log.slice.is_some());
    let (folder, completed) = match is_old {
        true => (".hoodie", commit.instant.to_string()),
        false => (".hoodie/timeline", format!("{}_{}", commit.instant, commit.completion)),
    };
    create(store.as_ref(), &format!("{folder}/{}.deltacommit.requested", commit.instant), Bytes::new())?;
    create(store.as_ref(), &format!("{folder}/{}.deltacommit.inflight", commit.instant), Bytes::new())?;
    let mut statuses = Vec::new();
    for inserts in &commit.inserts {
        statuses.extend(insert(&store, &schema, &commit, inserts)?);
    }
    for log in &commit.logs {
        statuses.extend(append(&store, &schema, &commit, log)?);
    }
    // As they would come from other processes.
    let statuses: Vec<WriteStatus> = statuses
        .iter()
        .map(|status| status.to_bytes().and_then(|bytes| WriteStatus::from_bytes(&bytes)))
        .collect::<Result<_, _>>()?;
    let mut by_partition: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for status in &statuses {
        by_partition.entry(&status.partition).or_default().extend(status.to_write_stat());
        println!("{}", serde_json::to_string(status)?);
    }
    let metadata = HoodieCommitMetadata {
        partition_to_write_stats: Some(OrderedMap::from_iter(by_partition)),
        compacted: Some(false),
        extra_metadata: Some(OrderedMap::from_iter([("schema", own.json().to_owned())])),
        version: Some(1),
        operation_type: Some("UPSERT".into()),
        ..HoodieCommitMetadata::default()
    };
    let markers = Markers::new(Arc::clone(&store), &commit.instant);
    let paths = statuses.iter().filter_map(|status| status.file.as_ref().map(|file| file.path.as_str())).collect();
    assert!(markers.uncommitted(&paths)?.is_empty());
    let bytes = if is_old { metadata.to_json() } else { metadata.to_avro()? };
    create(store.as_ref(), &format!("{folder}/{completed}.deltacommit"), bytes.into())?;
    Ok(markers.remove()?)
}

fn transact(table: &str) -> Outcome<()> {
    let mut commit: Commit = serde_json::from_reader(std::io::stdin())?;
    let own = Schema::parse(&commit.schema.to_string())?;
    let schema = own.with_leading_nullable_strings(&meta_columns::ALL)?;
    let location = TableLocation::new(table, &StorageOptions::new());
    let target = Arc::new(WritableTable::open(&location, &commit.options, "upsert")?);
    let mut transaction = Transaction::begin(&target, WriteOperation::Upsert)?;
    commit.instant = transaction.instant().clone();
    transaction.inflight(&HoodieCommitMetadata::default())?;
    let store = Arc::clone(transaction.store());
    let mut statuses = Vec::new();
    for inserts in &commit.inserts {
        statuses.extend(insert(&store, &schema, &commit, inserts)?);
    }
    for log in &commit.logs {
        statuses.extend(append(&store, &schema, &commit, log)?);
    }
    for status in &statuses {
        println!("{}", serde_json::to_string(status)?);
    }
    let extra = CommitExtra { schema: own.json().to_owned(), ..CommitExtra::default() };
    transaction.commit(statuses, &extra)?;
    Ok(())
}

fn create(store: &dyn FileStore, path: &str, bytes: Bytes) -> Outcome<()> {
    match store.put_if_absent(path, &bytes)? {
        PutOutcome::Written(_) => Ok(()),
        PutOutcome::Refused => Err(format!("{path} exists").into()),
    }
}

fn insert(
    store: &Arc<dyn FileStore>,
    schema: &Schema,
    commit: &Commit,
    inserts: &Inserts,
) -> Outcome<Vec<WriteStatus>> {
    let target = CreateTarget {
        partition: inserts.partition.clone(),
        file_id_prefix: inserts.prefix.clone(),
        instant: commit.instant.clone(),
        token: TOKEN,
    };
    let options = BaseFileOptions::resolve(&WriteOptions::resolve(&commit.options)?, LAYOUT)?;
    let mut handle = CreateHandle::new(Arc::clone(store), schema, target, options, false);
    for batch in batches(&inserts.rows)? {
        let record_keys = &keys(&batch, &commit.key)?;
        handle.insert(&batch, MetaColumns::Computed { record_keys })?;
    }
    Ok(handle.finish()?)
}

fn append(store: &Arc<dyn FileStore>, schema: &Schema, commit: &Commit, log: &Log) -> Outcome<Vec<WriteStatus>> {
    let naming = match &log.slice {
        None => LogNaming::ByDeltaCommit,
        Some((base_file, log_files)) => LogNaming::BySlice {
            base_instant: log.base_instant.clone().ok_or("a slice has a base instant")?,
            base_file: base_file.clone(),
            log_files: log_files.clone(),
        },
    };
    let target = LogTarget {
        partition: log.partition.clone(),
        file_id: log.file_id.clone(),
        instant: commit.instant.clone(),
        token: TOKEN,
        naming,
    };
    let options = AppendOptions::resolve(&WriteOptions::resolve(&commit.options)?, LAYOUT)?;
    let base_instant = log.base_instant.as_ref().filter(|_| log.slice.is_none());
    let mut handle = AppendHandle::new(Arc::clone(store), schema, target, base_instant, options)?;
    let positions = |positions: &Option<Vec<u64>>| positions.clone().map(UInt64Array::from);
    for batch in log.rows.as_deref().map(batches).transpose()?.unwrap_or_default() {
        let record_keys = &keys(&batch, &commit.key)?;
        let positions = positions(&log.positions);
        handle.upsert(&LogRows {
            data: &batch,
            meta: MetaColumns::Computed { record_keys },
            inserts: None,
            positions: positions.as_ref(),
        })?;
    }
    let deleted: ArrayRef = Arc::new(StringArray::from(log.deletes.clone()));
    let columns = DeleteColumns {
        record_key: "key".into(),
        partition_path: PartitionPath::Constant(log.partition.clone()),
        ordering: Vec::new(),
    };
    let deletes = RecordBatch::try_from_iter([("key", deleted)])?;
    handle.delete(&deletes, &columns, positions(&log.delete_positions).as_ref())?;
    Ok(handle.finish()?)
}

/// All rows of a parquet file, with the columns' own types.
fn batches(path: &str) -> Outcome<Vec<RecordBatch>> {
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path)?)?;
    Ok(reader.with_batch_size(1 << 16).build()?.collect::<Result<_, _>>()?)
}

fn keys(batch: &RecordBatch, column: &str) -> Outcome<StringArray> {
    let column = batch.column_by_name(column).ok_or("no key column")?;
    Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
}

fn time(path: &str, table: &str, options: &[&str]) -> Outcome<()> {
    let batches = batches(path)?;
    let first = batches.first().ok_or("no rows")?;
    let without = |schema: &ArrowSchema| {
        let own = schema.fields().iter().filter(|field| !meta_columns::ALL.contains(&field.name().as_str()));
        ArrowSchema::new(own.cloned().collect::<Vec<_>>())
    };
    let schema = hudi_schema(&without(&first.schema()), "t")?.with_leading_nullable_strings(&meta_columns::ALL)?;
    let target = BaseFileTarget {
        partition: String::new(),
        file_id: "11111111-0000-0000-0000-000000000000-0".into(),
        instant: "20240101000000000".parse()?,
        token: TOKEN,
    };
    let options = BaseFileOptions::resolve(&parse_options(options)?, LAYOUT)?;
    let store = open_file_store(table, &StorageOptions::new())?;
    let before = cpu_seconds()?;
    let mut writer = BaseFileWriter::new(store.as_ref(), &schema, &target, &options)?;
    let mut rows = 0;
    for batch in &batches {
        rows += writer.write(batch, MetaColumns::Kept)?;
    }
    let written = writer.finish()?;
    println!("{:.3} {rows} {}", cpu_seconds()? - before, written.bytes);
    assert_eq!(rows, batches.iter().map(RecordBatch::num_rows).sum::<usize>());
    Ok(())
}

/// What this process has used, from `/proc`.
fn cpu_seconds() -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).ok_or("no times in /proc");
    Ok((ticks(11)? + ticks(12)?) / 100.0)
}
