//! Commits that are put together by hand, without the writer of rows: base files of keys, logs that delete keys, and
//! their statuses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;

use super::super::stopped_services::{FIRST, Table, batch};
use mortice_avro::Schema;
use mortice_base::error::Result;
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_commit::commit::{Clock, TimelineWriter};
use mortice_commit::metadata_upkeep::{CommitUpdate, MetadataOptions, MetadataUpkeep};
use mortice_formats::log::writer::{BlockHeader, DeleteColumns, PartitionPath, delete_block};
use mortice_merge::config::{TableType, WriteOptions};
use mortice_storage::{FileStore, LocalStorage};
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieReplaceCommitMetadata, OrderedMap};
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::write::{ColumnRange, ColumnValue, LogFileStatus, WriteStatus, WrittenFile};

pub(in super::super) const SCHEMA: &str = r#"{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[
    {"name":"id","type":["null","string"],"default":null},
    {"name":"city","type":["null","string"],"default":null},
    {"name":"ts","type":["null","long"],"default":null}]}"#;
/// All partitions of the metadata table.
pub(in super::super) const ALL: [(&str, &str); 4] = [
    ("hoodie.metadata.record.index.enable", "true"),
    ("hoodie.metadata.global.record.level.index.enable", "true"),
    ("hoodie.metadata.index.column.stats.enable", "true"),
    ("hoodie.metadata.index.bloom.filter.enable", "true"),
];

pub(in super::super) fn write_options(given: &[(&str, &str)]) -> WriteOptions {
    WriteOptions::resolve(given.iter().copied()).unwrap()
}

pub(in super::super) fn metadata_options(given: &[(&str, &str)]) -> MetadataOptions {
    MetadataOptions::resolve(&write_options(given)).unwrap()
}

/// A requested time, by the minute.
pub(in super::super) fn time(minute: usize) -> RequestedTime {
    RequestedTime::from(format!("20260101{:02}{:02}00000", minute / 60, minute % 60).as_str())
}

/// The id of a file group.
pub(in super::super) fn group(number: usize) -> String {
    format!("a{number:07x}-0000-4000-8000-000000000000-0")
}

/// A table with a metadata table.
pub(in super::super) struct ByHand {
    pub(in super::super) table: Table,
    pub(in super::super) version: u8,
    pub(in super::super) given: Vec<(&'static str, &'static str)>,
}

/// What a commit wrote, and replaced.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Written {
    pub(in super::super) statuses: Vec<WriteStatus>,
    pub(in super::super) replaced: BTreeMap<String, Vec<String>>,
}

impl ByHand {
    /// A table without commits, and its metadata table.
    pub(in super::super) fn new(version: u8, given: &[(&'static str, &'static str)]) -> Self {
        let table = Table::created(version, TableType::MergeOnRead, batch(&FIRST).schema_ref());
        let by_hand = Self { table, version, given: given.to_vec() };
        assert!(by_hand.initialize());
        by_hand
    }

    /// The same table in another folder.
    pub(in super::super) fn copy(&self) -> Self {
        Self { table: self.table.copy(), version: self.version, given: self.given.clone() }
    }

    pub(in super::super) fn initialize(&self) -> bool {
        let options = metadata_options(&self.given);
        MetadataUpkeep::initialize(&self.store(), &self.table.open(true), &options).unwrap()
    }

    pub(in super::super) fn store(&self) -> Arc<dyn FileStore> {
        Arc::new(LocalStorage::new(&self.table.uri(), true))
    }

    pub(in super::super) fn upkeep(&self) -> MetadataUpkeep {
        self.upkeep_in(self.store()).unwrap()
    }

    pub(in super::super) fn upkeep_in(&self, store: Arc<dyn FileStore>) -> Result<MetadataUpkeep> {
        MetadataUpkeep::open(store, &self.table.open(true), &metadata_options(&self.given)).map(Option::unwrap)
    }

    pub(in super::super) fn timeline(&self) -> TimelineWriter {
        TimelineWriter::new(self.store(), &self.table.open(false).config)
    }

    /// Writes a base file of these keys. `before` is the slice that it is written upon: its instant, and its base file.
    pub(in super::super) fn base_file(
        &self,
        (partition, number): (&str, usize),
        instant: &RequestedTime,
        keys: &BTreeSet<String>,
        before: Option<(&RequestedTime, &str)>,
    ) -> WriteStatus {
        let name = format!("{}_0-0-0_{instant}.parquet", group(number));
        let all = |value: &str| Arc::new(StringArray::from(vec![value; keys.len()])) as ArrayRef;
        let ids: ArrayRef = Arc::new(keys.iter().map(Some).collect::<StringArray>());
        let times = Int64Array::from_iter_values((0..).take(keys.len()));
        let columns = [
            (meta_columns::COMMIT_TIME, all(instant.as_str())),
            (meta_columns::COMMIT_SEQNO, all("0_0_0")),
            (meta_columns::RECORD_KEY, Arc::clone(&ids)),
            (meta_columns::PARTITION_PATH, all(partition)),
            (meta_columns::FILE_NAME, all(&name)),
            ("id", ids),
            ("city", all(partition)),
            ("ts", Arc::new(times)),
        ];
        let rows =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let rows = keys.len() as u64;
        let bounds = rows.checked_sub(1).map(|last| [0, i64::try_from(last).unwrap()].map(ColumnValue::Long));
        let range = ColumnRange { bounds: bounds.map(Into::into), values: rows, ..ColumnRange::new("ts") };
        let file = WrittenFile {
            previous_base_file: before.map(|(_, name)| name.to_owned()),
            columns: vec![range],
            ..WrittenFile::new(self.put(partition, &name, &bytes), bytes.len() as u64)
        };
        let previous_commit = before.map(|(instant, _)| instant.to_string());
        let (file_id, file) = (group(number), Some(file));
        WriteStatus { previous_commit, writes: rows, inserts: rows, file, ..WriteStatus::new(partition, &file_id) }
    }

    /// Writes a log that deletes these keys. `base`: the instant of the slice's base file; the log is the first of the
    /// slice but so many.
    pub(in super::super) fn deletes(
        &self,
        (partition, number): (&str, usize),
        instant: &RequestedTime,
        keys: &BTreeSet<String>,
        (base, logs): (&RequestedTime, u32),
    ) -> WriteStatus {
        let (slice, log) = if self.version < 8 { (base, logs + 1) } else { (instant, 1) };
        let name = format!(".{}_{slice}.log.{log}_0-0-0", group(number));
        let ids: ArrayRef = Arc::new(keys.iter().map(Some).collect::<StringArray>());
        let rows = RecordBatch::try_from_iter([("id", ids)]).unwrap();
        let columns = DeleteColumns {
            record_key: "id".to_owned(),
            partition_path: PartitionPath::Constant(partition.to_owned()),
            ordering: Vec::new(),
        };
        let header = BlockHeader::new(instant).with_schema(SCHEMA);
        let block = delete_block(&rows.schema(), &mut std::iter::once(Ok(rows)), &columns, &header).unwrap();
        let log = LogFileStatus {
            version: i32::try_from(log).unwrap(),
            offset: 0,
            base_file: String::new(),
            log_files: vec![name.clone()],
        };
        let bytes = block.bytes();
        let file =
            WrittenFile { log: Some(log), ..WrittenFile::new(self.put(partition, &name, bytes), bytes.len() as u64) };
        let status = WriteStatus::new(partition, &group(number));
        WriteStatus { previous_commit: Some(base.to_string()), deletes: keys.len() as u64, file: Some(file), ..status }
    }

    fn put(&self, partition: &str, name: &str, bytes: &[u8]) -> String {
        let path = format!("{partition}/{name}");
        let marker = self.table.folder.path().join(partition).join(".hoodie_partition_metadata");
        std::fs::create_dir_all(marker.parent().unwrap()).unwrap();
        std::fs::write(marker, "partitionDepth=1\n").unwrap();
        std::fs::write(self.table.folder.path().join(&path), bytes).unwrap();
        path
    }

    /// Puts the instant on the table's timeline, as a write does before its files.
    pub(in super::super) fn begin(&self, instant: &RequestedTime, action: Action) {
        let timeline = self.timeline();
        timeline.request(instant, action, &Bytes::new()).unwrap();
        timeline.start(instant, action, &Bytes::new()).unwrap();
    }

    /// Writes the metadata table's part of a commit.
    pub(in super::super) fn write(
        &self,
        upkeep: &MetadataUpkeep,
        instant: &RequestedTime,
        operation: WriteOperation,
        written: &Written,
    ) -> Result<()> {
        self.write_checked(upkeep, instant, (operation, written), &|| Ok(()))
    }

    pub(in super::super) fn write_checked(
        &self,
        upkeep: &MetadataUpkeep,
        instant: &RequestedTime,
        (operation, written): (WriteOperation, &Written),
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let schema = Schema::parse(SCHEMA).unwrap();
        let Written { statuses, replaced } = written;
        let update = CommitUpdate { operation, statuses, replaced, schema: &schema };
        upkeep.write_commit(instant, &update, check)
    }

    /// Completes the instant in the table.
    pub(in super::super) fn complete(&self, instant: &RequestedTime, operation: WriteOperation, written: &Written) {
        let mut stats: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for status in &written.statuses {
            stats.entry(&status.partition).or_default().push(status.to_write_stat().unwrap());
        }
        let stats: OrderedMap<_> = stats.into_iter().map(|(partition, stats)| (partition.to_owned(), stats)).collect();
        let extra = OrderedMap::from_iter([("schema", SCHEMA.to_owned())]);
        let (timeline, open) = (self.timeline(), self.table.open(false));
        let (action, content) = if written.replaced.is_empty() {
            let metadata = HoodieCommitMetadata {
                partition_to_write_stats: Some(stats),
                extra_metadata: Some(extra),
                operation_type: Some(operation.name().to_owned()),
                ..HoodieCommitMetadata::default()
            };
            (Action::DeltaCommit, timeline.commit_content(&metadata))
        } else {
            let replaced = written.replaced.iter().map(|(partition, groups)| (partition.clone(), groups.clone()));
            let metadata = HoodieReplaceCommitMetadata {
                partition_to_write_stats: Some(stats),
                extra_metadata: Some(extra),
                operation_type: Some(operation.name().to_owned()),
                partition_to_replace_file_ids: Some(replaced.collect()),
                ..HoodieReplaceCommitMetadata::default()
            };
            (Action::ReplaceCommit, timeline.commit_content(&metadata))
        };
        let completion =
            Clock::new(&open.config, self.store().time()).completion_time(instant, &[&open.timeline]).unwrap();
        timeline.complete_or_fail(instant, action, &completion, &content.unwrap()).unwrap();
    }

    /// Writes a commit to both tables.
    pub(in super::super) fn commit(&self, instant: &RequestedTime, operation: WriteOperation, written: &Written) {
        let action = if written.replaced.is_empty() { Action::DeltaCommit } else { Action::ReplaceCommit };
        self.begin(instant, action);
        let upkeep = self.upkeep();
        self.write(&upkeep, instant, operation, written).unwrap();
        self.complete(instant, operation, written);
        upkeep.clean_up(instant).unwrap();
    }

    /// Commits a new file group of these keys. Returns what was written.
    pub(in super::super) fn insert(&self, minute: usize, partition: &str, keys: &[&str]) -> Written {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let statuses = vec![self.base_file((partition, minute), &time(minute), &keys, None)];
        let written = Written { statuses, ..Written::default() };
        self.commit(&time(minute), WriteOperation::Insert, &written);
        written
    }

    /// The files below a folder, with their contents.
    pub(in super::super) fn files_below(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let files = self.store().list_recursively(folder).unwrap();
        let read = |path: String| (path.clone(), std::fs::read(self.path(&path)).unwrap());
        files.into_iter().map(|(path, _)| read(path)).collect()
    }

    pub(in super::super) fn path(&self, path: &str) -> std::path::PathBuf {
        Path::new(&self.table.uri()).join(path)
    }

    /// The names of the files of an instant of the metadata table's timeline, without the completion time.
    pub(in super::super) fn metadata_instants(&self, instant: &str) -> BTreeSet<String> {
        let folder = if self.version < 8 { ".hoodie/metadata/.hoodie" } else { ".hoodie/metadata/.hoodie/timeline" };
        let files = std::fs::read_dir(self.path(folder)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let of_instant = names.filter(|name| name.split(['.', '_']).next() == Some(instant));
        of_instant.map(|name| name.split_once('.').unwrap().1.to_owned()).collect()
    }

    /// The records of the metadata table that readers find, by partition and key.
    pub(in super::super) fn records(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let open = self.table.open(true);
        let metadata = open.metadata_table().unwrap();
        let names: Vec<&str> = metadata.schema().fields().iter().map(|field| field.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| !name.starts_with("_hoodie_")).collect();
        let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for partition in &open.config.metadata_partitions {
            let of_partition = found.entry(partition.clone()).or_default();
            for batch in metadata.rows(partition, &names).unwrap() {
                for row in 0..batch.num_rows() {
                    let text = |column| arrow_cast::display::array_value_to_string(column, row).unwrap();
                    let key = text(batch.column_by_name("key").unwrap());
                    // Maps have no order.
                    let values = batch.columns().iter().map(|column| {
                        let text = text(column);
                        let mut parts: Vec<&str> =
                            text.split("}, ").map(|part| part.trim_matches(['{', '}'])).collect();
                        parts.sort_unstable();
                        parts.join("; ")
                    });
                    let known = of_partition.insert(key.clone(), values.collect::<Vec<_>>().join(" | "));
                    assert!(known.is_none(), "{partition} has the key {key:?} twice");
                }
            }
        }
        found
    }

    /// The files that the metadata table lists, by partition.
    pub(in super::super) fn listed(&self) -> BTreeMap<String, BTreeSet<String>> {
        let listed = self.table.open(true).metadata_table().unwrap().list(None).unwrap();
        let names = |files: &mortice_table::file_group::PartitionFiles| {
            let bases = files.base_files.iter().map(|base| base.name.name.clone());
            bases.chain(files.log_files.iter().map(|log| log.name.name.clone())).collect()
        };
        listed.files.iter().map(|files| (files.partition.clone(), names(files))).collect()
    }

    /// The partition and the number of the file group of each key that the record index has.
    pub(in super::super) fn locations(&self) -> BTreeMap<String, (String, String)> {
        let mut found = BTreeMap::new();
        let open = self.table.open(true);
        let each = &mut |place: mortice_table::metadata_table::KeyLocation<'_>| {
            let known = found.insert(place.key.to_owned(), (place.partition.to_owned(), place.file_id));
            assert!(known.is_none(), "{} is there twice", place.key);
            Ok(())
        };
        open.metadata_table().unwrap().key_locations(None, each).unwrap();
        found
    }
}
