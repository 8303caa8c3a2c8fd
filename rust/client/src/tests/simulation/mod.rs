//! A simulation of writers, services and readers at the same time: their uses of the storage are interleaved by a seed.
//! Some of them crash, lose an answer, are slow, stall for longer than their lock and their heartbeats are valid, or
//! have a clock that is wrong.
//!
//! Readers get the state after some of the commits in their order, each of them entirely. After each schedule every
//! acknowledged row is in the table once, no other write is half there, both listings agree, and nothing is left
//! behind.
//!
//! `MORTICE_SCHEDULES` is the number of schedules (`make soak-writers`), `MORTICE_TEST_SEED` the first seed, which a
//! failure prints with the changes of the processes.

mod folder;
mod model;
mod reader;
mod scheduler;
mod store;
mod trace;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::stopped_services::{FIRST, Row, batch, options};
use crate::{WriteInput, write};
use folder::TableFolder;
use model::{PlannedWrite, defect};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::commit::{NewTable, create_table};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::{TableType, TableVersion};
use mortice_services::{
    Cleaning, Finding, FindingKind, ServiceRequest, VerifyOptions, run_compaction, run_repair, verify,
};
use mortice_storage::{Storage, parallel};
use mortice_table::timeline::WriteOperation;
use reader::{Answer, read, read_often};
pub(super) use scheduler::Random;
use scheduler::Scheduler;
use store::{CommitLog, Fault, LateFiles, Moment, Process, ProcessStore, become_process};
use trace::Trace;

const SHARED: [(&str, &str); 10] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.write.lock.wait_time_ms_between_retry", "1"),
    ("hoodie.write.num.retries.on.conflict.failures", "20"),
    ("hoodie.parquet.small.file.limit", "0"),
    ("hoodie.clean.commits.retained", "1"),
    ("hoodie.keep.min.commits", "3"),
    ("hoodie.keep.max.commits", "4"),
    ("hoodie.metadata.compact.max.delta.commits", "6"),
];
/// Schedules without `MORTICE_SCHEDULES`.
const SCHEDULES: u64 = 10;

type WriterOptions = &'static [(&'static str, &'static str)];

/// Tables: version, type, options of the writers.
const KINDS: [(u8, TableType, WriterOptions); 8] = [
    (9, TableType::MergeOnRead, &[]),
    (9, TableType::MergeOnRead, &[NO_METADATA, ("hoodie.index.type", "BLOOM")]),
    (6, TableType::MergeOnRead, &[NO_METADATA]),
    (9, TableType::MergeOnRead, &[BUCKETS, ONE_BUCKET]),
    (9, TableType::CopyOnWrite, &[]),
    (6, TableType::CopyOnWrite, &[NO_METADATA]),
    (8, TableType::CopyOnWrite, &[NO_METADATA, BUCKETS, ONE_BUCKET]),
    (6, TableType::MergeOnRead, &[]),
];
const NO_METADATA: (&str, &str) = ("hoodie.metadata.enable", "false");
const BUCKETS: (&str, &str) = ("hoodie.index.type", "BUCKET");
const ONE_BUCKET: (&str, &str) = ("hoodie.bucket.index.num.buckets", "1");

/// What a process does.
enum Job {
    Write(Vec<PlannedWrite>),
    Serve,
    Read(usize),
}

/// What a process did.
#[derive(Default)]
struct Done {
    /// The own keys of writes that were acknowledged.
    acknowledged: BTreeSet<&'static str>,
    answers: Vec<Answer>,
    /// Errors that it must not have.
    wrong: Vec<String>,
}

/// What came of a schedule.
struct Outcome {
    done: Vec<Done>,
    log: CommitLog,
    /// Data files that were created when their write had been rolled back, or was being.
    late: BTreeSet<String>,
    /// Those among them that no rollback on the timeline names.
    unknown: BTreeSet<String>,
}

/// A table of a schedule.
struct Table {
    folder: TableFolder,
    is_remote: bool,
    version: u8,
    given: WriterOptions,
}

impl Table {
    fn new(version: u8, table_type: TableType, given: WriterOptions) -> Self {
        let folder = TableFolder::new();
        let new = NewTable {
            name: "t".into(),
            version: TableVersion::for_new_table(version).unwrap(),
            table_type,
            record_key: vec!["id".into()],
            partition_by: vec!["city".into()],
            ordering: vec!["ts".into()],
            properties: Default::default(),
        };
        create_table(&*folder.storage, &new, batch(&FIRST).schema_ref()).unwrap();
        let table = Self { folder, is_remote: false, version, given };
        upsert(&table.location(), &FIRST, given).unwrap();
        table
    }

    fn location(&self) -> TableLocation {
        TableLocation::in_store(Arc::clone(&self.folder.storage) as _, &self.folder.uri())
    }

    /// The instants of the table and of its metadata table that are pending.
    fn pending(&self) -> Vec<String> {
        let mut pending = Vec::new();
        for root in [".hoodie", ".hoodie/metadata/.hoodie"] {
            let folder = if self.version < 8 { root.to_owned() } else { format!("{root}/timeline") };
            let paths = self.folder.paths(&folder);
            let names: Vec<&str> = paths.iter().filter_map(|path| path.rsplit('/').next()).collect();
            let is_pending = |name: &str| name.ends_with(".requested") || name.ends_with(".inflight");
            let time = |name: &str| name.split(['.', '_']).next().unwrap_or_default().to_owned();
            let completed: BTreeSet<String> = names
                .iter()
                .filter(|name| !name.starts_with('.') && !is_pending(name))
                .map(|name| time(name))
                .collect();
            let left = names.iter().filter(|name| is_pending(name) && !completed.contains(&time(name)));
            pending.extend(left.map(|name| format!("{folder}/{name}")));
        }
        pending
    }

    /// All rows; none if there is a rollback that was begun, and a writer that was rolled back was killed after its
    /// commit: the commit has no files until the next writer finishes the rollback.
    fn rows(&self, context: &str) -> Option<Vec<(String, i64)>> {
        let mut found = Vec::new();
        for metadata in [true, false] {
            match read(&self.location(), metadata) {
                Ok(rows) => found.push(rows),
                Err(error) if error.kind() == ErrorKind::FileCleaned => {
                    let is_rollback = |name: &String| name.contains(".rollback.");
                    assert!(self.pending().iter().any(is_rollback), "{context}: {error}");
                    return None;
                }
                Err(error) => panic!("{context}: {error}"),
            }
        }
        let folders = [".hoodie", ".hoodie/timeline", ".hoodie/metadata/.hoodie/timeline", "n", "x"];
        let files = || folders.map(|folder| self.folder.paths(folder));
        assert_eq!(found.first(), found.last(), "{context}: both listings: {:#?}", files());
        found.pop()
    }

    fn findings(&self) -> Vec<Finding> {
        let options = VerifyOptions { contents: true, ..VerifyOptions::default() };
        let mut findings = verify(&self.location(), &options).unwrap().findings;
        // The next write removes what a completed service left in the metadata table.
        findings.retain(|one| {
            let passes = matches!(one.kind, FindingKind::StaleMarkers | FindingKind::DeadHeartbeat);
            !(passes && one.path.starts_with(".hoodie/metadata/"))
        });
        findings
    }
}

fn upsert(location: &TableLocation, rows: &[Row], given: WriterOptions) -> Result<()> {
    let rows = batch(rows);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(&[SHARED.as_slice(), given].concat());
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Upsert, input).map(drop)
}

fn serve(location: &TableLocation, given: WriterOptions) -> Result<()> {
    let given = options(&[SHARED.as_slice(), given].concat());
    let target = WritableTable::open(location, &given, "clean")?;
    if target.latest().config.table_type == TableType::MergeOnRead {
        run_compaction(location, ServiceRequest::BOTH, &given)?;
    }
    Cleaning::new(&target)?.run().map(drop)
}

/// Whether an error is one that a process may have beside others.
fn is_expected(fault: Fault, error: &Error) -> bool {
    let is_lost = matches!(fault, Fault::Crash(_) | Fault::LostAnswer(_) | Fault::StallAndCrash(..));
    // A write that fails since it was taken for dead, and then cannot find that out, has the first error.
    let is_of_fault = || error.kind() == ErrorKind::Unreachable || error.text().contains("could not be rolled back");
    // A service after a commit fails if another process has taken it for dead: the write is acknowledged.
    matches!(error.kind(), ErrorKind::WriteConflict | ErrorKind::TableService) || (is_lost && is_of_fault())
}

/// Whether a write was said to be part of the table: by success, or by the error of a service after it.
fn is_acknowledged(result: &Result<()>) -> bool {
    result.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::TableService)
}

/// One process of a schedule.
struct PlannedProcess {
    job: Job,
    fault: Fault,
    skew_ms: i64,
    /// Turns of others before it begins.
    delay: usize,
}

/// Whether processes may stall, be slow or have a wrong clock, besides crashing and losing answers: `make
/// soak-writers`.
fn any_fault() -> bool {
    std::env::var_os("MORTICE_ANY_FAULT").is_some()
}

/// Two to four writers, a service, a reader; in one schedule of four, writers one of which is slower than all others.
fn processes(random: &mut Random) -> Vec<PlannedProcess> {
    if random.below(4) == 0 { beside_a_long_write(random) } else { any_processes(random) }
}

/// A write that began while another one was pending, and takes until all others have ended. Meanwhile the other one is
/// completed, and archived as far as archival lets it be; the files that the long write reads are cleaned, as far as
/// cleaning does so.
fn beside_a_long_write(random: &mut Random) -> Vec<PlannedProcess> {
    let write = |process: usize, writes: usize, pattern: usize| {
        Job::Write((0..writes).map(|number| PlannedWrite::new(process, number, pattern)).collect())
    };
    let long = (write(0, 1, 1 + random.below(3)), Fault::Slow(Moment::AfterData, 100_000), 100 + random.below(250));
    let other = (write(1, 2, 3), Fault::Slow(Moment::AfterData, 250 + random.below(400)), 0);
    let quick = [2, 3].map(|process| (write(process, 3, 0), Fault::None, 0));
    let rest = [Job::Serve, Job::Read(2)].map(|job| (job, Fault::None, 0));
    let all = [long, other].into_iter().chain(quick).chain(rest);
    all.map(|(job, fault, delay)| PlannedProcess { job, fault, skew_ms: 0, delay }).collect()
}

fn any_processes(random: &mut Random) -> Vec<PlannedProcess> {
    let any = any_fault();
    let writers = 2 + random.below(3);
    let mut jobs: Vec<Job> = Vec::new();
    for process in 0..writers {
        let writes = 1 + random.below(3);
        jobs.push(Job::Write((0..writes).map(|number| PlannedWrite::new(process, number, random.below(4))).collect()));
    }
    jobs.extend([Job::Serve, Job::Read(2 + random.below(4))]);
    let process = |job: Job| {
        let fault = if matches!(job, Job::Read(_)) { Fault::None } else { Fault::random(random, any) };
        PlannedProcess { job, fault, skew_ms: if any { skew_ms(random) } else { 0 }, delay: 0 }
    };
    jobs.into_iter().map(process).collect()
}

/// The clock of a process: one in four is wrong by up to five minutes.
fn skew_ms(random: &mut Random) -> i64 {
    match random.below(4) {
        0 => i64::try_from(random.below(600_000)).unwrap() - 300_000,
        _ => 0,
    }
}

fn run_job(job: &Job, store: &ProcessStore, log: &CommitLog, (fault, given): (Fault, WriterOptions)) -> Done {
    let location = TableLocation::in_store(Arc::new(store.clone()), store.root());
    let mut done = Done::default();
    let mut check = |error: Option<Error>| {
        let wrong = error.filter(|error| !is_expected(fault, error));
        done.wrong.extend(wrong.map(|error| format!("{fault:?}: {:?}: {error}", error.kind())));
    };
    match job {
        Job::Write(writes) => {
            for (number, planned) in writes.iter().enumerate() {
                store.begin_write(number);
                let result = upsert(&location, &planned.rows(), given);
                if is_acknowledged(&result) {
                    done.acknowledged.insert(planned.own);
                }
                check(result.err());
            }
        }
        Job::Serve => check(serve(&location, given).err()),
        Job::Read(times) => match read_often(&location, log, *times) {
            Ok(answers) => done.answers = answers,
            Err(error) => check(Some(error)),
        },
    }
    done
}

/// Runs the processes of a schedule, each on a thread.
fn run(table: &Table, processes: &[PlannedProcess], seed: u64, trace: &Arc<Trace>) -> Outcome {
    let scheduler = Arc::new(Scheduler::new(seed, processes.len()));
    let (log, late) = (CommitLog::default(), LateFiles::default());
    let done = std::thread::scope(|scope| {
        let started = processes.iter().enumerate().map(|(number, process)| {
            let (job, fault, skew_ms) = (&process.job, process.fault, process.skew_ms);
            let (scheduler, log, late) = (Arc::clone(&scheduler), Arc::clone(&log), Arc::clone(&late));
            let trace = Arc::clone(trace);
            scope.spawn(move || {
                let store = ProcessStore::new(Process {
                    folder: table.folder.clone(),
                    is_remote: table.is_remote,
                    scheduler: Arc::clone(&scheduler),
                    number,
                    fault,
                    skew_ms,
                    log: Arc::clone(&log),
                    late,
                    trace,
                    write: AtomicUsize::new(usize::MAX),
                    changes: AtomicUsize::new(0),
                    has_committed: AtomicBool::new(false),
                    has_written: AtomicBool::new(false),
                    is_after_data: AtomicBool::new(false),
                    has_crashed: AtomicBool::new(false),
                    signs: Mutex::default(),
                });
                become_process(number);
                scheduler.pause(number, process.delay);
                let done = run_job(job, &store, &log, (fault, table.given));
                scheduler.end(number);
                done
            })
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let late = std::mem::take(&mut *late.lock().unwrap_or_else(PoisonError::into_inner));
    let is_named = |path: &str| table.folder.rollbacks_name(path.rsplit('/').next().unwrap_or(path));
    let is_metadata = |path: &str| path.starts_with(".hoodie/");
    let unknown = late.iter().filter(|path| !is_metadata(path) && !is_named(path)).cloned().collect();
    Outcome { done, log, late, unknown }
}

/// The own keys of writes in the order of their commits: those that are in the table at the end.
fn committed(processes: &[PlannedProcess], log: &CommitLog, rows: &[(String, i64)]) -> Vec<(usize, &'static str)> {
    let own = |(process, number): (usize, usize)| match processes.get(process).map(|process| &process.job) {
        Some(Job::Write(writes)) => writes.get(number).map(|write| write.own),
        _ => None,
    };
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let mut keys: Vec<(usize, &'static str)> =
        log.iter().enumerate().filter_map(|(at, commit)| Some((at, own(*commit)?))).collect();
    // An attempt that was undone after its commit is repeated.
    let all = keys.clone();
    keys.retain(|(at, key)| !all.iter().any(|(later, same)| later > at && same == key));
    keys.retain(|(_, key)| rows.iter().any(|(found, _)| found == key));
    keys
}

/// Compares the table with what was acknowledged, and with what readers got.
///
/// Known: a data file that a writer has created after its rollback, and that no rollback on the timeline names, counts
/// as committed in listings if the writer is killed then (`docs/write-protocol.md`). It is deleted here, and listings
/// of before are not compared.
fn check(table: &Table, processes: &[PlannedProcess], outcome: &Outcome, context: &str) {
    let Outcome { done, log, unknown, .. } = outcome;
    unknown.iter().for_each(|path| table.folder.delete(path));
    let writes = processes.iter().flat_map(|process| match &process.job {
        Job::Write(writes) => writes.as_slice(),
        _ => &[],
    });
    let writes: Vec<PlannedWrite> = writes.cloned().collect();
    // Over a network an instant that was completed after the lock was lost is there until its writer has the lock
    // again.
    let stalls = |process: &PlannedProcess| matches!(process.fault, Fault::Stall(..) | Fault::StallAndCrash(..));
    let may_be_disputed = table.is_remote && processes.iter().any(stalls);
    let is_of_disputed = |error: &&String| may_be_disputed && error.contains("has several file groups of bucket");
    let wrong: Vec<&String> = done.iter().flat_map(|done| &done.wrong).filter(|error| !is_of_disputed(error)).collect();
    assert!(wrong.is_empty(), "{context}: {wrong:?}");
    let Some(rows) = table.rows(context) else { return };
    if let Some(defect) = defect(&rows, &writes, &FIRST) {
        panic!("{context}: {defect}: {rows:?}");
    }
    for key in done.iter().flat_map(|done| &done.acknowledged) {
        assert!(rows.iter().any(|(found, _)| found == key), "{context}: {key} was acknowledged and is lost: {rows:?}");
    }
    let committed = committed(processes, log, &rows);
    let is_listing = |answer: &&Answer| !answer.uses_metadata || table.given.contains(&NO_METADATA);
    for answer in done.iter().flat_map(|done| &done.answers).filter(|answer| unknown.is_empty() || !is_listing(answer))
    {
        check_answer(answer, (&writes, &committed), context);
    }
}

/// A reader sees the writes that were committed before it began, entirely, and those after up to one of them.
fn check_answer(answer: &Answer, (writes, committed): (&[PlannedWrite], &[(usize, &'static str)]), context: &str) {
    let Answer { commits: (begin, end), uses_metadata, rows } = answer;
    let context = format!("{context}: a reader (metadata: {uses_metadata}) beside commits {begin} to {end}");
    if let Some(defect) = defect(rows, writes, &FIRST) {
        panic!("{context}: {defect}: {rows:?}");
    }
    let sees = |key: &str| rows.iter().any(|(found, _)| found == key);
    let seen: Vec<bool> = committed.iter().map(|(_, key)| sees(key)).collect();
    let prefix = seen.iter().take_while(|seen| **seen).count();
    let before = committed.iter().filter(|(at, _)| at < begin).count();
    let is_prefix = seen.iter().skip(prefix).all(|seen| !seen);
    assert!(is_prefix && prefix >= before, "{context}: not the first of {committed:?}: {rows:?}");
}

pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// So many seeds from a random one on, or as many as are asked for from the one that is given.
pub(super) fn seeds(count: u64) -> Range<u64> {
    let random = u64::from_be_bytes(uuid::Uuid::new_v4().into_bytes()[..8].try_into().unwrap()) >> 16;
    let first = number("MORTICE_TEST_SEED").unwrap_or(random);
    first..first.saturating_add(number("MORTICE_SCHEDULES").unwrap_or(count))
}

fn run_schedule(tables: &[Table], seed: u64) {
    let kind = usize::try_from(seed % KINDS.len() as u64).unwrap();
    let (version, table_type, given) = KINDS[kind];
    let mut random = Random::new(seed);
    let (folder, is_remote) = (tables[kind].folder.copy(), random.below(2) == 0);
    let table = Table { folder, is_remote, version, given };
    let processes = processes(&mut random);
    let faults: Vec<(Fault, i64)> = processes.iter().map(|process| (process.fault, process.skew_ms)).collect();
    let context = format!("MORTICE_TEST_SEED={seed}, version {version}, {table_type:?}, {given:?}, {faults:?}");
    let trace = Arc::new(Trace::default());
    let outcome = run(&table, &processes, seed, &trace);
    check(&table, &processes, &outcome, &context);
    // Once it has expired, the next write removes what crashed ones have left, and the next service executes their
    // plans.
    for folder in [".hoodie/.heartbeat", ".hoodie/metadata/.hoodie/.heartbeat"] {
        table.folder.paths(folder).iter().for_each(|path| table.folder.age(path));
    }
    upsert(&table.location(), &[("a", "x", 1)], given).unwrap_or_else(|error| panic!("{context}: {error}"));
    check(&table, &processes, &outcome, &context);
    serve(&table.location(), given).unwrap_or_else(|error| panic!("{context}: {error}"));
    check(&table, &processes, &outcome, &context);
    let (pending, mut findings) = (table.pending(), table.findings());
    // Without a metadata table a writer does not look for them: a completed instant of a writer that was killed before
    // it found out.
    let is_undone = |one: &Finding| one.kind == FindingKind::RollbackResult;
    let may_leave_undone = |process: &PlannedProcess| matches!(process.fault, Fault::StallAndCrash(..));
    if findings.iter().any(is_undone) && given.contains(&NO_METADATA) && processes.iter().any(may_leave_undone) {
        run_repair(&table.location(), &options(&[SHARED.as_slice(), given].concat())).unwrap();
        check(&table, &processes, &outcome, &context);
        findings = table.findings();
    }
    // Archival deletes them before they count as committed.
    findings.retain(|one| one.kind != FindingKind::OrphanFile || !outcome.late.contains(&one.path));
    assert!(pending.is_empty() && findings.is_empty(), "{context}: pending {pending:?}, findings {findings:?}");
    if !outcome.late.is_empty() {
        archive_late_files(&table, &processes, &outcome, &context);
    }
}

/// Writes until the writes of late files have left the timeline.
fn archive_late_files(table: &Table, processes: &[PlannedProcess], outcome: &Outcome, context: &str) {
    for _ in 0..8 {
        upsert(&table.location(), &[("a", "x", 1)], table.given).unwrap_or_else(|error| panic!("{context}: {error}"));
        serve(&table.location(), table.given).unwrap_or_else(|error| panic!("{context}: {error}"));
    }
    check(table, processes, outcome, context);
}

#[test]
fn every_schedule_of_writers_keeps_what_was_acknowledged() {
    let Range { start, end } = seeds(SCHEDULES);
    let tables: Vec<Table> =
        KINDS.iter().map(|(version, table_type, given)| Table::new(*version, *table_type, given)).collect();
    let next = AtomicU64::new(start);
    let threads = parallel::cores();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let seeds =
                    std::iter::repeat_with(|| next.fetch_add(1, Ordering::SeqCst)).take_while(|seed| *seed < end);
                seeds.for_each(|seed| run_schedule(&tables, seed));
            });
        }
    });
}
