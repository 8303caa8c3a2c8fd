//! The table that a write or a service leaves with its location is the one that is opened afterwards.

use std::path::Path;
use std::sync::Arc;

use super::stopped_services::{Table, batch, options};
use crate::{WriteInput, write};
use mortice_commit::writable_table::TableLocation;
use mortice_services::{ServiceRequest, run_archival, run_cleaning, run_compaction};
use mortice_table::timeline::WriteOperation;

/// Makes sure that the table that was left is the one that is there.
fn check(table: &Table, location: &TableLocation, what: &str) {
    let (left, opened) = (location.left_table().unwrap(), table.open(true));
    assert_eq!(left.config, opened.config, "{what}");
    assert_eq!(left.timeline.instants(), opened.timeline.instants(), "{what}");
    assert_eq!(left.schema_at(None).unwrap().1, opened.schema_at(None).unwrap().1, "{what}");
}

fn upsert(location: &TableLocation, ts: i64, given: &[(&str, &str)]) {
    let (rows, given) = (batch(&[("a", "x", ts), ("b", "y", ts)]), options(given));
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    write(location, WriteOperation::Upsert, input).unwrap();
}

#[test]
fn what_is_left_is_what_is_there() {
    for version in [6, 9] {
        let table = Table::new(version);
        let location = table.location();
        assert!(location.left_table().is_none());
        for ts in 0..3 {
            upsert(&location.clone(), ts, &[]);
            check(&table, &location, "upsert");
        }
        let inline = [("hoodie.compact.inline", "true"), ("hoodie.compact.inline.max.delta.commits", "1")];
        upsert(&location, 3, &[&inline[..], &[("hoodie.clean.commits.retained", "1")]].concat());
        check(&table, &location, "upsert with services");
        upsert(&location, 4, &[]);
        run_compaction(&location, ServiceRequest { schedule: true, run: false }, &options(&inline[1..])).unwrap();
        check(&table, &location, "planned compaction");
        run_compaction(&location, ServiceRequest::BOTH, &options(&[])).unwrap();
        check(&table, &location, "compaction");
        run_compaction(&location, ServiceRequest::BOTH, &options(&[])).unwrap();
        check(&table, &location, "nothing to compact");
        run_cleaning(&location, &options(&[("hoodie.clean.commits.retained", "1")])).unwrap();
        check(&table, &location, "clean");
    }
}

/// A table that its owner has open is used as long as no other instant is there, and options agree with its properties.
#[test]
fn a_table_that_was_seen_is_not_opened_again() {
    let table = Table::new(9);
    upsert(&table.location(), 0, &[]);
    let seen = table.open(true);
    let location = table.location().with_seen_table(Arc::clone(&seen));
    let opened = |location: &TableLocation| location.open_timeline(seen.options.clone()).unwrap();
    assert_eq!(opened(&location).timeline.instants(), seen.timeline.instants());
    upsert(&location, 1, &[]);
    check(&table, &location, "upsert of a seen table");
    assert_eq!(opened(&location).timeline.instants(), table.open(true).timeline.instants(), "it has another instant");
    let next = table.location().with_seen_table(location.left_table().unwrap());
    upsert(&next, 2, &[]);
    run_compaction(&next, ServiceRequest::BOTH, &options(&[])).unwrap();
    check(&table, &next, "compaction of a table that was seen before another write");
    // Properties have no instants.
    let properties = Path::new(&table.uri()).join(".hoodie/hoodie.properties");
    let seen = table.open(true);
    let text = std::fs::read_to_string(&properties).unwrap().replace("hoodie.table.name=", "hoodie.table.name=other");
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("hoodie.table.checksum")).collect();
    std::fs::write(&properties, text.join("\n")).unwrap();
    let (rows, given) = (batch(&[("a", "x", 3)]), options(&[("hoodie.table.name", seen.config.name.as_str())]));
    let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
    let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &given, validator: None };
    let refused = write(&table.location().with_seen_table(seen), WriteOperation::Upsert, input).unwrap_err();
    assert!(refused.to_string().contains("contradicts the table"), "{refused}");
}

/// What a service changes behind the table that was read is not left.
#[test]
fn a_table_whose_timeline_was_archived_is_opened_again() {
    let table = Table::new(9);
    let location = table.location();
    let keep =
        [("hoodie.keep.min.commits", "2"), ("hoodie.keep.max.commits", "3"), ("hoodie.clean.commits.retained", "1")];
    for ts in 0..8 {
        upsert(&location, ts, &keep);
        match location.left_table() {
            Some(_) => check(&table, &location, "upsert"),
            None => assert!(ts >= 3, "nothing is archived before"),
        }
    }
    assert!(table.open(true).timeline.completed_writes().count() < 8, "instants were archived");
    run_archival(&location, &options(&keep)).unwrap();
    assert!(location.left_table().is_none(), "the write before has left a table");
}
