//! Two writers that insert the same new key, neither of which has seen the other: the later one finds the key among
//! what the other has committed, or is repeated and updates it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::stopped_services::{FIRST, Row, Table, batch, options};
use crate::{WriteInput, write};
use mortice_base::error::{ErrorKind, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_services::transaction::WriteResult;
use mortice_storage::LocalStorage;
use mortice_storage::interrupted_store::{InterruptedStore, Meanwhile};
use mortice_table::timeline::{MetadataPart, WriteOperation};
use mortice_write::index::{WrittenRows, first_common_key};

const SHARED: [(&str, &str); 5] = [
    ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"),
    ("hoodie.time.generator.max_expected_clock_skew_ms", "2"),
    ("hoodie.write.lock.wait_time_ms_between_retry", "1"),
    ("hoodie.parquet.small.file.limit", "0"),
];
const GLOBAL: (&str, &str) = ("hoodie.index.type", "GLOBAL_SIMPLE");
const REPEATED: (&str, &str) = ("hoodie.write.num.retries.on.conflict.failures", "1");

type GivenOptions = [(&'static str, &'static str)];

/// Upserts a row while another writer upserts others, each of them in one attempt of this write.
fn upsert_beside(table: &Table, row: Row, others: &[Row], given: &GivenOptions) -> Result<WriteResult> {
    let given = [SHARED.as_slice(), given].concat();
    let meanwhile = others.iter().rev().map(|other| -> Meanwhile {
        let (uri, other, given) = (table.uri(), *other, given.clone());
        Box::new(move || drop(upsert(&TableLocation::new(&uri, &Default::default()), other, &given).unwrap()))
    });
    // The writer has looked for its keys by then.
    let is_inflight = |path: &str| path.ends_with(".deltacommit.inflight") && !path.contains("metadata");
    let local = Arc::new(LocalStorage::new(&table.uri(), true));
    let store = InterruptedStore::new(local, is_inflight, meanwhile.collect());
    upsert(&TableLocation::in_store(store, &table.uri()), row, &given)
}

fn upsert(location: &TableLocation, row: Row, given: &[(&str, &str)]) -> Result<WriteResult> {
    let rows = batch(&[row]);
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let given = options(given);
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Upsert, input)
}

fn rows_after(table: &Table, new: &[(&str, i64)]) -> BTreeSet<(String, i64)> {
    assert_eq!(table.rows(true), table.rows(false));
    let first = FIRST.iter().map(|row| (row.0, row.2)).chain(new.iter().copied());
    first.map(|(key, ts)| (key.to_owned(), ts)).collect()
}

#[test]
fn the_later_insert_of_a_key_conflicts() {
    for version in [6, 9] {
        let elsewhere = ("k", "y", 2);
        for (own, other, given, conflicts) in [
            (("k", "x", 1), ("k", "x", 2), [].as_slice(), true),
            (("k", "x", 1), ("l", "x", 2), &[], false),
            (("k", "x", 1), elsewhere, &[], false),
            (("k", "x", 1), elsewhere, &[GLOBAL], true),
        ] {
            let context = format!("version {version}, {own:?} beside {other:?}, {given:?}");
            let table = Table::new(version);
            table.upsert(&FIRST, &SHARED);
            let done = upsert_beside(&table, own, &[other], given);
            if !conflicts {
                done.unwrap();
                assert_eq!(table.rows(true), rows_after(&table, &[(own.0, own.2), (other.0, other.2)]), "{context}");
                continue;
            }
            let error = done.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WriteConflict, "{context}: {error}");
            assert!(error.to_string().contains("record key \"k\""), "{context}: {error}");
            assert_eq!(table.rows(true), rows_after(&table, &[(other.0, other.2)]), "{context}");
            table.check_clean(&context);
            upsert(&table.location(), ("k", "x", 3), &[SHARED.as_slice(), given].concat()).unwrap();
            assert_eq!(table.rows(true), rows_after(&table, &[("k", 3)]), "{context}");
        }
    }
}

#[test]
fn a_conflict_is_repeated_as_often_as_options_say() {
    let table = Table::new(9);
    table.upsert(&FIRST, &SHARED);
    let done = upsert_beside(&table, ("k", "x", 2), &[("k", "x", 1)], &[REPEATED]).unwrap();
    assert_eq!((done.attempts, done.committed.statuses.iter().map(|status| status.updates).sum()), (2, 1_u64));
    assert_eq!(table.rows(true), rows_after(&table, &[("k", 2)]));
    // Another writer is faster twice.
    let error = upsert_beside(&table, ("m", "x", 3), &[("m", "x", 2), ("m", "x", 1)], &[REPEATED]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
    assert_eq!(table.rows(true), rows_after(&table, &[("k", 2), ("m", 2)]));
    table.check_clean("");
}

/// The rows that the last commit has written.
pub(super) fn last_rows(table: &Table) -> Vec<WrittenRows> {
    let open = table.open(false);
    let last = open.timeline.completed_writes().next_back().unwrap();
    let metadata = open.timeline.commit_metadata(last, MetadataPart::All).unwrap().unwrap();
    let stats = metadata
        .write_stats
        .into_iter()
        .flat_map(|(partition, stats)| stats.into_iter().map(move |stat| (partition.clone(), stat.path.unwrap())));
    let instant = &last.requested_time;
    stats.map(|(partition, path)| WrittenRows { partition, path, bytes: None, instant: instant.clone() }).collect()
}

#[test]
fn keys_are_compared_in_as_many_passes_as_memory_needs() {
    for version in [6, 9] {
        let table = Table::new(version);
        let keys = ["a", "b", "c", "d", "e", "f", "g"];
        let rows: Vec<Row> = keys.iter().map(|key| (*key, "x", 1)).collect();
        table.upsert(&rows, &SHARED);
        let all = last_rows(&table);
        // A log, and a base file in another partition.
        table.upsert(&[("c", "x", 2), ("z", "y", 1)], &SHARED);
        let some = last_rows(&table);
        assert!(some.iter().any(|file| file.path.contains(".log.")), "{some:?}");
        for most in [1, 2, 3, 7, 8, 100] {
            for (own, others) in [(&all, &some), (&some, &all)] {
                let found = first_common_key(&table.open(false), own, others, false, most).unwrap().unwrap();
                assert_eq!((found.key.as_str(), found.partition.as_str()), ("c", "x"), "{version} {most}");
                assert!(others[found.other].path.starts_with("x/"));
            }
        }
        // Keys of earlier commits that a file has are not those of its commit.
        let later: Vec<_> =
            all.iter().map(|file| WrittenRows { instant: "20990101000000000".into(), ..file.clone() }).collect();
        assert_eq!(first_common_key(&table.open(false), &later, &some, true, 100).unwrap(), None);
    }
}
