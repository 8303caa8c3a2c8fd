//! Keys of file groups, streamed: of each base file the key column alone is read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter;

use mortice_avro as avro;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::{FieldNames, LogFileName, RequestedTime, meta_columns};
use mortice_formats::base_file;
use mortice_formats::log::{BlockKind, BlockType, LogFile};
use mortice_merge::keys::{FieldPath, RecordKey};
use mortice_storage::{FileSource, KnownFile};
use mortice_table::file_group::{BaseFile, FileSlice};
use mortice_table::plan::OpenTable;

const BATCH_ROWS: usize = 8192;

/// Takes keys, and the number of the first one's row in the base file; none for keys of a log.
pub(super) type EachKeys<'a> = dyn FnMut(&StringArray, Option<u64>) -> Result<()> + 'a;

/// The rows that a write has put into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenRows {
    /// The partition of the file.
    pub partition: String,
    /// The base file or log, by its path from the table.
    pub path: String,
    /// Its length, if it is known.
    pub bytes: Option<u64>,
    /// The write: other rows of the file are those of earlier writes.
    pub instant: RequestedTime,
}

/// Reads the keys of file groups of a table.
pub(super) struct StoredKeys<'a> {
    table: &'a OpenTable,
    /// The table's schema, if keys are computed.
    schema: Option<avro::Schema>,
    key: RecordKey,
    columns: SchemaRef,
}

impl<'a> StoredKeys<'a> {
    /// Prepares reading. Without meta columns, keys are computed from the key columns.
    pub(super) fn new(table: &'a OpenTable) -> Result<Self> {
        let config = &table.config;
        if config.populate_meta_fields {
            let column = Field::new(meta_columns::RECORD_KEY, DataType::Utf8, true);
            let columns = Arc::new(Schema::new(vec![column]));
            return Ok(Self { table, schema: None, key: RecordKey::Stored, columns });
        }
        let key = RecordKey::new(Some(&config.record_key_fields))?;
        let schema = table.schema_at(None)?.0.files;
        let types = avro::arrow_schema(&schema, avro::ArrowMapping::Table)?;
        let mut columns: Vec<Arc<Field>> = Vec::new();
        for name in &config.record_key_fields {
            let path = FieldPath::new(name);
            let (_, field) = types.fields().find(path.column()).ok_or_else(|| {
                Error::invalid_table(format!("no column {:?}, which is a key field", path.column())).in_file(&table.uri)
            })?;
            if !columns.iter().any(|column| column.name() == field.name()) {
                columns.push(Arc::clone(field));
            }
        }
        Ok(Self { table, schema: Some(schema), key, columns: Arc::new(Schema::new(columns)) })
    }

    fn base_file(&self, file: Arc<dyn FileSource>) -> Result<Box<dyn base_file::BaseFile>> {
        let file = base_file::open(file)?;
        match &self.schema {
            Some(schema) => base_file::read_as(file, schema, FieldNames::identity()),
            None => Ok(file),
        }
    }

    /// Opens the base file of a slice.
    pub(super) fn open(&self, slice: &FileSlice) -> Result<Option<Box<dyn base_file::BaseFile>>> {
        let Some(base) = &slice.base_file else { return Ok(None) };
        let BaseFile { path, len, etag, .. } = base;
        let known = KnownFile { len: *len, etag: etag.clone(), may_have_grown: false };
        self.base_file(self.table.storage.open_known(path, &known)?).map(Some)
    }

    /// Calls `each` with the keys of a base file, batch by batch, and the number of the first row of each.
    pub(super) fn read(&self, file: Box<dyn base_file::BaseFile>, each: &mut EachKeys<'_>) -> Result<()> {
        let mut first = 0_u64;
        for batch in file.batches(&self.columns, BatchLimit::with_rows(BATCH_ROWS))? {
            let keys = self.key.keys_of(&batch?)?;
            if let Some(row) = (0..keys.len()).find(|row| keys.is_null(*row)) {
                let position = first.saturating_add(row as u64);
                return Err(Error::invalid_table(format!("row {position} of a base file has no record key")));
            }
            each(&keys, Some(first))?;
            first = first.saturating_add(keys.len() as u64);
        }
        Ok(())
    }

    /// Calls `each` with the keys of all rows of the slice's logs, batch by batch. Rows that were deleted later, or
    /// whose write was rolled back, are among them: a write of such a key is right in this file group, too.
    pub(super) fn read_logs(&self, slice: &FileSlice, each: &mut EachKeys<'_>) -> Result<()> {
        for file in &slice.log_files {
            let known = KnownFile { len: file.len, etag: file.etag.clone(), may_have_grown: true };
            self.read_log(self.table.storage.open_known(&file.path, &known)?, None, each)?;
        }
        Ok(())
    }

    /// Calls `each` with the keys of the rows that a write has put into a file, batch by batch. Without meta columns
    /// those of all rows of a base file: it is not known which are the write's.
    pub(super) fn read_written(&self, rows: &WrittenRows, each: &mut EachKeys<'_>) -> Result<()> {
        let name = rows.path.rsplit('/').next().unwrap_or(&rows.path);
        let is_log = LogFileName::parse(name).is_some();
        let file = match rows.bytes {
            Some(len) => {
                let known = KnownFile { len, etag: None, may_have_grown: is_log };
                self.table.storage.open_known(&rows.path, &known)?
            }
            None => self.table.storage.open(&rows.path)?,
        };
        if is_log {
            return self.read_log(file, Some(&rows.instant), each);
        }
        let file = self.base_file(file)?;
        if self.key != RecordKey::Stored {
            return self.read(file, each);
        }
        let column = |name: &str| Field::new(name, DataType::Utf8, true);
        let columns = [meta_columns::RECORD_KEY, meta_columns::COMMIT_TIME].map(column).to_vec();
        for batch in file.batches(&Arc::new(Schema::new(columns)), BatchLimit::with_rows(BATCH_ROWS))? {
            let batch = batch?;
            let keys = self.key.keys_of(&batch)?;
            let times = batch.column_by_name(meta_columns::COMMIT_TIME).map(AsArray::as_string::<i32>);
            let times = times.ok_or_else(|| Error::internal("a column that was asked for is not there"))?;
            let is_written: BooleanArray = times.iter().map(|time| Some(rows.instant == time.unwrap_or(""))).collect();
            let written = filter(&keys, &is_written)
                .map_err(|error| Error::internal("rows that were not filtered").caused_by(error))?;
            each(written.as_string::<i32>(), None)?;
        }
        Ok(())
    }

    fn read_log(&self, file: Arc<dyn FileSource>, of: Option<&RequestedTime>, each: &mut EachKeys<'_>) -> Result<()> {
        let log = LogFile::new(Arc::clone(&file));
        for block in log.blocks(false) {
            let block = block?;
            let is_data = matches!(
                block.kind,
                BlockKind::Sound(BlockType::AvroData | BlockType::ParquetData | BlockType::HfileData)
            );
            let is_other = of.is_some_and(|of| block.header.requested_time().is_some_and(|time| time != *of));
            if !is_data || is_other {
                continue;
            }
            for batch in log.record_batches(&block, BatchLimit::with_rows(BATCH_ROWS))?.1 {
                let keys = self.key.keys_of(&batch?)?;
                if keys.null_count() > 0 {
                    let error = Error::invalid_table("a row of a log has no record key");
                    return Err(error.in_file(file.path()));
                }
                each(&keys, None)?;
            }
        }
        Ok(())
    }

    /// The first keys of a base file, at most so many.
    pub(super) fn first_keys(&self, file: Box<dyn base_file::BaseFile>, most: usize) -> Result<StringArray> {
        match file.batches(&self.columns, BatchLimit::with_rows(most))?.next() {
            Some(batch) => self.key.keys_of(&batch?),
            None => Ok(StringArray::new_null(0)),
        }
    }
}
