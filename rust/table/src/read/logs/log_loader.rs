//! Loads the keys of all blocks of a slice into the merge, oldest block first.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;

use super::deleted_rows::DeletedKeyRows;
use super::log_blocks::LogBlocks;
use super::log_records::LogRecords;
use super::log_source::{BlockLocation, LogSource, ParquetBlock, RowSource};
use crate::read::memory::SliceMemory;
use crate::read::report::SharedReport;
use crate::schema::{SchemaEvolution, case_names, in_tables_names};
use mortice_avro::{self as avro, ArrowMapping, DecodeProgram, Decoder, RequestedColumn};
use mortice_base::error::{Error, Result};
use mortice_base::names::{FieldNames, meta_columns};
use mortice_formats::log::content::avro_data::RecordFrames;
use mortice_formats::log::content::deleted::DeletedKeys;
use mortice_formats::log::content::{delete, hfile_data, parquet_data};
use mortice_formats::log::{BlockKind, BlockRef, BlockType, HeaderKey, block_positions, deleted_keys};
use mortice_merge::keys::KeyColumns;
use mortice_merge::keys::RecordKey;
use mortice_merge::merge::{LogBatch, LogKind, LogSink};
use mortice_storage::FileSource;

/// The number of records whose keys are decoded at a time: few enough for their bytes to stay cached until the keys are
/// probed.
const KEYS_AT_ONCE: usize = 1024;

/// Loads blocks into a merge.
pub(in crate::read) struct LogLoader<'a> {
    pub(in crate::read) table: &'a avro::Schema,
    pub(in crate::read) types: &'a arrow_schema::Schema,
    /// The column names in blocks.
    pub(in crate::read) evolution: Option<&'a SchemaEvolution>,
    pub(in crate::read) keys: &'a KeyColumns,
    /// The columns to fetch of winning records.
    pub(in crate::read) projected: &'a SchemaRef,
    /// Converts deleted keys to rows, if they are returned.
    pub(in crate::read) deleted: Option<DeletedKeyRows>,
    pub(in crate::read) report: SharedReport,
}

/// How the records of one writer schema are read.
#[derive(Clone)]
struct CompiledDecoders {
    /// The key columns, if they differ from the loader's.
    own_keys: Option<Arc<KeyColumns>>,
    /// Decodes the keys.
    keys: Arc<DecodeProgram>,
    /// The ordinal of the program that decodes the projected columns.
    projected: usize,
    /// The projected columns that the schema does not have; `None` for blocks of complete records.
    missing: Option<Arc<[bool]>>,
}

/// The cache key of a block's decoders.
#[derive(PartialEq, Eq, Hash)]
struct CompiledFor {
    /// The writer schema as stored.
    schema: Bytes,
    /// The column names in the block, if columns are identified by ids; else the schema has them.
    names: Option<FieldNames>,
    /// Whether its records are partial.
    is_partial: bool,
}

/// The state of a load.
struct LoadState<'m> {
    merger: &'m mut dyn LogSink,
    records: LogRecords,
    memory: &'m mut SliceMemory,
    /// The partition of the slice.
    partition: &'m str,
    compiled: HashMap<CompiledFor, CompiledDecoders>,
    /// The row numbers of base rows that the remaining records of the block update; empty if records are merged by key.
    numbers: VecDeque<u64>,
}

impl LoadState<'_> {
    /// Returns the positions of the next records; empty if records are merged by key.
    fn next_numbers(&mut self, key: &RecordKey, records: usize) -> Result<Vec<u64>> {
        if *key != RecordKey::Number {
            return Ok(Vec::new());
        }
        if self.numbers.len() < records {
            let message =
                format_args!("invalid record positions: {} remain for {records} log records", self.numbers.len());
            return Err(Error::internal(message));
        }
        Ok(self.numbers.drain(..records).collect())
    }
}

impl<'a> LogLoader<'a> {
    /// Loads the keys of some blocks, by ordinal.
    pub(in crate::read) fn load(
        &self,
        blocks: &LogBlocks,
        some: Range<usize>,
        merger: &mut dyn LogSink,
        memory: &mut SliceMemory,
    ) -> Result<LogRecords> {
        let is_first = memory.begin_pass();
        let records = LogRecords::new(Arc::clone(self.projected), self.report.clone());
        let (compiled, numbers) = (HashMap::new(), VecDeque::new());
        let mut loading = LoadState { merger, records, memory, partition: &blocks.partition, compiled, numbers };
        let mut read_in_all = 0;
        let count = blocks.blocks.len();
        let some_blocks = blocks.blocks.get(some.clone());
        let no_blocks = || Error::internal(format_args!("blocks {some:?} of a file slice that has {count}"));
        for found in some_blocks.ok_or_else(no_blocks)? {
            let no_file = || Error::internal(format_args!("a log block of file {}, which was not opened", found.file));
            let file = blocks.files.get(found.file).ok_or_else(no_file)?;
            let location = BlockLocation::new(file.as_ref(), &found.block, false);
            let read = self.load_block(found, file, &location, &mut loading).map_err(|error| location.mark(error))?;
            read_in_all += read as u64;
        }
        // Each record is counted once, even if the logs are read several times.
        self.report.edit().records_read += if is_first { read_in_all } else { 0 };
        Ok(loading.records)
    }

    /// Returns the record count of the block.
    fn load_block(
        &self,
        found: &BlockRef,
        file: &Arc<dyn FileSource>,
        location: &BlockLocation,
        loading: &mut LoadState<'_>,
    ) -> Result<usize> {
        if self.keys.key == RecordKey::Number {
            let positions = block_positions(file, &found.block)?;
            let no_positions = || Error::internal("a merge by position of a log block that has no record positions");
            loading.numbers = positions.ok_or_else(no_positions)?.into();
        }
        let mut content = || loading.memory.content(file.as_ref(), found.block.content.clone());
        match &found.block.kind {
            BlockKind::Sound(BlockType::Delete) if found.block.is_native => {
                let deletes = deleted_keys(file, &found.block, Some(loading.partition))?;
                self.load_deletes(deletes, &Bytes::new(), location, loading)
            }
            BlockKind::Sound(BlockType::Delete) => {
                let content = content()?;
                self.load_deletes(delete::deletes(&content)?, &content, location, loading)
            }
            _ if found.block.content.is_empty() => Ok(0),
            BlockKind::Sound(BlockType::AvroData) => {
                let content = content()?;
                self.load_avro(found, content, location, loading)
            }
            BlockKind::Sound(BlockType::HfileData) => self.load_hfile(found, file, loading),
            BlockKind::Sound(BlockType::ParquetData) => self.load_parquet(found, file, location, loading),
            _ => Err(Error::unsupported(format!(
                "a log block of type {}, which has no rows of a snapshot",
                found.block.type_name()
            ))),
        }
    }

    fn compile(&self, found: &BlockRef, loading: &mut LoadState<'_>) -> Result<CompiledDecoders> {
        let text = found.block.header.bytes(HeaderKey::Schema).ok_or_else(no_schema)?;
        let names = self.evolved_names(found).cloned();
        let of = CompiledFor { schema: text.clone(), names, is_partial: found.block.is_partial() };
        if let Some(compiled) = loading.compiled.get(&of) {
            return Ok(compiled.clone());
        }
        let writer = self.writer(found)?;
        let reader = if of.is_partial { &optional_where_missing(self.table, &writer)? } else { self.table };
        let own_keys = self.keys.with_operation_of(&writer).map(Arc::new);
        let keys = match &own_keys {
            None => DecodeProgram::compile(&writer, reader, &self.keys.wants(), ArrowMapping::Table)?,
            Some(keys) => {
                DecodeProgram::compile(&writer, &with_operation(reader)?, &keys.wants(), ArrowMapping::Table)?
            }
        };
        let projected: Vec<RequestedColumn> =
            self.projected.fields().iter().map(|field| RequestedColumn::Value(field.name().clone())).collect();
        let projected = DecodeProgram::compile(&writer, reader, &projected, ArrowMapping::Table)?;
        let missing = of.is_partial.then(|| self.missing(&writer));
        let compiled = CompiledDecoders {
            own_keys,
            keys: Arc::new(keys),
            projected: loading.records.add_program(projected),
            missing,
        };
        loading.compiled.insert(of, compiled.clone());
        Ok(compiled)
    }

    /// Returns the column names in a block, if columns are identified by ids.
    fn evolved_names(&self, found: &BlockRef) -> Option<&'a FieldNames> {
        Some(self.evolution?.names_at(&found.block.header.requested_time()?))
    }

    /// Returns the writer schema of a block, with the table's column names: of their ids, or in either case.
    fn writer(&self, found: &BlockRef) -> Result<avro::Schema> {
        let schema = avro::Schema::parse(schema_text(found)?)?;
        if let Some(names) = self.evolved_names(found) {
            return in_tables_names(&schema, names);
        }
        let by_case = case_names(self.table, &schema);
        if by_case.is_identity() {
            return Ok(schema);
        }
        let keys = self.keys.wants();
        let projected = self.projected.fields().iter().map(|field| field.name().as_str());
        by_case.check(projected.chain(keys.iter().map(RequestedColumn::name)))?;
        in_tables_names(&schema, by_case.names())
    }

    fn load_avro(
        &self,
        block: &BlockRef,
        content: Bytes,
        location: &BlockLocation,
        loading: &mut LoadState<'_>,
    ) -> Result<usize> {
        let CompiledDecoders { own_keys, keys, projected: program, missing } = self.compile(block, loading)?;
        let columns = own_keys.as_deref().unwrap_or(self.keys);
        let mut frames = RecordFrames::new(content.as_ref())?;
        let records = frames.left();
        let (mut decoder, mut found) = (Decoder::new(keys), Vec::new());
        while frames.left() > 0 {
            found.clear();
            frames.next(KEYS_AT_ONCE, &mut found)?;
            decoder.decode(&content, &found)?;
            let places: Vec<u32> = found.iter().map(|datum| datum.at).collect();
            loading.records.note_row_bytes(found.iter().map(|datum| datum.len as usize).max().unwrap_or_default());
            self.add_data(columns, &decoder.finish()?, (&content, &places), loading)?;
            if let Some(missing) = &missing {
                loading.records.add_missing(Arc::clone(missing));
            }
            let rows = RowSource::Avro { content: content.clone(), program };
            loading.records.add_source(LogSource { rows, location: location.clone() });
        }
        Ok(records)
    }

    /// A decompressed HFile block is an Avro block.
    fn load_hfile(&self, found: &BlockRef, file: &Arc<dyn FileSource>, loading: &mut LoadState<'_>) -> Result<usize> {
        let schema = self.writer(found)?;
        let content = &found.block.content;
        let wanted = loading.merger.wanted();
        let key = if found.block.is_native { Some(hfile_data::NATIVE_KEY_FIELD) } else { self.keys.key_column() };
        let unpack = || hfile_data::as_avro(file, content, &schema, key, wanted);
        let decompressed = loading.memory.converted(file.as_ref(), content.start, unpack)?;
        let location = BlockLocation::new(file.as_ref(), &found.block, true);
        self.load_avro(found, decompressed, &location, loading).map_err(|error| location.mark(error))
    }

    fn load_parquet(
        &self,
        found: &BlockRef,
        file: &Arc<dyn FileSource>,
        location: &BlockLocation,
        loading: &mut LoadState<'_>,
    ) -> Result<usize> {
        let (content, wanted) = (&found.block.content, loading.merger.wanted());
        if self.keys.key_column() == Some(meta_columns::RECORD_KEY)
            && !parquet_data::may_have_keys(file, content, meta_columns::RECORD_KEY, wanted)?
        {
            loading.numbers.clear();
            return Ok(0);
        }
        parquet_data::check_names(file, content, &avro::Schema::parse(schema_text(found)?)?)?;
        let writer = self.writer(found)?;
        let names = self.evolved_names(found).unwrap_or(FieldNames::identity());
        let schema = (self.table, names);
        let block =
            ParquetBlock::new(Arc::clone(file), found, schema, Arc::clone(self.projected), loading.memory.limit());
        let mut read = 0;
        let missing = if found.block.is_partial() { Some(self.missing(&writer)) } else { None };
        let own_keys = self.keys.with_operation_of(&writer);
        let columns = own_keys.as_ref().unwrap_or(self.keys);
        let types = match &own_keys {
            None => columns.columns(self.types)?,
            Some(_) => columns.columns(&avro::arrow_schema(&with_operation(self.table)?, ArrowMapping::Table)?)?,
        };
        let batches = block.batches(&types)?;
        loading.records.note_row_bytes(block.most_row_bytes()?);
        let block = loading.records.add_parquet(block);
        for decoded in batches {
            let (decoded, first) = (decoded?, read as u64);
            read += decoded.num_rows();
            let places: Vec<u32> = (0_u32..).take(decoded.num_rows()).collect();
            self.add_data(columns, &decoded, (&Bytes::new(), &places), loading)?;
            if let Some(missing) = &missing {
                loading.records.add_missing(Arc::clone(missing));
            }
            loading
                .records
                .add_source(LogSource { rows: RowSource::Parquet { block, first }, location: location.clone() });
        }
        Ok(read)
    }

    /// Adds the keys of records to the merge, as one source. Stored keys are ranges of `content`.
    fn add_data(
        &self,
        columns: &KeyColumns,
        decoded: &RecordBatch,
        (content, places): (&Bytes, &[u32]),
        loading: &mut LoadState<'_>,
    ) -> Result<()> {
        let numbers = loading.next_numbers(&self.keys.key, places.len())?;
        let Some(wanted) = columns.are_wanted(decoded, content)? else {
            return Self::add_wanted(columns, decoded, (content, places), &numbers, loading);
        };
        let kept = filter_record_batch(decoded, &wanted)
            .map_err(|error| Error::internal("records could not be filtered by key").caused_by(error))?;
        let of_wanted = |values: &[u32]| -> Vec<u32> {
            values.iter().zip(wanted.values()).filter_map(|(value, is_wanted)| is_wanted.then_some(*value)).collect()
        };
        let numbers = numbers.into_iter().zip(wanted.values()).filter_map(|(at, is_wanted)| is_wanted.then_some(at));
        Self::add_wanted(columns, &kept, (content, &of_wanted(places)), &numbers.collect::<Vec<_>>(), loading)
    }

    /// Adds the required records only, with their row numbers if they are merged by row number.
    fn add_wanted(
        columns: &KeyColumns,
        decoded: &RecordBatch,
        (content, places): (&Bytes, &[u32]),
        numbers: &[u64],
        loading: &mut LoadState<'_>,
    ) -> Result<()> {
        let (keys, rest) = columns.split_keys(decoded, content, numbers)?;
        let batch = columns.batch(rest, decoded.num_rows())?;
        let (ordering, keys_at) = (&batch.ordering, &keys.places);
        let source = loading.merger.add_source(loading.memory.hold_for_pass(keys.bytes, content)?)?;
        let records =
            LogBatch { kind: LogKind::Data, keys: keys_at, ordering, deleted: batch.deleted.as_ref(), places };
        loading.merger.add(source, &records)
    }

    /// Returns the projected columns that a block of partial records does not have.
    fn missing(&self, writer: &avro::Schema) -> Arc<[bool]> {
        self.projected.fields().iter().map(|field| writer.field(field.name()).is_none()).collect()
    }

    /// Adds deleted keys to the merge. Bytes of `content` are held already.
    fn load_deletes(
        &self,
        deletes: DeletedKeys,
        content: &Bytes,
        location: &BlockLocation,
        loading: &mut LoadState<'_>,
    ) -> Result<usize> {
        let known = self.deleted.as_ref().map(|keys| keys.rows_of_block(&deletes, location.instant())).transpose()?;
        let DeletedKeys { text, deleted } = deletes;
        let ordering = self.keys.deleted_ordering(&deleted, &text)?;
        let places: Vec<u32> = (0_u32..).take(deleted.len()).collect();
        let numbers = loading.next_numbers(&self.keys.key, deleted.len())?;
        let keys = self.keys.deleted_keys(&deleted, &text, &numbers);
        let source = loading.merger.add_source(loading.memory.hold_for_pass(keys.bytes, content)?)?;
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
        loading.records.add_source(LogSource { rows: RowSource::Deletes(known), location: location.clone() });
        Ok(deleted.len())
    }
}

/// Returns the table's schema with `_hoodie_operation`, to read it from a block that has it.
fn with_operation(table: &avro::Schema) -> Result<avro::Schema> {
    if table.field(meta_columns::OPERATION).is_some() {
        return Ok(table.clone());
    }
    let field = avro::Field::nullable_string(meta_columns::OPERATION);
    table.with_fields(table.fields().iter().cloned().chain([field]).collect())
}

/// Returns the table's schema, in which fields that the writer does not have are nullable, so that partial records can
/// be read with it.
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
        .map_err(|error| Error::corrupt("invalid data block: SCHEMA in its header is not UTF-8").caused_by(error))
}

fn no_schema() -> Error {
    Error::corrupt("invalid data block: SCHEMA is missing in its header")
}
