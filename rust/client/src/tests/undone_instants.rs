//! Writers that stalled, were taken for dead, and are killed between two steps of the end of a write or of a rollback.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::stopped_services::{FIRST, Row, Table, batch, options};
use crate::{WriteInput, write};
use mortice_base::error::{ErrorKind, Result};
use mortice_base::time::system_time;
use mortice_commit::commit::{Clock, TimelineWriter};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::TableType;
use mortice_services::{FindingKind, RepairResult, VerifyOptions, plan_repair, run_repair, verify};
use mortice_storage::interrupted_store::Meanwhile;
use mortice_storage::{FileStore, LocalStorage, RenameOutcome, StoreWrapper};
use mortice_table::timeline::metadata::{HoodieInstantInfo, HoodieRollbackPlan, TimelineMetadata};
use mortice_table::timeline::{Action, WriteOperation};

const SHARED: [(&str, &str); 4] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.parquet.small.file.limit", "0"),
];
const NO_METADATA: (&str, &str) = ("hoodie.metadata.enable", "false");

/// A store that lets something happen before the completed file of the table's instant is created, and keeps that file.
struct KeptCompletion {
    inner: Arc<dyn FileStore>,
    meanwhile: Mutex<Option<Meanwhile>>,
    kept: Mutex<Option<(String, Bytes)>>,
}

impl StoreWrapper for KeptCompletion {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.inner
    }

    fn move_file(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        let is_completed = to.ends_with("commit") && !to.contains("metadata");
        let meanwhile = self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner).take_if(|_| is_completed);
        if let Some(meanwhile) = meanwhile {
            let (bytes, _) = self.inner.get(from)?;
            meanwhile();
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((to.to_owned(), bytes));
        }
        self.inner.rename(from, to)
    }
}

/// Lets the heartbeats of all writers expire, and the lock.
pub(super) fn take_for_dead(table: &std::path::Path) {
    for entry in std::fs::read_dir(table.join(".hoodie/.heartbeat")).unwrap() {
        let file = std::fs::File::options().write(true).open(entry.unwrap().path()).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.set_modified(modified - Duration::from_secs(200)).unwrap();
    }
    let _ = std::fs::remove_file(table.join(".hoodie/lock"));
}

/// Upserts one row.
pub(super) fn upsert(location: &TableLocation, row: Row, given: &[(&str, &str)]) -> Result<()> {
    let rows = batch(&[row]);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(given);
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Upsert, input).map(drop)
}

/// Leaves the completed instant of a writer that was rolled back before it created it, and was killed then.
fn leave_undone_instant(table: &Table, given: &[(&'static str, &'static str)]) {
    let folder = table.folder.path().to_path_buf();
    let (uri, options) = (table.uri(), given.to_vec());
    let meanwhile: Meanwhile = Box::new(move || {
        take_for_dead(&folder);
        upsert(&TableLocation::new(&uri, &Default::default()), ("v", "y", 1), &options).unwrap();
    });
    let inner: Arc<dyn FileStore> = Arc::new(LocalStorage::new(&table.uri(), true));
    let store = Arc::new(KeptCompletion {
        inner: Arc::clone(&inner),
        meanwhile: Mutex::new(Some(meanwhile)),
        kept: Mutex::default(),
    });
    let stalled = upsert(&TableLocation::in_store(Arc::clone(&store) as _, &table.uri()), ("s", "x", 1), given);
    assert_eq!(stalled.unwrap_err().kind(), ErrorKind::WriteConflict);
    let (path, bytes) = store.kept.lock().unwrap().take().unwrap();
    inner.put_if_absent(&path, &bytes).unwrap();
}

fn findings(table: &Table) -> Vec<FindingKind> {
    let options = VerifyOptions { contents: true, ..VerifyOptions::default() };
    verify(&table.location(), &options).unwrap().findings.into_iter().map(|one| one.kind).collect()
}

/// The first instant of the metadata table, if there is one.
fn start_of_metadata(table: &Table, version: u8) -> Option<String> {
    let below = if version < 8 { ".hoodie/metadata/.hoodie" } else { ".hoodie/metadata/.hoodie/timeline" };
    let files = std::fs::read_dir(table.folder.path().join(below)).ok()?;
    let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("deltacommit") && !name.starts_with('.')).min()
}

#[test]
fn the_completed_instant_of_a_write_that_had_been_rolled_back_is_found_and_taken_off() {
    for (version, table_type, given) in [
        (6, TableType::MergeOnRead, vec![]),
        (6, TableType::CopyOnWrite, vec![NO_METADATA]),
        (9, TableType::MergeOnRead, vec![]),
        (9, TableType::MergeOnRead, vec![NO_METADATA]),
        (9, TableType::CopyOnWrite, vec![]),
    ] {
        let context = format!("version {version}, {table_type:?}, {given:?}");
        let given = [SHARED.as_slice(), &given].concat();
        let table = Table::of_type(version, table_type);
        table.upsert(&FIRST, &given);
        leave_undone_instant(&table, &given);
        let rows = table.all_rows(false);
        assert_eq!(rows, table.all_rows(true), "{context}");
        assert!(
            rows.iter().all(|(key, _)| key != "s") && rows.iter().any(|(key, _)| key == "v"),
            "{context}: {rows:?}"
        );
        assert_eq!(findings(&table), [FindingKind::RollbackResult], "{context}");
        let start = start_of_metadata(&table, version);
        let shared = options(&given);
        let planned = plan_repair(&table.location(), &shared).unwrap();
        assert_eq!(findings(&table), [FindingKind::RollbackResult], "{context}");
        let RepairResult { repaired, left } = run_repair(&table.location(), &shared).unwrap();
        assert_eq!((&repaired, &left), (&planned.repaired, &planned.left), "{context}");
        let kinds: Vec<FindingKind> = repaired.iter().map(|one| one.kind).collect();
        assert_eq!(
            (kinds.as_slice(), left.len()),
            ([FindingKind::RollbackResult].as_slice(), 0),
            "{context}: {left:?}"
        );
        assert_eq!((table.all_rows(true), start_of_metadata(&table, version)), (rows, start), "{context}");
        table.check_clean(&context);
        table.upsert(&[("s", "x", 2)], &given);
        table.check_clean(&context);
    }
}

#[test]
fn a_write_takes_off_what_its_metadata_table_lacks_since_it_had_been_rolled_back() {
    for version in [6, 9] {
        let table = Table::new(version);
        table.upsert(&FIRST, &SHARED);
        leave_undone_instant(&table, &SHARED);
        let start = start_of_metadata(&table, version);
        table.upsert(&[("w", "x", 1)], &SHARED);
        assert_eq!(start_of_metadata(&table, version), start, "version {version}: the metadata table was built again");
        assert_eq!(table.all_rows(true), table.all_rows(false), "version {version}");
        table.check_clean(&format!("version {version}"));
    }
}

#[test]
fn a_rollback_that_was_planned_after_the_commit_and_killed_then_undoes_nothing() {
    for version in [6, 9] {
        let table = Table::new(version);
        table.upsert(&FIRST, &SHARED);
        let committed = table.upsert(&[("s", "x", 1)], &SHARED);
        // The other writer had taken this one for dead, and read the timeline, before the commit.
        let open = table.open(false);
        let target = open.timeline.writes_at(&committed).next().unwrap();
        let info = HoodieInstantInfo {
            commit_time: committed.as_str().to_owned(),
            action: target.action.name().to_owned(),
            ..HoodieInstantInfo::default()
        };
        let plan = HoodieRollbackPlan {
            instant_to_rollback: Some(info),
            rollback_requests: Some(Vec::new()),
            version: Some(1),
            ..HoodieRollbackPlan::default()
        };
        let files = TimelineWriter::new(Arc::new(LocalStorage::new(&table.uri(), true)), &open.config);
        let later = Clock::new(&open.config, system_time()).requested_time(&[&open.timeline]).unwrap();
        files.request(&later, Action::Rollback, &Bytes::from(plan.to_avro().unwrap())).unwrap();
        let rows = table.all_rows(false);
        table.upsert(&[("a", "x", 2)], &SHARED);
        let after = table.all_rows(false);
        assert_eq!(rows.len(), after.len(), "version {version}: {after:?}");
        assert!(after.contains(&("s".to_owned(), 1)), "version {version}: {after:?}");
        table.check_clean(&format!("version {version}"));
    }
}
