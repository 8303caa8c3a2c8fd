//! Reads change logs (`HoodieCDCLogger`; `CDCFileGroupIterator`, `AS_IS`), and the images that they do not contain.
//!
//! | mode | record | `before` | `after` |
//! |---|---|---|---|
//! | `OP_KEY_ONLY` | op, `record_key` | by key, from the previous slice | by key, from the slice |
//! | `DATA_BEFORE` | op, `record_key`, before | the record's | by key, from the slice |
//! | `DATA_BEFORE_AFTER` | op, `ts_ms`, before, after | the record's | the record's |
//!
//! If a record has a field for an image, but no value, the image is the string `null`, as in Hudi; of a native change
//! log it is null, and its images have the format of rows. Images are looked up for many records at a time, and the
//! rows that are scanned for them are not kept.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};

use super::change_batch::{ChangeBatch, ChangeOperation};
use super::image_text::ImageFormat;
use crate::file_group::LogFile;
use crate::read::logs::damage::SeenLog;
use crate::read::logs::log_blocks::{LogFrames, note};
use crate::read::report::SharedReport;
use crate::read::slice::file_slice::SliceReader;
use crate::split::{AFTER, BEFORE, OPERATION, Query, Split};
use mortice_avro::{self as avro, Field, Type};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::base_file::BaseBatches;
use mortice_formats::filter::{Filter, Literal, Operator, Term};
use mortice_formats::log::{self, Block, BlockKind, BlockType, HeaderKey};
use mortice_merge::config::CdcMode;
use mortice_storage::{self as storage, FileSource, Storage};

const RECORD_KEY: &str = "record_key";
/// The string of an image if the record has no value.
const NONE: &str = "null";
/// The assumed size of two images of a row, which determines how many rows are looked up at a time.
const IMAGES: u64 = 2048;

/// The slices with the images that change logs do not contain; `None` for both if they contain them.
pub(in crate::read) struct KnownImages {
    pub(in crate::read) before: Option<Split>,
    pub(in crate::read) after: Option<Split>,
    pub(in crate::read) form_before: ImageFormat,
}

/// The remaining changes of change logs.
pub(in crate::read) struct ChangeLogs {
    storage: Arc<dyn Storage>,
    files: VecDeque<LogFile>,
    blocks: VecDeque<(Arc<dyn FileSource>, Block)>,
    records: Option<Records>,
    mode: CdcMode,
    images: KnownImages,
    query: Arc<Query>,
    table: avro::Schema,
    /// The number of records that are decoded, and whose images are looked up, at a time.
    at_once: usize,
    memory_limit: u64,
    report: SharedReport,
}

/// The records of one block.
struct Records {
    batches: BaseBatches,
    schema: avro::Schema,
    /// The format of their images.
    form: ImageFormat,
}

impl ChangeLogs {
    /// Returns the changes in some files, oldest first. `query` has all columns of the table.
    pub(in crate::read) fn open(
        query: &Arc<Query>,
        files: &[LogFile],
        mode: CdcMode,
        images: KnownImages,
        memory_limit: u64,
        report: &SharedReport,
    ) -> Result<Self> {
        let looks_up = images.before.is_some() || images.after.is_some();
        if looks_up && query.virtual_key.is_some() {
            let message = "unsupported change log: it has record keys only, and with hoodie.populate.meta.fields=false the table has no column with these keys";
            return Err(Error::unsupported(message));
        }
        let most = usize::try_from(memory_limit / 4 / IMAGES).unwrap_or(usize::MAX);
        let rows = query.options.batch_rows.max(1);
        Ok(Self {
            storage: storage::open_counted(&query.uri, &query.storage, query.options.mmap, report.requests())?,
            files: files.iter().cloned().collect(),
            blocks: VecDeque::new(),
            records: None,
            mode,
            images,
            query: Arc::clone(query),
            table: avro::Schema::parse(&query.schema)?,
            at_once: if looks_up { rows.max(most) } else { rows },
            memory_limit,
            report: report.clone(),
        })
    }

    /// Returns the next changes; `None` after the last.
    pub(in crate::read) fn next(&mut self) -> Result<Option<ChangeBatch>> {
        loop {
            if let Some(records) = &mut self.records
                && let Some(decoded) = records.batches.next().transpose()?
            {
                self.report.edit().records_read += decoded.num_rows() as u64;
                let (schema, form) = (records.schema.clone(), records.form);
                return self.changes((&schema, form), &decoded).map(Some);
            }
            let Some((source, block)) = self.blocks.pop_front() else {
                let Some(file) = self.files.pop_front() else { return Ok(None) };
                self.frame(&file)?;
                continue;
            };
            let bytes = self.query.options.batch_limit(self.memory_limit).bytes();
            let limit = BatchLimit::with_rows(self.at_once).with_bytes(bytes);
            let marked = |error: Error| error.in_block(block.index).in_file(source.path());
            self.records = Some(Records::read(&source, &block, limit).map_err(marked)?);
        }
    }

    /// Finds the blocks of a file.
    fn frame(&mut self, file: &LogFile) -> Result<()> {
        let LogFrames { source, blocks } = LogFrames::open(self.storage.as_ref(), file, &self.query)?;
        self.report.edit().files += 1;
        let mut seen = SeenLog::new(source.path(), source.len());
        for block in blocks {
            let block = block?;
            seen.note(&block);
            note(&block, source.path(), self.query.options.on_corrupt, &self.report)?;
            if matches!(block.kind, BlockKind::Sound(BlockType::CdcData)) && !block.content.is_empty() {
                self.blocks.push_back((Arc::clone(&source), block));
            }
        }
        seen.check(file, &self.query, &self.storage, &self.report)
    }

    fn changes(&self, of: (&avro::Schema, ImageFormat), records: &RecordBatch) -> Result<ChangeBatch> {
        let text = |name: &str| {
            let column = records.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
            column.ok_or_else(|| Error::corrupt(format!("invalid change log: its records have no string field {name}")))
        };
        let operations = text(OPERATION)?;
        let happened = |operation: ChangeOperation, row: usize| {
            operations.is_valid(row) && operations.value(row) == operation.text()
        };
        let rows = ImageFormat::of_rows(&self.query);
        let (before, after) = match self.mode {
            CdcMode::DataBeforeAfter => (Some(images(of, records, BEFORE)?), Some(images(of, records, AFTER)?)),
            CdcMode::DataBefore => {
                let after = self.looked_up(self.images.after.as_ref(), rows, text(RECORD_KEY)?, |row| {
                    !happened(ChangeOperation::Delete, row)
                })?;
                (Some(images(of, records, BEFORE)?), Some(after))
            }
            CdcMode::OpKeyOnly => {
                let keys = text(RECORD_KEY)?;
                let is_new = |row| happened(ChangeOperation::Insert, row);
                let before =
                    self.looked_up(self.images.before.as_ref(), self.images.form_before, keys, |row| !is_new(row))?;
                let after = self
                    .looked_up(self.images.after.as_ref(), rows, keys, |row| !happened(ChangeOperation::Delete, row))?;
                (Some(before), Some(after))
            }
        };
        Ok(ChangeBatch { operations: operations.clone(), before, after })
    }

    /// Returns the images of the records whose images are not stored, by key; null for the others.
    fn looked_up(
        &self,
        split: Option<&Split>,
        form: ImageFormat,
        keys: &StringArray,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<ArrayRef> {
        let sought = |(row, key): (usize, Option<&str>)| key.filter(|_| wanted(row)).map(str::to_owned);
        let literals: Vec<Literal> = keys.iter().enumerate().filter_map(sought).map(Literal::Text).collect();
        let mut found: HashMap<String, String> = HashMap::with_capacity(literals.len());
        if let Some(split) = split.filter(|_| !literals.is_empty()) {
            let term = Term::new(meta_columns::RECORD_KEY, Operator::In, literals)?;
            let query = Query { filter: Filter::any_of(vec![vec![term]]), ..Query::clone(&split.query) };
            let split = Split { query: Arc::new(query), ..split.clone() };
            for rows in SliceReader::new(split, self.report.clone())?.within(self.memory_limit / 2) {
                let rows = rows?;
                let images = form.images_of_batch(&self.table, &rows)?;
                let column = rows.column_by_name(meta_columns::RECORD_KEY);
                let keys = column.and_then(|column| column.as_string_opt::<i32>());
                let keys = keys.ok_or_else(|| Error::internal("rows of a change log's keys have no record keys"))?;
                for (key, image) in keys.iter().zip(images.iter()) {
                    if let (Some(key), Some(image)) = (key, image) {
                        found.insert(key.to_owned(), image.to_owned());
                    }
                }
            }
        }
        let image = |(row, key): (usize, Option<&str>)| {
            let Some(key) = key.filter(|_| wanted(row)) else { return Ok(None) };
            found.get(key).map(|image| Some(image.as_str())).ok_or_else(|| {
                Error::invalid_table(format!("invalid change log: key {key:?} is not in the file group"))
            })
        };
        let images: StringArray = keys.iter().enumerate().map(image).collect::<Result<_>>()?;
        Ok(Arc::new(images))
    }
}

impl Records {
    fn read(source: &Arc<dyn FileSource>, block: &Block, limit: BatchLimit) -> Result<Self> {
        let Some(text) = block.header.get(HeaderKey::Schema) else {
            return Err(Error::corrupt("invalid change log: SCHEMA is missing in the header of a block"));
        };
        let schema = avro::Schema::parse(&text)?;
        let (_, batches) = log::LogFile::new(Arc::clone(source)).record_batches(block, limit)?;
        // Images of native logs are rows of the engine (`CDCFileGroupIterator.cdcRecordImageToJson`).
        let form = if block.is_native { ImageFormat::DataRow } else { ImageFormat::Record };
        Ok(Self { batches, schema, form })
    }
}

/// Returns the images that records contain.
fn images((schema, form): (&avro::Schema, ImageFormat), records: &RecordBatch, name: &str) -> Result<ArrayRef> {
    let wrong = || Error::corrupt(format!("invalid change log: its records have no record field {name}"));
    let fields: &[Field] = match schema.field(name).map(|field| field.ty.non_null()) {
        Some(Type::Record(record)) => &record.fields,
        _ => return Err(wrong()),
    };
    let column = records.column_by_name(name).and_then(|column| column.as_struct_opt()).ok_or_else(wrong)?;
    let strings = form.images_of_records(fields, column)?;
    if strings.null_count() == 0 || form == ImageFormat::DataRow {
        return Ok(Arc::new(strings));
    }
    let strings: StringArray = strings.iter().map(|text| Some(text.unwrap_or(NONE))).collect();
    Ok(Arc::new(strings))
}
