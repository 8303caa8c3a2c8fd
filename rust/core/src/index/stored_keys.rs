//! Keys of base files, streamed: of each file the key column alone is read.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::avro;
use crate::base_file;
use crate::error::{Error, Result};
use crate::file_group::{BaseFile, FileSlice};
use crate::keys::{FieldPath, RecordKey};
use crate::names::meta_columns;
use crate::plan::OpenTable;
use crate::storage::KnownFile;

const BATCH_ROWS: usize = 8192;

/// Reads the keys of base files of a table.
pub(super) struct StoredKeys<'a> {
    table: &'a OpenTable,
    key: RecordKey,
    columns: SchemaRef,
}

impl<'a> StoredKeys<'a> {
    /// Prepares reading. Without meta columns, keys are computed from the key columns.
    pub(super) fn new(table: &'a OpenTable) -> Result<Self> {
        let config = &table.config;
        if config.populate_meta_fields {
            let column = Field::new(meta_columns::RECORD_KEY, DataType::Utf8, true);
            return Ok(Self { table, key: RecordKey::Stored, columns: Arc::new(Schema::new(vec![column])) });
        }
        let key = RecordKey::new(Some(&config.record_key_fields))?;
        let types = avro::arrow_schema(&table.schema_at(None)?.0.files, avro::ArrowMapping::Table)?;
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
        Ok(Self { table, key, columns: Arc::new(Schema::new(columns)) })
    }

    /// Opens the base file of a slice.
    pub(super) fn open(&self, slice: &FileSlice) -> Result<Option<Box<dyn base_file::BaseFile>>> {
        let Some(base) = &slice.base_file else { return Ok(None) };
        let BaseFile { path, len, etag, .. } = base;
        let known = KnownFile { len: *len, etag: etag.clone(), may_have_grown: false };
        base_file::open(self.table.storage.open_known(path, &known)?).map(Some)
    }

    /// Calls `each` with the keys of a base file, batch by batch, and the number of the first row of each.
    pub(super) fn read(
        &self,
        file: Box<dyn base_file::BaseFile>,
        mut each: impl FnMut(&StringArray, u64) -> Result<()>,
    ) -> Result<()> {
        let mut first = 0_u64;
        for batch in file.batches(&self.columns, BATCH_ROWS)? {
            let batch = batch?;
            each(&self.key.keys_of(&batch)?, first)?;
            first = first.saturating_add(batch.num_rows() as u64);
        }
        Ok(())
    }

    /// The first keys of a base file, at most so many.
    pub(super) fn first_keys(&self, file: Box<dyn base_file::BaseFile>, most: usize) -> Result<StringArray> {
        match file.batches(&self.columns, most)?.next() {
            Some(batch) => self.key.keys_of(&batch?),
            None => Ok(StringArray::new_null(0)),
        }
    }
}
