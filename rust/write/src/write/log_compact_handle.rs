//! A log file that a log compaction writes: the records of a slice's logs, merged among themselves
//! (`HoodieCompactor.logCompact`, `FileGroupReaderBasedAppendHandle`).
//!
//! Rows keep their commit times, as up to Hudi 1.0; Hudi 1.2 gives them that of the log compaction, so that incremental
//! queries return them again.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::filter::filter_record_batch;

use super::log_append::{AppendHandle, AppendOptions, LogNaming, LogRows, LogTarget};
use super::meta_columns::MetaColumns;
use super::write_status::{CompactedLogs, WriteStatus};
use super::write_token::WriteToken;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_formats::log::writer::{DeleteColumns, PartitionPath};
use mortice_merge::config::MergeMode;
use mortice_merge::keys::FieldPath;
use mortice_storage::{FileStore, check_cancelled};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_table::read::{LogContents, ReadReport, SharedReport};

const UNFIT: &str = "records of logs could not be divided";

/// The mark of a deleted row in `_hoodie_operation`.
const DELETE: &str = "D";

/// What is compacted.
#[derive(Debug, Clone, PartialEq)]
pub struct LogCompactTarget {
    /// The slice, with the log files of the plan.
    pub slice: FileSlice,
    /// The log compaction.
    pub instant: RequestedTime,
    /// The attempt that writes.
    pub token: WriteToken,
    /// How the new log files are named.
    pub naming: LogNaming,
}

/// Writes the log files of log compactions.
///
/// The new blocks have the instants of those that they replace in their headers: readers leave these out. All keys of
/// the logs have a record: of a deleted one, that is its delete, which the base file may need. Memory holds what a read
/// of the logs holds, the block that is written, and all deletes.
pub struct LogCompactHandle<'a> {
    /// The table's root.
    pub store: &'a Arc<dyn FileStore>,
    /// The table.
    pub table: &'a OpenTable,
    /// The schema of the new records, with the meta columns.
    pub schema: &'a Schema,
    /// How they are written.
    pub options: &'a AppendOptions,
    /// The limit of what reading a slice holds in memory, in bytes.
    pub memory: u64,
}

impl LogCompactHandle<'_> {
    /// Makes sure that logs of a table can be merged without its base files.
    ///
    /// # Errors
    /// `Unsupported` for a table without meta columns, whose deletes have no record key to write; and for one that is
    /// ordered by a field of a struct, which deletes have no column for.
    pub fn check(table: &OpenTable) -> Result<()> {
        if !table.config.populate_meta_fields {
            return Err(Error::unsupported(
                "log compaction of a table without meta columns (hoodie.populate.meta.fields=false); compact it instead",
            ));
        }
        let nested = |name: &&String| FieldPath::new(name).column() != name.as_str();
        match ordering_fields(table).iter().find(nested) {
            None => Ok(()),
            Some(name) => Err(Error::unsupported(format!(
                "log compaction of a table whose ordering field {name:?} is in a struct; compact it instead"
            ))),
        }
    }

    /// Writes the new log files of a slice, each after its marker. None if the slice has no valid block.
    ///
    /// # Errors
    /// `Unsupported` for logs of partial updates, and for deletes whose ordering values are of another type than the
    /// column; those of reading the logs and of the store.
    pub fn compact(&self, target: &LogCompactTarget) -> Result<Vec<WriteStatus>> {
        let started = Instant::now();
        let slice = &target.slice;
        let contents = self.table.log_contents(slice, &target.instant)?;
        if contents.is_partial {
            let message = format!("log compaction of file group {:?}, whose logs have partial updates", slice.file_id);
            return Err(Error::unsupported(message).at_instant(&target.instant));
        }
        let log = LogTarget {
            partition: slice.partition.clone(),
            file_id: slice.file_id.clone(),
            instant: target.instant.clone(),
            token: target.token,
            naming: target.naming.clone(),
        };
        let handle = AppendHandle::new(Arc::clone(self.store), self.schema, log, None, self.options.clone())?;
        let mut handle = handle.replacing(&contents.instants);
        let report = SharedReport::default();
        let records = self.write_records(target, &mut handle, &report)?;
        let mut statuses = handle.finish()?;
        check_complete(&statuses, records, target, &contents)?;
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        for (number, status) in statuses.iter_mut().enumerate() {
            status.millis = millis;
            status.previous_commit = Some(slice.base_instant.to_string());
            // The logs that were read are counted once.
            if let (0, Some(file)) = (number, &mut status.file) {
                file.compacted = Some(compacted(slice, &report.snapshot(), records));
            }
        }
        Ok(statuses)
    }

    /// Returns the number of rows and deletes.
    fn write_records(
        &self,
        target: &LogCompactTarget,
        handle: &mut AppendHandle,
        report: &SharedReport,
    ) -> Result<u64> {
        let ordering = ordering_fields(self.table);
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name.as_str()).collect();
        let columns = DeleteColumns {
            record_key: meta_columns::RECORD_KEY.to_owned(),
            partition_path: PartitionPath::Constant(target.slice.partition.clone()),
            ordering: ordering.to_vec(),
        };
        let deleted_names: Vec<&str> =
            [meta_columns::RECORD_KEY].into_iter().chain(ordering.iter().map(String::as_str)).collect();
        let mut records = 0_u64;
        let read = self.table.log_records(&target.slice, self.schema, &target.instant, report)?;
        for batch in read.within(self.memory) {
            check_cancelled()?;
            let batch = batch?;
            records = records.saturating_add(batch.num_rows() as u64);
            let deleted = deleted_rows(&batch)?;
            let kept: BooleanArray =
                deleted.iter().map(|is_deleted| is_deleted.map(|is_deleted| !is_deleted)).collect();
            let rows = filter_record_batch(&selected(&batch, &names)?, &kept).map_err(Error::internal_by(UNFIT))?;
            if rows.num_rows() > 0 {
                handle.upsert(&LogRows { data: &rows, meta: MetaColumns::Kept, inserts: None, positions: None })?;
            }
            if deleted.true_count() > 0 {
                let deletes = filter_record_batch(&selected(&batch, &deleted_names)?, &deleted)
                    .map_err(Error::internal_by(UNFIT))?;
                handle.delete(&deletes, &columns, None)?;
            }
        }
        Ok(records)
    }
}

/// The ordering fields of records, if their ordering values decide which one wins.
fn ordering_fields(table: &OpenTable) -> &[String] {
    match table.merge.mode {
        MergeMode::CommitTime => &[],
        _ => &table.merge.ordering_fields,
    }
}

/// Which rows are deletes.
fn deleted_rows(batch: &RecordBatch) -> Result<BooleanArray> {
    let marks = batch.column_by_name(meta_columns::OPERATION).and_then(|column| column.as_string_opt::<i32>());
    let marks = marks.ok_or_else(|| Error::internal("rows of logs without a mark of deletes"))?;
    Ok(marks.iter().map(|mark| Some(mark == Some(DELETE))).collect())
}

/// Some columns of a batch, in this order.
fn selected(batch: &RecordBatch, names: &[&str]) -> Result<RecordBatch> {
    let schema: &ArrowSchema = &batch.schema();
    let indices = names.iter().map(|name| schema.index_of(name)).collect::<std::result::Result<Vec<_>, _>>();
    indices.and_then(|indices| batch.project(&indices)).map_err(Error::internal_by(UNFIT))
}

/// Makes sure that each record was written, and that there are none only where there was no block.
fn check_complete(
    statuses: &[WriteStatus],
    records: u64,
    target: &LogCompactTarget,
    contents: &LogContents,
) -> Result<()> {
    let written = statuses.iter().fold(0_u64, |sum, one| sum.saturating_add(one.writes).saturating_add(one.deletes));
    let refused = statuses.iter().any(|status| status.total_errors > 0);
    if written == records && !refused && (records == 0 || !contents.instants.is_empty()) {
        return Ok(());
    }
    let message = format!(
        "a log compaction of {} blocks wrote {written} of {records} records of file group {:?}",
        contents.blocks, target.slice.file_id
    );
    Err(Error::internal(message).at_instant(&target.instant))
}

fn compacted(slice: &FileSlice, read: &ReadReport, records: u64) -> CompactedLogs {
    CompactedLogs {
        files: slice.log_files.len() as u64,
        bytes: slice.log_files.iter().fold(0, |sum, log| sum.saturating_add(log.len)),
        records: read.records_read,
        updated: records,
        blocks: read.blocks.values().fold(0, |sum, count| sum.saturating_add(*count)),
        corrupt_blocks: read.corrupt.len() as u64,
        rolled_back_blocks: read.rolled_back,
    }
}
