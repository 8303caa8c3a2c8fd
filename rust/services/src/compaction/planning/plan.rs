//! Plans of compactions: made of file slices, and read again to be executed (`CompactionUtils`, `CompactionOperation`).

use crate::data_paths::DataPath;
use crate::service_table::ServiceTable;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_table::file_group::{BaseFile, FileSlice, ListedBase, ListedLog, LogFile, PartitionFiles};
use mortice_table::timeline::Action;
use mortice_table::timeline::metadata::{
    HoodieCompactionOperation, HoodieCompactionPlan, OrderedMap, TimelineMetadata,
};

/// The version of plans: files are named relative to their partition.
const VERSION: i32 = 2;
const MEBI: u64 = 1 << 20;

/// The operation that compacts a slice, with the metrics by which strategies choose (`FileSliceMetricUtils`).
/// `base_bytes` is the size that is expected of a new base file (`hoodie.parquet.max.file.size`).
pub(crate) fn operation_of(slice: &FileSlice, base_bytes: u64) -> HoodieCompactionOperation {
    let base = slice.base_file.as_ref().map_or(0, |base| base.len);
    let logs = slice.log_files.iter().fold(0_u64, |sum, log| sum.saturating_add(log.len));
    let read = base.saturating_add(logs) / MEBI;
    let written = (if base > 0 { base } else { base_bytes }) / MEBI;
    let metrics = [
        ("TOTAL_LOG_FILES", slice.log_files.len() as u64),
        ("TOTAL_IO_MB", read.saturating_add(written)),
        ("TOTAL_IO_READ_MB", read),
        ("TOTAL_LOG_FILES_SIZE", logs),
        ("TOTAL_IO_WRITE_MB", written),
    ];
    HoodieCompactionOperation {
        base_instant_time: Some(slice.base_instant.to_string()),
        delta_file_paths: Some(slice.log_files.iter().map(|log| log.name().to_owned()).collect()),
        data_file_path: slice.base_file.as_ref().map(|base| base.name().to_owned()),
        file_id: Some(slice.file_id.clone()),
        partition_path: Some(slice.partition.clone()),
        // Hudi reads the skeleton of a bootstrap alone if the plan does not name its source.
        bootstrap_file_path: slice.base_file.as_ref().and_then(BaseFile::source_path).map(str::to_owned),
        metrics: Some(metrics.iter().map(|(name, value)| (*name, *value as f64)).collect()),
        ..HoodieCompactionOperation::default()
    }
}

/// A plan of operations.
pub(crate) fn plan_of(operations: Vec<HoodieCompactionOperation>) -> HoodieCompactionPlan {
    HoodieCompactionPlan {
        operations: Some(operations),
        extra_metadata: Some(OrderedMap::new()),
        version: Some(VERSION),
        preserve_hoodie_metadata: Some(false),
        missing_schedule_partitions: Some(Vec::new()),
        ..HoodieCompactionPlan::default()
    }
}

/// Reads the slices of the plan of a pending compaction or log compaction. Files have the sizes of the storage.
pub(crate) fn planned_slices(table: &ServiceTable, instant: &RequestedTime, action: Action) -> Result<Vec<FileSlice>> {
    let plan = read_plan(table, instant, action)?;
    slices_of_plan(table, &plan).map_err(|error| error.at_instant(instant))
}

/// The slices of a plan, in its order.
pub(super) fn slices_of_plan(table: &ServiceTable, plan: &HoodieCompactionPlan) -> Result<Vec<FileSlice>> {
    let mut listed: Option<PartitionFiles> = None;
    let mut slices = Vec::new();
    for operation in plan.operations.iter().flatten() {
        // Null, its default, for a table without partitions.
        let partition = operation.partition_path.clone().unwrap_or_default();
        // Operations are mostly ordered by partition.
        let files = match listed.take() {
            Some(files) if files.partition == partition => files,
            _ => table.files(&partition)?,
        };
        slices.push(slice_of(operation, &files)?);
        listed = Some(files);
    }
    Ok(slices)
}

/// Reads the plan of a pending compaction or log compaction.
pub(crate) fn read_plan(table: &ServiceTable, instant: &RequestedTime, action: Action) -> Result<HoodieCompactionPlan> {
    let in_plan = |error: Error| error.at_instant(instant);
    let bytes = table.timeline_writer().read_requested(instant, action)?;
    let bytes = bytes.ok_or_else(|| in_plan(Error::invalid_table("a pending compaction has no plan")))?;
    Ok(HoodieCompactionPlan::from_bytes(&bytes).map_err(in_plan)?.unwrap_or_default())
}

fn slice_of(operation: &HoodieCompactionOperation, files: &PartitionFiles) -> Result<FileSlice> {
    let partition = &files.partition;
    let missing = |field: &str| Error::invalid_table(format!("an operation of a compaction plan has no {field}"));
    let file_id = operation.file_id.clone().ok_or_else(|| missing("fileId"))?;
    let base_instant = operation.base_instant_time.as_deref().ok_or_else(|| missing("baseInstantTime"))?;
    let base_instant = RequestedTime::from_metadata("baseInstantTime", base_instant)?;
    let base_file = operation.data_file_path.as_ref().map(|path| base_file(partition, path, &file_id, files));
    let logs = operation.delta_file_paths.iter().flatten();
    let mut log_files = logs.map(|path| log_file(partition, path, &file_id, files)).collect::<Result<Vec<_>>>()?;
    log_files.sort_by(|(one, _), (other, _)| one.slice_order(other));
    Ok(FileSlice {
        partition: partition.clone(),
        file_id,
        base_instant,
        base_file: base_file.transpose()?,
        log_files: log_files.into_iter().map(|(_, log)| log).collect(),
    })
}

fn base_file(partition: &str, path: &str, file_id: &str, files: &PartitionFiles) -> Result<BaseFile> {
    let path = DataPath::of_plan(partition, path)?;
    let name = BaseFileName::parse(&path.name).filter(|name| name.file_id == *file_id);
    let name = name.ok_or_else(|| foreign(&path, file_id))?;
    let found = files.base_files.iter().find(|base| base.name.name == path.name);
    let ListedBase { len, etag, .. } = found.ok_or_else(|| gone(&path))?;
    let (path, len, etag) = (path.path(), *len, etag.clone());
    Ok(BaseFile { path, len, etag, instant: name.instant, source: None, registered_name: None })
}

fn log_file(partition: &str, path: &str, file_id: &str, files: &PartitionFiles) -> Result<(LogFileName, LogFile)> {
    let path = DataPath::of_plan(partition, path)?;
    let name = LogFileName::parse(&path.name).filter(|name| name.file_id == *file_id);
    let name = name.ok_or_else(|| foreign(&path, file_id))?;
    let found = files.log_files.iter().find(|log| log.name.name == path.name);
    let ListedLog { len, etag, .. } = found.ok_or_else(|| gone(&path))?;
    let log = LogFile { path: path.path(), len: *len, etag: etag.clone() };
    Ok((name, log))
}

fn foreign(path: &DataPath, file_id: &str) -> Error {
    let message = format!("a compaction plan names a file that is not in its file group {file_id}");
    Error::invalid_table(message).in_file(path.path())
}

fn gone(path: &DataPath) -> Error {
    let message = "a file of a pending compaction is gone: the compaction cannot be executed; roll it back, with `mortice rollback`";
    Error::invalid_table(message).in_file(path.path())
}
