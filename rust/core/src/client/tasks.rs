//! The tasks of a write: each writes the rows of one file group, or of new ones of a partition.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{Field, Schema};
use arrow_select::nullif::nullif;

use super::partial_update::{columns_of, partial_schema};
use super::prepare::{Prepared, taken};
use super::schema::WriteSchema;
use crate::assign::{GroupTask, TaskKind};
use crate::avro;
use crate::commit::WriteOperation;
use crate::config::{MergeMode, TableType, option_values};
use crate::error::{Error, Result};
use crate::keys::FieldPath;
use crate::log::writer::{DeleteColumns, PartitionPath};
use crate::names::RequestedTime;
use crate::plan::OpenTable;
use crate::storage::{FileStore, check_cancelled, parallel};
use crate::write::{
    AppendHandle, AppendOptions, BaseFileOptions, CreateHandle, CreateTarget, LogNaming, LogRows, LogTarget,
    MergeHandle, MergeTarget, MetaColumns, WriteStatus, WriteToken,
};

const KEY: &str = "record_key";
/// Rows that are handed over at a time. Between them a write can be interrupted.
const CHUNK_ROWS: usize = 1 << 16;

/// What all tasks of a write have in common.
pub(super) struct TaskRunner<'a> {
    pub(super) store: &'a Arc<dyn FileStore>,
    pub(super) table: &'a OpenTable,
    pub(super) schema: &'a WriteSchema,
    pub(super) instant: &'a RequestedTime,
    pub(super) prepared: &'a Prepared,
    /// Which rows have keys that are new.
    pub(super) is_new: &'a BooleanArray,
    pub(super) options: &'a TaskOptions,
    /// In the names of files: no other attempt to write has the same.
    pub(super) attempt: u64,
}

/// Options of the files that tasks write.
#[derive(Debug, Clone)]
pub(super) struct TaskOptions {
    base: BaseFileOptions,
    append: AppendOptions,
    writes_positions: bool,
    /// Of rows that change a stored row in some columns only, if a log gets no others: what it gets.
    partial: Option<avro::Schema>,
    /// Whether rows are added to small files without a look at the keys that these have (`HoodieConcatHandle`).
    appends_duplicates: bool,
}

impl TaskOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, naming the option.
    pub(super) fn from_options(
        table: &OpenTable,
        schema: &WriteSchema,
        operation: WriteOperation,
        options: &BTreeMap<String, String>,
    ) -> Result<Self> {
        Ok(Self {
            base: BaseFileOptions::from_hudi_options(options)?,
            append: AppendOptions::from_hudi_options(options)?,
            partial: partial_schema(table, schema, operation, options)?,
            writes_positions: may_write_positions(table)
                && option_values::boolean(options, "hoodie.write.record.positions", true)?,
            appends_duplicates: operation == WriteOperation::Insert
                && option_values::boolean(options, "hoodie.merge.allow.duplicate.on.inserts", true)?,
        })
    }
}

impl TaskRunner<'_> {
    /// Runs tasks on as many threads as there are cores.
    ///
    /// # Errors
    /// Of several errors, that of the first task; `Interrupted` after a signal.
    pub(super) fn run(&self, tasks: &[GroupTask]) -> Result<Vec<WriteStatus>> {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let numbered: Vec<(u32, &GroupTask)> = (0..).zip(tasks).collect();
        let statuses = parallel::map(&numbered, threads, |(number, task)| {
            self.run_one(task, WriteToken { task: *number, stage: 0, attempt: self.attempt })
        })?;
        if statuses.len() != tasks.len() {
            return Err(Error::internal(format!("{} of {} tasks have a result", statuses.len(), tasks.len())));
        }
        Ok(statuses.into_iter().flatten().collect())
    }

    /// Runs one task. No other attempt to write has the same token.
    ///
    /// # Errors
    /// Those of the storage; `InvalidArgument` for rows that cannot be written.
    pub(super) fn run_one(&self, task: &GroupTask, token: WriteToken) -> Result<Vec<WriteStatus>> {
        check_cancelled()?;
        match &task.kind {
            TaskKind::Append { slice, naming } => {
                let base_instant =
                    slice.base_file.as_ref().map(|base| &base.instant).filter(|_| self.options.writes_positions);
                let target = self.log_target(task, &slice.file_id, naming, token);
                self.append(target, base_instant, task)
            }
            TaskKind::Create { file_id_prefix } => self.create(task, file_id_prefix, token),
            TaskKind::Merge { slice } => {
                let rows = self.rows(&task.rows)?;
                let target = MergeTarget {
                    partition: task.partition.clone(),
                    slice: slice.clone(),
                    instant: self.instant.clone(),
                    token,
                };
                let store = Arc::clone(self.store);
                let handle =
                    MergeHandle::new(store, self.table, &self.schema.stored, target, self.options.base.clone())?;
                self.merge(handle.with_change_blocks(self.options.append.max_block_bytes), &rows)
            }
        }
    }

    fn log_target(&self, task: &GroupTask, file_id: &str, naming: &LogNaming, token: WriteToken) -> LogTarget {
        LogTarget {
            partition: task.partition.clone(),
            file_id: file_id.to_owned(),
            instant: self.instant.clone(),
            token,
            naming: naming.clone(),
        }
    }

    fn create(&self, task: &GroupTask, prefix: &str, token: WriteToken) -> Result<Vec<WriteStatus>> {
        let target = CreateTarget {
            partition: task.partition.clone(),
            file_id_prefix: prefix.to_owned(),
            instant: self.instant.clone(),
            token,
        };
        let store = Arc::clone(self.store);
        let mut handle = CreateHandle::new(store, &self.schema.stored, target, self.options.base.clone(), false);
        let kept: Vec<u32> = task.rows.iter().copied().filter(|row| !self.prepared.is_delete(*row)).collect();
        for chunk in kept.chunks(CHUNK_ROWS) {
            check_cancelled()?;
            let rows = self.rows(chunk)?;
            handle.insert(&rows.rows, self.meta_columns(&rows.keys.record_keys))?;
        }
        checked(handle.finish()?, kept.len())
    }

    /// Copies of some of the rows.
    fn rows(&self, numbers: &[u32]) -> Result<Prepared> {
        taken(self.prepared, &UInt32Array::from_iter_values(numbers.iter().copied()))
    }

    fn merge(&self, handle: MergeHandle, rows: &Prepared) -> Result<Vec<WriteStatus>> {
        if self.options.appends_duplicates {
            let mut handle = handle.appending();
            let rows = rows_without_deletes(rows)?;
            handle.add(&rows.rows, &rows.keys.record_keys, None)?;
            return handle.finish();
        }
        let mut handle = handle;
        // Rows that are marked as deletes are merged by their ordering values.
        handle.add(&rows.rows, &rows.keys.record_keys, Some(&unconditional_deletes(rows)))?;
        handle.finish()
    }

    fn meta_columns<'a>(&self, record_keys: &'a StringArray) -> MetaColumns<'a> {
        match self.table.config.populate_meta_fields {
            true => MetaColumns::Computed { record_keys },
            false => MetaColumns::Absent,
        }
    }

    fn append(
        &self,
        target: LogTarget,
        base_instant: Option<&RequestedTime>,
        task: &GroupTask,
    ) -> Result<Vec<WriteStatus>> {
        let partition = target.partition.clone();
        let store = Arc::clone(self.store);
        let mut handle =
            AppendHandle::new(store, &self.schema.stored, target, base_instant, self.options.append.clone())?;
        let (deletes, updates) = self.located_rows(task);
        let (partial, full): (Vec<_>, Vec<_>) = updates.into_iter().partition(|row| self.is_partial(row.number));
        self.append_rows(&mut handle, task, &full, None)?;
        if let Some(schema) = self.options.partial.as_ref().filter(|_| !partial.is_empty()) {
            handle.begin_partial(schema)?;
            self.append_rows(&mut handle, task, &partial, Some(schema))?;
        }
        if !deletes.is_empty() {
            let rows = self.rows(&numbers_of(&deletes))?;
            let (batch, ordering) = self.delete_batch(&rows)?;
            let columns = DeleteColumns {
                record_key: KEY.to_owned(),
                partition_path: PartitionPath::Constant(partition),
                ordering,
            };
            handle.delete(&batch, &columns, positions_of(task, &deletes).as_ref())?;
        }
        checked(handle.finish()?, task.rows.len())
    }

    /// Appends rows, of which the log gets the columns of a schema.
    fn append_rows(
        &self,
        handle: &mut AppendHandle,
        task: &GroupTask,
        located: &[LocatedRow],
        partial: Option<&avro::Schema>,
    ) -> Result<()> {
        for chunk in located.chunks(CHUNK_ROWS) {
            check_cancelled()?;
            let rows = self.rows(&numbers_of(chunk))?;
            let inserts = chunk.iter().map(|row| Some(self.is_new(row.number))).collect();
            let data = partial.map_or_else(|| Ok(rows.rows.clone()), |schema| columns_of(&rows.rows, schema))?;
            handle.upsert(&LogRows {
                data: &data,
                meta: self.meta_columns(&rows.keys.record_keys),
                inserts: Some(&inserts),
                positions: positions_of(task, chunk).as_ref(),
            })?;
        }
        Ok(())
    }

    /// Whether a log gets some columns only of a row.
    fn is_partial(&self, row: u32) -> bool {
        let updates = &self.prepared.updates;
        let is_update = usize::try_from(row).is_ok_and(|row| row < updates.len() && updates.value(row));
        is_update && self.options.partial.is_some()
    }

    /// The deletes and the other rows of a task.
    fn located_rows(&self, task: &GroupTask) -> (Vec<LocatedRow>, Vec<LocatedRow>) {
        let position = |at: usize| task.positions.get(at).copied().flatten();
        let located = task.rows.iter().enumerate();
        located
            .map(|(at, number)| LocatedRow { number: *number, position: position(at) })
            .partition(|row| self.prepared.is_delete(row.number))
    }

    fn is_new(&self, row: u32) -> bool {
        usize::try_from(row).is_ok_and(|row| row < self.is_new.len() && self.is_new.value(row))
    }

    /// Deleted keys, with the columns of their ordering values.
    fn delete_batch(&self, deletes: &Prepared) -> Result<(RecordBatch, Vec<String>)> {
        let mut fields = vec![Field::new(KEY, arrow_schema::DataType::Utf8, false)];
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(deletes.keys.record_keys.clone())];
        let mut ordering = Vec::new();
        let has_ordering = unconditional_deletes(deletes).true_count() < deletes.deletes.len();
        if has_ordering && self.table.merge.mode != MergeMode::CommitTime {
            for (number, name) in self.table.merge.ordering_fields.iter().enumerate() {
                let path = FieldPath::new(name);
                let Some(column) = deletes.rows.column_by_name(path.column()) else { continue };
                // Without an ordering value a delete wins over all.
                let values = nullif(&path.values(column)?, &deletes.unconditional)
                    .map_err(|error| Error::internal("ordering values of deletes").caused_by(error))?;
                let name = format!("ordering_{number}");
                fields.push(Field::new(&name, values.data_type().clone(), true));
                arrays.push(values);
                ordering.push(name);
            }
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| Error::internal("keys to delete").caused_by(error))?;
        Ok((batch, ordering))
    }
}

/// A row of a task.
struct LocatedRow {
    number: u32,
    /// The row of the base file that has its key.
    position: Option<u64>,
}

fn numbers_of(rows: &[LocatedRow]) -> Vec<u32> {
    rows.iter().map(|row| row.number).collect()
}

/// Positions of some rows of a task; none if the task has no positions.
fn positions_of(task: &GroupTask, rows: &[LocatedRow]) -> Option<UInt64Array> {
    (!task.positions.is_empty()).then(|| rows.iter().map(|row| row.position).collect())
}

/// Makes sure that each of so many rows was written, deleted or refused.
fn checked(statuses: Vec<WriteStatus>, rows: usize) -> Result<Vec<WriteStatus>> {
    let results = statuses.iter().fold(0_u64, |sum, status| {
        sum.saturating_add(status.writes).saturating_add(status.deletes).saturating_add(status.total_errors)
    });
    if results == rows as u64 {
        return Ok(statuses);
    }
    Err(Error::internal(format!("a task of {rows} rows has {results} results")))
}

/// The numbers of the rows that are deletes, or that are not.
fn indices(rows: &Prepared, deletes: bool) -> UInt32Array {
    let numbers = rows.deletes.iter().zip(0_u32..).filter(|(delete, _)| (*delete == Some(true)) == deletes);
    UInt32Array::from_iter_values(numbers.map(|(_, number)| number))
}

/// The deletes that hold regardless of ordering values.
fn unconditional_deletes(rows: &Prepared) -> BooleanArray {
    let pairs = rows.deletes.iter().zip(&rows.unconditional);
    pairs.map(|(delete, unconditional)| Some(delete == Some(true) && unconditional == Some(true))).collect()
}

fn rows_without_deletes(rows: &Prepared) -> Result<Prepared> {
    let kept = indices(rows, false);
    if kept.len() == rows.deletes.len() { Ok(rows.clone()) } else { taken(rows, &kept) }
}

/// Whether logs hold row positions: from table version 8 on, of merge-on-read tables.
fn may_write_positions(table: &OpenTable) -> bool {
    table.config.version.number() >= 8 && table.config.table_type == TableType::MergeOnRead
}
