//! Base files of merge-on-read tables hold keys that logs have deleted, or that moved to another partition.

use super::super::stopped_services::{Row, Table};
use super::index;
use super::places::{Found, snapshot};
use mortice_table::timeline::WriteOperation;

/// The rows of a table in whose first partition a log has deleted the key, which is in the second now.
fn with_moved_key(version: u8) -> Table {
    let table = Table::new(version);
    let given = [index("GLOBAL_SIMPLE")];
    table.upsert(&[("a", "x", 1), ("b", "x", 1)], &given);
    table.upsert(&[("a", "y", 2)], &given);
    table
}

fn rows(table: &Table) -> Vec<(String, String, i64)> {
    let row = |(key, partition, ts, _): Found| (key, partition, ts);
    snapshot(table, false).into_iter().map(row).collect()
}

fn stored(rows: &[Row]) -> Vec<(String, String, i64)> {
    rows.iter().map(|(key, city, ts)| ((*key).to_owned(), (*city).to_owned(), *ts)).collect()
}

/// Hudi looks the keys up with GLOBAL_SIMPLE then, which merges rows with the current rows of their keys.
#[test]
fn without_a_record_index_rows_are_merged_as_with_the_index_that_takes_its_place() {
    for version in [6, 9] {
        for moves in ["false", "true"] {
            let given = [index("RECORD_INDEX"), ("hoodie.simple.index.update.partition.path", moves)];
            let context = format!("version {version}, {given:?}");
            let table = with_moved_key(version);
            table.upsert(&[("a", "y", 3)], &given);
            assert_eq!(rows(&table), stored(&[("a", "y", 3), ("b", "x", 1)]), "{context}");
            // The key is nowhere: the row is new, in its own partition.
            table.write(WriteOperation::Delete, super::batch(&[("b", "x", 4)]), &given);
            table.upsert(&[("b", "z", 5)], &given);
            assert_eq!(rows(&table), stored(&[("a", "y", 3), ("b", "z", 5)]), "{context}");
        }
    }
}
