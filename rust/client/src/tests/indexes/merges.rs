//! Rows of global indexes that are merged with stored rows while they are tagged, by the table of `index/moves.rs`:
//! what becomes of each, and where it goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};

use super::super::simulation::{Random, seeds};
use super::super::stopped_services::Table;
use super::model::CITIES;
use super::{index, index_options};
use mortice_base::names::meta_columns;
use mortice_commit::commit::update_properties;
use mortice_merge::config::{MergeMode, TableType};
use mortice_merge::keys::KeyOptions;
use mortice_merge::keys::RowKeys;
use mortice_storage::LocalStorage;
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{
    Index, IndexedRows, choose_index, merge_moved_rows, merge_with_stored_rows, read_stored_rows, rows_to_merge,
};
use mortice_write::row_set::{RowMark, WriteRows};

const KEYS: [&str; 7] = ["a", "b", "c", "d", "é", "k,1", "new"];

/// A row of a write: key, partition, ordering value, and what it does to its key.
type Row = (&'static str, &'static str, i64, RowMark);

/// Where a row goes: its key, the city and the ordering value in it, the partition, the file group if it is there
/// already, and what it does.
type Outcome = (String, String, i64, String, Option<String>, RowMark);

fn batch(rows: &[Row]) -> RecordBatch {
    let text = |of: fn(&Row) -> &'static str| Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>());
    let columns: [(&str, ArrayRef); 4] = [
        ("id", text(|row| row.0)),
        ("city", text(|row| row.1)),
        ("ts", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)))),
        (
            "_hoodie_is_deleted",
            Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.3 == RowMark::Delete)))),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn upserts(rows: &[(&'static str, &'static str, i64)]) -> RecordBatch {
    batch(&rows.iter().map(|(key, city, ts)| (*key, *city, *ts, RowMark::Upsert)).collect::<Vec<_>>())
}

/// Rows of the keys in random partitions; later some are deleted, some moved, and some changed.
fn random_table(
    random: &mut Random,
    (version, table_type, is_by_commit_time): (u8, TableType, bool),
    given: &[(&str, &str)],
) -> (Table, WrittenCities) {
    let table = Table::created(version, table_type, upserts(&[]).schema_ref());
    let mut written = WrittenCities::new();
    if is_by_commit_time {
        let store = LocalStorage::new(&table.uri(), true);
        update_properties(&store, |properties| {
            properties.set("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING");
            properties.set("hoodie.record.merge.strategy.id", "ce9acb64-bde0-424c-9b91-f6ebba25356d");
            Ok(())
        })
        .unwrap();
    }
    let rows = |random: &mut Random, ts: i64| {
        let chosen: Vec<_> = KEYS[..6].iter().filter(|_| ts == 5 || random.below(3) == 0).collect();
        chosen.into_iter().map(|key| (*key, CITIES[random.below(3)], ts)).collect::<Vec<_>>()
    };
    for ts in [5, 6, 7] {
        let rows = rows(random, ts);
        let operation = match ts {
            5 => WriteOperation::Upsert,
            _ => [WriteOperation::Delete, WriteOperation::Upsert][random.below(2)],
        };
        written.extend(rows.iter().map(|(key, city, ts)| (((*key).to_owned(), *ts), *city)));
        if !rows.is_empty() {
            table.write(operation, upserts(&rows), given);
        }
    }
    (table, written)
}

fn random_rows(random: &mut Random) -> Vec<Row> {
    let marks = [RowMark::Upsert, RowMark::Upsert, RowMark::Update, RowMark::Delete, RowMark::UnconditionalDelete];
    let chosen: Vec<_> = KEYS.iter().filter(|_| random.below(3) > 0).collect();
    let row =
        |key: &&'static str| (*key, CITIES[random.below(3)], [1, 5, 6, 9][random.below(4)], marks[random.below(5)]);
    chosen.into_iter().map(row).collect()
}

fn indexed(table: &Arc<OpenTable>, index: &dyn Index, rows: &[Row]) -> IndexedRows {
    let keys = RowKeys {
        record_keys: rows.iter().map(|row| Some(row.0)).collect(),
        partitions: rows.iter().map(|row| Some(row.1)).collect(),
    };
    let tagged = index.tag(table, &keys).unwrap();
    let marks = rows.iter().map(|row| row.3).collect();
    IndexedRows { rows: WriteRows::new(batch(rows).into(), keys, marks).unwrap(), tagged }
}

/// The city of each row that was written, by its key and its ordering value.
type WrittenCities = BTreeMap<(String, i64), &'static str>;

/// A stored row: its partition, its file group, and the city and the ordering value in it. Queries have the city of the
/// partition instead.
#[derive(Debug, Clone)]
struct StoredRow {
    partition: String,
    file_id: String,
    city: String,
    ts: i64,
}

/// The rows that a query finds, by key.
fn stored_rows(table: &Table, written: &WrittenCities) -> BTreeMap<String, StoredRow> {
    let scan = table.open(false).snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
    let mut found = BTreeMap::new();
    for batch in scan.stream() {
        let batch = batch.unwrap();
        let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
        let [ids, partitions, files] = ["id", meta_columns::PARTITION_PATH, meta_columns::FILE_NAME].map(text);
        let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let (key, partition, ts) = (ids.value(row), partitions.value(row).to_owned(), times.value(row));
            let city = written[&(key.to_owned(), ts)].to_owned();
            let file_id = files.value(row).split('_').next().unwrap().to_owned();
            let stored = StoredRow { partition, file_id, city, ts };
            assert!(found.insert(key.to_owned(), stored).is_none(), "{key} is there twice");
        }
    }
    found
}

fn outcomes(rows: &IndexedRows) -> Vec<Outcome> {
    let batch = rows.rows.batches.to_batch().unwrap();
    let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
    let (ids, cities) = (text("id"), text("city"));
    let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>();
    let outcome = |row: usize| {
        let key = rows.rows.keys.record_keys.value(row).to_owned();
        assert_eq!(ids.value(row), key, "the row of another key");
        let partition = rows.rows.keys.partitions.value(row).to_owned();
        let location = rows.tagged.location(row);
        // Rows that are all to stay as they are have their own partitions still; they go to those of their file groups.
        let partition = location.map_or(partition, |location| location.partition.clone());
        let mark = rows.rows.marks.of_row(u32::try_from(row).unwrap()).unwrap();
        let file_id = location.map(|location| location.file_id.clone());
        (key, cities.value(row).to_owned(), times.value(row), partition, file_id, mark)
    };
    let mut outcomes: Vec<Outcome> = (0..rows.rows.len()).map(outcome).collect();
    outcomes.sort();
    outcomes
}

/// What becomes of a row that is merged, by the stored row of its key.
fn merged(row: Row, stored: Option<&StoredRow>, (moves, by_commit_time): (bool, bool)) -> Vec<Outcome> {
    let (key, city, ts, mark) = row;
    let Some(stored) = stored else {
        let mark = if mark == RowMark::Update { RowMark::Upsert } else { mark };
        return vec![(key.to_owned(), city.to_owned(), ts, city.to_owned(), None, mark)];
    };
    let there = |(city, ts): (&str, i64), mark| {
        (key.to_owned(), city.to_owned(), ts, stored.partition.clone(), Some(stored.file_id.clone()), mark)
    };
    let wins = by_commit_time || ts >= stored.ts;
    match mark {
        RowMark::UnconditionalDelete => vec![there((city, ts), mark)],
        RowMark::Delete if wins => vec![there((city, ts), mark)],
        // It is in its partition, even if its city is another one.
        _ if !wins => vec![there((&stored.city, stored.ts), RowMark::Upsert)],
        _ if stored.partition == city || !moves => vec![there((city, ts), RowMark::Upsert)],
        _ => vec![
            (key.to_owned(), city.to_owned(), ts, city.to_owned(), None, RowMark::Upsert),
            there((&stored.city, stored.ts), RowMark::UnconditionalDelete),
        ],
    }
}

/// Which rows are merged, and what becomes of all of them.
fn expected_outcomes(
    rows: &[Row],
    given: &IndexedRows,
    stored: &BTreeMap<String, StoredRow>,
    (table_type, is_moving, by_commit_time): (TableType, bool, bool),
) -> (Vec<bool>, Vec<Outcome>) {
    // Base files have keys that logs have deleted.
    let may_be_stale = table_type == TableType::MergeOnRead;
    let (mut merges, mut outcomes) = (Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        let (key, city, ts, mark) = *row;
        let Some(location) = given.tagged.location(at) else {
            assert!(!stored.contains_key(key), "{key} is not found");
            merges.push(false);
            outcomes.push((key.to_owned(), city.to_owned(), ts, city.to_owned(), None, mark));
            continue;
        };
        let has_other_places = given.tagged.further.iter().any(|further| further.row as usize == at);
        let may_lose = may_be_stale || is_moving && location.partition != city || !by_commit_time && mark.is_delete();
        let merges_rows = is_moving || may_be_stale && !by_commit_time;
        let is_merged = merges_rows && may_lose || may_be_stale && has_other_places;
        merges.push(is_merged);
        if is_merged {
            outcomes.extend(merged(*row, stored.get(key), (is_moving, by_commit_time)));
        } else {
            let (path, file_id) = (location.partition.clone(), Some(location.file_id.clone()));
            outcomes.push((key.to_owned(), city.to_owned(), ts, path, file_id, mark));
        }
    }
    outcomes.sort();
    (merges, outcomes)
}

#[test]
fn what_becomes_of_a_row_is_as_the_table_says() {
    for seed in seeds(4) {
        let mut random = Random::new(seed);
        let version = [6, 9][random.below(2)];
        let table_type = [TableType::MergeOnRead, TableType::CopyOnWrite][random.below(2)];
        let moves = ["true", "false"][random.below(2)];
        let given = [
            index("GLOBAL_SIMPLE"),
            ("hoodie.simple.index.update.partition.path", moves),
            ("hoodie.metadata.enable", "false"),
        ];
        // Stored rows of a table whose rows did not move have cities of other partitions.
        let made = [given[0], (given[1].0, ["true", "false"][random.below(2)]), given[2]];
        let is_by_commit_time = version == 9 && random.below(2) == 0;
        let (table, written) = random_table(&mut random, (version, table_type, is_by_commit_time), &made);
        let options = index_options(&given);
        let open = table.open(false);
        let index = choose_index(&open.config, &options).unwrap();
        let is_moving = index.updates_partition();
        assert_eq!(is_moving, moves == "true");
        let by_commit_time = open.merge.mode == MergeMode::CommitTime;
        assert!(!is_by_commit_time || by_commit_time);
        let stored = stored_rows(&table, &written);
        for _ in 0..8 {
            let rows = random_rows(&mut random);
            let context = format!(
                "MORTICE_TEST_SEED={seed}, version {version}, {table_type:?}, {made:?}, moves: {moves}, by commit time: {by_commit_time}: {rows:?} over {stored:?}"
            );
            let given = indexed(&open, index.as_ref(), &rows);
            let looked_up = rows_to_merge(&open, index.as_ref(), &given).unwrap();
            let rules = (table_type, is_moving, by_commit_time);
            let (merges, expected) = expected_outcomes(&rows, &given, &stored, rules);
            assert_eq!(looked_up, merges, "{context}");
            let found = merge_moved_rows(&open, index.as_ref(), given.clone(), &KeyOptions::default()).unwrap();
            assert_eq!(outcomes(&found), expected, "{context}");
            assert!(found.tagged.further.is_empty(), "{context}");
            // The same of rows that were read in other processes, a file slice in each.
            let keys = given.rows.keys.record_keys.iter().flatten();
            let keys = keys.zip(&looked_up).filter(|(_, looked_up)| **looked_up).map(|(key, _)| key).collect();
            let schema = given.rows.batches.schema();
            let slices = given.tagged.view.slices.iter();
            let read = slices.flat_map(|slice| read_stored_rows(&open, slice, &keys, &schema).unwrap());
            let read: Vec<RecordBatch> = read.collect();
            let count: usize = read.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(count, stored.keys().filter(|key| keys.contains(key.as_str())).count(), "{context}");
            let spread = merge_with_stored_rows(
                &open,
                index.as_ref(),
                given,
                &looked_up,
                read.into_iter().map(Ok),
                &KeyOptions::default(),
            );
            assert_eq!(outcomes(&spread.unwrap()), expected, "{context}");
        }
    }
}

/// An index that looks in one partition only has nothing to merge.
#[test]
fn rows_of_other_indexes_stay_as_they_are() {
    let table = Table::created(9, TableType::MergeOnRead, upserts(&[]).schema_ref());
    table.write(WriteOperation::Upsert, upserts(&[("a", "x", 5)]), &[]);
    let open = table.open(true);
    for name in ["SIMPLE", "BLOOM"] {
        let options = index_options(&[index(name)]);
        let chosen = choose_index(&open.config, &options).unwrap();
        let rows = [("a", "x", 1, RowMark::Delete), ("b", "y", 1, RowMark::Upsert)];
        let given = indexed(&open, chosen.as_ref(), &rows);
        assert_eq!(rows_to_merge(&open, chosen.as_ref(), &given).unwrap(), [false, false]);
        let before = outcomes(&given);
        let found = merge_moved_rows(&open, chosen.as_ref(), given, &KeyOptions::default()).unwrap();
        assert_eq!(outcomes(&found), before, "{name}");
    }
}

/// The result of rows that are to be new, in one process, and of stored rows that other processes have read.
fn inserted(table: &Arc<OpenTable>, name: &'static str, rows: &[Row]) -> [Result<Vec<Outcome>, String>; 2] {
    let options = index_options(&[index(name), ("hoodie.bucket.index.num.buckets", "1")]);
    let chosen = choose_index(&table.config, &options).unwrap();
    let given = indexed(table, chosen.as_ref(), rows);
    let looked_up = rows_to_merge(table, chosen.as_ref(), &given).unwrap();
    let keys = rows.iter().zip(&looked_up).filter(|(_, looked_up)| **looked_up).map(|(row, _)| row.0).collect();
    let schema = given.rows.batches.schema();
    let slices = given.tagged.view.slices.iter().filter(|slice| {
        given.tagged.groups.iter().any(|group| group.partition == slice.partition && group.file_id == slice.file_id)
    });
    let read: Vec<_> = slices.flat_map(|slice| read_stored_rows(table, slice, &keys, &schema).unwrap()).collect();
    let spread = merge_with_stored_rows(
        table,
        chosen.as_ref(),
        given.clone(),
        &looked_up,
        read.into_iter().map(Ok),
        &KeyOptions::default(),
    );
    let alone = merge_moved_rows(table, chosen.as_ref(), given, &KeyOptions::default());
    [alone, spread].map(|result| result.map(|rows| outcomes(&rows)).map_err(|error| error.text()))
}

#[test]
fn rows_that_are_to_be_new_are_refused_where_the_index_finds_their_keys() {
    for name in ["SIMPLE", "BLOOM", "BUCKET", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"] {
        let table = Table::created(9, TableType::MergeOnRead, upserts(&[]).schema_ref());
        let given = [index(name), ("hoodie.bucket.index.num.buckets", "1")];
        table.write(WriteOperation::Upsert, upserts(&[("a", "x", 5), ("b", "x", 5), ("a", "z", 5)]), &given);
        table.write(WriteOperation::Delete, upserts(&[("b", "x", 5)]), &given);
        let open = table.open(false);
        let is_global = name.starts_with("GLOBAL");
        let insert = |key, city| [(key, city, 9, RowMark::Insert)];
        for (rows, is_refused) in [
            (insert("a", "x"), true),
            (insert("a", "y"), is_global),
            // A log has deleted the row.
            (insert("b", "x"), false),
            (insert("b", "y"), false),
            (insert("new", "x"), false),
        ] {
            for result in inserted(&open, name, &rows) {
                match result {
                    Err(message) => {
                        assert!(is_refused && message.contains("is in the table, in partition"), "{name}: {message}");
                    }
                    Ok(found) => {
                        let [(key, city, ts, partition, _, mark)] = found.as_slice() else { panic!("{found:?}") };
                        let place = (key.as_str(), city.as_str(), *ts, *mark);
                        assert!(!is_refused && place == rows[0] && partition == city, "{name}: {rows:?} {found:?}");
                    }
                }
            }
        }
    }
}

/// Another partition has the key of a row that was deleted in this one: of an index that is not global it is another
/// key.
#[test]
fn rows_that_are_to_be_new_are_compared_with_those_of_their_partition() {
    for name in ["SIMPLE", "BLOOM", "BUCKET"] {
        let table = Table::created(9, TableType::MergeOnRead, upserts(&[]).schema_ref());
        let given = [index(name), ("hoodie.bucket.index.num.buckets", "1")];
        table.write(WriteOperation::Upsert, upserts(&[("a", "x", 5), ("a", "z", 5), ("b", "z", 5)]), &given);
        table.write(WriteOperation::Delete, upserts(&[("a", "x", 5), ("b", "z", 5)]), &given);
        let open = table.open(false);
        let rows = [("a", "x", 9, RowMark::Insert), ("b", "z", 9, RowMark::Insert)];
        for result in inserted(&open, name, &rows) {
            assert_eq!(result.unwrap().len(), 2, "{name}");
        }
        let again = [("b", "z", 9, RowMark::Insert), ("a", "z", 9, RowMark::Insert)];
        for result in inserted(&open, name, &again) {
            assert!(result.unwrap_err().contains("\"a\" is in the table, in partition \"z\""), "{name}");
        }
    }
}
