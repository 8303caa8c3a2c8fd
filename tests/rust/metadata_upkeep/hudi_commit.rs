//! Write statuses of a commit of Hudi's, from its metadata; the ranges of columns are those of Hudi's own statistics.

use std::collections::BTreeMap;

use mortice::avro::{Schema, Value};
use mortice::timeline::WriteOperation;
use mortice::timeline::metadata::{
    HoodieCommitMetadata, HoodieReplaceCommitMetadata, HoodieWriteStat, TimelineMetadata,
};
use mortice::write::{ColumnRange, ColumnValue, LogFileStatus, WriteStatus, WrittenFile};

use super::metadata_records::{PartitionRecords, find_member, member};
use super::table_copy::TableCopy;

/// A commit of a table.
pub struct HudiCommit {
    pub instant: String,
    pub operation: WriteOperation,
    pub schema: Schema,
    pub stats: Vec<HoodieWriteStat>,
    pub replaced: BTreeMap<String, Vec<String>>,
}

/// The completed writes of a table, oldest first, but for table services.
pub fn commits(table: &TableCopy) -> Vec<HudiCommit> {
    let mut found = Vec::new();
    for name in table.instant_files("") {
        let action = name.rsplit('.').next().unwrap();
        if !["commit", "deltacommit", "replacecommit"].contains(&action) {
            continue;
        }
        let bytes = table.read(&format!("{}/{name}", table.timeline("")));
        let metadata = if action == "replacecommit" {
            parsed::<HoodieReplaceCommitMetadata>(&bytes)
        } else {
            let HoodieCommitMetadata { partition_to_write_stats, extra_metadata, operation_type, .. } = parsed(&bytes);
            HoodieReplaceCommitMetadata {
                partition_to_write_stats,
                extra_metadata,
                operation_type,
                ..HoodieReplaceCommitMetadata::default()
            }
        };
        let Some(operation) = metadata.operation_type.as_deref().and_then(WriteOperation::named) else { continue };
        let schema = metadata.extra_metadata.as_ref().and_then(|extra| extra.get("schema")).unwrap();
        let stats = metadata.partition_to_write_stats.clone().unwrap_or_default();
        let replaced = metadata.partition_to_replace_file_ids.clone().unwrap_or_default();
        found.push(HudiCommit {
            instant: name.split(['_', '.']).next().unwrap().to_owned(),
            operation,
            schema: Schema::parse(schema).unwrap(),
            stats: stats.values().flatten().cloned().collect(),
            replaced: replaced.iter().map(|(partition, ids)| (partition.to_owned(), ids.clone())).collect(),
        });
    }
    found.sort_by(|one, other| one.instant.cmp(&other.instant));
    found
}

fn parsed<T: TimelineMetadata>(bytes: &[u8]) -> T {
    if bytes.starts_with(b"{") { T::from_json(bytes).unwrap() } else { T::from_avro(bytes).unwrap() }
}

impl HudiCommit {
    /// The statuses. `statistics` are the records of the partition `column_stats` of this commit.
    pub fn statuses(&self, table: &TableCopy, statistics: Option<&PartitionRecords>) -> Vec<WriteStatus> {
        let mut ranges: BTreeMap<String, Vec<ColumnRange>> = BTreeMap::new();
        for record in statistics.into_iter().flat_map(|records| records.upserts.values()) {
            let statistics = member(record, "ColumnStatsMetadata");
            let Value::String(file) = member(statistics, "fileName") else { panic!() };
            ranges.entry(file.to_string()).or_default().push(range(statistics));
        }
        self.stats.iter().map(|stat| self.status(table, stat, &ranges)).collect()
    }

    fn status(
        &self,
        table: &TableCopy,
        stat: &HoodieWriteStat,
        ranges: &BTreeMap<String, Vec<ColumnRange>>,
    ) -> WriteStatus {
        let count = |number: Option<i64>| u64::try_from(number.unwrap_or_default()).unwrap();
        let (partition, file_id) = (stat.partition_path.as_deref().unwrap(), stat.file_id.as_deref().unwrap());
        let path = stat.path.clone().unwrap();
        let name = path.rsplit('/').next().unwrap();
        let is_log = name.contains(".log.");
        let mut columns = ranges.get(name).cloned().unwrap_or_default();
        if columns.iter().all(|range| range.values == 0) {
            columns.clear();
        }
        let previous = stat.prev_commit.clone().filter(|commit| commit != "null");
        let log = is_log.then(|| LogFileStatus {
            version: stat.log_version.unwrap(),
            offset: count(stat.log_offset),
            base_file: stat.base_file.clone().unwrap(),
            log_files: stat.log_files.clone().unwrap(),
        });
        let before = previous.as_ref().filter(|_| !is_log);
        let previous_base_file = before.map(|before| {
            let ending = format!("_{before}.parquet");
            let files = table.files_below(partition).into_iter();
            let mut names = files.map(|path| path.rsplit('/').next().unwrap().to_owned());
            names.find(|name| name.starts_with(file_id) && name.ends_with(&ending)).unwrap()
        });
        WriteStatus {
            previous_commit: previous,
            writes: count(stat.num_writes),
            inserts: count(stat.num_inserts),
            updates: count(stat.num_update_writes),
            deletes: count(stat.num_deletes),
            file: Some(WrittenFile {
                bytes: count(stat.file_size_in_bytes),
                path,
                log,
                previous_base_file,
                key_range: None,
                bloom: None,
                columns,
                compacted: None,
                changes: None,
            }),
            ..WriteStatus::new(partition, file_id)
        }
    }
}

fn range(statistics: &Value<'static>) -> ColumnRange {
    let Value::String(column) = member(statistics, "columnName") else { panic!() };
    let count = |name: &str| match member(statistics, name) {
        Value::Int(count) => u64::try_from(*count).unwrap(),
        other => panic!("{name}: {other:?}"),
    };
    let is_decimal =
        find_member(statistics, "valueType").is_some_and(|ty| find_member(ty, "typeOrdinal") == Some(&Value::Int(10)));
    let bound = |name: &str| bound(member(statistics, name), is_decimal);
    ColumnRange {
        bounds: bound("minValue").zip(bound("maxValue")),
        values: count("valueCount"),
        nulls: count("nullCount"),
        total_size: count("totalSize"),
        total_uncompressed_size: count("totalUncompressedSize"),
        ..ColumnRange::new(column)
    }
}

fn bound(value: &Value<'static>, is_decimal: bool) -> Option<ColumnValue> {
    let Value::Branch(index, wrapper) = value else { return None };
    Some(match (index, member(wrapper, "value")) {
        (1, Value::Boolean(value)) => ColumnValue::Boolean(*value),
        (2 | 8, Value::Int(value)) => ColumnValue::Int(i32::try_from(*value).unwrap()),
        (3, Value::Int(value)) => ColumnValue::Long(*value),
        #[expect(clippy::cast_possible_truncation, reason = "floats are held as doubles")]
        (4, Value::Double(value)) => ColumnValue::from_f32(*value as f32),
        (5, Value::Double(value)) => ColumnValue::from_f64(*value),
        (6, Value::Bytes(value)) if is_decimal => {
            let sign = if value[0] < 0x80 { 0 } else { -1_i128 };
            ColumnValue::Decimal(value.iter().fold(sign, |number, byte| number << 8 | i128::from(*byte)))
        }
        (6, Value::Bytes(value)) => ColumnValue::Bytes(value.to_vec()),
        (7, Value::String(value)) => ColumnValue::String(value.to_string()),
        other => panic!("{other:?}"),
    })
}
