//! Data files that appear after their write was rolled back: its writer was taken for dead while it put them, and is
//! killed then.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::stopped_services::{FIRST, Table, batch, options};
use super::undone_instants::take_for_dead;
use crate::{WriteInput, write};
use mortice_base::error::{ErrorKind, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::TableType;
use mortice_storage::LocalStorage;
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_table::timeline::WriteOperation;

/// All commits but the last three are archived once there are five.
const SHARED: [(&str, &str); 9] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.parquet.small.file.limit", "0"),
    ("hoodie.metadata.enable", "false"),
    ("hoodie.clean.automatic", "false"),
    ("hoodie.clean.commits.retained", "1"),
    ("hoodie.keep.min.commits", "3"),
    ("hoodie.keep.max.commits", "4"),
];

fn upsert(location: &TableLocation, key: &'static str, ts: i64, given: &[(&str, &str)]) -> Result<()> {
    let rows = batch(&[(key, "x", ts)]);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(given);
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Upsert, input).map(drop)
}

type Files = BTreeMap<String, Vec<u8>>;

fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

/// A write of the key `s` is rolled back by one of the key `v`; its files appear again, without markers.
fn leave_late_files(table: &Table, given: &[(&'static str, &'static str)]) -> Vec<String> {
    let (folder, uri, options) = (table.folder.path().to_path_buf(), table.uri(), given.to_vec());
    let written: Arc<Mutex<Files>> = Arc::default();
    let kept = Arc::clone(&written);
    let meanwhile: Meanwhile = Box::new(move || {
        *kept.lock().unwrap() = files(&folder.join("x"));
        take_for_dead(&folder);
        upsert(&TableLocation::new(&uri, &Default::default()), "v", 1, &options).unwrap();
    });
    let inner = Arc::new(LocalStorage::new(&table.uri(), true));
    let is_commit = |path: &str| path.ends_with("commit") && !path.contains("metadata");
    let store = InterruptedStore::new(inner, is_commit, vec![meanwhile]);
    let stalled = upsert(&TableLocation::in_store(store, &table.uri()), "s", 1, given);
    assert_eq!(stalled.unwrap_err().kind(), ErrorKind::WriteConflict);
    let left = files(&table.folder.path().join("x"));
    let written = std::mem::take(&mut *written.lock().unwrap());
    let late: Files = written.into_iter().filter(|(name, _)| !left.contains_key(name)).collect();
    late.iter().for_each(|(name, bytes)| std::fs::write(table.folder.path().join("x").join(name), bytes).unwrap());
    late.into_keys().collect()
}

#[test]
fn they_are_gone_before_the_timeline_starts_after_their_write() {
    let compacted = [("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")];
    for (version, table_type) in [(9, TableType::CopyOnWrite), (9, TableType::MergeOnRead), (6, TableType::CopyOnWrite)]
    {
        let given = match table_type {
            TableType::CopyOnWrite => SHARED.to_vec(),
            TableType::MergeOnRead => [SHARED.as_slice(), &compacted].concat(),
        };
        let context = format!("version {version}, {table_type:?}");
        let table = Table::of_type(version, table_type);
        table.upsert(&FIRST, &given);
        let late = leave_late_files(&table, &given);
        assert!(!late.is_empty(), "{context}");
        for ts in 10..22 {
            table.upsert(&[("a", "x", ts)], &given);
            let rows = table.all_rows(false);
            assert!(rows.iter().all(|(key, _)| key != "s"), "{context}: after {ts}: {rows:?}");
            assert!(rows.contains(&("v".to_owned(), 1)), "{context}: {rows:?}");
        }
        assert!(!table.open(false).timeline.archived().unwrap().is_empty(), "{context}");
        let left = files(&table.folder.path().join("x"));
        assert!(late.iter().all(|name| !left.contains_key(name)), "{context}: {late:?}");
        table.check_clean(&context);
    }
}
