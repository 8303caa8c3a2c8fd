//! HFile base files: rows sorted by key, each an Avro record in the schema that the file info keeps under `schema`
//! (`HoodieAvroHFileReaderImplBase`).
//!
//! Data blocks stream through, one at a time. A record's field `key` is blank, since the cell's own key says the same:
//! it is put back where the field is there and empty, as Hudi does. Where a filter names exact keys, or prefixes of
//! them, only blocks that can hold one are read.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_schema::{DataType, Fields, SchemaRef};

use super::conform::conform_field;
use super::reader::{BaseBatches, BaseFile};
use super::row_ranges;
use crate::filter::{BoundFilter, KeyFilter};
use crate::hfile::{Cell, Cells, HFile};
use mortice_avro::{ArrowMapping, Datum, DecodeProgram, Decoder, RequestedColumn, Schema, arrow_schema};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_storage::FileSource;

/// The field that a writer leaves blank (`HoodieAvroHFileReaderImplBase.KEY_FIELD_NAME`), independent of the table's
/// key fields.
const KEY_FIELD: &str = "key";

/// An HFile, its trailer, root index and file info read.
pub(super) struct HFileBase {
    file: HFile,
    path: String,
    schema: Schema,
    /// The keys to read.
    wanted: KeyFilter,
}

impl HFileBase {
    pub(super) fn open(source: Arc<dyn FileSource>) -> Result<Self> {
        let path = source.path().to_owned();
        let opened = || {
            let file = HFile::open(source)?;
            let Some(schema) = file.schema() else {
                return Err(Error::unsupported("unsupported HFile base file: its file info has no schema"));
            };
            let schema = Schema::parse(schema)?;
            Ok((file, schema))
        };
        let (file, schema) = opened().map_err(|error: Error| error.in_file(&path))?;
        Ok(Self { file, path, schema, wanted: KeyFilter::All })
    }

    /// Whether the field `key` holds the cells' keys, so that keys wanted of the one are keys of the others. The writer
    /// blanks it in every record or in none, so the first one decides.
    fn is_sought_by_key(&self) -> Result<bool> {
        let Some(first) = self.file.scan().next().transpose()? else { return Ok(false) };
        let program = DecodeProgram::compile(
            &self.schema,
            &self.schema,
            &[RequestedColumn::Value(KEY_FIELD.to_owned())],
            ArrowMapping::Table,
        )?;
        let mut decoder = Decoder::new(Arc::new(program));
        decode(&mut decoder, &first, 0..1)?;
        let key = decoder.finish()?;
        Ok(key.column(0).as_string_opt::<i32>().is_some_and(|key| !key.is_null(0) && key.value(0).is_empty()))
    }
}

impl BaseFile for HFileBase {
    fn row_count(&self) -> u64 {
        self.file.entry_count()
    }

    fn avro_schema(&self) -> Option<String> {
        Some(self.schema.json().to_owned())
    }

    fn footer_value(&self, key: &str) -> Option<String> {
        self.file.info(key).and_then(|text| String::from_utf8(text.to_vec()).ok())
    }

    fn has_column(&self, name: &str) -> bool {
        self.schema.field(name).is_some()
    }

    fn fields(&self) -> Option<Fields> {
        arrow_schema(&self.schema, ArrowMapping::Table).ok().map(|schema| schema.fields)
    }

    fn kept_rows(&self) -> Vec<Range<u64>> {
        row_ranges::whole(self.row_count())
    }

    fn keep_rows(&mut self, rows: Vec<Range<u64>>) -> Result<()> {
        if rows == self.kept_rows() {
            return Ok(());
        }
        Err(Error::unsupported("rows of an HFile cannot be read by number").in_file(&self.path))
    }

    /// In an HFile, blocks without a requested key are skipped. Their number is not reported: it would take reading all
    /// of the index.
    fn prune(&mut self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<u64> {
        let column = wanted.index_of(KEY_FIELD).ok();
        let exact = column.and_then(|column| filter.exact_strings(column)).map(KeyFilter::keys);
        let found = exact.or_else(|| column.and_then(|column| filter.prefixes(column)).map(KeyFilter::prefixes));
        let Some(found) = found.filter(|_| self.schema.field(KEY_FIELD).is_some()) else { return Ok(0) };
        if self.is_sought_by_key().map_err(|error| error.in_file(&self.path))? {
            self.wanted = found;
        }
        Ok(0)
    }

    fn batches(self: Box<Self>, wanted: &SchemaRef, limit: BatchLimit) -> Result<BaseBatches> {
        let named = |error: Error| error.in_file(&self.path);
        let there: Vec<&String> = wanted.fields().iter().map(|field| field.name()).collect();
        let there = there.into_iter().filter(|name| self.schema.field(name).is_some());
        let wants: Vec<RequestedColumn> = there.cloned().map(RequestedColumn::Value).collect();
        let program = DecodeProgram::compile(&self.schema, &self.schema, &wants, ArrowMapping::Table).map_err(named)?;
        let cells: Box<dyn Iterator<Item = Result<Cells>> + Send> = match &self.wanted {
            KeyFilter::All => Box::new(self.file.scan()),
            KeyFilter::Keys(keys) => Box::new(self.file.seek(keys).map_err(named)?),
            KeyFilter::Prefixes(prefixes) => Box::new(self.file.seek_prefixes(prefixes).map_err(named)?),
        };
        let takes_keys =
            program.schema().fields().find(KEY_FIELD).is_some_and(|(_, f)| *f.data_type() == DataType::Utf8);
        Ok(Box::new(HFileRows {
            cells: Some(cells),
            block: None,
            decoder: Decoder::new(Arc::new(program)),
            keys: takes_keys.then(StringBuilder::new),
            wanted: Arc::clone(wanted),
            limit,
            bytes: 0,
            path: self.path,
        }))
    }
}

/// Rows of data blocks, decoded batch by batch.
struct HFileRows {
    /// None after an error, and after the last block.
    cells: Option<Box<dyn Iterator<Item = Result<Cells>> + Send>>,
    /// The block at hand, and how many of its cells are done.
    block: Option<(Cells, usize)>,
    decoder: Decoder,
    /// The cells' keys of the rows decoded so far, where the field `key` is wanted.
    keys: Option<StringBuilder>,
    wanted: SchemaRef,
    limit: BatchLimit,
    /// Bytes of the records decoded so far.
    bytes: usize,
    path: String,
}

impl HFileRows {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        while self.decoder.len() < self.limit.rows() && self.bytes < self.limit.bytes() {
            if self.block.is_none() {
                let next = self.cells.as_mut().and_then(Iterator::next).transpose()?;
                let Some(next) = next else { break };
                self.block = Some((next, 0));
            }
            self.decode_some()?;
        }
        if self.decoder.is_empty() {
            self.cells = None;
            return Ok(None);
        }
        self.finish().map(Some)
    }

    /// Decodes as many cells of the current block as fit into the batch.
    fn decode_some(&mut self) -> Result<()> {
        let Some((cells, done)) = &mut self.block else { return Ok(()) };
        let free = self.limit.rows().saturating_sub(self.decoder.len());
        let end = cells.cells.len().min(done.saturating_add(free));
        let some = some_of(cells, *done..end)?;
        let (fits, bytes) = fitting(some, cells.payload.len(), self.limit.bytes().saturating_sub(self.bytes));
        let end = done.saturating_add(fits);
        self.bytes = self.bytes.saturating_add(bytes);
        decode(&mut self.decoder, cells, *done..end)?;
        if let Some(keys) = &mut self.keys {
            for cell in some_of(cells, *done..end)? {
                let key = std::str::from_utf8(cells.key(cell))
                    .map_err(|error| Error::corrupt("invalid key in an HFile: not UTF-8").caused_by(error))?;
                keys.append_value(key);
            }
        }
        *done = end;
        if end == cells.cells.len() {
            self.block = None;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        self.bytes = 0;
        let decoded = self.decoder.finish()?;
        let keys = self.keys.as_mut().map(StringBuilder::finish);
        let columns = self.wanted.fields().iter().map(|field| match (decoded.column_by_name(field.name()), &keys) {
            (Some(column), Some(keys)) if field.name() == KEY_FIELD => {
                conform_field(&filled(column, keys), field, field.name())
            }
            (Some(column), _) => conform_field(column, field, field.name()),
            (None, _) => Ok(new_null_array(field.data_type(), decoded.num_rows())),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(decoded.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.wanted), columns.collect::<Result<_>>()?, &options)
            .map_err(|error| Error::invalid_table("columns of a base file make no batch").caused_by(error))
    }
}

impl Iterator for HFileRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cells.as_ref()?;
        let step = self.step().map_err(|error| error.in_file(&self.path)).transpose();
        if matches!(step, Some(Err(_))) {
            self.cells = None;
        }
        step
    }
}

/// Decodes the values of some cells of a block. Offsets in the decompressed block are not offsets in the file.
fn decode(decoder: &mut Decoder, cells: &Cells, range: std::ops::Range<usize>) -> Result<()> {
    let datums: Vec<Datum> = some_of(cells, range)?
        .iter()
        .map(|cell| Datum { at: cell.value.start, len: cell.value.end.saturating_sub(cell.value.start) })
        .collect();
    decoder.decode(&cells.payload, &datums).map_err(|error| error.moved_to(0))
}

/// How many of the cells of a block have so many bytes, the last of them partly, and how many bytes these are. One at
/// least.
fn fitting(cells: &[Cell], block_bytes: usize, most_bytes: usize) -> (usize, usize) {
    if block_bytes <= most_bytes {
        return (cells.len(), block_bytes);
    }
    let mut bytes = 0_usize;
    let fits = cells.iter().take_while(|cell| {
        let is_before = bytes < most_bytes;
        if is_before {
            bytes = bytes.saturating_add(cell.value.end.saturating_sub(cell.value.start) as usize);
        }
        is_before
    });
    (fits.count().max(1), bytes)
}

fn some_of(cells: &Cells, range: std::ops::Range<usize>) -> Result<&[Cell]> {
    let some = cells.cells.get(range.clone());
    some.ok_or_else(|| Error::internal(format_args!("cells {range:?} of a block of {}", cells.cells.len())))
}

/// The field's strings, the cells' keys where they are empty.
fn filled(field: &ArrayRef, keys: &StringArray) -> ArrayRef {
    let Some(strings) = field.as_string_opt::<i32>() else { return Arc::clone(field) };
    let filled = strings.iter().zip(keys).map(|(text, key)| if text == Some("") { key } else { text });
    Arc::new(filled.collect::<StringArray>())
}
