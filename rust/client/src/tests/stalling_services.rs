//! The services and writes that tests let stall, what they need in the table, and what they do to its rows.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stopped_services::{Row, Table, batch, options};
use super::undone_instants::upsert;
use crate::alter_schema::{AlteredColumns, WithIds, alter_at, stored_columns};
use crate::{WriteInput, bulk_insert, delete_partitions, write};
use mortice_base::error::Result;
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::ReadOptions;
use mortice_services::{
    Archival, Cleaning, MetadataBuildRequest, SavepointRequest, ServiceRequest, run_clustering, run_compaction,
    run_log_compaction, run_metadata_build, run_repair, run_restore, run_rollback, run_savepoint,
    run_savepoint_deletion,
};
use mortice_table::timeline::WriteOperation;

pub(super) const SHARED: [(&str, &str); 7] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.parquet.small.file.limit", "0"),
    ("hoodie.clean.automatic", "false"),
    ("hoodie.archive.automatic", "false"),
    ("hoodie.metadata.compact.max.delta.commits", "3"),
];
const FEW: [(&str, &str); 3] =
    [("hoodie.keep.min.commits", "2"), ("hoodie.keep.max.commits", "3"), ("hoodie.clean.commits.retained", "1")];

pub(super) type TableRows = BTreeSet<(String, i64)>;

/// What a service or write does to the rows.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// Nothing.
    Same,
    /// It changes them if it succeeds, and not otherwise.
    Write(fn(&mut TableRows)),
    /// It changes them if it succeeds. Otherwise others may have gone on with it, or not.
    Undoing(fn(&mut TableRows)),
}

/// A service or write that is to stall.
pub(super) struct Stalling {
    pub(super) name: &'static str,
    /// What it needs in the table.
    pub(super) prepare: fn(&Table),
    pub(super) run: fn(&TableLocation) -> Result<()>,
    pub(super) effect: Effect,
    /// Whether what it has not done is done later.
    pub(super) is_repeated: bool,
}

const fn service(name: &'static str, run: fn(&TableLocation) -> Result<()>) -> Stalling {
    Stalling { name, prepare: |_| (), run, effect: Effect::Same, is_repeated: false }
}

const fn row_write(name: &'static str, run: fn(&TableLocation) -> Result<()>, change: fn(&mut TableRows)) -> Stalling {
    Stalling { effect: Effect::Write(change), ..service(name, run) }
}

pub(super) const SERVICES: [Stalling; 10] = [
    service("archival", archive),
    service("savepoint", savepoint),
    Stalling { prepare: |table| savepoint(&table.location()).unwrap(), ..service("savepoint deletion", keep_no_more) },
    service("clean", clean),
    service("compaction", compact),
    service("log compaction", log_compact),
    service("clustering", cluster),
    service("change of columns", |location| alter(location, false)),
    service("change of columns with ids", |location| alter(location, true)),
    Stalling { prepare: leave_unfinished, is_repeated: true, ..service("repair", repair) },
];

pub(super) const METADATA_CHANGES: [Stalling; 4] = [
    service("metadata build", |location| change_metadata(location, &[], &[], true)),
    Stalling { prepare: |table| without_statistics(&table.location()).unwrap(), ..service("index", with_indexes) },
    service("drop of indexes", without_statistics),
    service("deletion of the metadata table", |location| {
        let request = MetadataBuildRequest { deletes: true, ..MetadataBuildRequest::default() };
        run_metadata_build(location, &request, &options(&SHARED)).map(drop)
    }),
];

pub(super) const WRITES: [Stalling; 5] = [
    row_write("write with services", write_with_services, |rows| rows.extend([("own".to_owned(), 1)])),
    row_write(
        "bulk insert",
        |location| put(location, WriteOperation::BulkInsert, ("own", "y", 1)),
        |rows| rows.extend([("own".to_owned(), 1)]),
    ),
    row_write(
        "delete",
        |location| put(location, WriteOperation::Delete, ("c", "y", 9)),
        |rows| rows.retain(|row| row.0 != "c"),
    ),
    row_write(
        "overwrite of a partition",
        |location| put(location, WriteOperation::InsertOverwrite, ("own", "y", 1)),
        |rows| {
            rows.retain(|row| row.0 != "c");
            rows.insert(("own".to_owned(), 1));
        },
    ),
    row_write(
        "deletion of a partition",
        |location| delete_partitions(location, &["y".to_owned()], &options(&SHARED), None).map(drop),
        |rows| rows.retain(|row| row.0 != "c"),
    ),
];

pub(super) const RECOVERIES: [Stalling; 2] = [
    Stalling {
        prepare: |table| drop(table.upsert(&[("a", "x", 50), ("d", "z", 50)], &SHARED)),
        effect: Effect::Undoing(without_latest),
        ..service("rollback", |location| {
            let newest = completed_writes(location)?.pop().unwrap();
            run_rollback(location, newest.as_str(), &options(&SHARED)).map(drop)
        })
    },
    Stalling {
        prepare: |table| {
            keep(&table.location(), 0).unwrap();
            table.upsert(&[("a", "x", 50), ("d", "z", 50)], &SHARED);
            table.upsert(&[("c", "y", 50)], &SHARED);
        },
        effect: Effect::Undoing(without_latest),
        is_repeated: true,
        ..service("restore", |location| {
            let timeline = location.open_table(ReadOptions::default())?.timeline.clone();
            let kept = timeline.savepoints().next().unwrap().requested_time.to_string();
            run_restore(location, &kept, &options(&SHARED)).map(drop)
        })
    },
];

/// Takes back what is written before a rollback or restore.
fn without_latest(rows: &mut TableRows) {
    rows.retain(|row| row.1 != 50);
    rows.extend([("a".to_owned(), 6), ("c".to_owned(), 6)]);
}

pub(super) fn clean(location: &TableLocation) -> Result<()> {
    let target = WritableTable::open(location, &options(&[SHARED.as_slice(), &FEW].concat()), "clean")?;
    Cleaning::new(&target)?.run().map(drop)
}

pub(super) fn archive(location: &TableLocation) -> Result<()> {
    let target = WritableTable::open(location, &options(&[SHARED.as_slice(), &FEW].concat()), "archive")?;
    Archival::new(&target)?.run().map(drop)
}

pub(super) fn compact(location: &TableLocation) -> Result<()> {
    run_compaction(location, ServiceRequest::BOTH, &options(&SHARED)).map(drop)
}

fn log_compact(location: &TableLocation) -> Result<()> {
    let given = [SHARED.as_slice(), &[("hoodie.log.compaction.blocks.threshold", "2")]].concat();
    run_log_compaction(location, ServiceRequest::BOTH, &options(&given)).map(drop)
}

fn cluster(location: &TableLocation) -> Result<()> {
    run_clustering(location, ServiceRequest::BOTH, &options(&SHARED)).map(drop)
}

/// Completed writes on the timeline, oldest first.
fn completed_writes(location: &TableLocation) -> Result<Vec<RequestedTime>> {
    let table = location.open_table(ReadOptions::default())?;
    Ok(table.timeline.completed_writes().map(|write| write.requested_time.clone()).collect())
}

/// Makes a savepoint of a write, counted from the newest one.
fn keep(location: &TableLocation, number: usize) -> Result<()> {
    let instant = completed_writes(location)?.into_iter().rev().nth(number).unwrap().to_string();
    run_savepoint(location, &SavepointRequest { instant, ..SavepointRequest::default() }, &options(&SHARED)).map(drop)
}

fn savepoint(location: &TableLocation) -> Result<()> {
    keep(location, 1)
}

fn keep_no_more(location: &TableLocation) -> Result<()> {
    let timeline = location.open_table(ReadOptions::default())?.timeline.clone();
    let kept = timeline.savepoints().next().unwrap().requested_time.to_string();
    run_savepoint_deletion(location, &kept, &options(&SHARED)).map(drop)
}

/// Describes a column, with and without ids of columns.
fn alter(location: &TableLocation, has_ids: bool) -> Result<()> {
    let table = location.open_table(ReadOptions::default())?;
    let (text, _) = stored_columns(&table)?;
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    let fields = schema["fields"].as_array_mut().unwrap();
    fields.retain(|field| !meta_columns::ALL.contains(&field["name"].as_str().unwrap()));
    let described = fields.iter_mut().find(|field| field["name"] == "ts").unwrap();
    described["doc"] = json!("described");
    if has_ids {
        let meta = meta_columns::ALL.map(|name| json!({ "name": name, "type": ["null", "string"], "default": null }));
        fields.splice(0..0, meta);
    }
    let with_ids = has_ids.then(|| {
        let names = meta_columns::ALL.iter().copied().chain(["id", "city", "ts"]);
        let column = |(id, name): (usize, &str)| {
            let kind = if name == "ts" { "long" } else { "string" };
            json!({ "id": id, "name": name, "optional": true, "type": kind })
        };
        let columns: Vec<Value> = names.enumerate().map(column).collect();
        let before = json!({
            "max_column_id": columns.len() - 1, "version_id": 0, "type": "record", "fields": columns,
        });
        let mut after = before.clone();
        after["fields"][7]["doc"] = json!("described");
        WithIds { before: before.to_string(), after: after.to_string() }
    });
    let columns = AlteredColumns { schema: schema.to_string(), with_ids };
    alter_at(location, &table, &columns, &options(&SHARED), None).map(drop)
}

fn change_metadata(location: &TableLocation, added: &[&str], dropped: &[&str], rebuilds: bool) -> Result<()> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let request = MetadataBuildRequest {
        added: names(added),
        dropped: names(dropped),
        rebuilds,
        ..MetadataBuildRequest::default()
    };
    run_metadata_build(location, &request, &options(&SHARED)).map(drop)
}

fn with_indexes(location: &TableLocation) -> Result<()> {
    change_metadata(location, &["column_stats", "record_index"], &[], false)
}

fn without_statistics(location: &TableLocation) -> Result<()> {
    let table = location.open_table(ReadOptions::default())?;
    let there = |name: &&str| table.config.metadata_partitions.iter().any(|one| one == name);
    let dropped: Vec<&str> = ["column_stats", "partition_stats"].into_iter().filter(there).collect();
    // Version 6 has no other partitions than `files` by default.
    if dropped.is_empty() { Ok(()) } else { change_metadata(location, &[], &dropped, false) }
}

/// Leaves markers of an instant that is gone, and a file that a completed write had not finished.
fn leave_unfinished(table: &Table) {
    let root = table.folder.path();
    let newest = completed_writes(&table.location()).unwrap().pop().unwrap();
    let markers = root.join(".hoodie/.temp").join(format!("{}999", &newest.as_str()[..14]));
    std::fs::create_dir_all(&markers).unwrap();
    std::fs::write(markers.join("x.marker.CREATE"), b"").unwrap();
    let random = uuid::Uuid::new_v4().simple();
    let name = format!(".00000000-0000-0000-0000-000000000000-0_0-0-0_{newest}.parquet.{random}.tmp");
    std::fs::write(root.join("x").join(name), b"").unwrap();
}

fn repair(location: &TableLocation) -> Result<()> {
    run_repair(location, &options(&SHARED)).map(drop)
}

fn put(location: &TableLocation, operation: WriteOperation, row: Row) -> Result<()> {
    let rows = batch(&[row]);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(&SHARED);
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    match operation {
        WriteOperation::BulkInsert => bulk_insert(location, input).map(drop),
        operation => write(location, operation, input).map(drop),
    }
}

fn write_with_services(location: &TableLocation) -> Result<()> {
    let inline = [("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")];
    let given: Vec<(&str, &str)> =
        SHARED.iter().chain(&FEW).chain(&inline).filter(|(name, _)| !name.contains("automatic")).copied().collect();
    upsert(location, ("own", "y", 1), &given)
}
