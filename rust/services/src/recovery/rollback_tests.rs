//! Rollbacks of failed writes, on tables made by hand: whole ones, and ones that are stopped after each change.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::failed_writes::roll_back_failed_writes;
use super::leftovers::remove_leftovers;
use super::rollback::{MetadataRollback, Rollbacks};
use mortice_base::ErrorKind;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{Clock, FailedWrites, Heartbeat, HeartbeatOptions, RolledBackFiles};
use mortice_formats::log::writer::{BlockHeader, avro_block_of_datums};
use mortice_formats::log::{BlockKind, BlockType, ForwardScan, HeaderKey};
use mortice_merge::config::{Properties, TableConfig};
use mortice_storage::failing_store::FailingStore;
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_storage::{FileStore, LocalStorage, Storage};
use mortice_table::timeline::metadata::{
    HoodieInstantInfo, HoodieRestorePlan, HoodieRollbackMetadata, HoodieRollbackPlan, HoodieRollbackRequest,
    TimelineMetadata,
};
use mortice_table::timeline::{Action, InstantState};
use mortice_write::write::{MarkerKind, Markers};

const FAILED: &str = "20240102000000000";
const BASE: &str = "20240101000000000";

struct Table {
    folder: tempfile::TempDir,
    config: TableConfig,
}

impl Table {
    /// A table with a completed commit, a failed write, and a planned compaction and clustering.
    fn new(version: &str) -> Self {
        let entries = [
            ("hoodie.table.name", "t"),
            ("hoodie.table.version", version),
            ("hoodie.table.type", "MERGE_ON_READ"),
            ("hoodie.table.timeline.timezone", "UTC"),
        ];
        let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
        let table = Self { folder: tempfile::tempdir().unwrap(), config };
        let suffix = if version == "6" { String::new() } else { "_20240101000001000".to_owned() };
        for name in [
            format!("{BASE}.deltacommit.requested"),
            format!("{BASE}.deltacommit.inflight"),
            format!("{BASE}{suffix}.deltacommit"),
            "20240101120000000.compaction.requested".to_owned(),
            format!("{FAILED}.deltacommit.requested"),
            format!("{FAILED}.deltacommit.inflight"),
        ] {
            table.put(&format!("{}/{name}", table.config.timeline_folder), "");
        }
        table.put(&format!("p/f-0_0-1-2_{BASE}.parquet"), "kept");
        table
    }

    /// The failed write's files: a new base file, one that was not finished, and a log.
    fn with_files(self) -> Self {
        let markers = Markers::new(self.store(), &FAILED.into());
        let base = format!("p/g-0_0-1-2_{FAILED}.parquet");
        let unfinished = format!("p/q/h-0_0-1-3_{FAILED}.parquet");
        markers.create(&base, MarkerKind::Create).unwrap();
        markers.create(&unfinished, MarkerKind::Merge).unwrap();
        self.put(&base, "failed");
        self.put(&format!("p/.g-0_0-1-2_{FAILED}.parquet.crc"), "crc");
        self.put(&format!("p/q/.h-0_0-1-3_{FAILED}.parquet.x1y2.tmp"), "half");
        if self.config.version.number() == 6 {
            self.put(&format!("p/.f-0_{BASE}.log.1_0-1-2"), "kept");
            for (log, written) in
                [(format!("p/.f-0_{BASE}.log.2_0-1-2"), true), (format!("p/.f-0_{BASE}.log.2_0-1-3"), false)]
            {
                markers.create(&log, MarkerKind::Append).unwrap();
                if written {
                    self.put(&log, "failed");
                }
            }
            let new = format!("p/.i-0_{FAILED}.log.1_0-1-2");
            markers.create(&new, MarkerKind::Append).unwrap();
            self.put(&new, "failed");
        } else {
            let log = format!("p/.f-0_{FAILED}.log.1_0-1-2");
            markers.create(&log, MarkerKind::Create).unwrap();
            self.put(&log, "failed");
        }
        self
    }

    /// Another writer's plan of the rollback of the failed write.
    fn plan_rollback(&self, requests: Vec<HoodieRollbackRequest>) {
        let instant =
            HoodieInstantInfo { commit_time: FAILED.into(), action: "deltacommit".into(), ..Default::default() };
        let plan = HoodieRollbackPlan {
            instant_to_rollback: Some(instant),
            rollback_requests: Some(requests),
            ..Default::default()
        };
        let path = format!("{}/20240103000000000.rollback.requested", self.config.timeline_folder);
        self.local().put(&path, &Bytes::from(plan.to_avro().unwrap()), None).unwrap();
    }

    fn local(&self) -> LocalStorage {
        LocalStorage::new(&self.folder.path().to_string_lossy(), true)
    }

    fn store(&self) -> Arc<dyn FileStore> {
        Arc::new(self.local())
    }

    fn put(&self, path: &str, text: &str) {
        self.local().put(path, &Bytes::copy_from_slice(text.as_bytes()), None).unwrap();
    }

    fn paths(&self, folder: &str) -> Vec<String> {
        self.local().list_recursively(folder).unwrap().into_iter().map(|(path, _)| path).collect()
    }

    fn run(&self, store: Arc<dyn FileStore>, metadata: Option<&dyn MetadataRollback>) -> Result<Vec<RequestedTime>> {
        let clock = Clock::new(&self.config, self.store().time());
        let rollbacks = Rollbacks { store: &store, config: &self.config, clock: &clock, metadata };
        let (timeline, heartbeat) = (rollbacks.timeline()?, HeartbeatOptions::without_options().unwrap());
        let failed = roll_back_failed_writes(&rollbacks, &timeline, FailedWrites::Eager, heartbeat)?;
        remove_leftovers(&rollbacks, heartbeat)?;
        Ok(failed.instants)
    }

    /// What is left after a rollback at any time.
    fn check_rolled_back(&self, context: &str) {
        let mut data = self.paths("p");
        data.retain(|path| !path.contains(".log.3") && !path.contains(".log.4"));
        let kept = match self.config.version.number() {
            6 => vec![
                format!("p/.f-0_{BASE}.log.1_0-1-2"),
                format!("p/.f-0_{BASE}.log.2_0-1-2"),
                format!("p/f-0_0-1-2_{BASE}.parquet"),
            ],
            _ => vec![format!("p/f-0_0-1-2_{BASE}.parquet")],
        };
        assert_eq!(data, kept, "{context}");
        let instants = self.instants();
        assert!(!instants.iter().any(|(time, ..)| time == FAILED), "{context}: {instants:?}");
        assert!(
            instants.contains(&("20240101120000000".into(), Action::Compaction, InstantState::Requested)),
            "{context}"
        );
        let pending = instants
            .iter()
            .filter(|(_, action, state)| *action == Action::Rollback && *state != InstantState::Completed);
        assert_eq!(pending.count(), 0, "{context}: {instants:?}");
        assert!(instants.iter().any(|(_, action, _)| *action == Action::Rollback), "{context}");
        assert!(!self.folder.path().join(".hoodie/.temp").join(FAILED).exists(), "{context}");
    }

    fn instants(&self) -> Vec<(String, Action, InstantState)> {
        let (store, clock) = (self.store(), Clock::new(&self.config, self.store().time()));
        let rollbacks = Rollbacks { store: &store, config: &self.config, clock: &clock, metadata: None };
        let timeline = rollbacks.timeline().unwrap();
        let instant = |instant: &mortice_table::timeline::Instant| {
            (instant.requested_time.as_str().to_owned(), instant.action, instant.state)
        };
        timeline.instants().iter().map(instant).collect()
    }

    fn result(&self) -> HoodieRollbackMetadata {
        let names = self.paths(&self.config.timeline_folder);
        let name = names.iter().find(|name| name.ends_with(".rollback")).unwrap();
        HoodieRollbackMetadata::from_avro(&self.local().get(name).unwrap().0).unwrap()
    }
}

#[derive(Default)]
struct Recorded(std::sync::Mutex<Vec<(RequestedTime, RolledBackFiles)>>);

impl MetadataRollback for Recorded {
    fn check(&self, _: &RequestedTime) -> Result<()> {
        Ok(())
    }

    fn roll_back(&self, failed: &RequestedTime, _: &RequestedTime, touched: &RolledBackFiles) -> Result<()> {
        self.0.lock().unwrap().push((failed.clone(), touched.clone()));
        Ok(())
    }
}

#[test]
fn files_of_a_failed_write_are_deleted() {
    let table = Table::new("9").with_files();
    let metadata = Recorded::default();
    assert_eq!(table.run(table.store(), Some(&metadata)).unwrap(), [RequestedTime::from(FAILED)]);
    table.check_rolled_back("");
    let result = table.result();
    assert_eq!((result.commits_rollback.as_slice(), result.total_files_deleted), ([FAILED.to_owned()].as_slice(), 3));
    let deleted = &result.partition_metadata.get("p").unwrap().success_delete_files;
    let full = |name: &str| format!("{}/p/{name}", table.folder.path().display());
    assert_eq!(*deleted, [full(&format!(".f-0_{FAILED}.log.1_0-1-2")), full(&format!("g-0_0-1-2_{FAILED}.parquet"))]);
    let recorded = metadata.0.into_inner().unwrap();
    assert_eq!(recorded[0].1.partitions["p/q"].deleted, [format!("h-0_0-1-3_{FAILED}.parquet")]);
    assert_eq!(recorded.len(), 1);
    assert!(table.run(table.store(), None).unwrap().is_empty());
}

#[test]
fn logs_of_older_slices_get_rollback_blocks() {
    let table = Table::new("6").with_files();
    let metadata = Recorded::default();
    table.run(table.store(), Some(&metadata)).unwrap();
    table.check_rolled_back("");
    let name = format!(".f-0_{BASE}.log.3_1-0-1");
    let bytes = table.local().get(&format!("p/{name}")).unwrap().0;
    let recorded = metadata.0.into_inner().unwrap();
    let touched = &recorded[0].1.partitions["p"];
    assert_eq!(touched.rollback_logs, BTreeMap::from([(name, bytes.len() as u64)]));
    assert_eq!(touched.failed_logs, BTreeMap::from([(format!(".f-0_{BASE}.log.2_0-1-2"), 6)]));
    assert_eq!(touched.deleted, [format!(".i-0_{FAILED}.log.1_0-1-2"), format!("g-0_0-1-2_{FAILED}.parquet")]);
    let block = ForwardScan::new(Arc::new(mortice_storage::MemoryFile::new("log", bytes))).next().unwrap().unwrap();
    assert!(matches!(block.kind, BlockKind::Sound(BlockType::Command)), "{:?}", block.kind);
    assert_eq!(table.result().partition_metadata.get("p").unwrap().rollback_log_files.as_ref().unwrap().len(), 1);
}

/// Runs a service that is stopped at each of its changes, before or after the change takes place, and has `check` go on
/// with it.
fn stop_at_each_change(version: &str, run: impl Fn(&Table, Arc<dyn FileStore>) -> bool, check: impl Fn(&Table, &str)) {
    for is_lost in [false, true] {
        let mut stopped = 0;
        loop {
            let table = Table::new(version).with_files();
            let failing = Arc::new(FailingStore::new(table.local(), stopped, is_lost));
            let is_ok = run(&table, Arc::<FailingStore>::clone(&failing));
            let context = format!("version {version}, stopped at change {stopped}, lost {is_lost}");
            let is_done = failing.changes() <= stopped;
            assert_eq!(is_ok, is_done, "{context}");
            check(&table, &context);
            if is_done {
                break;
            }
            stopped += 1;
        }
        assert!(stopped > 15, "{stopped} changes");
    }
}

fn stop_everywhere(version: &str) {
    let run = |table: &Table, store: Arc<dyn FileStore>| {
        let run = table.run(store, Some(&Recorded::default()));
        assert!(table.local().get(&format!("p/f-0_0-1-2_{BASE}.parquet")).is_ok());
        run.is_ok()
    };
    stop_at_each_change(version, run, |table, context| {
        table.run(table.store(), Some(&Recorded::default())).unwrap();
        table.check_rolled_back(context);
    });
}

#[test]
fn a_rollback_of_version_9_is_continued_wherever_it_was_stopped() {
    stop_everywhere("9");
}

#[test]
fn a_rollback_of_version_6_is_continued_wherever_it_was_stopped() {
    stop_everywhere("6");
}

/// A compaction that was planned, and whose execution was stopped with one file written and one not.
fn stopped_compaction(version: &str) -> (Table, RequestedTime) {
    let (table, compaction) = (Table::new(version), RequestedTime::from("20240101120000000"));
    table.put(&format!("{}/{compaction}.compaction.inflight", table.config.timeline_folder), "");
    let markers = Markers::new(table.store(), &compaction);
    for group in ["f-0", "g-0"] {
        markers.create(&format!("p/{group}_0-1-2_{compaction}.parquet"), MarkerKind::Merge).unwrap();
    }
    table.put(&format!("p/f-0_0-1-2_{compaction}.parquet"), "stopped");
    // Up to version 7 later writes append to the slice that the compaction begins.
    table.put(&format!("p/.f-0_{compaction}.log.1_0-1-2"), "kept");
    (table, compaction)
}

#[test]
fn an_execution_that_was_stopped_is_undone_and_its_plan_stays() {
    for version in ["6", "9"] {
        for stopped in 0.. {
            let (table, compaction) = stopped_compaction(version);
            let undo = |store: Arc<dyn FileStore>| {
                let clock = Clock::new(&table.config, table.store().time());
                let rollbacks = Rollbacks { store: &store, config: &table.config, clock: &clock, metadata: None };
                rollbacks.roll_back_execution(&compaction)
            };
            let failing = Arc::new(FailingStore::new(table.local(), stopped, false));
            let first = undo(Arc::<FailingStore>::clone(&failing) as Arc<dyn FileStore>);
            assert_eq!(first.is_ok(), failing.changes() <= stopped, "{version} {stopped}");
            undo(table.store()).unwrap();
            let kept = [format!("p/.f-0_{compaction}.log.1_0-1-2"), format!("p/f-0_0-1-2_{BASE}.parquet")];
            assert_eq!(table.paths("p"), kept, "{version} {stopped}");
            let of_compaction: Vec<_> =
                table.instants().into_iter().filter(|(time, ..)| compaction == time.as_str()).collect();
            let planned = (compaction.to_string(), Action::Compaction, InstantState::Requested);
            assert_eq!(of_compaction, [planned], "{version} {stopped}");
            assert!(!table.folder.path().join(".hoodie/.temp").join(compaction.as_str()).exists());
            if first.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn an_execution_that_another_process_completed_is_not_undone() {
    for version in ["6", "9"] {
        let (table, compaction) = stopped_compaction(version);
        let suffix = if version == "6" { "" } else { "_20240101120001000" };
        table.put(&format!("{}/{compaction}{suffix}.commit", table.config.timeline_folder), "{}");
        let before = table.paths("");
        let (store, clock) = (table.store(), Clock::new(&table.config, table.store().time()));
        let rollbacks = Rollbacks { store: &store, config: &table.config, clock: &clock, metadata: None };
        assert_eq!(rollbacks.roll_back_execution(&compaction).unwrap(), None);
        assert_eq!(table.paths(""), before);
    }
}

#[test]
fn a_write_that_is_completed_while_others_are_rolled_back_is_kept() {
    for version in ["6", "9"] {
        let table = Table::new(version).with_files();
        let (store, clock) = (table.store(), Clock::new(&table.config, table.store().time()));
        let rollbacks = Rollbacks { store: &store, config: &table.config, clock: &clock, metadata: None };
        let timeline = rollbacks.timeline().unwrap();
        assert!(timeline.has_pending_at(&FAILED.into()));
        let suffix = if version == "6" { "" } else { "_20240103120001000" };
        table.put(&format!("{}/{FAILED}{suffix}.deltacommit", table.config.timeline_folder), "{}");
        let before = table.paths("");
        let heartbeat = HeartbeatOptions::without_options().unwrap();
        roll_back_failed_writes(&rollbacks, &timeline, FailedWrites::Eager, heartbeat).unwrap();
        assert_eq!(table.paths(""), before, "version {version}");
    }
}

#[test]
fn a_plan_of_another_writer_is_executed() {
    let table = Table::new("9").with_files();
    let request = HoodieRollbackRequest {
        partition_path: "p".into(),
        file_id: Some("g-0".into()),
        files_to_be_deleted: vec![format!("s3a://bucket/t/p/g-0_0-1-2_{FAILED}.parquet")],
        ..Default::default()
    };
    table.plan_rollback(vec![request]);
    table.run(table.store(), None).unwrap();
    let instants = table.instants();
    assert!(
        instants.contains(&("20240103000000000".into(), Action::Rollback, InstantState::Completed)),
        "{instants:?}"
    );
    assert!(!table.paths("p").iter().any(|path| path.contains("g-0")));
}

#[test]
fn a_slice_that_a_plan_names_for_each_of_its_logs_gets_one_rollback_block() {
    let table = Table::new("6");
    let logs: Vec<String> = (1..=1500).map(|version| format!(".f-0_{BASE}.log.{version}_0-1-2")).collect();
    logs.iter().for_each(|log| table.put(&format!("p/{log}"), "failed"));
    let request = |log: &String| HoodieRollbackRequest {
        partition_path: "p".into(),
        file_id: Some("f-0".into()),
        latest_base_instant: Some(BASE.into()),
        log_blocks_to_be_deleted: Some([(log.clone(), -1)].into_iter().collect()),
        ..Default::default()
    };
    table.plan_rollback(logs.iter().map(request).collect());
    table.run(table.store(), None).unwrap();
    let mut added = table.paths("p");
    added.retain(|path| path.contains(".log.") && !path.ends_with("_0-1-2"));
    assert_eq!(added, [format!("p/.f-0_{BASE}.log.1501_1-0-1")]);
    assert_eq!(table.result().partition_metadata.get("p").unwrap().rollback_log_files.as_ref().unwrap().len(), 1);
}

#[test]
fn a_plan_that_leads_elsewhere_is_refused() {
    for path in [
        "/etc/passwd",
        "/t/p/f-0_0-1-2_20240101000000000.parquet",
        "/t/p/../.hoodie/hoodie.properties",
        "hdfs://elsewhere/t/q/g-0_0-1-2_20240102000000000.parquet",
        "file:///t/p/..",
        "..",
        "",
    ] {
        let table = Table::new("9").with_files();
        let request = HoodieRollbackRequest {
            partition_path: "p".into(),
            files_to_be_deleted: vec![path.to_owned()],
            ..Default::default()
        };
        table.plan_rollback(vec![request]);
        let before = table.paths("");
        assert_eq!(table.run(table.store(), None).unwrap_err().kind(), ErrorKind::InvalidTable, "{path}");
        assert_eq!(table.paths(""), before, "{path}");
    }
}

#[test]
fn writes_that_are_alive_are_left_alone() {
    let table = Table::new("9").with_files();
    let (store, clock) = (table.store(), Clock::new(&table.config, table.store().time()));
    let rollbacks = Rollbacks { store: &store, config: &table.config, clock: &clock, metadata: None };
    let heartbeat = HeartbeatOptions::without_options().unwrap();
    let alive = Heartbeat::start(table.store(), &FAILED.into(), heartbeat).unwrap();
    let before = table.paths("");
    let run = |policy| {
        let timeline = rollbacks.timeline().unwrap();
        let failed = roll_back_failed_writes(&rollbacks, &timeline, policy, heartbeat).unwrap();
        remove_leftovers(&rollbacks, heartbeat).unwrap();
        failed.instants.len()
    };
    assert_eq!((run(FailedWrites::Never), run(FailedWrites::Lazy)), (0, 0));
    assert_eq!(table.paths(""), before);
    alive.stop().unwrap();
    let path = table.folder.path().join(".hoodie/.heartbeat").join(FAILED);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified - std::time::Duration::from_secs(121)).unwrap();
    assert_eq!(run(FailedWrites::Lazy), 1);
    table.check_rolled_back("");
    assert!(!path.exists());
}

#[test]
fn markers_that_were_left_are_removed() {
    let table = Table::new("9");
    let left = |instant: &str, file: &str| {
        Markers::new(table.store(), &instant.into()).create(file, MarkerKind::Create).unwrap();
        table.put(file, "data");
    };
    let committed = format!("p/f-0_0-1-2_{BASE}.parquet");
    let archived = "p/a-0_0-1-2_20230101000000000.parquet";
    let late = "p/l-0_0-1-2_20240101180000000.parquet";
    left(BASE, &committed);
    left("20230101000000000", archived);
    left("20240101180000000", late);
    let waiting = format!("p/w-0_0-1-2_{}.parquet", "20240101120000000");
    left("20240101120000000", &waiting);
    table.run(table.store(), None).unwrap();
    assert_eq!(table.paths("p"), [archived, committed.as_str(), waiting.as_str()]);
    assert_eq!(table.paths(".hoodie/.temp").len(), 1, "the markers of the pending compaction");
}

/// A log file with a block of each instant.
fn log_of(instants: &[&str]) -> Bytes {
    let block = |instant: &&str| {
        let header = BlockHeader::new(&RequestedTime::from(*instant)).with_schema("\"string\"");
        avro_block_of_datums(&[b"\x02a".to_vec()], &header).unwrap().bytes().to_vec()
    };
    Bytes::from(instants.iter().flat_map(block).collect::<Vec<u8>>())
}

#[test]
fn logs_of_a_writer_that_went_on_after_its_rollback_are_undone() {
    for stopped in 0.. {
        let table = Table::new("6");
        table.run(table.store(), None).unwrap();
        let markers = Markers::new(table.store(), &FAILED.into());
        let path = |version: u32| format!("p/.f-0_{BASE}.log.{version}_0-1-2");
        let other = log_of(&[BASE]);
        let logs: [&[&str]; 4] = [&[FAILED], &[FAILED, FAILED], &[BASE, FAILED], &[BASE]];
        for (version, instants) in (1..).zip(logs) {
            markers.create(&path(version), MarkerKind::Append).unwrap();
            table.local().put(&path(version), &log_of(instants), None).unwrap();
        }
        markers.create(&path(5), MarkerKind::Append).unwrap();
        let failing = Arc::new(FailingStore::new(table.local(), stopped, false));
        let first = table.run(Arc::<FailingStore>::clone(&failing), None);
        assert_eq!(first.is_ok(), failing.changes() <= stopped, "{stopped}");
        table.run(table.store(), None).unwrap();
        let base = format!("p/f-0_0-1-2_{BASE}.parquet");
        let rollback = format!("p/.f-0_{BASE}.log.5_1-0-1");
        assert_eq!(table.paths("p"), [path(3), path(4), rollback.clone(), base], "{stopped}");
        let bytes = table.local().get(&rollback).unwrap().0;
        let mut blocks = ForwardScan::new(Arc::new(mortice_storage::MemoryFile::new("log", bytes)));
        let block = blocks.next().unwrap().unwrap();
        assert_eq!(block.header.get(HeaderKey::TargetInstantTime).as_deref(), Some(FAILED), "{stopped}");
        assert_eq!(table.local().get(&path(4)).unwrap().0, other);
        assert!(table.paths(".hoodie/.temp").is_empty(), "{stopped}");
        if first.is_ok() {
            break;
        }
    }
}

#[test]
fn a_rollback_that_is_continued_undoes_what_was_written_since_its_plan() {
    for version in ["6", "9"] {
        let table = Table::new(version).with_files();
        // The open mark and its folder, then the rollback's requested file; the writer goes on while it is stopped.
        let failing = FailingStore::new(table.local(), 3, false);
        table.run(Arc::new(failing), None).unwrap_err();
        let begun = |(_, action, state): &(String, Action, InstantState)| {
            (*action, *state) == (Action::Rollback, InstantState::Requested)
        };
        assert!(table.instants().iter().any(begun), "{:?}", table.instants());
        let late = format!("p/late-0_0-1-2_{FAILED}.parquet");
        Markers::new(table.store(), &FAILED.into()).create(&late, MarkerKind::Create).unwrap();
        table.put(&late, "failed");
        let log = format!("p/.k-0_{BASE}.log.1_0-1-2");
        if version == "6" {
            Markers::new(table.store(), &FAILED.into()).create(&log, MarkerKind::Append).unwrap();
            table.put(&log, "failed");
        }
        table.run(table.store(), None).unwrap();
        let paths = table.paths("p");
        assert!(!paths.contains(&late), "{paths:?}");
        assert_eq!(paths.contains(&format!("p/.k-0_{BASE}.log.2_1-0-1")), version == "6", "{paths:?}");
    }
}

#[test]
fn a_rollback_undoes_what_a_living_writer_begins_meanwhile() {
    for version in ["6", "9"] {
        let table = Table::new(version).with_files();
        let late = ["a", "b"].map(|group| format!("p/{group}-0_0-1-2_{FAILED}.parquet"));
        let begin = |path: &String| -> Meanwhile {
            let (store, path) = (table.store(), path.clone());
            Box::new(move || {
                Markers::new(Arc::clone(&store), &FAILED.into()).create(&path, MarkerKind::Create).unwrap();
                store.put(&path, &Bytes::from_static(b"late"), None).unwrap();
            })
        };
        // One begins before the rollback is inflight, the other before it is completed.
        let is_step = |path: &str| path.contains(".rollback") && !path.ends_with(".requested");
        let store = InterruptedStore::new(table.store(), is_step, late.iter().map(begin).collect());
        table.run(Arc::clone(&store) as _, None).unwrap();
        let paths = table.paths("p");
        assert!(store.was_interrupted() && late.iter().all(|path| !paths.contains(path)), "{paths:?}");
        // Archival looks for the first by the result.
        let names = |path: &String| {
            let name = late[0].rsplit('/').next().unwrap();
            path.contains(".rollback") && String::from_utf8_lossy(&table.local().get(path).unwrap().0).contains(name)
        };
        assert!(table.paths(".hoodie").iter().any(names));
    }
}

#[test]
fn files_of_a_late_execution_are_deleted_after_the_commit_of_another() {
    for version in ["6", "9"] {
        let table = Table::new(version);
        let time = "20240101180000000";
        let suffix = if version == "6" { "" } else { "_20240101180001000" };
        let (kept, late) = (format!("p/k-0_0-1-2_{time}.parquet"), format!("p/l-0_0-1-3_{time}.parquet"));
        let commit = format!(r#"{{"partitionToWriteStats":{{"p":[{{"fileId":"k-0","path":"{kept}"}}]}}}}"#);
        table.put(&format!("{}/{time}{suffix}.replacecommit", table.config.timeline_folder), &commit);
        for file in [&kept, &late] {
            Markers::new(table.store(), &time.into()).create(file, MarkerKind::Create).unwrap();
            table.put(file, "data");
        }
        table.run(table.store(), None).unwrap();
        let paths = table.paths("p");
        assert!(paths.contains(&kept) && !paths.contains(&late), "{paths:?}");
        assert!(!table.folder.path().join(".hoodie/.temp").join(time).exists());
    }
}

#[test]
fn a_completed_write_is_rolled_back_by_its_metadata() {
    let table = Table::new("6").with_files();
    table.run(table.store(), None).unwrap();
    let commit = format!(
        r#"{{"partitionToWriteStats":{{"p":[{{"fileId":"f-0","path":"p/.f-0_{BASE}.log.1_0-1-2"}},
        {{"fileId":"n-0","path":"p/n-0_0-1-2_20240104000000000.parquet"}}]}},"operationType":"UPSERT"}}"#
    );
    for suffix in [".requested", ".inflight", ""] {
        table.put(&format!(".hoodie/20240104000000000.deltacommit{suffix}"), &commit);
    }
    table.put("p/n-0_0-1-2_20240104000000000.parquet", "undone");
    let (store, clock) = (table.store(), Clock::new(&table.config, table.store().time()));
    let rollbacks = Rollbacks { store: &store, config: &table.config, clock: &clock, metadata: None };
    assert!(rollbacks.roll_back(&"20240104000000000".into()).unwrap().is_some());
    assert!(rollbacks.roll_back(&"20240104000000000".into()).unwrap().is_none());
    let paths = table.paths("p");
    assert!(!paths.iter().any(|path| path.contains("n-0")), "{paths:?}");
    assert!(paths.contains(&format!("p/.f-0_{BASE}.log.4_1-0-1")), "{paths:?}");
    assert!(!table.instants().iter().any(|(time, ..)| time == "20240104000000000"));
}

/// Restores a table to its first commit, or goes on with a restore.
fn restore(table: &Table, store: Arc<dyn FileStore>) -> Result<()> {
    let clock = Clock::new(&table.config, table.store().time());
    let rollbacks = Rollbacks { store: &store, config: &table.config, clock: &clock, metadata: None };
    let timeline = rollbacks.timeline()?;
    let begun = match rollbacks.begun_restore(&timeline)? {
        Some(begun) => begun,
        None => {
            let undone = rollbacks.instants_after(&timeline, &BASE.into())?;
            rollbacks.begin_restore(timeline, &BASE.into(), &undone)?
        }
    };
    rollbacks.run_restore(&begun)
}

fn check_restored(table: &Table, context: &str) {
    let mut data = table.paths("p");
    data.retain(|path| ![".log.3", ".log.4", ".hoodie_partition_metadata"].iter().any(|part| path.contains(part)));
    let mut kept = vec![format!("p/f-0_0-1-2_{BASE}.parquet")];
    if table.config.version.number() == 6 {
        kept = [1, 2].iter().map(|log| format!("p/.f-0_{BASE}.log.{log}_0-1-2")).chain(kept).collect();
    }
    assert_eq!(data, kept, "{context}");
    let instants = table.instants();
    let left = |action| instants.iter().filter(move |instant| instant.1 == action).count();
    assert_eq!((left(Action::DeltaCommit), left(Action::Compaction), left(Action::Rollback)), (1, 0, 0), "{context}");
    assert!(left(Action::Restore) >= 1, "{context}");
    assert!(instants.iter().all(|instant| instant.2 == InstantState::Completed), "{context}: {instants:?}");
}

#[test]
fn a_restore_goes_on_wherever_it_was_stopped() {
    for version in ["6", "9"] {
        let run = |table: &Table, store: Arc<dyn FileStore>| {
            table.put("p/.hoodie_partition_metadata", "commitTime=20240101000000000\npartitionDepth=1\n");
            restore(table, store).is_ok()
        };
        stop_at_each_change(version, run, |table, context| {
            restore(table, table.store()).unwrap();
            check_restored(table, context);
        });
    }
}

#[test]
fn a_plan_of_a_restore_that_undoes_what_is_kept_is_refused() {
    let table = Table::new("9").with_files();
    let instant = HoodieInstantInfo { commit_time: BASE.into(), action: "deltacommit".into(), ..Default::default() };
    let plan = HoodieRestorePlan {
        instants_to_rollback: vec![instant],
        savepoint_to_restore_timestamp: Some(BASE.into()),
        ..Default::default()
    };
    let bytes = Bytes::from(plan.to_avro().unwrap());
    table.local().put(".hoodie/timeline/20240103000000000.restore.requested", &bytes, None).unwrap();
    let before = table.paths("");
    assert_eq!(restore(&table, table.store()).unwrap_err().kind(), ErrorKind::InvalidTable);
    assert_eq!(table.paths(""), before);
}

#[test]
fn rollbacks_that_were_begun_are_finished_by_the_next_writer() {
    let table = Table::new("9").with_files();
    let instant = HoodieInstantInfo { commit_time: BASE.into(), action: "deltacommit".into(), ..Default::default() };
    let request = HoodieRollbackRequest {
        partition_path: "p".into(),
        files_to_be_deleted: vec![format!("/t/p/f-0_0-1-2_{BASE}.parquet")],
        ..Default::default()
    };
    let plan = HoodieRollbackPlan {
        instant_to_rollback: Some(instant),
        rollback_requests: Some(vec![request]),
        ..Default::default()
    };
    let bytes = Bytes::from(plan.to_avro().unwrap());
    table.local().put(".hoodie/timeline/20240103000000000.rollback.requested", &bytes, None).unwrap();
    table.run(table.store(), None).unwrap();
    assert!(table.paths("p").is_empty(), "{:?}", table.paths("p"));
    let instants = table.instants();
    assert!(!instants.iter().any(|(time, ..)| time == BASE), "{instants:?}");
    assert!(
        instants.contains(&("20240103000000000".into(), Action::Rollback, InstantState::Completed)),
        "{instants:?}"
    );
}
