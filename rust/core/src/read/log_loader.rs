//! The keys of all blocks of a slice, read into a merger, oldest block first.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::deleted_rows::DeletedKeys;
use super::log_blocks::LogBlocks;
use super::log_keys::KeyColumns;
use super::log_records::LogRecords;
use super::log_source::{BlockPlace, LogSource, ParquetBlock, Rows};
use super::memory::SliceMemory;
use super::record_key::RecordKey;
use super::report::SharedReport;
use crate::avro::{self, Decoder, Program, Types, Want};
use crate::error::{Error, Result};
use crate::log::content::avro_data::Frames;
use crate::log::content::deleted::Deletes;
use crate::log::content::{delete, hfile_data};
use crate::log::{BlockKind, BlockRef, BlockType, HeaderKey, block_positions};
use crate::merge::{LogBatch, LogKind, LogSink};
use crate::names::FieldNames;
use crate::schema::{Evolution, in_tables_names};
use crate::storage::Source;

/// Records whose keys are decoded at a time: few enough for their bytes to stay near until their keys are looked for.
const KEYS_AT_ONCE: usize = 1024;

/// Feeds a merger with blocks.
pub(super) struct LogLoader<'a> {
    pub(super) table: &'a avro::Schema,
    pub(super) types: &'a arrow_schema::Schema,
    /// What blocks call the table's columns.
    pub(super) evolution: Option<&'a Evolution>,
    pub(super) keys: &'a KeyColumns,
    /// The columns to fetch of rows that win.
    pub(super) carried: &'a SchemaRef,
    /// Makes rows of deleted keys, where they are delivered.
    pub(super) deleted: Option<DeletedKeys>,
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
    memory: &'m mut SliceMemory,
    /// By the schema as stored and what the block calls the table's columns.
    compiled: HashMap<(Bytes, FieldNames), Compiled>,
    /// The numbers of the base rows that the records of the block update, from the next record on; none where they go by keys.
    numbers: VecDeque<u64>,
}

impl Loading<'_> {
    /// The numbers of the next records.
    fn next_numbers(&mut self, records: usize) -> Vec<u64> {
        self.numbers.drain(..records.min(self.numbers.len())).collect()
    }
}

impl<'a> LogLoader<'a> {
    /// Reads the keys of some blocks, by their ordinals.
    pub(super) fn load(
        &self,
        blocks: &LogBlocks,
        some: Range<usize>,
        merger: &mut dyn LogSink,
        memory: &mut SliceMemory,
    ) -> Result<LogRecords> {
        let is_first = memory.begin_pass();
        let records = LogRecords::new(Arc::clone(self.carried), self.report.clone());
        let mut loading = Loading { merger, records, memory, compiled: HashMap::new(), numbers: VecDeque::new() };
        let mut read_in_all = 0;
        for found in blocks.blocks.get(some).unwrap_or_default() {
            let Some(file) = blocks.files.get(found.file) else { continue };
            let place = BlockPlace::of(file.as_ref(), &found.block, false);
            let read = self.load_block(found, file, &place, &mut loading).map_err(|error| place.mark(error))?;
            read_in_all += read as u64;
        }
        // However often the logs are read: each record counts once.
        self.report.edit().records_read += if is_first { read_in_all } else { 0 };
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
        if self.keys.key == RecordKey::Number {
            loading.numbers = block_positions(file, &found.block)?.unwrap_or_default().into();
        }
        let mut content = || loading.memory.content(file.as_ref(), found.block.content.clone());
        match &found.block.kind {
            BlockKind::Sound(BlockType::Delete) => {
                let content = content()?;
                self.load_deletes(content, place, loading)
            }
            _ if found.block.content.is_empty() => Ok(0),
            BlockKind::Sound(BlockType::AvroData) => {
                let content = content()?;
                self.load_avro(found, content, place, loading)
            }
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
        let of = (text.clone(), self.names(found).clone());
        if !loading.compiled.contains_key(&of) {
            let writer = self.writer(found)?;
            let reader =
                if found.block.is_partial() { &optional_where_missing(self.table, &writer)? } else { self.table };
            let keys = Program::compile(&writer, reader, &self.keys.wants(), Types::Table)?;
            let carried: Vec<Want> =
                self.carried.fields().iter().map(|field| Want::Value(field.name().clone())).collect();
            let carried = Program::compile(&writer, reader, &carried, Types::Table)?;
            let compiled = Compiled { keys: Arc::new(keys), carried: loading.records.add_program(carried) };
            loading.compiled.insert(of.clone(), compiled);
        }
        loading.compiled.get(&of).ok_or_else(no_schema)
    }

    /// What a block calls the table's columns.
    fn names(&self, found: &BlockRef) -> &'a FieldNames {
        match (self.evolution, found.block.header.instant_time()) {
            (Some(evolution), Some(instant)) => evolution.names_at(&instant),
            _ => FieldNames::same(),
        }
    }

    /// The schema that a block was written with, in the table's names.
    fn writer(&self, found: &BlockRef) -> Result<avro::Schema> {
        in_tables_names(&avro::Schema::parse(schema_text(found)?)?, self.names(found))
    }

    fn load_avro(
        &self,
        block: &BlockRef,
        content: Bytes,
        place: &BlockPlace,
        loading: &mut Loading<'_>,
    ) -> Result<usize> {
        let compiled = self.compile(block, loading)?;
        let (keys, program) = (Arc::clone(&compiled.keys), compiled.carried);
        let mut frames = Frames::new(content.as_ref())?;
        let records = frames.left();
        let (mut decoder, mut found) = (Decoder::new(keys), Vec::new());
        while frames.left() > 0 {
            found.clear();
            frames.next(KEYS_AT_ONCE, &mut found)?;
            decoder.decode(&content, &found)?;
            let places: Vec<u32> = found.iter().map(|datum| datum.at).collect();
            self.add_data(&decoder.finish()?, &content, &places, loading)?;
            self.note_missing(block, loading)?;
            let rows = Rows::Avro { content: content.clone(), program };
            loading.records.add_source(LogSource { rows, place: place.clone() });
        }
        Ok(records)
    }

    /// Unpacked, an HFile block is an Avro block.
    fn load_hfile(&self, found: &BlockRef, file: &Arc<dyn Source>, loading: &mut Loading<'_>) -> Result<usize> {
        let schema = self.writer(found)?;
        let content = &found.block.content;
        let wanted = loading.merger.wanted();
        let unpack = || hfile_data::as_avro(file, content, &schema, self.keys.key.column(), wanted);
        let unpacked = loading.memory.unpacked(file.as_ref(), content.start, unpack)?;
        let place = BlockPlace::of(file.as_ref(), &found.block, true);
        self.load_avro(found, unpacked, &place, loading).map_err(|error| place.mark(error))
    }

    fn load_parquet(
        &self,
        found: &BlockRef,
        file: &Arc<dyn Source>,
        place: &BlockPlace,
        loading: &mut Loading<'_>,
    ) -> Result<usize> {
        let block = ParquetBlock::new(Arc::clone(file), found, self.names(found), Arc::clone(self.carried));
        let mut read = 0;
        let batches = block.batches(&self.keys.columns(self.types)?)?;
        let block = loading.records.add_parquet(block);
        for (batch, decoded) in batches.enumerate() {
            let decoded = decoded?;
            read += decoded.num_rows();
            let places: Vec<u32> = (0_u32..).take(decoded.num_rows()).collect();
            self.add_data(&decoded, &Bytes::new(), &places, loading)?;
            self.note_missing(found, loading)?;
            loading.records.add_source(LogSource { rows: Rows::Parquet { block, batch }, place: place.clone() });
        }
        Ok(read)
    }

    /// Hands the keys of records to the merger, as a source of their own. Stored keys lie in `content`.
    fn add_data(
        &self,
        decoded: &RecordBatch,
        content: &Bytes,
        places: &[u32],
        loading: &mut Loading<'_>,
    ) -> Result<()> {
        let (keys, rest) = self.keys.key.of_log(decoded, content, &loading.next_numbers(places.len()))?;
        let batch = self.keys.batch(rest, decoded.num_rows())?;
        let (ordering, keys_at) = (&batch.ordering, &keys.places);
        let source = loading.merger.add_source(loading.memory.of_pass(keys.bytes, content)?)?;
        let records =
            LogBatch { kind: LogKind::Data, keys: keys_at, ordering, deleted: batch.deleted.as_ref(), places };
        loading.merger.add(source, &records)
    }

    /// Of a block of partial records, which carried columns it does not have.
    fn note_missing(&self, found: &BlockRef, loading: &mut Loading<'_>) -> Result<()> {
        if found.block.is_partial() {
            let writer = self.writer(found)?;
            let missing = self.carried.fields().iter().map(|field| writer.field(field.name()).is_none());
            loading.records.add_missing(missing.collect());
        }
        Ok(())
    }

    fn load_deletes(&self, content: Bytes, place: &BlockPlace, loading: &mut Loading<'_>) -> Result<usize> {
        let deletes = delete::deletes(&content)?;
        let known = self.deleted.as_ref().map(|keys| keys.of_block(&deletes, place.instant())).transpose()?;
        let Deletes { text, deleted } = deletes;
        let ordering = self.keys.deleted_ordering(&deleted, &text)?;
        let places: Vec<u32> = (0_u32..).take(deleted.len()).collect();
        let keys = self.keys.deleted_keys(&deleted, &text, &loading.next_numbers(deleted.len()));
        let source = loading.merger.add_source(loading.memory.of_pass(keys.bytes, &content)?)?;
        loading.merger.add(
            source,
            &LogBatch {
                kind: LogKind::Delete,
                keys: &keys.places,
                ordering: &ordering,
                deleted: Some(&BooleanArray::from(vec![true; deleted.len()])),
                places: &places,
            },
        )?;
        loading.records.add_source(LogSource { rows: Rows::Deletes(known), place: place.clone() });
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
