//! The tasks of a write: each writes the rows of one file group, or of new ones of a partition.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{Field, Schema};
use arrow_select::nullif::nullif;

use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_formats::log::writer::{DeleteColumns, PartitionPath};
use mortice_merge::config::{MergeMode, TableType};
use mortice_merge::keys::FieldPath;
use mortice_storage::{FileStore, check_cancelled, parallel};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{CompactionOperation, WriteOperation};
use mortice_write::assign::{GroupTask, TaskKind};
use mortice_write::index::has_repeated_key;
use mortice_write::row_set::{RowMark, RowMarks, WriteRows, select_strings};
use mortice_write::rows::{WriteSchema, columns_of, is_delete as is_delete_operation};
use mortice_write::settings::WriteSettings;
use mortice_write::write::{
    AppendHandle, AppendOptions, BaseFileOptions, CreateHandle, CreateTarget, LogNaming, LogRows, LogTarget,
    MergeHandle, MergeTarget, MetaColumns, WriteStatus, WriteToken,
};

/// The column of deleted keys, which is no ordering field.
const KEY: &str = meta_columns::RECORD_KEY;
/// Rows that are handed over at a time. Between them a write can be interrupted.
const CHUNK_ROWS: usize = 1 << 16;

/// What all tasks of a write have in common.
pub(super) struct TaskRunner<'a> {
    pub(super) store: &'a Arc<dyn FileStore>,
    pub(super) table: &'a OpenTable,
    pub(super) schema: &'a WriteSchema,
    pub(super) instant: &'a RequestedTime,
    pub(super) rows: &'a WriteRows,
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
    /// Those of an operation on a table.
    pub(super) fn new(table: &OpenTable, operation: WriteOperation, options: &WriteSettings) -> Self {
        Self {
            base: options.base_files.clone(),
            append: options.log_files.clone(),
            partial: None,
            writes_positions: may_write_positions(table) && options.log_files.writes_positions,
            appends_duplicates: operation == WriteOperation::Insert && options.rows.appends_duplicates,
        }
    }

    /// The same, for rows of which a log gets these columns alone, if they change a stored row in some columns only.
    pub(super) fn with_partial(self, partial: Option<avro::Schema>) -> Self {
        Self { partial, ..self }
    }

    /// The same, for rows of buckets, if there are any: a bucket is one file group, however large
    /// (`layoutControlsNumFiles`).
    pub(super) fn of_buckets(self, has_buckets: bool) -> Self {
        if has_buckets { Self { base: self.base.of_size(u64::MAX), ..self } } else { self }
    }
}

impl TaskRunner<'_> {
    /// Runs tasks on as many threads as there are cores.
    pub(super) fn run(&self, tasks: &[GroupTask]) -> Result<Vec<WriteStatus>> {
        let threads = parallel::cores();
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
    pub(super) fn run_one(&self, task: &GroupTask, token: WriteToken) -> Result<Vec<WriteStatus>> {
        check_cancelled()?;
        match &task.kind {
            TaskKind::Append { slice, .. } if self.is_repeated(task, slice)? => self.rewrite(task, slice, token),
            TaskKind::Append { slice, naming } => {
                let base_instant =
                    slice.base_file.as_ref().map(|base| &base.instant).filter(|_| self.options.writes_positions);
                let target = self.log_target(task, &slice.file_id, naming, token);
                self.append(target, base_instant, task)
            }
            TaskKind::Create { file_id_prefix } => self.create(task, file_id_prefix, token),
            TaskKind::Merge { slice } => {
                let (store, target) = (Arc::clone(self.store), self.merge_target(task, slice, token));
                let handle =
                    MergeHandle::new(store, self.table, &self.schema.stored, target, self.options.base.clone())?;
                self.merge(handle, &task.rows)
            }
        }
    }

    fn merge_target(&self, task: &GroupTask, slice: &FileSlice, token: WriteToken) -> MergeTarget {
        let (partition, instant) = (task.partition.clone(), self.instant.clone());
        MergeTarget { partition, slice: slice.clone(), instant, token }
    }

    /// Whether the base file has a key several times that the rows of a task delete or change: a log would change one
    /// of its rows where records are merged by key. Keys of the file are read if the index does not know positions, as
    /// a bucket index, and the record index.
    fn is_repeated(&self, task: &GroupTask, slice: &FileSlice) -> Result<bool> {
        if slice.base_file.is_none() {
            return Ok(false);
        }
        if !task.positions.is_empty() && self.are_copies(task)?.contains(&true) {
            return Ok(true);
        }
        let is_known = |at: usize| task.positions.get(at).copied().flatten().is_some();
        let unknown = task.rows.iter().enumerate().filter(|(at, row)| !is_known(*at) && !self.is_new(**row));
        let unknown: Vec<u32> = unknown.map(|(_, row)| *row).collect();
        if unknown.is_empty() {
            return Ok(false);
        }
        let keys = self.keys(&unknown)?;
        has_repeated_key(self.table, slice, &keys.iter().flatten().collect())
    }

    /// Which rows of a task are the same as the one before, at another position.
    fn are_copies(&self, task: &GroupTask) -> Result<Vec<bool>> {
        let keys = self.keys(&task.rows)?;
        let positions = |row: usize| task.positions.get(row).copied().flatten();
        let is_copy = |row: usize| {
            let Some(before) = row.checked_sub(1) else { return false };
            let differ = positions(before).zip(positions(row)).is_some_and(|(one, other)| one != other);
            differ && keys.value(before) == keys.value(row)
        };
        Ok((0..keys.len()).map(is_copy).collect())
    }

    /// Rewrites the base file of a slice, with its logs and the rows of a task.
    fn rewrite(&self, task: &GroupTask, slice: &FileSlice, token: WriteToken) -> Result<Vec<WriteStatus>> {
        check_rewritable(self.table, slice)?;
        let (store, target) = (Arc::clone(self.store), self.merge_target(task, slice, token));
        let handle = MergeHandle::of_slice(store, self.table, &self.schema.stored, target, self.options.base.clone())?;
        let copies = self.are_copies(task)?;
        let rows: Vec<u32> = task.rows.iter().zip(copies).filter(|(_, copy)| !copy).map(|(row, _)| *row).collect();
        self.merge(handle, &rows)
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
        let kept = self.rows_without_deletes(&task.rows)?;
        for chunk in self.chunks(&kept) {
            check_cancelled()?;
            let (rows, keys) = self.rows(chunk)?;
            handle.insert(&rows, self.meta_columns(&keys))?;
        }
        checked(handle.finish()?, kept.len())
    }

    /// Divides rows into chunks.
    fn chunks<'r>(&self, numbers: &'r [u32]) -> impl Iterator<Item = &'r [u32]> + use<'r> {
        let stretches = self.rows.batches.stretches(numbers, CHUNK_ROWS, self.rows.batches.memory().chunk_bytes());
        stretches.into_iter().filter_map(|stretch| numbers.get(stretch))
    }

    /// Some of the rows, with their keys.
    fn rows(&self, numbers: &[u32]) -> Result<(RecordBatch, StringArray)> {
        Ok((self.rows.batches.take(numbers)?, self.keys(numbers)?))
    }

    fn keys(&self, numbers: &[u32]) -> Result<StringArray> {
        let keys = &self.rows.keys.record_keys;
        let follow = |pair: &[u32]| matches!(pair, [one, next] if one.checked_add(1) == Some(*next));
        match numbers {
            [first, .., last] if numbers.windows(2).all(follow) && (*last as usize) < keys.len() => {
                Ok(keys.slice(*first as usize, numbers.len()))
            }
            _ => select_strings(keys, &UInt32Array::from_iter_values(numbers.iter().copied())),
        }
    }

    fn rows_without_deletes<'r>(&self, numbers: &'r [u32]) -> Result<Cow<'r, [u32]>> {
        let marks = self.rows.marks.select(numbers)?;
        Ok(match marks.iter().any(RowMark::is_delete) {
            false => Cow::Borrowed(numbers),
            true => marked_rows(numbers, &marks, |mark| !mark.is_delete()),
        })
    }

    fn merge(&self, handle: MergeHandle, rows: &[u32]) -> Result<Vec<WriteStatus>> {
        let handle = handle
            .with_memory(self.rows.batches.memory().clone())
            .with_change_blocks(self.options.append.max_block_bytes);
        if self.options.appends_duplicates {
            let mut handle = handle.appending();
            self.add_rows(&mut handle, &self.rows_without_deletes(rows)?)?;
            return handle.finish();
        }
        // Rows that are marked as deletes are merged by their ordering values.
        let marks = self.rows.marks.select(rows)?;
        let is_unconditional = |mark| mark == RowMark::UnconditionalDelete;
        let updates: Vec<u32> = marked_rows(rows, &marks, |mark| mark == RowMark::Update);
        let deletes: Vec<u32> = marked_rows(rows, &marks, is_unconditional);
        let rows: Vec<u32> = marked_rows(rows, &marks, |mark| !is_unconditional(mark));
        let mut handle = handle.of_single_rows(self.keys(&updates)?.iter().flatten());
        self.add_rows(&mut handle, &rows)?;
        if !deletes.is_empty() {
            handle.add_deletes(&self.keys(&deletes)?)?;
        }
        handle.finish()
    }

    /// Adds rows to those that a handle merges: copies that take too much memory are in files.
    fn add_rows(&self, handle: &mut MergeHandle, numbers: &[u32]) -> Result<()> {
        let keys = self.keys(numbers)?;
        let mut done = 0;
        for rows in self.rows.batches.select(numbers)?.batches() {
            check_cancelled()?;
            handle.add(rows, &keys.slice(done, rows.num_rows()), None)?;
            done += rows.num_rows();
        }
        Ok(())
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
        let kinds = self.log_kinds(task)?;
        let (full, positions) = located_rows(task, &kinds, LogKind::Row);
        self.append_rows(&mut handle, &full, &positions, None)?;
        let (partial, positions) = located_rows(task, &kinds, LogKind::Columns);
        if let Some(schema) = self.options.partial.as_ref().filter(|_| !partial.is_empty()) {
            handle.begin_partial(schema)?;
            self.append_rows(&mut handle, &partial, &positions, Some(schema))?;
        }
        let (deletes, positions) = located_rows(task, &kinds, LogKind::Delete);
        if !deletes.is_empty() {
            let (batch, ordering) = self.delete_batch(&deletes)?;
            let columns = DeleteColumns {
                record_key: KEY.to_owned(),
                partition_path: PartitionPath::Constant(partition),
                ordering,
            };
            handle.delete(&batch, &columns, some_positions(&positions, 0..deletes.len()).as_ref())?;
        }
        checked(handle.finish()?, task.rows.len())
    }

    /// Deletes that logs get as rows, with their `_hoodie_operation`, and in their place among the others
    /// (`HoodieAppendHandle.prepareRecord`).
    fn logged_deletes(&self, task: &GroupTask, marks: &RowMarks) -> Result<HashSet<u32>> {
        if !self.schema.has_operation() {
            return Ok(HashSet::new());
        }
        let deletes: Vec<u32> = marked_rows(&task.rows, marks, |mark| mark == RowMark::Delete);
        let Some(column) = self.rows.batches.column(meta_columns::OPERATION, &deletes)? else {
            return Ok(HashSet::new());
        };
        let names = column.as_string_opt::<i32>().ok_or_else(|| Error::internal("operations are no strings"))?;
        let rows = deletes.iter().zip(names).filter(|(_, name)| name.is_some_and(is_delete_operation));
        Ok(rows.map(|(row, _)| *row).collect())
    }

    /// Appends rows, of which the log gets the columns of a schema.
    fn append_rows(
        &self,
        handle: &mut AppendHandle,
        rows: &[u32],
        positions: &[Option<u64>],
        partial: Option<&avro::Schema>,
    ) -> Result<()> {
        let mut done = 0;
        for chunk in self.chunks(rows) {
            check_cancelled()?;
            let (data, record_keys) = self.rows(chunk)?;
            let inserts = chunk.iter().map(|row| Some(self.is_new(*row))).collect();
            handle.upsert(&LogRows {
                data: &partial.map_or_else(|| Ok(data.clone()), |schema| columns_of(&data, schema))?,
                meta: self.meta_columns(&record_keys),
                inserts: Some(&inserts),
                positions: some_positions(positions, done..done + chunk.len()).as_ref(),
            })?;
            done += chunk.len();
        }
        Ok(())
    }

    /// As what a log gets each row of a task.
    fn log_kinds(&self, task: &GroupTask) -> Result<Vec<LogKind>> {
        let marks = self.rows.marks.select(&task.rows)?;
        let kept = self.logged_deletes(task, &marks)?;
        let kind = |(row, mark): (&u32, RowMark)| match mark {
            RowMark::Update if self.options.partial.is_some() => LogKind::Columns,
            RowMark::Upsert | RowMark::Update | RowMark::UpdateAll | RowMark::Insert => LogKind::Row,
            RowMark::Delete | RowMark::UnconditionalDelete if kept.contains(row) => LogKind::Row,
            RowMark::Delete | RowMark::UnconditionalDelete => LogKind::Delete,
        };
        Ok(task.rows.iter().zip(marks.iter()).map(kind).collect())
    }

    fn is_new(&self, row: u32) -> bool {
        usize::try_from(row).is_ok_and(|row| row < self.is_new.len() && self.is_new.value(row))
    }

    /// Deleted keys, with the columns of their ordering values.
    fn delete_batch(&self, deletes: &[u32]) -> Result<(RecordBatch, Vec<String>)> {
        let unconditional = self.rows.marks.select(deletes)?.which(|mark| mark == RowMark::UnconditionalDelete);
        let mut fields = vec![Field::new(KEY, arrow_schema::DataType::Utf8, false)];
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(self.keys(deletes)?)];
        let mut ordering = Vec::new();
        let has_ordering = unconditional.true_count() < deletes.len();
        if has_ordering && self.table.merge.mode != MergeMode::CommitTime {
            for name in &self.table.merge.ordering_fields {
                let path = FieldPath::new(name);
                // Rows of `delete` may have keys alone, and a table can name a column that it does not have.
                let Some(column) = self.rows.batches.column(path.column(), deletes)? else { continue };
                // Without an ordering value a delete wins over all.
                let values = nullif(&path.values(&column)?, &unconditional)
                    .map_err(|error| Error::internal("ordering values of deletes").caused_by(error))?;
                fields.push(Field::new(name, values.data_type().clone(), true));
                arrays.push(values);
                ordering.push(name.clone());
            }
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| Error::internal("keys to delete").caused_by(error))?;
        Ok((batch, ordering))
    }
}

/// Refuses to rewrite a slice that a pending compaction or log compaction is to rewrite.
fn check_rewritable(table: &OpenTable, slice: &FileSlice) -> Result<()> {
    let pending = table.timeline.pending_compactions()?.into_iter().chain(table.timeline.pending_log_compactions()?);
    for plan in pending {
        let is_planned = |one: &CompactionOperation| one.partition == slice.partition && one.file_id == slice.file_id;
        if plan.operations.iter().any(is_planned) {
            return Err(Error::unsupported(format!(
                "a change of a key that file group {:?} has several times, while a compaction of it is pending: its base file has to be rewritten; execute the compaction (compact(schedule=False), log_compact(schedule=False)) or roll it back, then write again",
                slice.file_id
            ))
            .at_instant(&plan.instant)
            .in_file(&table.uri));
        }
    }
    Ok(())
}

/// As what a log gets a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogKind {
    /// All columns.
    Row,
    /// The columns that change.
    Columns,
    /// Its key, in a delete block.
    Delete,
}

/// The rows whose marks fulfil a condition.
fn marked_rows<R: FromIterator<u32>>(rows: &[u32], marks: &RowMarks, is_chosen: impl Fn(RowMark) -> bool) -> R {
    rows.iter().zip(marks.iter()).filter(|(_, mark)| is_chosen(*mark)).map(|(row, _)| *row).collect()
}

/// The rows of a task that a log gets as this, with their positions: empty if the task has none.
fn located_rows<'t>(
    task: &'t GroupTask,
    kinds: &[LogKind],
    chosen: LogKind,
) -> (Cow<'t, [u32]>, Cow<'t, [Option<u64>]>) {
    if kinds.iter().all(|kind| *kind == chosen) {
        return (Cow::Borrowed(&task.rows), Cow::Borrowed(&task.positions));
    }
    let rows = task.rows.iter().zip(kinds).filter(|(_, kind)| **kind == chosen).map(|(row, _)| *row);
    let positions = task.positions.iter().zip(kinds).filter(|(_, kind)| **kind == chosen);
    (rows.collect(), positions.map(|(position, _)| *position).collect())
}

/// Some of the positions of a task; none if the task has no positions.
fn some_positions(positions: &[Option<u64>], range: Range<usize>) -> Option<UInt64Array> {
    positions.get(range).filter(|some| !some.is_empty()).map(|some| some.iter().copied().collect())
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

/// Whether logs hold row positions: from table version 8 on, of merge-on-read tables.
fn may_write_positions(table: &OpenTable) -> bool {
    table.config.version.number() >= 8 && table.config.table_type == TableType::MergeOnRead
}
