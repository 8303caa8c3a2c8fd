//! Rows that are assigned to file groups of Hudi's tables, and rows of global indexes that are merged and moved.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, unreachable_pub)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use mortice::assign::{Assignment, PlaceInserts, TaskKind, assign};
use mortice::config::{TableConfig, WriteOptions};
use mortice::index::{IndexedRows, Tagged, choose_index, merge_moved_rows};
use mortice::keys::{RowKeyReader, RowKeys};
use mortice::plan::OpenTable;
use mortice::row_set::{RowMark, RowMarks, WriteRows};
use mortice::settings::WriteSettings;
use mortice::storage::StorageOptions;
use mortice::write::LogNaming;
use mortice::{QueryOptions, ReadOptions, SnapshotRows, Table};

use crate::table_cases;

struct Case {
    _folder: tempfile::TempDir,
    table: Arc<OpenTable>,
    config: TableConfig,
    /// The rows of a snapshot, meta columns first.
    rows: RecordBatch,
}

type Options<'a> = &'a [(&'a str, &'a str)];

fn options(pairs: Options<'_>, config: &TableConfig) -> WriteSettings {
    WriteSettings::resolve(&WriteOptions::resolve(pairs.iter().copied()).unwrap(), config).unwrap()
}

fn text(batch: &RecordBatch, name: &str) -> StringArray {
    batch.column_by_name(name).unwrap().as_string::<i32>().clone()
}

impl Case {
    fn open(name: &str) -> Self {
        let folder = table_cases::unpack(&table_cases::bundled().join(name));
        let (uri, storage) = (folder.path().to_str().unwrap().to_owned(), StorageOptions::new());
        let config = Table::open(&uri, &storage, ReadOptions::default()).unwrap().config().clone();
        let table = Arc::new(OpenTable::open(&uri, &storage, ReadOptions::default()).unwrap());
        let scan = table.snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
        let batches = scan.stream().collect::<mortice::Result<Vec<_>>>().unwrap();
        let rows = concat_batches(&scan.schema(), &batches).unwrap();
        Self { _folder: folder, table, config, rows }
    }

    fn keys(&self) -> RowKeys {
        RowKeys {
            record_keys: text(&self.rows, "_hoodie_record_key"),
            partitions: text(&self.rows, "_hoodie_partition_path"),
        }
    }

    /// The row numbers of a snapshot's rows in a partition.
    fn rows_in(&self, partition: &str) -> Vec<usize> {
        let partitions = text(&self.rows, "_hoodie_partition_path");
        (0..partitions.len()).filter(|row| partitions.value(*row) == partition).collect()
    }

    fn assign(
        &self,
        pairs: Options<'_>,
        keys: &[(&str, &str, bool)],
        inserts: PlaceInserts,
    ) -> mortice::Result<Assignment> {
        let options = options(pairs, &self.config);
        let index = choose_index(&self.config, &options.index)?;
        let marks: RowMarks =
            keys.iter().map(|(_, _, is_delete)| RowMark::of_flags(*is_delete, false, false)).collect();
        let keys = RowKeys {
            record_keys: keys.iter().map(|(key, _, _)| Some(*key)).collect(),
            partitions: keys.iter().map(|(_, partition, _)| Some(*partition)).collect(),
        };
        let is_tagged = inserts != PlaceInserts::NewGroups || index.tags_inserts();
        let tagged = if is_tagged { index.tag(&self.table, &keys)? } else { Tagged::of_inserts(&self.table, &keys)? };
        assign(&self.table, &options.assign.of_index(index.as_ref(), &self.table)?, inserts, &keys, &tagged, &marks)
    }
}

fn shown(assignment: &Assignment) -> Vec<(String, &'static str, Vec<u32>)> {
    let kind = |kind: &TaskKind| match kind {
        TaskKind::Append { .. } => "append",
        TaskKind::Merge { .. } => "merge",
        TaskKind::Create { .. } => "create",
    };
    assignment.tasks.iter().map(|task| (task.partition.clone(), kind(&task.kind), task.rows.clone())).collect()
}

#[test]
fn updates_of_a_merge_on_read_table_are_appended_with_their_positions() {
    let case = Case::open("h11_record_index_move");
    let keys = case.keys();
    let lima = case.rows_in("lima");
    let (one, other) = (keys.record_keys.value(lima[0]), keys.record_keys.value(lima[1]));
    let rows = [(one, "lima", false), ("none", "lima", true), (other, "lima", true)];
    let assignment = case.assign(&[], &rows, PlaceInserts::SmallFiles).unwrap();
    let mut updated: Vec<u32> = assignment.tasks.iter().flat_map(|task| task.rows.clone()).collect();
    updated.sort_unstable();
    assert_eq!(updated, [0, 2]);
    assert_eq!(assignment.unmatched_deletes, [1]);
    for task in &assignment.tasks {
        assert!(matches!(&task.kind, TaskKind::Append { naming: LogNaming::ByDeltaCommit, .. }));
        assert!(task.positions.len() == task.rows.len() && task.positions.iter().all(Option::is_some));
    }
}

#[test]
fn new_rows_of_a_merge_on_read_table_go_to_the_smallest_base_file_without_logs() {
    let case = Case::open("h11_record_index_move");
    // Base files have some keys twice, which have moved to another partition and back.
    let index = [("hoodie.index.type", "RECORD_INDEX")];
    let keys = case.keys();
    // The two groups of lima without logs; the smaller one takes the new row, and is rewritten with its updates.
    let in_small = (0..case.rows.num_rows())
        .find(|row| {
            text(&case.rows, "_hoodie_file_name").value(*row).starts_with("30599fe6-d39f-43c5-950b-22fdffa78e19-0")
        })
        .unwrap();
    let rows = [("new", "lima", false), (keys.record_keys.value(in_small), "lima", false), ("newer", "rome", false)];
    let assignment = case.assign(&index, &rows, PlaceInserts::SmallFiles).unwrap();
    assert_eq!(shown(&assignment), [("lima".into(), "merge", vec![0, 1]), ("rome".into(), "create", vec![2])]);
    let TaskKind::Merge { slice } = &assignment.tasks[0].kind else { panic!("no merge") };
    assert_eq!(slice.file_id, "30599fe6-d39f-43c5-950b-22fdffa78e19-0");
    let without = [index[0], ("hoodie.parquet.small.file.limit", "0")];
    let assignment = case.assign(&without, &rows, PlaceInserts::SmallFiles).unwrap();
    let expected =
        [("lima".into(), "append", vec![1]), ("lima".into(), "create", vec![0]), ("rome".into(), "create", vec![2])];
    assert_eq!(shown(&assignment), expected);
    let assignment = case.assign(&index, &rows, PlaceInserts::NewGroups).unwrap();
    assert_eq!(shown(&assignment), [("lima".into(), "create", vec![0, 1]), ("rome".into(), "create", vec![2])]);
    let assignment = case.assign(&index, &rows, PlaceInserts::Discard).unwrap();
    assert_eq!(shown(&assignment), [("lima".into(), "append", vec![1])]);
}

#[test]
fn rows_of_a_copy_on_write_table_rewrite_base_files() {
    let case = Case::open("h015_cow_partitioned");
    let keys = case.keys();
    let key = keys.record_keys.value(case.rows_in("oslo")[0]);
    let rows = [("new", "oslo", false), (key, "oslo", false), ("other", "x y", false), ("new", "rome", false)];
    let assignment = case.assign(&[], &rows, PlaceInserts::SmallFiles).unwrap();
    let merged =
        [("oslo".into(), "merge", vec![0, 1]), ("rome".into(), "create", vec![3]), ("x y".into(), "merge", vec![2])];
    assert_eq!(shown(&assignment), merged);
    // A file of 3,744 bytes takes two more rows of 128 bytes up to 4,000; each new group as many as fill a file.
    let sizes = [("hoodie.copyonwrite.record.size.estimate", "128"), ("hoodie.parquet.max.file.size", "4000")];
    let names: Vec<String> = (0..40).map(|row| format!("n{row}")).collect();
    let rows: Vec<(&str, &str, bool)> = names.iter().map(|name| (name.as_str(), "oslo", false)).collect();
    let assignment = case.assign(&sizes, &rows, PlaceInserts::SmallFiles).unwrap();
    let sizes: Vec<usize> = assignment.tasks.iter().map(|task| task.rows.len()).collect();
    assert_eq!(sizes, [2, 32, 6]);
    let split = [("hoodie.copyonwrite.insert.auto.split", "false"), ("hoodie.copyonwrite.insert.split.size", "30")];
    let assignment = case.assign(&split, &rows, PlaceInserts::NewGroups).unwrap();
    assert_eq!(assignment.tasks.iter().map(|task| task.rows.len()).collect::<Vec<_>>(), [30, 10]);
}

#[test]
fn logs_up_to_version_7_are_named_by_their_slice() {
    let case = Case::open("h015_mdt_hfile");
    let names = text(&case.rows, "_hoodie_file_name");
    let row =
        (0..names.len()).find(|row| names.value(*row).starts_with("723e8017-61d4-4ee4-bed8-6170a8190a22-1")).unwrap();
    let keys = case.keys();
    let rows = [(keys.record_keys.value(row), keys.partitions.value(row), false)];
    let assignment = case.assign(&[], &rows, PlaceInserts::SmallFiles).unwrap();
    let TaskKind::Append { naming: LogNaming::BySlice { base_instant, base_file, log_files }, .. } =
        &assignment.tasks[0].kind
    else {
        panic!("{:?}", assignment.tasks)
    };
    assert_eq!(base_instant.as_str(), "20261121022920444");
    assert_eq!(base_file, "723e8017-61d4-4ee4-bed8-6170a8190a22-1_0-2995-0_20261121022920444.parquet");
    assert!(
        log_files.len() == 6 && log_files.iter().all(|name| name.contains("_20261121022920444.log.")),
        "{log_files:?}"
    );
}

#[test]
fn new_keys_go_to_the_group_of_their_bucket() {
    let case = Case::open("h12_cdc_bucket_data_before");
    let buckets = [("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", "1")];
    let rows = [("new", "", false), ("newer", "", true), ("x", "other", false), ("y", "other", true)];
    let assignment = case.assign(&buckets, &rows, PlaceInserts::SmallFiles).unwrap();
    assert_eq!(shown(&assignment), [(String::new(), "append", vec![0, 1]), ("other".into(), "create", vec![2])]);
    let TaskKind::Create { file_id_prefix } = &assignment.tasks[1].kind else { panic!("no new group") };
    assert!(file_id_prefix.starts_with("00000000-") && file_id_prefix.len() == 36, "{file_id_prefix}");
    let error = case.assign(&buckets, &rows, PlaceInserts::NewGroups).unwrap_err().to_string();
    assert!(error.contains("bulk_insert"), "{error}");
    let assignment = case.assign(&buckets, &rows[..1], PlaceInserts::Overwrite).unwrap();
    assert_eq!(shown(&assignment), [(String::new(), "create", vec![0])]);
}

/// Rows of `case` with other cities and times.
fn changed(case: &Case, rows: &[(usize, &str, i64)]) -> RecordBatch {
    let numbers = rows.iter().map(|(row, _, _)| *row as u64).collect::<arrow_array::UInt64Array>();
    let taken = arrow_select::take::take_record_batch(&case.rows, &numbers).unwrap();
    let schema = taken.schema();
    let columns = schema.fields().iter().zip(taken.columns()).filter(|(field, _)| !field.name().starts_with("_hoodie"));
    let columns = columns.map(|(field, column)| {
        let changed: ArrayRef = match field.name().as_str() {
            "city" => Arc::new(rows.iter().map(|(_, city, _)| Some(*city)).collect::<StringArray>()),
            "ts" => {
                let times = column.as_primitive::<Int64Type>();
                Arc::new(
                    times
                        .iter()
                        .zip(rows)
                        .map(|(time, (_, _, later))| time.map(|time| time + later))
                        .collect::<Int64Array>(),
                )
            }
            _ => Arc::clone(column),
        };
        (field.name().clone(), changed)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

fn moved(case: &Case, pairs: Options<'_>, rows: &RecordBatch, is_delete: &[bool]) -> IndexedRows {
    let options = options(pairs, &case.config);
    let index = choose_index(&case.config, &options.index).unwrap();
    let keys = RowKeyReader::new(&case.config, rows.schema_ref(), &options.keys).unwrap().read(rows, 0).unwrap();
    let tagged = index.tag(&case.table, &keys).unwrap();
    let marks = is_delete.iter().map(|is_delete| RowMark::of_flags(*is_delete, *is_delete, false)).collect();
    let rows = WriteRows::new(rows.clone().into(), keys, marks).unwrap();
    merge_moved_rows(&case.table, index.as_ref(), IndexedRows { rows, tagged }, &options.keys).unwrap()
}

/// Key number, partition, whether it is a delete, whether it has a location, and `ts`.
fn outcomes(rows: &IndexedRows, of: &RecordBatch) -> Vec<(usize, String, bool, bool, i64)> {
    let ids = text(of, "trip_id");
    let WriteRows { batches, keys, marks } = &rows.rows;
    let batch = batches.to_batch().unwrap();
    let times = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>();
    let one = |row: usize| {
        let key = keys.record_keys.value(row);
        let location = rows.tagged.location(row);
        let partition = keys.partitions.value(row);
        assert!(location.is_none_or(|location| location.partition == partition));
        assert_eq!(text(&batch, "trip_id").value(row), key);
        let number = ids.iter().position(|id| id == Some(key)).unwrap();
        (
            number,
            partition.to_owned(),
            marks.of_row(u32::try_from(row).unwrap()).unwrap().is_delete(),
            location.is_some(),
            times.value(row),
        )
    };
    (0..rows.rows.len()).map(one).collect()
}

#[test]
fn rows_of_a_global_index_move_or_stay() {
    let case = Case::open("h11_record_index_move");
    let lima = case.rows_in("lima");
    let ts = case.rows.column_by_name("ts").unwrap().as_primitive::<Int64Type>();
    let at = |n: usize| ts.value(lima[n]);
    // Moved, moved but late, updated, deleted, and late where it is.
    let rows = [
        (lima[0], "oslo", 5),
        (lima[1], "oslo", -5),
        (lima[2], "lima", 5),
        (lima[3], "oslo", 5),
        (lima[4], "lima", -5),
    ];
    let rows = changed(&case, &rows);
    let deletes = [false, false, false, true, false];
    for (index, moves) in [
        ("GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path"),
        ("GLOBAL_BLOOM", "hoodie.bloom.index.update.partition.path"),
        ("RECORD_INDEX", "hoodie.record.index.update.partition.path"),
    ] {
        let found = moved(&case, &[("hoodie.index.type", index), (moves, "true")], &rows, &deletes);
        // The record index has a key once: a row that stays in its partition is merged by its file group.
        let late = if index == "RECORD_INDEX" { at(4) - 5 } else { at(4) };
        let expected = [
            (0, "lima".to_owned(), true, true, at(0)),
            (0, "oslo".to_owned(), false, false, at(0) + 5),
            (1, "lima".to_owned(), false, true, at(1)),
            (2, "lima".to_owned(), false, true, at(2) + 5),
            (3, "lima".to_owned(), true, true, at(3) + 5),
            (4, "lima".to_owned(), false, true, late),
        ];
        assert_eq!(outcomes(&found, &rows), expected, "{index}");
        let unconditional = found.rows.marks.iter().map(|mark| mark == RowMark::UnconditionalDelete);
        assert_eq!(unconditional.collect::<Vec<_>>(), [true, false, false, false, true, false], "{index}");
        let stays = moved(&case, &[("hoodie.index.type", index), (moves, "false")], &rows, &deletes);
        let partitions: Vec<&str> = stays.rows.keys.partitions.iter().flatten().collect();
        assert!(
            partitions.iter().all(|partition| *partition == "lima") && partitions.len() == 5,
            "{index}: {partitions:?}"
        );
        assert!(stays.tagged.locations.iter().all(Option::is_some), "{index}");
    }
}

#[test]
fn a_key_that_a_log_has_moved_is_found_where_it_is_now() {
    let case = Case::open("h11_record_index_move");
    let keys = case.keys();
    let options = options(&[("hoodie.index.type", "GLOBAL_SIMPLE")], &case.config);
    let index = choose_index(&case.config, &options.index).unwrap();
    let tagged = index.tag(&case.table, &keys).unwrap();
    let further = tagged.further.first().expect("a base file has a key still that a log has moved").row as usize;
    let partition = keys.partitions.value(further);
    let rows = changed(&case, &[(further, partition, 5)]);
    let found = moved(&case, &[("hoodie.index.type", "GLOBAL_SIMPLE")], &rows, &[false]);
    assert_eq!((found.rows.len(), found.rows.keys.partitions.value(0)), (1, partition));
    assert_eq!(found.tagged.location(0).unwrap().partition, partition);
}
