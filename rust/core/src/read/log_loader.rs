//! The keys of all blocks of a slice, read into a merger, oldest block first.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::log_blocks::LogBlocks;
use super::log_keys::{KeyBatch, KeyColumns};
use super::log_records::LogRecords;
use super::log_source::{BlockPlace, LogSource, ParquetBlock, Rows};
use super::report::SharedReport;
use crate::avro::{self, Datum, Decoder, Program, Types, Want};
use crate::error::{Error, Result};
use crate::log::content::deleted::Deletes;
use crate::log::content::{avro_data, delete, hfile_data};
use crate::log::{BlockKind, BlockRef, BlockType, HeaderKey};
use crate::merge::{LogBatch, LogKind, LogSink};
use crate::storage::Source;

/// Records whose keys are decoded at a time.
const KEYS_AT_ONCE: usize = 16 * 1024;

/// Feeds a merger with blocks.
pub(super) struct LogLoader<'a> {
    pub(super) table: &'a avro::Schema,
    pub(super) types: &'a arrow_schema::Schema,
    pub(super) keys: &'a KeyColumns,
    /// The columns to fetch of rows that win.
    pub(super) carried: &'a SchemaRef,
    pub(super) report: SharedReport,
}

/// Programs compiled for one writer schema: the keys', and the carried columns'.
struct Compiled {
    keys: Arc<Program>,
    carried: usize,
}

/// What is being read.
struct Loading<'m> {
    merger: &'m mut dyn LogSink,
    records: LogRecords,
    compiled: HashMap<Bytes, Compiled>,
}

impl LogLoader<'_> {
    /// Reads the keys of all blocks.
    pub(super) fn load(&self, blocks: LogBlocks, merger: &mut dyn LogSink) -> Result<LogRecords> {
        let records = LogRecords::new(Arc::clone(self.carried), self.report.clone());
        let mut loading = Loading { merger, records, compiled: HashMap::new() };
        for found in &blocks.blocks {
            let Some(file) = blocks.files.get(found.file) else { continue };
            let place = BlockPlace::of(file.as_ref(), &found.block, false);
            let read = self.load_block(found, file, &place, &mut loading).map_err(|error| place.mark(error))?;
            self.report.edit().records_read += read as u64;
        }
        Ok(loading.records)
    }

    /// How many records the block has.
    fn load_block(
        &self,
        found: &BlockRef,
        file: &Arc<dyn Source>,
        place: &BlockPlace,
        loading: &mut Loading<'_>,
    ) -> Result<usize> {
        let content = || file.read(found.block.content.clone());
        match &found.block.kind {
            BlockKind::Sound(BlockType::Delete) => self.load_deletes(content()?, place, loading),
            _ if found.block.content.is_empty() => Ok(0),
            BlockKind::Sound(BlockType::AvroData) => self.load_avro(found, content()?, place, loading),
            BlockKind::Sound(BlockType::HfileData) => self.load_hfile(found, file, loading),
            BlockKind::Sound(BlockType::ParquetData) => self.load_parquet(found, file, place, loading),
            _ => Err(Error::unsupported(format!(
                "a log block of type {}, which holds no rows of a snapshot",
                found.block.type_name()
            ))),
        }
    }

    fn compile<'c>(&self, found: &BlockRef, loading: &'c mut Loading<'_>) -> Result<&'c Compiled> {
        let text = found.block.header.bytes(HeaderKey::Schema).ok_or_else(no_schema)?;
        if !loading.compiled.contains_key(text) {
            let writer = avro::Schema::parse(schema_text(found)?)?;
            let reader =
                if found.block.is_partial() { &optional_where_missing(self.table, &writer)? } else { self.table };
            let keys = Program::compile(&writer, reader, &self.keys.wants(), Types::Table)?;
            let carried: Vec<Want> =
                self.carried.fields().iter().map(|field| Want::Value(field.name().clone())).collect();
            let carried = Program::compile(&writer, reader, &carried, Types::Table)?;
            let compiled = Compiled { keys: Arc::new(keys), carried: loading.records.add_program(carried) };
            loading.compiled.insert(text.clone(), compiled);
        }
        loading.compiled.get(text).ok_or_else(no_schema)
    }

    fn load_avro(
        &self,
        found: &BlockRef,
        content: Bytes,
        place: &BlockPlace,
        loading: &mut Loading<'_>,
    ) -> Result<usize> {
        let compiled = self.compile(found, loading)?;
        let (keys, program) = (Arc::clone(&compiled.keys), compiled.carried);
        let datums: Vec<Datum> =
            avro_data::records(&content)?.datums.into_iter().map(|(at, len)| Datum { at, len }).collect();
        let source = loading.merger.add_source(content.clone())?;
        for some in datums.chunks(KEYS_AT_ONCE) {
            let mut decoder = Decoder::new(Arc::clone(&keys));
            decoder.decode(&content, some)?;
            let decoded = decoder.finish()?;
            let (keys, rest) = split_places(&decoded)?;
            let places: Vec<u32> = some.iter().map(|datum| datum.at).collect();
            add_data(source, keys, &self.keys.batch(rest)?, &places, loading.merger)?;
        }
        let rows = Rows::Avro { content, program };
        self.note_missing(found, loading)?;
        loading.records.add_source(LogSource { rows, place: place.clone() });
        Ok(datums.len())
    }

    /// Unpacked, an HFile block is an Avro block.
    fn load_hfile(&self, found: &BlockRef, file: &Arc<dyn Source>, loading: &mut Loading<'_>) -> Result<usize> {
        let schema = avro::Schema::parse(schema_text(found)?)?;
        let content = &found.block.content;
        let unpacked = hfile_data::as_avro(file, content, &schema, Some(&self.keys.key), loading.merger.wanted())?;
        let place = BlockPlace::of(file.as_ref(), &found.block, true);
        self.load_avro(found, unpacked, &place, loading).map_err(|error| place.mark(error))
    }

    /// Each batch is a source of its own, so that its keys lie in one buffer.
    fn load_parquet(
        &self,
        found: &BlockRef,
        file: &Arc<dyn Source>,
        place: &BlockPlace,
        loading: &mut Loading<'_>,
    ) -> Result<usize> {
        let block = ParquetBlock::new(Arc::clone(file), found, Arc::clone(self.carried));
        let mut read = 0;
        let batches = block.batches(&self.keys.columns(self.types)?)?;
        let block = loading.records.add_parquet(block);
        for (batch, decoded) in batches.enumerate() {
            let decoded = decoded?;
            read += decoded.num_rows();
            let (keys, bytes, rest) = split_texts(&decoded)?;
            let source = loading.merger.add_source(bytes)?;
            let places: Vec<u32> = (0_u32..).take(decoded.num_rows()).collect();
            add_data(source, &keys, &self.keys.batch(rest)?, &places, loading.merger)?;
            self.note_missing(found, loading)?;
            loading.records.add_source(LogSource { rows: Rows::Parquet { block, batch }, place: place.clone() });
        }
        Ok(read)
    }

    /// Of a block of partial records, which carried columns it does not have.
    fn note_missing(&self, found: &BlockRef, loading: &mut Loading<'_>) -> Result<()> {
        if found.block.is_partial() {
            let writer = avro::Schema::parse(schema_text(found)?)?;
            let missing = self.carried.fields().iter().map(|field| writer.field(field.name()).is_none());
            loading.records.add_missing(missing.collect());
        }
        Ok(())
    }

    fn load_deletes(&self, content: Bytes, place: &BlockPlace, loading: &mut Loading<'_>) -> Result<usize> {
        let Deletes { text, deleted } = delete::deletes(&content)?;
        let ordering = self.keys.deleted_ordering(&deleted, &text)?;
        let source = loading.merger.add_source(text)?;
        loading.merger.add(
            source,
            &LogBatch {
                kind: LogKind::Delete,
                keys: &self.keys.deleted_keys(&deleted),
                ordering: &ordering,
                deleted: Some(&BooleanArray::from(vec![true; deleted.len()])),
                places: &vec![0; deleted.len()],
            },
        )?;
        loading.records.add_source(LogSource { rows: Rows::Deletes, place: place.clone() });
        Ok(deleted.len())
    }
}

/// The table's schema, fields that the writer does not have made nullable: a partial record is none the worse for them.
fn optional_where_missing(table: &avro::Schema, writer: &avro::Schema) -> Result<avro::Schema> {
    let fields = table.fields().iter().cloned().map(|field| match writer.field(&field.name) {
        Some(_) => field,
        None => {
            avro::Field { ty: field.ty.non_null().clone().nullable(), default: Some(serde_json::Value::Null), ..field }
        }
    });
    table.with_fields(fields.collect())
}

fn schema_text(found: &BlockRef) -> Result<&str> {
    let text = found.block.header.bytes(HeaderKey::Schema).ok_or_else(no_schema)?;
    std::str::from_utf8(text)
        .map_err(|error| Error::corrupt("the SCHEMA of a block's header is not UTF-8").caused_by(error))
}

fn no_schema() -> Error {
    Error::corrupt("a data block without SCHEMA in its header")
}

fn add_data(source: u32, keys: &UInt64Array, batch: &KeyBatch, places: &[u32], merger: &mut dyn LogSink) -> Result<()> {
    let deleted = batch.markers.deleted()?;
    merger.add(
        source,
        &LogBatch { kind: LogKind::Data, keys, ordering: &batch.ordering, deleted: deleted.as_ref(), places },
    )
}

/// The first column, places of keys, and the others.
fn split_places(decoded: &RecordBatch) -> Result<(&UInt64Array, &[arrow_array::ArrayRef])> {
    let split = decoded.columns().split_first();
    split
        .and_then(|(keys, rest)| Some((keys.as_any().downcast_ref::<UInt64Array>()?, rest)))
        .ok_or_else(|| Error::invalid_table("record keys could not be found in a log block"))
}

/// The first column, texts of keys, as places in their buffer; that buffer; and the other columns.
fn split_texts(decoded: &RecordBatch) -> Result<(UInt64Array, Bytes, &[arrow_array::ArrayRef])> {
    let split = decoded.columns().split_first();
    let (keys, rest) = split
        .and_then(|(keys, rest)| Some((keys.as_any().downcast_ref::<StringArray>()?, rest)))
        .ok_or_else(|| Error::invalid_table("record keys of a log block are no text"))?;
    let places = keys.offsets().windows(2).map(|ends| match *ends {
        // Offsets of an Arrow array begin at 0 or later and never fall.
        [start, end] => u64::from(start.unsigned_abs()) << 32 | u64::from((end - start).unsigned_abs()),
        _ => 0,
    });
    let places = UInt64Array::new(places.collect(), keys.nulls().cloned());
    Ok((places, Bytes::from_owner(KeyBytes(keys.values().clone())), rest))
}

/// An Arrow buffer as the bytes of a merger's source.
struct KeyBytes(Buffer);

impl AsRef<[u8]> for KeyBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}
