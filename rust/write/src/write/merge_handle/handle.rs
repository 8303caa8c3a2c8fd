//! From the base file of a slice to the one that replaces it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{BooleanArray, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

use super::incoming::{IncomingRecords, nullable};
use super::merged_rows::{MergeRows, MergeRules};
use super::new_meta::{WrittenRows, with_new_meta};
use super::target::MergeTarget;
use crate::write::base_file::{BaseFileOptions, BaseFileTarget, BaseFileWriter, WrittenBaseFile};
use crate::write::change_log::{BLOCK_BYTES, ChangeLog, ChangeLogFile};
use crate::write::markers::{MarkerKind, Markers};
use crate::write::meta_columns::MetaColumns;
use crate::write::partition_metadata::create_partition_metadata;
use crate::write::write_status::{WriteStatus, WrittenFile};
use mortice_avro::{ArrowMapping, Schema, arrow_schema};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::CdcMode;
use mortice_merge::merge::engine::MergeCounts;
use mortice_merge::spill::RowMemory;
use mortice_storage::FileStore;
use mortice_table::plan::OpenTable;
use mortice_table::read::{SharedReport, SplitReader};
use mortice_table::split::MergerHandle;

/// Rewrites the base file of a slice with the records of a commit, merged by the table's rules.
///
/// A key that the file has several times is merged in each of its rows (`HoodieMergeHandle.write`).
///
/// Base rows that stay keep their meta columns but the file name. This includes rows that win over a late record, as in
/// Hudi. Rows that the merge replaces or makes, and new rows, have the commit's. Tables with change data capture get a
/// change log beside the file (`HoodieMergeHandleWithChangeLog`). All rows go into one file of any size; if every row
/// is deleted, it is empty. Memory holds the records, a batch of base rows, and the row group that is written.
pub struct MergeHandle {
    store: Arc<dyn FileStore>,
    schema: Schema,
    types: SchemaRef,
    target: MergeTarget,
    file: BaseFileTarget,
    options: BaseFileOptions,
    rules: MergeRules,
    appends: bool,
    /// Keys that one row may have.
    single: HashSet<String>,
    /// Of tables with change data capture: what the change log has, and how large its blocks are.
    change_log: Option<(CdcMode, usize)>,
    /// Whether the change log is a native log.
    has_native_logs: bool,
    base: SplitReader,
    records: IncomingRecords,
    started: Instant,
}

impl MergeHandle {
    /// Prepares to replace the base file of `target`. `schema` is that of the new file: with the meta columns, if the
    /// table has them. Columns that the replaced file does not have are null in its rows. Nothing is written before
    /// [`Self::finish`].
    ///
    /// # Errors
    /// `Internal` for a slice with log files or without a base file; `Unsupported` for base files that are not parquet;
    /// `InvalidArgument` for a schema whose meta columns are not those of the table.
    pub fn new(
        store: Arc<dyn FileStore>,
        table: &OpenTable,
        schema: &Schema,
        target: MergeTarget,
        options: BaseFileOptions,
    ) -> Result<Self> {
        target.check_without_logs()?;
        Self::of_slice(store, table, schema, target, options)
    }

    /// The same, of a slice that may have log files: they are merged into the new file before the records are.
    ///
    /// # Errors
    /// As for [`Self::new`], but for log files.
    pub fn of_slice(
        store: Arc<dyn FileStore>,
        table: &OpenTable,
        schema: &Schema,
        target: MergeTarget,
        options: BaseFileOptions,
    ) -> Result<Self> {
        let config = &table.config;
        target.replaced()?;
        if schema.field(meta_columns::RECORD_KEY).is_some() != config.populate_meta_fields {
            let verb = if config.populate_meta_fields { "lacks" } else { "has" };
            let message = format!("the schema of the new file {verb} the meta columns, unlike the table");
            return Err(Error::invalid_argument(message));
        }
        let types = nullable(&arrow_schema(schema, ArrowMapping::Table)?);
        let rules = MergeRules {
            merge: table.merge.clone(),
            semantics: table.options.semantics,
            virtual_key: (!config.populate_meta_fields).then(|| config.record_key_fields.clone()),
            merger: None,
        };
        Ok(Self {
            base: match target.slice.log_files.is_empty() {
                true => table.base_rows(&target.slice, schema)?,
                false => table.merged_rows(&target.slice, schema, &SharedReport::default())?,
            },
            records: IncomingRecords::new(SchemaRef::clone(&types), RowMemory::unlimited()),
            schema: schema.clone(),
            // The rows of a file group stay in one file.
            options: BaseFileOptions { max_file_bytes: u64::MAX, ..options },
            file: target.file(),
            appends: false,
            single: HashSet::new(),
            change_log: config.cdc.map(|mode| (mode, BLOCK_BYTES)),
            has_native_logs: config.version.has_native_logs(),
            started: Instant::now(),
            store,
            types,
            target,
            rules,
        })
    }

    /// Merges by a user-defined merger, if the table's configuration names one.
    #[must_use]
    pub fn with_merger(mut self, merger: MergerHandle) -> Self {
        self.rules.merger = Some(merger);
        self
    }

    /// Writes columns of records that are converted for the file to a file of their own once they take too much memory.
    #[must_use]
    pub fn with_memory(self, memory: RowMemory) -> Self {
        let records = IncomingRecords::new(SchemaRef::clone(&self.types), memory);
        Self { records, ..self }
    }

    /// Adds records to the file without merging them, also those of keys that it has (`HoodieConcatHandle`: `insert`
    /// with `hoodie.merge.allow.duplicate.on.inserts`).
    #[must_use]
    pub fn appending(self) -> Self {
        Self { appends: true, ..self }
    }

    /// Refuses records of these keys if the file has several rows of one: each would become the same row.
    #[must_use]
    pub fn of_single_rows<'k>(self, keys: impl IntoIterator<Item = &'k str>) -> Self {
        Self { single: keys.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// Limits the blocks of a change log, if one is written, to about so many bytes.
    #[must_use]
    pub fn with_change_blocks(self, max_block_bytes: usize) -> Self {
        Self { change_log: self.change_log.map(|(mode, _)| (mode, max_block_bytes)), ..self }
    }

    /// Adds records in commit order: the columns of the table without meta columns, and the record key of each row.
    /// Rows that `deletes` is true for delete their keys, regardless of stored values; their columns are not read.
    /// Delete marks in columns (`_hoodie_is_deleted`) are those of the other rows. If a batch has a key twice, its
    /// deletes come last. The records are kept as they are given, in memory or in a file.
    ///
    /// # Errors
    /// `InvalidArgument` for keys that are null or empty, and for columns that do not fit those of the file.
    pub fn add(
        &mut self,
        records: &RecordBatch,
        record_keys: &StringArray,
        deletes: Option<&BooleanArray>,
    ) -> Result<()> {
        self.records.add(records, record_keys, deletes)
    }

    /// Deletes keys, regardless of stored values, after the records that were added before.
    ///
    /// # Errors
    /// `InvalidArgument` for keys that are null or empty.
    pub fn add_deletes(&mut self, record_keys: &StringArray) -> Result<()> {
        self.records.add_deletes(record_keys)
    }

    /// Writes the new file, after its marker.
    ///
    /// # Errors
    /// Those of reading the base file and of the store; `InvalidArgument` for rows that the schema does not take, and
    /// for several rows of a key that [`Self::of_single_rows`] names; `Unsupported`, by name, for merge modes and
    /// payload classes that cannot be merged.
    pub fn finish(self) -> Result<Vec<WriteStatus>> {
        let Self {
            store,
            schema,
            types,
            target,
            file,
            options,
            rules,
            appends,
            single,
            change_log,
            has_native_logs,
            mut base,
            records,
            started,
        } = self;
        create_partition_metadata(store.as_ref(), &file.partition, &file.instant)?;
        Markers::new(Arc::clone(&store), &file.instant).create(&file.path()?, MarkerKind::Merge)?;
        let mut new_file = NewFile {
            writer: BaseFileWriter::new(store.as_ref(), &schema, &file, &options)?,
            has_meta: rules.virtual_key.is_none(),
            file: &file,
        };
        let native = has_native_logs.then_some(&options);
        let new_log = |(mode, bytes)| ChangeLog::new(&store, mode, &schema, &file, bytes, native);
        let mut changes = change_log.map(new_log).transpose()?;
        let rows = MergeRows {
            schema: &schema,
            types: &types,
            base: &mut base,
            records: records.into_batches(),
            single: &single,
            changes: changes.as_mut(),
        };
        let mut write = |rows: RecordBatch, written: &WrittenRows| new_file.write(rows, written);
        let counts = if appends { rows.append_rows(&mut write)? } else { rows.by_key(&rules, &mut write)? };
        let mut status = status(&target, counts, new_file.writer.rows())?;
        let changes = changes.map(ChangeLog::finish).transpose()?;
        status.file = Some(written_file(&target, new_file.writer.finish()?, changes)?);
        status.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(vec![status])
    }
}

/// The file that is written.
struct NewFile<'a> {
    writer: BaseFileWriter,
    has_meta: bool,
    file: &'a BaseFileTarget,
}

impl NewFile<'_> {
    fn write(&mut self, rows: RecordBatch, written: &WrittenRows) -> Result<()> {
        let expected = rows.num_rows();
        let count = if self.has_meta {
            let rows = with_new_meta(rows, written, self.file, self.writer.rows())?;
            self.writer.write(&rows, MetaColumns::Kept)?
        } else {
            self.writer.write(&rows, MetaColumns::Absent)?
        };
        if count == expected {
            return Ok(());
        }
        Err(Error::internal(format!("{count} of {expected} rows were written to a base file")))
    }
}

/// The status of a file of so many rows. Deletes of keys that the file did not have are counted, as in Hudi.
fn status(target: &MergeTarget, counts: MergeCounts, rows: u64) -> Result<WriteStatus> {
    let expected = counts.base_rows.checked_sub(counts.deletes).and_then(|kept| kept.checked_add(counts.inserts));
    if expected != Some(rows) {
        return Err(Error::internal(format!("a merge wrote {rows} rows, but counts {counts:?}")));
    }
    let mut status = WriteStatus::new(&target.partition, &target.slice.file_id);
    status.previous_commit = Some(target.replaced()?.instant.to_string());
    status.writes = rows;
    (status.inserts, status.updates) = (counts.inserts, counts.updates);
    status.deletes = counts.deletes.saturating_add(counts.unmatched_deletes);
    Ok(status)
}

fn written_file(target: &MergeTarget, written: WrittenBaseFile, changes: Option<ChangeLogFile>) -> Result<WrittenFile> {
    Ok(WrittenFile {
        path: written.path,
        bytes: written.bytes,
        log: None,
        compacted: None,
        previous_base_file: Some(target.replaced()?.name().to_owned()),
        key_range: written.key_range,
        bloom: written.bloom.map(|(kind, text)| (kind.name().to_owned(), text)),
        columns: written.columns,
        changes,
    })
}
