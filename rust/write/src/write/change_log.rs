//! Change logs: what a commit changed in a file group whose base file it writes again (`HoodieCDCLogger`,
//! `HoodieCDCUtils`).
//!
//! | mode | fields of a record |
//! |---|---|
//! | `OP_KEY_ONLY` | `op`, `record_key` |
//! | `DATA_BEFORE` | `op`, `record_key`, `before` |
//! | `DATA_BEFORE_AFTER` | `op`, `ts_ms`, `before`, `after` |
//!
//! Rows have the columns of the table without meta columns. From table version 10 on the file is a native log, in the
//! format of base files; before, the records are in blocks of Avro. A file without changes has no records: readers
//! infer no changes of a base file that was rewritten, and fail without a change log.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, StructArray};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use serde::{Deserialize, Serialize};

use super::base_file::{BaseFileOptions, BaseFileTarget, BaseFileWriter};
use super::file_upload::FileUpload;
use super::log_append::native_log_name;
use super::markers::{MarkerKind, Markers};
use super::meta_columns::{FileMeta, MetaColumns, strings};
use mortice_avro::{Encoder, Field, Schema, Type};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, NativeLog, RequestedTime, meta_columns};
use mortice_formats::log::BlockType;
use mortice_formats::log::writer::{BlockHeader, avro_block_frame};
use mortice_merge::config::CdcMode;
use mortice_merge::spill::most_row_bytes;
use mortice_storage::FileStore;
use mortice_table::split::{AFTER, BEFORE, COMMIT, OPERATION};

const UNFIT: &str = "rows of a change log";

const RECORD_KEY: &str = "record_key";
/// Hudi's default of `hoodie.logfile.data.block.max.size`.
pub(super) const BLOCK_BYTES: usize = 256 << 20;
/// Rows that are encoded at a time.
const ROWS: usize = 4096;

/// A change log that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeLogFile {
    /// The file's path from the table.
    pub path: String,
    /// The file's length.
    pub bytes: u64,
}

/// What happened to rows, which have the meta columns.
pub(super) enum Changes<'a> {
    Inserted(&'a RecordBatch),
    /// The rows before, and those after, in the same order.
    Updated(&'a RecordBatch, &'a RecordBatch),
    Deleted(&'a RecordBatch),
}

/// Writes the change log that belongs to a base file.
pub(super) struct ChangeLog {
    mode: CdcMode,
    /// The record of a change.
    schema: Schema,
    /// The table's columns.
    columns: Vec<String>,
    instant: RequestedTime,
    path: String,
    max_block_bytes: usize,
    file: ChangeFile,
}

/// The file that is written.
enum ChangeFile {
    /// Blocks. Memory holds one of them.
    Inline(InlineFile),
    /// A native log.
    Native(Box<BaseFileWriter>),
}

/// A file of blocks.
struct InlineFile {
    upload: FileUpload,
    has_block: bool,
    datums: Vec<u8>,
    ends: Vec<usize>,
}

impl ChangeLog {
    /// Begins the file, after its marker. `stored` is the schema of the base file, with its meta columns; `native` says
    /// how native logs are written, if the table has such.
    pub(super) fn new(
        store: &Arc<dyn FileStore>,
        mode: CdcMode,
        stored: &Schema,
        target: &BaseFileTarget,
        max_block_bytes: usize,
        native: Option<&BaseFileOptions>,
    ) -> Result<Self> {
        let name = match native {
            None => {
                let log = LogFileName::compose(&target.file_id, &target.instant, 1, &target.token.to_string())?;
                format!("{}.cdc", log.name)
            }
            Some(_) => native_log_name(&target.file_id, &target.instant, 1, target.token, NativeLog::Changes)?,
        };
        let path = if target.partition.is_empty() { name } else { format!("{}/{name}", target.partition) };
        let columns = stored.without_fields(&meta_columns::ALL)?.without_fields(&[meta_columns::OPERATION])?;
        let schema = record_schema(mode, &columns)?;
        Markers::new(Arc::clone(store), &target.instant).create(&path, MarkerKind::Create)?;
        let file = match native {
            None => ChangeFile::Inline(InlineFile {
                upload: FileUpload::new(store.as_ref(), &path)?,
                has_block: false,
                datums: Vec::new(),
                ends: Vec::new(),
            }),
            Some(options) => {
                ChangeFile::Native(Box::new(native_file(store.as_ref(), &schema, target, path.clone(), options)?))
            }
        };
        Ok(Self {
            mode,
            schema,
            columns: columns.fields().iter().map(|field| field.name.clone()).collect(),
            instant: target.instant.clone(),
            path,
            max_block_bytes,
            file,
        })
    }

    /// Adds changes.
    pub(super) fn add(&mut self, changes: &Changes<'_>) -> Result<()> {
        let (operation, before, after) = match changes {
            Changes::Inserted(rows) => ("i", None, Some(*rows)),
            Changes::Updated(before, after) => ("u", Some(*before), Some(*after)),
            Changes::Deleted(rows) => ("d", Some(*rows), None),
        };
        let Some(rows) = before.or(after).map(RecordBatch::num_rows) else { return Ok(()) };
        let most_row_bytes = [before, after].into_iter().flatten().map(most_row_bytes).fold(0, usize::saturating_add);
        let at_once = BatchLimit::with_rows(ROWS).with_bytes(self.max_block_bytes).rows_of(most_row_bytes);
        for start in (0..rows).step_by(at_once) {
            let part =
                |rows: Option<&RecordBatch>| rows.map(|rows| rows.slice(start, at_once.min(rows.num_rows() - start)));
            self.add_part(operation, part(before).as_ref(), part(after).as_ref())?;
        }
        Ok(())
    }

    /// Writes what waits, and makes the file visible.
    pub(super) fn finish(self) -> Result<ChangeLogFile> {
        let header = BlockHeader::new(&self.instant).with_schema(self.schema.json());
        let bytes = match self.file {
            ChangeFile::Inline(mut file) => {
                if !file.ends.is_empty() || !file.has_block {
                    file.flush(&header)?;
                }
                file.upload.finish()?
            }
            ChangeFile::Native(mut file) => {
                let (key, value) = header.native_metadata();
                file.add_metadata(key, value)?;
                file.finish()?.bytes
            }
        };
        Ok(ChangeLogFile { bytes, path: self.path })
    }

    fn add_part(&mut self, operation: &str, before: Option<&RecordBatch>, after: Option<&RecordBatch>) -> Result<()> {
        let Some(rows) = before.or(after) else { return Ok(()) };
        let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; rows.num_rows()])) };
        let mut columns = vec![(OPERATION, text(operation))];
        match self.mode {
            CdcMode::DataBeforeAfter => columns.push((COMMIT, text(self.instant.as_str()))),
            CdcMode::OpKeyOnly | CdcMode::DataBefore => {
                columns.push((RECORD_KEY, Arc::new(strings(rows, meta_columns::RECORD_KEY)?)));
            }
        }
        // The encoder writes null for a field without a column.
        let images = [(BEFORE, before, self.mode != CdcMode::OpKeyOnly)];
        let images = images.into_iter().chain([(AFTER, after, self.mode == CdcMode::DataBeforeAfter)]);
        for (name, rows, is_logged) in images {
            if let Some(rows) = rows.filter(|_| is_logged) {
                columns.push((name, self.image(rows)?));
            }
        }
        let fields = columns.iter().map(|(name, column)| ArrowField::new(*name, column.data_type().clone(), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let columns = columns.iter().map(|(_, column)| Arc::clone(column)).collect();
        let records = RecordBatch::try_new(schema, columns).map_err(Error::internal_by(UNFIT))?;
        let file = match &mut self.file {
            ChangeFile::Inline(file) => file,
            ChangeFile::Native(file) => {
                let written = file.write(&records, MetaColumns::Absent)?;
                return match written == records.num_rows() {
                    true => Ok(()),
                    false => Err(Error::internal("a change log that has become full")),
                };
            }
        };
        Encoder::new(&self.schema, records.schema_ref())?.encode(&records, &mut file.datums, &mut file.ends)?;
        if file.datums.len() <= self.max_block_bytes {
            return Ok(());
        }
        file.flush(&BlockHeader::new(&self.instant).with_schema(self.schema.json()))
    }

    /// Rows as one column.
    fn image(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let places = self.columns.iter().map(|name| rows.schema_ref().index_of(name));
        let places = places.collect::<std::result::Result<Vec<_>, _>>().map_err(Error::internal_by(UNFIT))?;
        Ok(Arc::new(StructArray::from(rows.project(&places).map_err(Error::internal_by(UNFIT))?)))
    }
}

impl InlineFile {
    /// Writes a block.
    fn flush(&mut self, header: &BlockHeader) -> Result<()> {
        let frame = avro_block_frame(BlockType::CdcData, header, self.ends.len(), self.datums.len())?;
        self.upload.append(&frame.head)?;
        let mut start = 0;
        for end in self.ends.drain(..) {
            let datum = self.datums.get(start..end);
            let datum = datum.ok_or_else(|| Error::internal("an encoded record beyond the encoded bytes"))?;
            let len = i32::try_from(datum.len()).map_err(|_| Error::invalid_argument("a record of 2 GiB or more"))?;
            self.upload.append(&len.to_be_bytes())?;
            self.upload.append(datum)?;
            start = end;
        }
        self.datums.clear();
        self.has_block = true;
        self.upload.append(&frame.tail)
    }
}

/// Begins a native log, which takes all changes of a base file.
fn native_file(
    store: &dyn FileStore,
    schema: &Schema,
    target: &BaseFileTarget,
    path: String,
    options: &BaseFileOptions,
) -> Result<BaseFileWriter> {
    let meta = FileMeta {
        instant: target.instant.clone(),
        token: target.token,
        partition: target.partition.clone(),
        file_name: target.file_id.clone(),
    };
    let options =
        BaseFileOptions { max_file_bytes: u64::MAX, bloom: None, marks_distinct_keys: false, ..options.clone() };
    BaseFileWriter::at(store, schema, path, meta, &options)
}

/// The schema of a mode's records. `columns` are the table's.
fn record_schema(mode: CdcMode, columns: &Schema) -> Result<Schema> {
    let row = columns.as_record()?;
    let name = row.name.rsplit_once('.').map_or_else(|| "CDC".to_owned(), |(space, _)| format!("{space}.CDC"));
    let image = |name: &str| {
        let ty = Type::Union(vec![Type::Null, Type::Record(Arc::new(row.clone()))].into());
        Field { name: name.to_owned(), ty, default: Some(serde_json::Value::Null) }
    };
    let text = Field::nullable_string;
    Ok(match mode {
        CdcMode::OpKeyOnly => {
            let text = |name: &str| Field {
                name: name.to_owned(),
                ty: Type::Union(vec![Type::String, Type::Null].into()),
                default: None,
            };
            Schema::record("Record", vec![text(OPERATION), text(RECORD_KEY)])
        }
        CdcMode::DataBefore => Schema::record(&name, vec![text(OPERATION), text(RECORD_KEY), image(BEFORE)]),
        CdcMode::DataBeforeAfter => {
            Schema::record(&name, vec![text(OPERATION), text(COMMIT), image(BEFORE), image(AFTER)])
        }
    })
}
