//! A writer that stalls between the last look at its lock and its completed instant, loses the lock to another one, and
//! is killed right after the instant: on local disks the instant does not appear.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::stopped_services::{FIRST, Table};
use super::undone_instants::{take_for_dead, upsert};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::TableType;
use mortice_storage::interrupted_store::Meanwhile;
use mortice_storage::{FileStore, LocalStorage, PutOutcome, RenameOutcome, StoreWrapper};

const SHARED: [(&str, &str); 4] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.parquet.small.file.limit", "0"),
];

/// A store that lets something happen before the completed instant gets its name, and creates no file after that.
struct KilledAfterCompletion {
    inner: Arc<dyn FileStore>,
    meanwhile: Mutex<Option<Meanwhile>>,
    is_dead: AtomicBool,
}

impl StoreWrapper for KilledAfterCompletion {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.inner
    }

    fn create(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        match self.is_dead.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Unreachable, "the process is dead")),
            false => self.inner.put_if_absent(path, bytes),
        }
    }

    fn move_file(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        let meanwhile = self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
            self.is_dead.store(true, Ordering::SeqCst);
        }
        self.inner.rename(from, to)
    }
}

#[test]
fn its_instant_does_not_appear_beside_one_that_did_not_see_it() {
    let buckets = [("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", "1")];
    for (version, table_type, given) in [
        (9, TableType::MergeOnRead, buckets.as_slice()),
        (9, TableType::CopyOnWrite, &[]),
        (6, TableType::MergeOnRead, &[]),
    ] {
        let context = format!("version {version}, {table_type:?}, {given:?}");
        let given = [SHARED.as_slice(), given].concat();
        let table = Table::of_type(version, table_type);
        table.upsert(&FIRST, &given);
        let (folder, uri, options) = (table.folder.path().to_path_buf(), table.uri(), given.clone());
        let meanwhile: Meanwhile = Box::new(move || {
            std::fs::remove_file(folder.join(".hoodie/lock")).unwrap();
            // Its heartbeat is alive: the other writer waits for nothing, and sees it pending.
            upsert(&TableLocation::new(&uri, &Default::default()), ("n", "n", 2), &options).unwrap();
        });
        let store = Arc::new(KilledAfterCompletion {
            inner: Arc::new(LocalStorage::new(&table.uri(), true)),
            meanwhile: Mutex::new(Some(meanwhile)),
            is_dead: AtomicBool::new(false),
        });
        let location = TableLocation::in_store(Arc::clone(&store) as _, &table.uri());
        upsert(&location, ("n", "n", 1), &given).unwrap_err();
        assert!(store.is_dead.load(Ordering::SeqCst), "{context}");
        let new_keys = || table.all_rows(true).into_iter().filter(|(key, _)| key == "n").collect::<Vec<_>>();
        assert_eq!(new_keys(), [("n".to_owned(), 2)], "{context}");
        take_for_dead(table.folder.path());
        table.upsert(&[("a", "x", 9)], &given);
        assert_eq!(new_keys(), [("n".to_owned(), 2)], "{context}");
        table.check_clean(&context);
    }
}
