//! Native logs of one file group (`HoodieNativeLogAppendHandle`, `HoodieNativeLogFormatWriter`): rows and deletes in
//! files of the format of base files, with the header of a block in their metadata.
//!
//! Rows are in the order in which they come. Deletes are in a file of their own, behind all rows; with those that came
//! last it has the same version, and readers take it after them.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, UInt64Array};

use super::options::NativeLogOptions;
use super::pending::known_positions;
use super::target::LogTarget;
use crate::write::base_file::BaseFileWriter;
use crate::write::markers::{MarkerKind, Markers};
use crate::write::meta_columns::{FileMeta, MetaColumns};
use crate::write::partition_metadata::create_partition_metadata;
use crate::write::write_status::{WriteStatus, WrittenFile};
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::{NativeLog, RequestedTime};
use mortice_formats::avro_parquet::ParquetColumns;
use mortice_formats::log::writer::{BlockHeader, DeleteColumns, NativeDeletes};
use mortice_storage::FileStore;

/// The native logs that a handle writes.
pub(super) struct NativeLogs {
    store: Arc<dyn FileStore>,
    markers: Markers,
    target: LogTarget,
    options: NativeLogOptions,
    meta: FileMeta,
    /// The schema of the rows that come.
    schema: Schema,
    /// That of all columns, from which readers derive the columns of deletes.
    table_schema: Schema,
    base_instant: Option<RequestedTime>,
    /// The version of the next file.
    version: i64,
    rows: Option<NativeFile>,
    deletes: Vec<RecordBatch>,
    delete_positions: Option<Vec<u64>>,
    names: Vec<String>,
    statuses: Vec<WriteStatus>,
}

/// A file that is written.
struct NativeFile {
    writer: BaseFileWriter,
    name: String,
    version: i64,
    inserts: u64,
    /// Of each row; none once one has no position.
    positions: Option<Vec<u64>>,
}

impl NativeLogs {
    pub(super) fn new(
        store: &Arc<dyn FileStore>,
        schema: &Schema,
        target: &LogTarget,
        base_instant: Option<&RequestedTime>,
        options: &NativeLogOptions,
        meta: &FileMeta,
    ) -> Result<Self> {
        target.native_name(1, NativeLog::Records)?;
        Ok(Self {
            store: Arc::clone(store),
            markers: Markers::new(Arc::clone(store), &target.instant),
            target: target.clone(),
            options: options.clone(),
            meta: meta.clone(),
            schema: schema.clone(),
            table_schema: schema.clone(),
            base_instant: base_instant.cloned(),
            version: 1,
            rows: None,
            deletes: Vec::new(),
            delete_positions: Some(Vec::new()),
            names: Vec::new(),
            statuses: Vec::new(),
        })
    }

    /// Lets the rows that follow have other columns.
    pub(super) fn begin(&mut self, schema: &Schema, header: &BlockHeader) -> Result<()> {
        self.close_rows(header)?;
        self.schema = schema.clone();
        Ok(())
    }

    /// Writes rows that are complete: with their meta columns, if the table has them.
    pub(super) fn write(
        &mut self,
        rows: &RecordBatch,
        has_meta: bool,
        inserts: Option<&BooleanArray>,
        positions: Option<&UInt64Array>,
        header: &BlockHeader,
    ) -> Result<()> {
        let mut done = 0;
        while done < rows.num_rows() {
            if self.rows.as_ref().is_some_and(|file| file.writer.is_full()) {
                self.close_rows(header)?;
            }
            let mut file = match self.rows.take() {
                Some(file) => file,
                None => self.create(NativeLog::Records)?,
            };
            let rest = rows.slice(done, rows.num_rows() - done);
            let meta = if has_meta { MetaColumns::Kept } else { MetaColumns::Absent };
            let written = file.writer.write(&rest, meta);
            if let Ok(len) = written {
                let inserts = inserts.map(|inserts| inserts.slice(done, len));
                let inserts = inserts.map_or(0, |inserts| inserts.iter().flatten().filter(|insert| *insert).count());
                file.inserts = file.inserts.saturating_add(inserts as u64);
                let positions = positions.filter(|_| self.base_instant.is_some());
                file.add_positions(known_positions(positions.map(|positions| positions.slice(done, len)).as_ref()));
                done += len;
            }
            self.rows = Some(file);
            written?;
        }
        Ok(())
    }

    /// Adds deletes, which are written when the handle is finished.
    pub(super) fn delete(
        &mut self,
        deletes: &RecordBatch,
        columns: &DeleteColumns,
        positions: Option<&UInt64Array>,
    ) -> Result<()> {
        let form = NativeDeletes::new(&self.table_schema, &self.options.ordering)?;
        let rows = form.rows(deletes, columns)?;
        // What cannot be deleted is refused now, not when the rows are written already.
        ParquetColumns::new(form.schema(), self.options.files.lists)?.convert(&rows)?;
        match (&mut self.delete_positions, known_positions(positions)) {
            (Some(all), Some(more)) => all.extend(more),
            (all, _) => *all = None,
        }
        self.deletes.push(rows);
        Ok(())
    }

    /// Makes all files visible. One status for each.
    pub(super) fn finish(mut self, header: &BlockHeader) -> Result<Vec<WriteStatus>> {
        if self.deletes.iter().all(|batch| batch.num_rows() == 0) {
            self.close_rows(header)?;
            return Ok(self.statuses);
        }
        if let Some(version) = self.rows.as_ref().map(|file| file.version) {
            self.close_rows(header)?;
            self.version = version;
        }
        let mut positions = self.delete_positions.take().filter(|_| self.base_instant.is_some());
        let deletes = std::mem::take(&mut self.deletes);
        let mut file = self.create(NativeLog::Deletes)?;
        for batch in &deletes {
            let mut done = 0;
            while done < batch.num_rows() {
                if file.writer.is_full() {
                    let next = self.create_next(NativeLog::Deletes)?;
                    self.close_deletes(std::mem::replace(&mut file, next), &mut positions, header)?;
                }
                done += file.writer.write(&batch.slice(done, batch.num_rows() - done), MetaColumns::Absent)?;
            }
        }
        self.close_deletes(file, &mut positions, header)?;
        Ok(self.statuses)
    }

    /// Begins the file of the next version.
    fn create_next(&mut self, content: NativeLog) -> Result<NativeFile> {
        self.version = self.version.saturating_add(1);
        self.create(content)
    }

    /// Begins the file of this version, after its marker.
    fn create(&mut self, content: NativeLog) -> Result<NativeFile> {
        let (store, target) = (self.store.as_ref(), &self.target);
        create_partition_metadata(store, &target.partition, &target.instant)?;
        let name = target.native_name(self.version, content)?;
        let path = target.path(&name);
        self.markers.create(&path, MarkerKind::Create)?;
        let deletes;
        let schema = match content {
            NativeLog::Deletes => {
                deletes = NativeDeletes::new(&self.table_schema, &self.options.ordering)?;
                deletes.schema()
            }
            NativeLog::Records | NativeLog::Changes => &self.schema,
        };
        let writer = BaseFileWriter::at(store, schema, path, self.meta.clone(), &self.options.files)?;
        Ok(NativeFile { writer, name, version: self.version, inserts: 0, positions: Some(Vec::new()) })
    }

    /// Makes the file of rows visible. A file whose first rows were refused has none, and leaves nothing.
    fn close_rows(&mut self, header: &BlockHeader) -> Result<()> {
        let Some(mut file) = self.rows.take().filter(|file| file.writer.rows() > 0) else { return Ok(()) };
        let header = header.clone().with_schema(self.schema.json());
        let header = header.with_native_positions(self.base_instant.as_ref(), file.positions.as_deref())?;
        let (inserts, rows) = (file.inserts, file.writer.rows());
        let (key, value) = header.native_metadata();
        file.writer.add_metadata(key, value)?;
        let mut status = self.complete(file)?;
        (status.writes, status.inserts, status.updates) = (rows, inserts, rows.saturating_sub(inserts));
        self.statuses.push(status);
        self.version = self.version.saturating_add(1);
        Ok(())
    }

    /// Makes a file of deletes visible, which has the first of the positions.
    fn close_deletes(
        &mut self,
        mut file: NativeFile,
        positions: &mut Option<Vec<u64>>,
        header: &BlockHeader,
    ) -> Result<()> {
        let deletes = file.writer.rows();
        let count = usize::try_from(deletes).map_err(|_| Error::internal("more deletes than memory holds"))?;
        let own: Option<Vec<u64>> =
            positions.as_mut().map(|positions| positions.drain(..count.min(positions.len())).collect());
        let header = header.clone().with_schema(self.table_schema.json());
        let header = header.with_native_positions(self.base_instant.as_ref(), own.as_deref())?;
        let (key, value) = header.native_metadata();
        file.writer.add_metadata(key, value)?;
        let mut status = self.complete(file)?;
        status.deletes = deletes;
        // A file of deletes has no values of any column: it is known by its empty list.
        status.file.iter_mut().for_each(|file| file.columns = Vec::new());
        self.statuses.push(status);
        Ok(())
    }

    fn complete(&mut self, file: NativeFile) -> Result<WriteStatus> {
        let written = file.writer.finish()?;
        let mut status = WriteStatus::new(&self.target.partition, &self.target.file_id);
        status.previous_commit = Some(self.target.previous_commit().to_owned());
        status.file = Some(WrittenFile {
            log: Some(self.target.status(file.version, &file.name, &self.names)),
            columns: written.columns,
            ..WrittenFile::new(written.path, written.bytes)
        });
        self.names.push(file.name);
        Ok(status)
    }
}

impl NativeFile {
    fn add_positions(&mut self, positions: Option<Vec<u64>>) {
        match (&mut self.positions, positions) {
            (Some(all), Some(more)) => all.extend(more),
            (all, _) => *all = None,
        }
    }
}
