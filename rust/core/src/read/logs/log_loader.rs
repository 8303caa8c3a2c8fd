//! The keys of all blocks of a slice, read into a merger, oldest block first.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;

use super::deleted_rows::DeletedKeys;
use super::log_blocks::LogBlocks;
use super::log_records::LogRecords;
use super::log_source::{BlockPlace, LogSource, ParquetBlock, Rows};
use crate::avro::{self, Decoder, Program, Types, Want};
use crate::error::{Error, Result};
use crate::keys::KeyColumns;
use crate::keys::RecordKey;
use crate::log::content::avro_data::Frames;
use crate::log::content::deleted::Deletes;
use crate::log::content::{delete, hfile_data};
use crate::log::{BlockKind, BlockRef, BlockType, HeaderKey, block_positions};
use crate::merge::{LogBatch, LogKind, LogSink};
use crate::names::FieldNames;
use crate::read::memory::SliceMemory;
use crate::read::report::SharedReport;
use crate::schema::{Evolution, in_tables_names};
use crate::storage::Source;

/// Records whose keys are decoded at a time: few enough for their bytes to stay near until their keys are looked for.
const KEYS_AT_ONCE: usize = 1024;

/// Feeds a merger with blocks.
pub(in crate::read) struct LogLoader<'a> {
    pub(in crate::read) table: &'a avro::Schema,
    pub(in crate::read) types: &'a arrow_schema::Schema,
    /// What blocks call the table's columns.
    pub(in crate::read) evolution: Option<&'a Evolution>,
    pub(in crate::read) keys: &'a KeyColumns,
    /// The columns to fetch of rows that win.
    pub(in crate::read) carried: &'a SchemaRef,
    /// Makes rows of deleted keys, where they are delivered.
    pub(in crate::read) deleted: Option<DeletedKeys>,
    pub(in crate::read) report: SharedReport,
}

/// What one writer schema is compiled to.
#[derive(Clone)]
struct Compiled {
    /// Decodes the keys.
    keys: Arc<Program>,
    /// The ordinal of the program that decodes the projected columns.
    carried: usize,
    /// The projected columns that the schema does not have; `None` for blocks of whole records.
    missing: Option<Arc<[bool]>>,
}

/// What a block's programs depend on.
#[derive(PartialEq, Eq, Hash)]
struct CompiledFor {
    /// The writer schema as it is stored.
    schema: Bytes,
    /// What the block calls the table's columns.
    names: FieldNames,
    /// Whether its records are partial.
    is_partial: bool,
}

/// What is being read.
struct Loading<'m> {
    merger: &'m mut dyn LogSink,
    records: LogRecords,
    memory: &'m mut SliceMemory,
    compiled: HashMap<CompiledFor, Compiled>,
    /// The numbers of the base rows that the records of the block update, from the next record on; none where they go by keys.
    numbers: VecDeque<u64>,
}

impl Loading<'_> {
    /// The positions of the next records; empty if records are merged by key.
    fn next_numbers(&mut self, key: &RecordKey, records: usize) -> Result<Vec<u64>> {
        if *key != RecordKey::Number {
            return Ok(Vec::new());
        }
        if self.numbers.len() < records {
            let message = format_args!("{} record positions are left for {records} log records", self.numbers.len());
            return Err(Error::internal(message));
        }
        Ok(self.numbers.drain(..records).collect())
    }
}

impl<'a> LogLoader<'a> {
    /// Reads the keys of some blocks, by their ordinals.
    pub(in crate::read) fn load(
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
        let count = blocks.blocks.len();
        let some_blocks = blocks.blocks.get(some.clone());
        let no_blocks = || Error::internal(format_args!("blocks {some:?} of a file slice that has {count}"));
        for found in some_blocks.ok_or_else(no_blocks)? {
            let no_file = || Error::internal(format_args!("a log block of file {}, which was not opened", found.file));
            let file = blocks.files.get(found.file).ok_or_else(no_file)?;
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
            let positions = block_positions(file, &found.block)?;
            let no_positions = || Error::internal("a merge by position of a log block that has no record positions");
            loading.numbers = positions.ok_or_else(no_positions)?.into();
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

    fn compile(&self, found: &BlockRef, loading: &mut Loading<'_>) -> Result<Compiled> {
        let text = found.block.header.bytes(HeaderKey::Schema).ok_or_else(no_schema)?;
        let of = CompiledFor {
            schema: text.clone(),
            names: self.names(found).clone(),
            is_partial: found.block.is_partial(),
        };
        if let Some(compiled) = loading.compiled.get(&of) {
            return Ok(compiled.clone());
        }
        let writer = self.writer(found)?;
        let reader = if of.is_partial { &optional_where_missing(self.table, &writer)? } else { self.table };
        let keys = Program::compile(&writer, reader, &self.keys.wants(), Types::Table)?;
        let carried: Vec<Want> = self.carried.fields().iter().map(|field| Want::Value(field.name().clone())).collect();
        let carried = Program::compile(&writer, reader, &carried, Types::Table)?;
        let missing = of.is_partial.then(|| self.missing(&writer));
        let compiled = Compiled { keys: Arc::new(keys), carried: loading.records.add_program(carried), missing };
        loading.compiled.insert(of, compiled.clone());
        Ok(compiled)
    }

    /// What a block calls the table's columns.
    fn names(&self, found: &BlockRef) -> &'a FieldNames {
        match (self.evolution, found.block.header.requested_time()) {
            (Some(evolution), Some(instant)) => evolution.names_at(&instant),
            _ => FieldNames::identity(),
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
        let Compiled { keys, carried: program, missing } = self.compile(block, loading)?;
        let mut frames = Frames::new(content.as_ref())?;
        let records = frames.left();
        let (mut decoder, mut found) = (Decoder::new(keys), Vec::new());
        while frames.left() > 0 {
            found.clear();
            frames.next(KEYS_AT_ONCE, &mut found)?;
            decoder.decode(&content, &found)?;
            let places: Vec<u32> = found.iter().map(|datum| datum.at).collect();
            self.add_data(&decoder.finish()?, &content, &places, loading)?;
            if let Some(missing) = &missing {
                loading.records.add_missing(Arc::clone(missing));
            }
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
        let unpack = || hfile_data::as_avro(file, content, &schema, self.keys.key_column(), wanted);
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
        let missing = if found.block.is_partial() { Some(self.missing(&self.writer(found)?)) } else { None };
        let batches = block.batches(&self.keys.columns(self.types)?)?;
        let block = loading.records.add_parquet(block);
        for (batch, decoded) in batches.enumerate() {
            let decoded = decoded?;
            read += decoded.num_rows();
            let places: Vec<u32> = (0_u32..).take(decoded.num_rows()).collect();
            self.add_data(&decoded, &Bytes::new(), &places, loading)?;
            if let Some(missing) = &missing {
                loading.records.add_missing(Arc::clone(missing));
            }
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
        let numbers = loading.next_numbers(&self.keys.key, places.len())?;
        let Some(wanted) = self.keys.are_wanted(decoded, content)? else {
            return self.add_wanted(decoded, content, places, &numbers, loading);
        };
        let kept = filter_record_batch(decoded, &wanted)
            .map_err(|error| Error::internal("records could not be filtered by key").caused_by(error))?;
        let of_wanted = |values: &[u32]| -> Vec<u32> {
            values.iter().zip(wanted.values()).filter_map(|(value, is_wanted)| is_wanted.then_some(*value)).collect()
        };
        let numbers = numbers.into_iter().zip(wanted.values()).filter_map(|(at, is_wanted)| is_wanted.then_some(at));
        self.add_wanted(&kept, content, &of_wanted(places), &numbers.collect::<Vec<_>>(), loading)
    }

    /// The same of wanted records alone, with their row numbers where these find base rows.
    fn add_wanted(
        &self,
        decoded: &RecordBatch,
        content: &Bytes,
        places: &[u32],
        numbers: &[u64],
        loading: &mut Loading<'_>,
    ) -> Result<()> {
        let (keys, rest) = self.keys.of_log(decoded, content, numbers)?;
        let batch = self.keys.batch(rest, decoded.num_rows())?;
        let (ordering, keys_at) = (&batch.ordering, &keys.places);
        let source = loading.merger.add_source(loading.memory.of_pass(keys.bytes, content)?)?;
        let records =
            LogBatch { kind: LogKind::Data, keys: keys_at, ordering, deleted: batch.deleted.as_ref(), places };
        loading.merger.add(source, &records)
    }

    /// The projected columns that a block of partial records does not have.
    fn missing(&self, writer: &avro::Schema) -> Arc<[bool]> {
        self.carried.fields().iter().map(|field| writer.field(field.name()).is_none()).collect()
    }

    fn load_deletes(&self, content: Bytes, place: &BlockPlace, loading: &mut Loading<'_>) -> Result<usize> {
        let deletes = delete::deletes(&content)?;
        let known = self.deleted.as_ref().map(|keys| keys.of_block(&deletes, place.instant())).transpose()?;
        let Deletes { text, deleted } = deletes;
        let ordering = self.keys.deleted_ordering(&deleted, &text)?;
        let places: Vec<u32> = (0_u32..).take(deleted.len()).collect();
        let numbers = loading.next_numbers(&self.keys.key, deleted.len())?;
        let keys = self.keys.deleted_keys(&deleted, &text, &numbers);
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
