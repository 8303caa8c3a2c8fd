//! Partitions that expire: those that are old, by their last write or the first, at a time that the tests move on.

use std::sync::Arc;
use std::time::Duration;

use super::stopped_services::{FIRST, Table, options};
use mortice_base::time::SimulatedTime;
use mortice_merge::config::TableType;
use mortice_services::{PartitionTtlResult, ServiceRequest, plan_partition_ttl, run_compaction, run_partition_ttl};
use mortice_storage::LocalStorage;

const DAYS: (&str, &str) = ("hoodie.partition.ttl.strategy.days.retain", "8");
const BY_CREATION: (&str, &str) = ("hoodie.partition.ttl.management.strategy.type", "KEEP_BY_CREATION_TIME");
const NO_CLEANS: (&str, &str) = ("hoodie.clean.automatic", "false");

/// A table with partitions `x` and `y`, written ten days ago, and `x` again five days ago.
fn aged(version: u8, table_type: TableType) -> (Table, SimulatedTime) {
    let time = SimulatedTime::default();
    let mut table = Table::of_type(version, table_type);
    table.store = Some(Arc::new(LocalStorage::new(&table.uri(), true).in_time(Arc::new(time.clone()))));
    table.upsert(&FIRST, &[NO_CLEANS]);
    time.advance(days(5));
    table.upsert(&[("a", "x", 3)], &[NO_CLEANS]);
    time.advance(days(5));
    (table, time)
}

fn days(count: u64) -> Duration {
    Duration::from_secs(count * 86_400)
}

fn planned(table: &Table, given: &[(&str, &str)]) -> Vec<String> {
    let planned = plan_partition_ttl(&table.location(), &options(given)).unwrap();
    assert_eq!(planned.instant, None);
    names(&planned)
}

fn names(done: &PartitionTtlResult) -> Vec<String> {
    done.partitions.iter().map(|one| one.partition.clone()).collect()
}

fn keys(table: &Table) -> Vec<String> {
    assert_eq!(table.rows(true), table.rows(false));
    table.rows(true).into_iter().map(|(key, _)| key).collect()
}

#[test]
fn partitions_that_nobody_writes_to_expire() {
    for (version, table_type) in [(9, TableType::MergeOnRead), (9, TableType::CopyOnWrite), (6, TableType::CopyOnWrite)]
    {
        let (table, time) = aged(version, table_type);
        assert_eq!(planned(&table, &[DAYS]), ["y"]);
        assert_eq!(keys(&table), ["a", "b", "c"], "a dry run");
        let done = run_partition_ttl(&table.location(), &options(&[DAYS])).unwrap();
        assert_eq!((names(&done), done.reason), (vec!["y".to_owned()], None));
        assert!(done.instant.is_some());
        assert_eq!(keys(&table), ["a", "b"]);
        // It is gone, and expires once.
        assert_eq!(run_partition_ttl(&table.location(), &options(&[DAYS])).unwrap(), PartitionTtlResult::default());
        time.advance(days(2));
        assert_eq!(planned(&table, &[DAYS]), [""; 0], "eight days are not yet past");
        time.advance(days(2));
        assert_eq!(planned(&table, &[DAYS]), ["x"]);
    }
}

#[test]
fn partitions_expire_by_their_creation() {
    let (table, _) = aged(9, TableType::MergeOnRead);
    let class =
        ("hoodie.partition.ttl.strategy.class", "org.apache.hudi.table.action.ttl.strategy.KeepByCreationTimeStrategy");
    for by_creation in [BY_CREATION, class] {
        assert_eq!(planned(&table, &[DAYS, by_creation]), ["x", "y"]);
    }
    let selected = ("hoodie.partition.ttl.strategy.partition.selected", "y,none");
    assert_eq!(planned(&table, &[DAYS, BY_CREATION, selected]), ["y"]);
    let limit = ("hoodie.partition.ttl.strategy.max.delete.partitions", "1");
    let done = run_partition_ttl(&table.location(), &options(&[DAYS, BY_CREATION, limit])).unwrap();
    assert_eq!(names(&done), ["x"]);
    assert_eq!(keys(&table), ["c"]);
}

#[test]
fn without_an_age_none_expires() {
    let (table, _) = aged(9, TableType::MergeOnRead);
    let done = run_partition_ttl(&table.location(), &options(&[])).unwrap();
    assert!(done.reason.unwrap().contains("days.retain"));
    assert_eq!(keys(&table), ["a", "b", "c"]);
}

/// Its plan names files of it: Hudi leaves such a partition, too.
#[test]
fn a_partition_of_which_a_service_is_pending_expires_later() {
    let (table, time) = aged(9, TableType::MergeOnRead);
    let given = options(&[("hoodie.compact.inline.max.delta.commits", "1")]);
    run_compaction(&table.location(), ServiceRequest { schedule: true, run: false }, &given).unwrap();
    time.advance(days(20));
    assert_eq!(planned(&table, &[DAYS]), ["y"], "the compaction is of x");
    run_partition_ttl(&table.location(), &options(&[DAYS])).unwrap();
    run_compaction(&table.location(), ServiceRequest { schedule: false, run: true }, &given).unwrap();
    assert_eq!(keys(&table), ["a", "b"]);
}

#[test]
fn partitions_expire_after_a_write() {
    let (table, _) = aged(9, TableType::MergeOnRead);
    let inline = ("hoodie.partition.ttl.inline", "true");
    table.upsert(&[("n", "x", 1)], &[NO_CLEANS, DAYS, inline]);
    assert_eq!(keys(&table), ["a", "b", "n"]);
    // A write into a partition renews it.
    let (table, _) = aged(9, TableType::MergeOnRead);
    table.upsert(&[("n", "y", 1)], &[NO_CLEANS, DAYS, inline]);
    assert_eq!(keys(&table), ["a", "b", "c", "n"]);
}
