//! A simulation of writers and services at the same time: their uses of the storage are interleaved by a seed, and some of them crash or
//! lose an answer. After each schedule every acknowledged row is in the table once, no other write is half there, both listings agree,
//! and nothing is left behind.
//!
//! `MORTICE_SCHEDULES` is the number of schedules (`make soak-writers`), `MORTICE_TEST_SEED` the first seed, which a failure prints.

mod scheduler;
mod store;

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::stopped_services::{FIRST, Row, Table, batch, options};
use crate::client::write;
use crate::commit::WriteOperation;
use crate::maintenance::{CompactRequest, compact};
use crate::rows::WriteInput;
use crate::services::Cleaning;
use crate::writable_table::{TableLocation, WritableTable};
use mortice_base::error::{ErrorKind, Result};
use mortice_merge::config::TableType;
use mortice_storage::LocalStorage;
use scheduler::{Random, Scheduler};
use store::{Fault, WriterStore, become_writer};

const SHARED: [(&str, &str); 9] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.write.lock.wait_time_ms_between_retry", "1"),
    ("hoodie.write.num.retries.on.conflict.failures", "20"),
    ("hoodie.parquet.small.file.limit", "0"),
    ("hoodie.clean.commits.retained", "1"),
    ("hoodie.keep.min.commits", "3"),
    ("hoodie.keep.max.commits", "4"),
];
/// A key that all writers insert.
const COMMON: &str = "common";
/// The keys of the writers, which nobody else writes.
const OWN: [[&str; 2]; 3] = [["k0", "l0"], ["k1", "l1"], ["k2", "l2"]];

/// The version and the type of a table, and the options of its writers.
type SimulatedTable = (u8, TableType, &'static [(&'static str, &'static str)]);

/// What a writer did.
struct Done {
    /// Its writes: own key, time of both rows, whether it was acknowledged.
    writes: Vec<(&'static str, i64, bool)>,
    /// Errors that a writer must not have.
    wrong: Vec<String>,
}

fn upsert(location: &TableLocation, rows: &[Row], given: &[(&str, &str)]) -> Result<()> {
    let rows = batch(rows);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(&[SHARED.as_slice(), given].concat());
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Upsert, input).map(drop)
}

fn run_writer(location: &TableLocation, writer: usize, given: &[(&str, &str)]) -> Vec<(&'static str, i64, Result<()>)> {
    let writes = OWN[writer].iter().zip(0_i64..).map(|(key, number)| {
        let ts = 10 + number * 3 + i64::try_from(writer).unwrap();
        (*key, ts, upsert(location, &[(*key, "x", ts), (COMMON, "x", ts)], given))
    });
    writes.collect()
}

fn run_services(location: &TableLocation, given: &[(&str, &str)]) -> Result<()> {
    let given = options(&[SHARED.as_slice(), given].concat());
    let target = WritableTable::open(location, &given, "clean")?;
    if target.latest().config.table_type == TableType::MergeOnRead {
        compact(location, CompactRequest { schedule: true, run: true }, &given)?;
    }
    Cleaning::new(&target)?.run(false).map(drop)
}

/// Whether an error is one that a writer may have beside others.
fn is_expected(fault: Fault, kind: ErrorKind) -> bool {
    let is_fault = matches!(kind, ErrorKind::Unreachable | ErrorKind::TableService);
    kind == ErrorKind::WriteConflict || (fault != Fault::None && is_fault)
}

/// Whether a write was said to be part of the table: by success, or by the error of a service after it.
fn is_acknowledged(result: &Result<()>) -> bool {
    result.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::TableService)
}

fn fault(random: &mut Random) -> Fault {
    match random.below(6) {
        0 | 1 => Fault::Crash(random.below(90)),
        2 => Fault::LostAnswer(random.below(90)),
        _ => Fault::None,
    }
}

/// Runs three writers and a service job.
fn run(table: &Table, seed: u64, given: &[(&'static str, &'static str)]) -> Vec<Done> {
    let (mut random, scheduler) = (Random::new(seed), Arc::new(Scheduler::new(seed, OWN.len() + 1)));
    let faults: Vec<Fault> = (0..OWN.len()).map(|_| fault(&mut random)).chain([Fault::None]).collect();
    let uri = table.uri();
    std::thread::scope(|scope| {
        let started = faults.iter().enumerate().map(|(writer, fault)| {
            let (scheduler, uri) = (Arc::clone(&scheduler), uri.as_str());
            scope.spawn(move || {
                let inner = LocalStorage::new(uri, true);
                let store = WriterStore::new(inner, Arc::clone(&scheduler), writer, *fault);
                let location = TableLocation::in_store(Arc::new(store), uri);
                become_writer();
                let mut done = Done { writes: Vec::new(), wrong: Vec::new() };
                let mut check = |error: Option<mortice_base::Error>| {
                    let wrong = error.filter(|error| !is_expected(*fault, error.kind()));
                    done.wrong.extend(wrong.map(|error| format!("writer {writer}, {fault:?}: {error}")));
                };
                if writer == OWN.len() {
                    check(run_services(&location, given).err());
                } else {
                    for (key, ts, result) in run_writer(&location, writer, given) {
                        done.writes.push((key, ts, is_acknowledged(&result)));
                        check(result.err());
                    }
                }
                scheduler.end(writer);
                done
            })
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Compares the table with what was acknowledged.
fn check(table: &Table, done: &[Done], context: &str) {
    let rows: Vec<(String, i64)> = table.all_rows(true);
    assert_eq!(rows, table.all_rows(false), "{context}: both listings");
    let by_key: BTreeMap<&str, i64> = rows.iter().map(|(key, ts)| (key.as_str(), *ts)).collect();
    assert_eq!(by_key.len(), rows.len(), "{context}: a key is there twice: {rows:?}");
    let mut newest = None;
    for (key, ts, is_acknowledged) in done.iter().flat_map(|done| &done.writes) {
        match by_key.get(key) {
            Some(found) => assert_eq!(found, ts, "{context}: {key}"),
            None => assert!(!is_acknowledged, "{context}: {key} was acknowledged and is lost: {rows:?}"),
        }
        if by_key.contains_key(key) {
            newest = newest.max(Some(*ts));
        }
    }
    assert_eq!(by_key.get(COMMON).copied(), newest, "{context}: a write is there in part: {rows:?}");
    let wrong: Vec<&String> = done.iter().flat_map(|done| &done.wrong).collect();
    assert!(wrong.is_empty(), "{context}: {wrong:?}");
}

/// Lets so much time pass that nobody is taken for alive.
fn expire_heartbeats(table: &Table) {
    let Ok(files) = std::fs::read_dir(table.folder.path().join(".hoodie/.heartbeat")) else { return };
    for file in files {
        let file = File::options().write(true).open(file.unwrap().path()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(300)).unwrap();
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
}

#[test]
fn every_schedule_of_writers_keeps_what_was_acknowledged() {
    let first = u64::from_be_bytes(uuid::Uuid::new_v4().into_bytes()[..8].try_into().unwrap()) >> 16;
    let (first, schedules) = (number("MORTICE_TEST_SEED", first), number("MORTICE_SCHEDULES", 12));
    let (merge, copy) = (TableType::MergeOnRead, TableType::CopyOnWrite);
    let kinds: [SimulatedTable; 6] = [
        (9, merge, &[]),
        (9, merge, &[("hoodie.metadata.enable", "false"), ("hoodie.index.type", "BLOOM")]),
        (6, merge, &[("hoodie.metadata.enable", "false")]),
        (9, merge, &[("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", "1")]),
        (9, copy, &[]),
        (6, copy, &[("hoodie.metadata.enable", "false")]),
    ];
    for seed in first..first.saturating_add(schedules) {
        let (version, table_type, given) = kinds[usize::try_from(seed % 6).unwrap()];
        let context = format!("MORTICE_TEST_SEED={seed}, version {version}, {table_type:?}, {given:?}");
        let table = Table::of_type(version, table_type);
        let own = TableLocation::new(&table.uri(), &Default::default());
        upsert(&own, &FIRST, given).unwrap();
        let done = run(&table, seed, given);
        check(&table, &done, &context);
        // The next write removes what crashed ones have left, once it has expired.
        expire_heartbeats(&table);
        upsert(&own, &[("z", "x", 1)], given).unwrap_or_else(|error| panic!("{context}: {error}"));
        check(&table, &done, &context);
        table.check_clean(&context);
    }
}
