//! Keys that were deleted, and come back by a write that looks for them before a compaction which leaves them out is
//! completed.

use std::sync::Arc;

use super::stopped_services::{Table, batch, options};
use super::undone_instants::upsert;
use crate::{WriteInput, write};
use mortice_commit::writable_table::TableLocation;
use mortice_services::{ServiceRequest, run_compaction};
use mortice_storage::LocalStorage;
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_table::timeline::WriteOperation;

const SHARED: [(&str, &str); 4] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "1"),
    ("hoodie.parquet.small.file.limit", "0"),
];

fn delete(location: &TableLocation, value: i64, given: &[(&str, &str)]) {
    let rows = batch(&[("a", "x", value)]);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(given);
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Delete, input).unwrap();
}

#[test]
fn a_key_of_a_write_that_began_before_the_plan_and_ended_after_it_is_found() {
    for index in ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM"] {
        for is_deleted in [true, false] {
            let context = format!("{index}, deleted {is_deleted}");
            let given = [SHARED.as_slice(), &[("hoodie.index.type", index)]].concat();
            let table = Table::new(9);
            let location = table.location();
            table.upsert(&[("a", "x", 1), ("b", "x", 1)], &given);
            delete(&location, 9, &given);
            let (others, shared) = (location.clone(), options(&given));
            let meanwhile: Meanwhile = Box::new(move || {
                let planned = ServiceRequest { schedule: true, run: false };
                run_compaction(&others, planned, &shared).unwrap();
            });
            let is_inflight = |path: &str| path.ends_with(".inflight") && !path.contains("metadata");
            let local = Arc::new(LocalStorage::new(&table.uri(), true));
            let store = InterruptedStore::new(local, is_inflight, vec![meanwhile]);
            upsert(&TableLocation::in_store(Arc::clone(&store) as _, &table.uri()), ("a", "x", 10), &given).unwrap();
            assert!(store.was_interrupted(), "{context}");
            let run = ServiceRequest { schedule: false, run: true };
            run_compaction(&location, run, &options(&given)).unwrap();
            assert_eq!(table.all_rows(true), [("a".to_owned(), 10), ("b".to_owned(), 1)], "{context}");
            let mut expected = vec![("b".to_owned(), 1)];
            if is_deleted {
                delete(&location, 11, &given);
            } else {
                upsert(&location, ("a", "x", 11), &given).unwrap();
                expected.insert(0, ("a".to_owned(), 11));
            }
            assert_eq!(table.all_rows(true), expected, "{context}");
        }
    }
}
