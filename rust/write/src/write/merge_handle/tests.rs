//! Commits of a table, one base file rewritten by the next.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray};

use super::{MergeHandle, MergeTarget};
use crate::write::write_token::WriteToken;
use crate::write::{
    BaseFileOptions, CreateHandle, CreateTarget, Marker, MarkerKind, Markers, MetaColumns, WriteStatus,
};
use mortice_avro::Schema;
use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::Filter;
use mortice_merge::config::ReadOptions;
use mortice_merge::merge::fold::RowMerger;
use mortice_storage::{FileStore, LocalStorage, StorageOptions};
use mortice_table::file_group::{FileSlice, LogFile};
use mortice_table::plan::OpenTable;
use mortice_table::split::MergerHandle;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, OrderedMap, TimelineMetadata};

const FIELDS: &str = r#"{"name":"id","type":"string"},{"name":"ts","type":"long"},
    {"name":"x","type":["null","string"],"default":null},
    {"name":"_hoodie_is_deleted","type":["null","boolean"],"default":null}"#;
const ADDED: &str = r#",{"name":"y","type":["null","long"],"default":null}"#;

/// Key, ordering value, value, soft delete.
type Row = (&'static str, i64, Option<&'static str>, bool);

const fn row(id: &'static str, ts: i64, x: &'static str) -> Row {
    (id, ts, Some(x), false)
}

fn rows(rows: &[Row]) -> (RecordBatch, StringArray) {
    let keys: StringArray = rows.iter().map(|row| Some(row.0)).collect();
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(keys.clone())),
        ("ts", Arc::new(rows.iter().map(|row| Some(row.1)).collect::<Int64Array>())),
        ("x", Arc::new(rows.iter().map(|row| row.2).collect::<StringArray>())),
        ("_hoodie_is_deleted", Arc::new(rows.iter().map(|row| Some(row.3)).collect::<BooleanArray>())),
    ];
    (RecordBatch::try_from_iter(columns).unwrap(), keys)
}

struct TestTable {
    folder: tempfile::TempDir,
    version: u8,
    fields: String,
    commits: u32,
    has_meta: bool,
}

impl TestTable {
    /// A table of commits with these properties; its rows have a record key `id` and are ordered by `ts`.
    fn new(version: u8, properties: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".hoodie/timeline/history")).unwrap();
        let ordering = if version < 9 { "hoodie.table.precombine.field" } else { "hoodie.table.ordering.fields" };
        let (version_text, layout) = (version.to_string(), if version < 8 { "1" } else { "2" });
        let common = [
            ("hoodie.table.name", "t"),
            ("hoodie.table.type", "COPY_ON_WRITE"),
            ("hoodie.table.version", &version_text),
            ("hoodie.timeline.layout.version", layout),
            ("hoodie.table.recordkey.fields", "id"),
            (ordering, "ts"),
        ];
        let lines = common.iter().chain(properties).map(|(name, value)| format!("{name}={value}\n"));
        std::fs::write(folder.path().join(".hoodie/hoodie.properties"), lines.collect::<String>()).unwrap();
        let has_meta = !properties.contains(&("hoodie.populate.meta.fields", "false"));
        Self { folder, version, fields: FIELDS.to_owned(), commits: 0, has_meta }
    }

    fn event_time() -> Self {
        Self::new(9, &[("hoodie.record.merge.mode", "EVENT_TIME_ORDERING")])
    }

    fn store(&self) -> Arc<dyn FileStore> {
        Arc::new(LocalStorage::new(&self.folder.path().to_string_lossy(), true))
    }

    fn schema(&self) -> Schema {
        let fields = &self.fields;
        let schema = Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)).unwrap();
        if self.has_meta { schema.with_leading_nullable_strings(&meta_columns::ALL).unwrap() } else { schema }
    }

    fn open(&self) -> OpenTable {
        // Several batches for a few rows.
        let options = ReadOptions { batch_rows: 2, ..ReadOptions::default() };
        OpenTable::open(&self.folder.path().to_string_lossy(), &StorageOptions::default(), options).unwrap()
    }

    fn slice(&self) -> FileSlice {
        let slices = self.open().file_slices(None, &Filter::default()).unwrap();
        let [slice] = slices.as_slice() else { panic!("{} slices", slices.len()) };
        slice.clone()
    }

    /// The instant of the commit that comes next.
    fn instant(&self) -> String {
        format!("2024010100000{:04}", self.commits)
    }

    fn token() -> WriteToken {
        WriteToken { task: 7, stage: 1, attempt: 2 }
    }

    /// The first commit: a new base file.
    fn create(&mut self, of: &[Row]) {
        let target = CreateTarget {
            partition: String::new(),
            file_id_prefix: "f".into(),
            instant: self.instant().as_str().into(),
            token: Self::token(),
        };
        let mut handle = CreateHandle::new(self.store(), &self.schema(), target, BaseFileOptions::default(), false);
        let (data, record_keys) = rows(of);
        let meta =
            if self.has_meta { MetaColumns::Computed { record_keys: &record_keys } } else { MetaColumns::Absent };
        handle.insert(&data, meta).unwrap();
        handle.finish().unwrap();
        self.commit();
    }

    fn commit(&mut self) {
        let schema = Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{}]}}"#, self.fields)).unwrap();
        let mut extra = OrderedMap::new();
        extra.insert("schema", schema.json().to_owned());
        let metadata = HoodieCommitMetadata { extra_metadata: Some(extra), ..HoodieCommitMetadata::default() };
        let instant = self.instant();
        let (path, bytes) = if self.version < 8 {
            (format!(".hoodie/{instant}.commit"), metadata.to_json())
        } else {
            (format!(".hoodie/timeline/{instant}_{instant}.commit"), metadata.to_avro().unwrap())
        };
        std::fs::write(self.folder.path().join(path), bytes).unwrap();
        self.commits += 1;
    }

    fn handle(&self) -> Result<MergeHandle> {
        self.handle_of(self.slice())
    }

    fn handle_of(&self, slice: FileSlice) -> Result<MergeHandle> {
        let instant = self.instant().as_str().into();
        let target = MergeTarget { partition: String::new(), slice, instant, token: Self::token() };
        MergeHandle::new(self.store(), &self.open(), &self.schema(), target, BaseFileOptions::default())
    }

    /// Rewrites the file and commits it.
    fn finish(&mut self, handle: MergeHandle) -> WriteStatus {
        let mut statuses = handle.finish().unwrap();
        self.commit();
        assert_eq!(statuses.len(), 1);
        statuses.remove(0)
    }

    /// A commit of rows to merge and keys to delete.
    fn merge(&mut self, of: &[Row], deletes: &[&str]) -> WriteStatus {
        let mut handle = self.handle().unwrap();
        let (data, keys) = rows(of);
        handle.add(&data, &keys, None).unwrap();
        if !deletes.is_empty() {
            let keys = StringArray::from(deletes.to_vec());
            let options = RecordBatchOptions::new().with_row_count(Some(keys.len()));
            let none = Arc::new(arrow_schema::Schema::empty());
            let data = RecordBatch::try_new_with_options(none, Vec::new(), &options).unwrap();
            handle.add(&data, &keys, Some(&BooleanArray::from(vec![true; keys.len()]))).unwrap();
        }
        self.finish(handle)
    }

    /// The rows of the latest base file: key, ordering value and value; with meta columns, the number of the commit,
    /// the numbers of the commit and of the row that the sequence number has, and whether the file's name is right.
    fn stored(&self) -> Vec<String> {
        let slice = self.slice();
        let mut stored = Vec::new();
        for batch in self.open().base_rows(&slice, &self.schema()).unwrap() {
            let batch = batch.unwrap();
            let text = |name: &str, row: usize| {
                let column =
                    arrow_cast::cast(batch.column_by_name(name).unwrap(), &arrow_schema::DataType::Utf8).unwrap();
                let column = column.as_string::<i32>();
                if column.is_null(row) { "-".to_owned() } else { column.value(row).to_owned() }
            };
            for row in 0..batch.num_rows() {
                let ts = batch.column_by_name("ts").unwrap().as_primitive::<Int64Type>().value(row);
                let mut line = format!("{} {ts} {}", text("id", row), text("x", row));
                if self.has_meta {
                    let number =
                        |text: &str| text.trim_start_matches("2024010100000").trim_start_matches('0').to_owned();
                    let seqno = text("_hoodie_commit_seqno", row);
                    let parts: Vec<&str> = seqno.split('_').collect();
                    let commit = number(&text("_hoodie_commit_time", row));
                    line.push_str(&format!(" @{commit} {}:{}", number(parts[0]), parts[2]));
                    assert_eq!(parts[1], "7");
                    assert_eq!(text("_hoodie_file_name", row), slice.base_file.as_ref().unwrap().name());
                    assert_eq!(
                        (text("_hoodie_record_key", row), text("_hoodie_partition_path", row)),
                        (text("id", row), String::new())
                    );
                }
                stored.push(line);
            }
        }
        stored
    }
}

fn counts(status: &WriteStatus) -> [u64; 4] {
    [status.writes, status.inserts, status.updates, status.deletes]
}

#[test]
fn late_rows_lose_in_event_time_and_keep_their_meta_columns() {
    let default = "org.apache.hudi.common.model.DefaultHoodieRecordPayload";
    for mut table in [TestTable::event_time(), TestTable::new(6, &[("hoodie.compaction.payload.class", default)])] {
        table.create(&[row("a", 5, "a0"), row("b", 5, "b0"), row("c", 5, "c0"), row("d", 5, "d0"), row("e", 5, "e0")]);
        let status =
            table.merge(&[row("c", 5, "tie"), row("n", 1, "new"), row("a", 4, "late"), row("e", 6, "e1")], &[]);
        assert_eq!(
            table.stored(),
            ["a 5 a0 @ :0", "b 5 b0 @ :1", "c 5 tie @1 1:2", "d 5 d0 @ :3", "e 6 e1 @1 1:4", "n 1 new @1 1:5"]
        );
        assert_eq!(counts(&status), [6, 1, 2, 0]);
        let status = table.merge(&[row("b", 9, "b2")], &[]);
        assert_eq!(table.stored()[..3], ["a 5 a0 @ :0", "b 9 b2 @2 2:1", "c 5 tie @1 1:2"]);
        assert_eq!(counts(&status), [6, 0, 1, 0]);
    }
}

#[test]
fn the_later_commit_wins_in_commit_time() {
    let latest = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload";
    for mut table in [
        TestTable::new(9, &[("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING")]),
        TestTable::new(6, &[("hoodie.compaction.payload.class", latest)]),
    ] {
        table.create(&[row("a", 5, "a0"), row("b", 5, "b0"), row("c", 5, "c0")]);
        let status = table.merge(&[row("a", 4, "a1"), ("b", 1, None, true)], &[]);
        assert_eq!(table.stored(), ["a 4 a1 @1 1:0", "c 5 c0 @ :2"]);
        assert_eq!(counts(&status), [2, 0, 1, 1]);
    }
}

#[test]
fn soft_deletes_are_compared_and_hard_ones_are_not() {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "a"), row("b", 5, "b"), row("c", 5, "c"), row("d", 5, "d")]);
    let status = table.merge(&[("a", 4, None, true), ("b", 5, None, true), ("m", 5, None, true)], &["c", "n"]);
    assert_eq!(table.stored(), ["a 5 a @ :0", "d 5 d @ :3"]);
    assert_eq!(counts(&status), [2, 0, 0, 4], "Hudi counts deletes of keys that are not there");
}

#[test]
fn rows_and_deletes_in_one_batch() {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "a"), row("b", 5, "b"), row("c", 5, "c")]);
    let mut handle = table.handle().unwrap();
    let (data, keys) = rows(&[row("a", 9, "no"), row("b", 6, "b1"), row("c", 1, "no"), row("n", 1, "n")]);
    handle.add(&data, &keys, Some(&BooleanArray::from(vec![true, false, true, false]))).unwrap();
    let status = table.finish(handle);
    assert_eq!(table.stored(), ["b 6 b1 @1 1:0", "n 1 n @1 1:1"]);
    assert_eq!(counts(&status), [2, 1, 1, 2]);
}

#[test]
fn later_batches_win_over_earlier_ones() {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "a")]);
    let mut handle = table.handle().unwrap();
    for (x, ts) in [("one", 6), ("two", 7), ("late", 6)] {
        let (data, keys) = rows(&[row("a", ts, x), row("n", ts, x)]);
        handle.add(&data, &keys, None).unwrap();
    }
    table.finish(handle);
    assert_eq!(table.stored(), ["a 7 two @1 1:0", "n 7 two @1 1:1"]);
}

#[test]
fn a_file_whose_rows_are_all_deleted_is_empty_and_can_be_merged_into() {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "a"), row("b", 5, "b"), row("c", 5, "c")]);
    let status = table.merge(&[], &["a", "b", "c"]);
    assert_eq!(counts(&status), [0, 0, 0, 3]);
    assert!(table.stored().is_empty());
    let file = status.file.as_ref().unwrap();
    assert!(file.key_range.is_none() && file.bloom.is_some() && table.folder.path().join(&file.path).is_file());
    let status = table.merge(&[row("a", 1, "again")], &[]);
    assert_eq!((table.stored(), counts(&status)), (vec!["a 1 again @2 2:0".to_owned()], [1, 1, 0, 0]));
}

#[test]
fn the_status_and_the_marker_name_the_files() {
    let mut table = TestTable::event_time();
    table.create(&[row("b", 5, "b")]);
    let before = table.slice().base_file.unwrap();
    let status = table.merge(&[row("a", 5, "a"), row("ü", 5, "u")], &[]);
    let file = status.file.as_ref().unwrap();
    assert_eq!((status.file_id.as_str(), status.previous_commit.as_deref()), ("f-0", Some("20240101000000000")));
    assert_eq!(file.path, "f-0_7-1-2_20240101000000001.parquet");
    assert_eq!(file.previous_base_file.as_deref(), Some(before.name()));
    assert_eq!(file.bytes, std::fs::metadata(table.folder.path().join(&file.path)).unwrap().len());
    assert_eq!(file.key_range, Some(("a".to_owned(), "ü".to_owned())));
    let ts = file.columns.iter().find(|column| column.column == "ts").unwrap();
    assert_eq!((ts.values, ts.nulls), (3, 0));
    let stat = status.to_write_stat().unwrap();
    assert_eq!((stat.prev_commit.as_deref(), stat.num_inserts), (Some("20240101000000000"), Some(2)));
    let markers = Markers::new(table.store(), &"20240101000000001".into()).list().unwrap();
    assert_eq!(markers, [Marker { data_path: file.path.clone(), kind: MarkerKind::Merge }].into());
    assert!(table.folder.path().join(".hoodie_partition_metadata").is_file());
}

#[test]
fn columns_that_the_file_lacks_are_null() {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "a"), row("b", 5, "b")]);
    table.fields.push_str(ADDED);
    let (data, keys) = rows(&[row("b", 6, "b1")]);
    let mut handle = table.handle().unwrap();
    let error = handle.add(&data, &keys, None).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("\"y\""), "{error}");
    let schema = data.schema();
    let columns = schema.fields().iter().map(|field| field.name().clone()).zip(data.columns().iter().cloned());
    // Another order and another type, which fits.
    let y = ("y".to_owned(), Arc::new(arrow_array::Int32Array::from(vec![3])) as ArrayRef);
    let data = RecordBatch::try_from_iter([y].into_iter().chain(columns)).unwrap();
    handle.add(&data, &keys, None).unwrap();
    table.finish(handle);
    assert_eq!(table.stored(), ["a 5 a @ :0", "b 6 b1 @1 1:1"]);
    let batches = table.open().base_rows(&table.slice(), &table.schema()).unwrap();
    let y: Vec<Option<i64>> = batches
        .flat_map(|rows| {
            rows.unwrap().column_by_name("y").unwrap().as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(y, [None, Some(3)]);
}

#[test]
fn rows_that_the_merge_fills_are_of_the_commit() {
    let fill = ("hoodie.table.partial.update.mode", "IGNORE_DEFAULTS");
    let mut table = TestTable::new(9, &[("hoodie.record.merge.mode", "EVENT_TIME_ORDERING"), fill]);
    table.create(&[("a", 5, None, false), row("b", 5, "b"), row("c", 5, "c")]);
    let status = table.merge(&[row("a", 4, "late"), ("b", 6, None, false), ("n", 1, None, false)], &[]);
    assert_eq!(table.stored(), ["a 5 late @1 1:0", "b 6 b @1 1:1", "c 5 c @ :2", "n 1 - @1 1:3"]);
    assert_eq!(counts(&status), [4, 1, 2, 0]);
}

#[test]
fn payload_classes_that_fill() {
    for (class, expected) in [
        ("OverwriteNonDefaultsWithLatestAvroPayload", ["a 4 late @1 1:0", "b 6 b @1 1:1"]),
        ("PartialUpdateAvroPayload", ["a 5 late @1 1:0", "b 6 b @1 1:1"]),
    ] {
        let class = format!("org.apache.hudi.common.model.{class}");
        let mut table = TestTable::new(6, &[("hoodie.compaction.payload.class", &class)]);
        table.create(&[("a", 5, None, false), row("b", 5, "b")]);
        table.merge(&[row("a", 4, "late"), ("b", 6, None, false)], &[]);
        assert_eq!(table.stored(), expected, "{class}");
    }
}

/// Appends the newer value to the older.
struct Joined;

impl RowMerger for Joined {
    fn merge(&self, older: &RecordBatch, newer: &RecordBatch) -> Result<(RecordBatch, BooleanArray)> {
        let at = newer.schema().index_of("x").unwrap();
        let (old, new) = (older.column(at).as_string::<i32>(), newer.column(at).as_string::<i32>());
        let joined: StringArray = old.iter().zip(new).map(|(old, new)| Some(format!("{}{}", old?, new?))).collect();
        let mut columns = newer.columns().to_vec();
        columns[at] = Arc::new(joined);
        Ok((RecordBatch::try_new(newer.schema(), columns).unwrap(), vec![true; newer.num_rows()].into()))
    }
}

#[test]
fn a_user_defined_merger_is_called_and_required() {
    let own = [("hoodie.record.merge.mode", "CUSTOM"), ("hoodie.compaction.payload.class", "com.acme.Own")];
    let mut table = TestTable::new(8, &own);
    table.create(&[row("a", 5, "a"), row("b", 5, "b")]);
    let (data, keys) = rows(&[row("a", 4, "+"), row("n", 4, "n")]);
    let mut refused = table.handle().unwrap();
    refused.add(&data, &keys, None).unwrap();
    let error = refused.finish().unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("com.acme.Own"), "{error}");
    let mut handle = table.handle().unwrap().with_merger(MergerHandle(Arc::new(Joined)));
    handle.add(&data, &keys, None).unwrap();
    table.finish(handle);
    assert_eq!(table.stored(), ["a 4 a+ @1 1:0", "b 5 b @ :1", "n 4 n @1 1:2"]);
}

/// A table whose base file has the key `a` three times, `b` twice and `c` once.
fn with_repeated_keys() -> TestTable {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "1"), row("b", 5, "2"), row("a", 9, "3")]);
    let (data, keys) = rows(&[row("b", 6, "4"), row("a", 5, "5"), row("c", 5, "6")]);
    let mut handle = table.handle().unwrap().appending();
    handle.add(&data, &keys, None).unwrap();
    table.finish(handle);
    table
}

/// Batches of base rows have two rows: those of a key are in one, and in several.
#[test]
fn each_row_of_a_key_is_merged() {
    let mut table = with_repeated_keys();
    let status = table.merge(&[row("a", 7, "new"), row("n", 1, "n")], &["b"]);
    // One row of the key has a later ordering value.
    assert_eq!(table.stored(), ["a 7 new @2 2:0", "a 9 3 @ :2", "a 7 new @2 2:2", "c 5 6 @1 1:5", "n 1 n @2 2:4"]);
    assert_eq!(counts(&status), [5, 1, 2, 2]);
}

#[test]
fn each_row_of_a_key_is_merged_field_by_field() {
    let fill = ("hoodie.table.partial.update.mode", "IGNORE_DEFAULTS");
    let mut table = TestTable::new(9, &[("hoodie.record.merge.mode", "EVENT_TIME_ORDERING"), fill]);
    table.create(&[row("a", 5, "1"), row("b", 5, "2"), row("a", 5, "3")]);
    let status = table.merge(&[("a", 7, None, false)], &[]);
    assert_eq!(table.stored(), ["a 7 1 @1 1:0", "b 5 2 @ :1", "a 7 3 @1 1:2"]);
    assert_eq!(counts(&status), [3, 0, 2, 0]);
}

#[test]
fn a_key_that_one_row_may_have_is_refused_if_several_have_it() {
    for (single, is_refused) in [("a", true), ("b", true), ("c", false), ("n", false)] {
        let table = with_repeated_keys();
        let (data, keys) = rows(&[row("a", 7, "new"), row("b", 7, "new"), row("c", 7, "new"), row("n", 7, "new")]);
        let mut handle = table.handle().unwrap().of_single_rows([single]);
        handle.add(&data, &keys, None).unwrap();
        match handle.finish() {
            Ok(_) => assert!(!is_refused, "{single}"),
            Err(error) => {
                assert!(is_refused && error.kind() == ErrorKind::InvalidArgument, "{error}");
                assert!(error.to_string().contains(&format!("several rows of the key {single:?}")), "{error}");
            }
        }
    }
}

#[test]
fn appended_rows_are_not_merged() {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "a")]);
    let (data, keys) = rows(&[row("a", 6, "twice"), row("n", 1, "n")]);
    let mut handle = table.handle().unwrap().appending();
    handle.add(&data, &keys, None).unwrap();
    let status = table.finish(handle);
    assert_eq!(table.stored(), ["a 5 a @ :0", "a 6 twice @1 1:1", "n 1 n @1 1:2"]);
    assert_eq!(counts(&status), [3, 2, 0, 0]);
    let mut handle = table.handle().unwrap().appending();
    handle.add(&data, &keys, Some(&BooleanArray::from(vec![true, false]))).unwrap();
    assert_eq!(handle.finish().unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn files_without_meta_columns_are_merged_by_their_key_fields() {
    let event = ("hoodie.record.merge.mode", "EVENT_TIME_ORDERING");
    let mut table = TestTable::new(9, &[event, ("hoodie.populate.meta.fields", "false")]);
    table.create(&[row("a", 5, "a"), row("b", 5, "b"), row("c", 5, "c")]);
    let status = table.merge(&[row("a", 4, "late"), row("b", 6, "b1"), row("n", 1, "n")], &["c"]);
    assert_eq!(table.stored(), ["a 5 a", "b 6 b1", "n 1 n"]);
    assert_eq!(counts(&status), [3, 1, 1, 1]);
}

#[test]
fn what_cannot_be_merged_is_refused_and_leaves_no_file() {
    let mut table = TestTable::event_time();
    table.create(&[row("a", 5, "a")]);
    let slice = table.slice();
    let log = LogFile { path: ".f-0_1.log.1".into(), len: 1, etag: None };
    let with_logs = FileSlice { log_files: vec![log], ..slice.clone() };
    let error = table.handle_of(with_logs).err().unwrap();
    assert!(error.to_string().contains("1 log files"), "{error}");
    assert!(table.handle_of(FileSlice { base_file: None, ..slice }).is_err());
    let (data, keys) = rows(&[row("a", 6, "x"), row("b", 6, "x")]);
    let mut handle = table.handle().unwrap();
    let is_refused = |error: mortice_base::Error, word: &str| {
        assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(word), "{error}");
    };
    is_refused(handle.add(&data, &StringArray::from(vec![Some("a"), None]), None).unwrap_err(), "row 1");
    is_refused(handle.add(&data, &keys.slice(0, 1), None).unwrap_err(), "1 record keys for 2 rows");
    let mut columns = data.columns().to_vec();
    columns[1] = Arc::new(StringArray::from(vec!["1", "one"]));
    let fields = data.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let unfit = RecordBatch::try_from_iter(fields.iter().cloned().zip(columns.clone())).unwrap();
    is_refused(handle.add(&unfit, &keys, None).unwrap_err(), "\"ts\"");
    columns[1] = Arc::new(Int64Array::from(vec![Some(9), None]));
    let null = RecordBatch::try_from_iter_with_nullable(
        fields.into_iter().zip(columns).map(|(name, column)| (name, column, true)),
    );
    handle.add(&null.unwrap(), &keys, None).unwrap();
    is_refused(handle.finish().unwrap_err(), "ts");
    let names = std::fs::read_dir(table.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let files = names.filter(|name| name.to_string_lossy().ends_with(".parquet")).count();
    assert_eq!(files, 1, "a merge that failed left a file");
}
