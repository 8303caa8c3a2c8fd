//! A base file that a compaction writes: the merged rows of a file slice (`HoodieCompactor.compact`,
//! `FileGroupReaderBasedMergeHandle`).

use std::sync::Arc;
use std::time::Instant;

use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;

use super::base_file::{BaseFileOptions, BaseFileTarget, BaseFileWriter, WrittenBaseFile};
use super::change_log::{ChangeLog, ChangeLogFile, Changes};
use super::markers::{MarkerKind, Markers};
use super::meta_columns::MetaColumns;
use super::partition_metadata::create_partition_metadata;
use super::write_status::{CompactedLogs, WriteStatus, WrittenFile};
use super::write_token::WriteToken;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::merge::engine::RowChanges;
use mortice_storage::{FileStore, check_cancelled};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_table::read::{ReadReport, RowsChanged, SharedReport};

/// What is compacted.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactTarget {
    /// The slice.
    pub slice: FileSlice,
    /// The compaction.
    pub instant: RequestedTime,
    /// The attempt that writes.
    pub token: WriteToken,
}

/// Writes the base files of compactions.
///
/// Rows keep their meta columns but the file name; those of deleted keys are left out. All rows of a slice go into one
/// file of any size; if every row is deleted, it is empty. Memory holds what a read of the slice holds, and the row
/// group that is written.
pub struct CompactHandle<'a> {
    /// The table's root.
    pub store: &'a Arc<dyn FileStore>,
    /// The table.
    pub table: &'a OpenTable,
    /// The schema of the new files: with the meta columns, if the table has them.
    pub schema: &'a Schema,
    /// How they are written.
    pub options: &'a BaseFileOptions,
    /// The bytes of a block of a change log, if the table has change data capture.
    pub change_block_bytes: usize,
    /// The limit of what reading a slice holds in memory, in bytes.
    pub memory: u64,
}

impl CompactHandle<'_> {
    /// Writes the new base file of a slice, after its marker.
    ///
    /// # Errors
    /// Those of reading the slice and of the store; `InvalidArgument` for rows that the schema does not take.
    pub fn compact(&self, target: &CompactTarget) -> Result<WriteStatus> {
        let started = Instant::now();
        let slice = &target.slice;
        let file = BaseFileTarget {
            partition: slice.partition.clone(),
            file_id: slice.file_id.clone(),
            instant: target.instant.clone(),
            token: target.token,
        };
        let store = self.store.as_ref();
        create_partition_metadata(store, &file.partition, &file.instant)?;
        let kind = if slice.base_file.is_some() { MarkerKind::Merge } else { MarkerKind::Create };
        Markers::new(Arc::clone(self.store), &file.instant).create(&file.path()?, kind)?;
        let options = BaseFileOptions { max_file_bytes: u64::MAX, ..self.options.clone() };
        let mut writer = BaseFileWriter::new(store, self.schema, &file, &options)?;
        let report = SharedReport::default();
        self.write_rows(slice, &mut writer, &report)?;
        let changes = self.log_changes(slice, &file)?;
        let mut status = status(slice, &report.snapshot(), writer.finish()?, changes)?;
        status.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(status)
    }

    /// Logs what the compaction changes in the base file, if the table has change data capture. No reader needs it, as
    /// each commit has its own changes; Hudi writes it.
    fn log_changes(&self, slice: &FileSlice, file: &BaseFileTarget) -> Result<Option<ChangeLogFile>> {
        let Some(mode) = self.table.config.cdc else { return Ok(None) };
        let native = self.table.config.version.has_native_logs().then_some(self.options);
        let mut log = ChangeLog::new(self.store, mode, self.schema, file, self.change_block_bytes, native)?;
        let Some(mut rows) = self.table.changed_rows(slice, self.schema, self.memory)? else {
            return log.finish().map(Some);
        };
        while let Some(changed) = rows.next_changes()? {
            check_cancelled()?;
            match changed {
                RowsChanged::Inserted(rows) => log.add(&Changes::Inserted(&rows))?,
                RowsChanged::Merged(RowChanges { before, deleted, after }) => {
                    let is_deleted = BooleanArray::from(deleted);
                    let is_updated = BooleanArray::new(!is_deleted.values(), None);
                    let rows = |is_wanted| {
                        filter_record_batch(&before, is_wanted)
                            .map_err(Error::internal_by("rows that a compaction changes"))
                    };
                    log.add(&Changes::Updated(&rows(&is_updated)?, &after))?;
                    log.add(&Changes::Deleted(&rows(&is_deleted)?))?;
                }
            }
        }
        log.finish().map(Some)
    }

    fn write_rows(&self, slice: &FileSlice, writer: &mut BaseFileWriter, report: &SharedReport) -> Result<()> {
        let has_meta = self.table.config.populate_meta_fields;
        for rows in self.table.merged_rows(slice, self.schema, report)?.within(self.memory) {
            check_cancelled()?;
            let rows = rows?;
            let written = writer.write(&rows, if has_meta { MetaColumns::Kept } else { MetaColumns::Absent })?;
            if written != rows.num_rows() {
                let message = format!("{written} of {} rows were written to a base file", rows.num_rows());
                return Err(Error::internal(message));
            }
        }
        Ok(())
    }
}

/// The status of a compacted slice.
fn status(
    slice: &FileSlice,
    read: &ReadReport,
    written: WrittenBaseFile,
    changes: Option<ChangeLogFile>,
) -> Result<WriteStatus> {
    let expected = read.base_rows.checked_sub(read.deleted_rows).and_then(|kept| kept.checked_add(read.inserted_rows));
    if expected != Some(written.rows) || read.rows != written.rows {
        let message = format!(
            "a compaction wrote {} rows, of {} rows that were merged: {} base rows, {} deleted, {} inserted",
            written.rows, read.rows, read.base_rows, read.deleted_rows, read.inserted_rows
        );
        return Err(Error::internal(message).in_file(written.path));
    }
    let mut status = WriteStatus::new(&slice.partition, &slice.file_id);
    status.previous_commit = Some(slice.base_instant.to_string());
    status.writes = written.rows;
    (status.inserts, status.updates, status.deletes) = (read.inserted_rows, read.updated_rows, read.deleted_rows);
    status.file = Some(WrittenFile {
        path: written.path,
        bytes: written.bytes,
        log: None,
        compacted: Some(CompactedLogs {
            files: slice.log_files.len() as u64,
            bytes: slice.log_files.iter().fold(0, |sum, log| sum.saturating_add(log.len)),
            records: read.records_read,
            updated: read.updated_rows.saturating_add(read.inserted_rows),
            blocks: read.blocks.values().fold(0, |sum, count| sum.saturating_add(*count)),
            corrupt_blocks: read.corrupt.len() as u64,
            rolled_back_blocks: read.rolled_back,
        }),
        previous_base_file: slice.base_file.as_ref().map(|base| base.name().to_owned()),
        key_range: written.key_range,
        bloom: written.bloom.map(|(kind, text)| (kind.name().to_owned(), text)),
        columns: written.columns,
        changes,
    });
    Ok(status)
}
