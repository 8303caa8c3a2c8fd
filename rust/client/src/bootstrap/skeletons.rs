//! Skeletons: base files with the meta columns of the rows of a source file (`BaseBootstrapMetadataHandler`).

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::partitions::SourcePartitions;
use super::source::{SourceFile, SourceFolder};
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_merge::config::TableConfig;
use mortice_merge::keys::{FieldPath, RowKeyReader};
use mortice_storage::{FileStore, check_cancelled, parallel};
use mortice_table::bootstrap::NewIndexEntry;
use mortice_write::index::new_group_prefix;
use mortice_write::rows::WriteSchema;
use mortice_write::settings::WriteSettings;
use mortice_write::write::{BaseFileOptions, CreateHandle, CreateTarget, MetaColumns, WriteStatus, WriteToken};

/// Hudi's name of a record that has meta columns alone (`HoodieAvroUtils.RECORD_KEY_SCHEMA`).
const RECORD: &str = r#"{"type":"record","name":"HoodieRecordKey","fields":[]}"#;

/// What the skeletons of a table have in common.
pub(super) struct Skeletons<'a> {
    pub(super) store: &'a Arc<dyn FileStore>,
    pub(super) config: &'a TableConfig,
    pub(super) schema: &'a WriteSchema,
    pub(super) settings: &'a WriteSettings,
    pub(super) instant: &'a RequestedTime,
    pub(super) source: &'a SourceFolder,
    pub(super) partitions: &'a SourcePartitions,
}

impl Skeletons<'_> {
    /// Writes the skeleton of each file that has rows, several at a time. Returns what was written, and the entries of
    /// the index.
    ///
    /// # Errors
    /// Those of source files, of their keys, and of the storage.
    pub(super) fn write(&self) -> Result<(Vec<WriteStatus>, Vec<NewIndexEntry>)> {
        let (stored, attempt) =
            (Schema::parse(RECORD)?.with_leading_nullable_strings(&meta_columns::ALL)?, WriteToken::new_attempt());
        let numbered: Vec<(u32, &SourceFile)> = (0_u32..).zip(&self.source.files).collect();
        let written = parallel::map(&numbered, parallel::cores(), |(task, file)| {
            let token = WriteToken { task: *task, stage: 0, attempt };
            self.write_one(file, &stored, token).map_err(|error| error.in_file(self.source.full_path(file)))
        })?;
        Ok(written.into_iter().flatten().unzip())
    }

    fn write_one(
        &self,
        file: &SourceFile,
        stored: &Schema,
        token: WriteToken,
    ) -> Result<Option<(WriteStatus, NewIndexEntry)>> {
        check_cancelled()?;
        let partition = self.partitions.path(file);
        let target = CreateTarget {
            partition: partition.clone(),
            file_id_prefix: new_group_prefix(),
            instant: self.instant.clone(),
            token,
        };
        // A skeleton has as many rows as its source file, of any size.
        let options = BaseFileOptions { max_file_bytes: u64::MAX, ..self.settings.base_files.clone() };
        let mut handle = CreateHandle::new(Arc::clone(self.store), stored, target, options, false);
        let wanted = self.key_columns(file);
        let mut reader: Option<RowKeyReader> = None;
        let mut first_row = 0_u64;
        for batch in self.source.rows(file, &self.schema.columns, &wanted)? {
            let rows = self.partitions.complete(file, &batch?)?;
            let reader = match &mut reader {
                Some(reader) => reader,
                none => none.insert(RowKeyReader::new(self.config, rows.schema_ref(), &self.settings.keys)?),
            };
            let keys = reader.read(&rows, first_row)?;
            let is_elsewhere = |path: Option<&str>| path != Some(partition.as_str());
            if let Some(row) = keys.partitions.iter().position(is_elsewhere) {
                return Err(elsewhere(first_row.saturating_add(row as u64), keys.partitions.value(row), &partition));
            }
            let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
            let empty = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::empty()), Vec::new(), &count)
                .map_err(Error::internal_by("rows without columns"))?;
            handle.insert(&empty, MetaColumns::Computed { record_keys: &keys.record_keys })?;
            first_row = first_row.saturating_add(rows.num_rows() as u64);
        }
        let Some(status) = handle.finish()?.into_iter().next() else { return Ok(None) };
        let entry = NewIndexEntry {
            partition,
            file_id: status.file_id.clone(),
            source_partition: file.folder().to_owned(),
            source: self.source.uri(file),
            len: file.len,
            modified_ms: file.modified_ms,
        };
        Ok(Some((status, entry)))
    }

    /// The columns of a file that keys and partition paths are made of.
    fn key_columns(&self, file: &SourceFile) -> SchemaRef {
        let names = self.config.record_key_fields.iter().chain(&self.config.partition_fields);
        let names: Vec<String> =
            names.map(|name| FieldPath::new(name.split(':').next().unwrap_or(name)).column().to_owned()).collect();
        let fields = self.schema.types.fields().iter();
        let is_read = |name: &String| names.contains(name) && file.has_column(name);
        Arc::new(ArrowSchema::new(fields.filter(|field| is_read(field.name())).cloned().collect::<Vec<_>>()))
    }
}

fn elsewhere(row: u64, computed: &str, partition: &str) -> Error {
    Error::invalid_argument(format!(
        "row {row} is in the folder of the partition {partition:?}, but by the key generator its partition is \
         {computed:?}, so that an update would insert it there: choose a key generator that makes these folders, or \
         bootstrap with FullRecordBootstrapModeSelector"
    ))
}
