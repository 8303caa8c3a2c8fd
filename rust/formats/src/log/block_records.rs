//! The records of one data block: all columns in the units of the file, with the schema of the block.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::DataType;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;

use super::block::{Block, BlockKind};
use super::content::{avro_data, hfile_data, parquet_data};
use super::layout::{BlockType, HeaderKey};
use crate::filter::KeyFilter;
use mortice_avro::{self as avro, ArrowMapping, Datum, DecodeProgram, Decoder, RequestedColumn, Schema};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_storage::FileSource;

/// Returns the first two numbers of an Avro, CDC or delete block's content; `None` if it is too short.
pub(super) fn head(file: &Arc<dyn FileSource>, block: &Block) -> Result<Option<(i32, i32)>> {
    if block.content.end - block.content.start < 8 {
        return Ok(None);
    }
    avro_data::head(&file.read(block.content.start..block.content.start + 8)?).map(Some)
}

/// Returns the record count in a data block; `None` for other blocks, and for numbers that cannot be a count: negative,
/// or too large for the content. Of native logs the rows are counted, also those of deletes.
pub(super) fn count(file: &Arc<dyn FileSource>, block: &Block) -> Result<Option<u64>> {
    if block.is_native {
        return parquet_data::record_count(file, &block.content).map(Some);
    }
    Ok(match block.kind {
        BlockKind::Sound(BlockType::AvroData | BlockType::CdcData) => {
            let most = avro_data::most_records(block.content.end - block.content.start);
            head(file, block)?.map_or(Some(0), |(_, count)| u64::try_from(count).ok().filter(|count| *count <= most))
        }
        BlockKind::Sound(BlockType::ParquetData) => Some(parquet_data::record_count(file, &block.content)?),
        BlockKind::Sound(BlockType::HfileData) => Some(hfile_data::record_count(file, &block.content)?),
        _ => None,
    })
}

/// Returns the type of a data block, and the writer schema in its header.
pub(super) fn kind_and_schema(block: &Block) -> Result<(BlockType, Schema)> {
    let BlockKind::Sound(
        kind @ (BlockType::AvroData | BlockType::CdcData | BlockType::ParquetData | BlockType::HfileData),
    ) = block.kind
    else {
        return Err(Error::invalid_argument(format!("a {} has no records", block.type_name())));
    };
    let Some(text) = block.header.get(HeaderKey::Schema) else {
        return Err(Error::corrupt("invalid data block: SCHEMA is missing in its header"));
    };
    Ok((kind, Schema::parse(&text)?))
}

/// Returns the records with required keys.
pub(super) fn read(file: &Arc<dyn FileSource>, block: &Block, wanted: &KeyFilter) -> Result<RecordBatch> {
    let (kind, schema) = kind_and_schema(block)?;
    let key = key_field(&schema);
    if has_rows(block) {
        let types = Arc::new(avro::arrow_schema(&schema, ArrowMapping::File)?);
        let all = parquet_data::records(file, &block.content, &types, &schema)?;
        return only_wanted(all, key, wanted);
    }
    let content = avro_content(file, block, kind, &schema, wanted)?;
    decode(&content, &schema, key, wanted).map_err(|error| in_file(error, kind))
}

/// Returns true if the content of a block is a file of rows: a Parquet block, a native log other than an HFile.
pub(super) fn has_rows(block: &Block) -> bool {
    match block.kind {
        BlockKind::Sound(BlockType::ParquetData) => true,
        BlockKind::Sound(BlockType::HfileData) => false,
        _ => block.is_native,
    }
}

/// Returns the content of an Avro data block, or of an HFile block converted to one; the latter with required keys
/// only.
pub(super) fn avro_content(
    file: &Arc<dyn FileSource>,
    block: &Block,
    kind: BlockType,
    schema: &Schema,
    wanted: &KeyFilter,
) -> Result<Bytes> {
    match kind {
        BlockType::HfileData => {
            let key = if block.is_native { Some(hfile_data::NATIVE_KEY_FIELD) } else { key_field(schema) };
            hfile_data::as_avro(file, &block.content, schema, key, wanted)
        }
        _ => file.read(block.content.clone()),
    }
}

/// Offsets in converted content are not offsets of the file.
pub(super) fn in_file(error: Error, kind: BlockType) -> Error {
    if kind == BlockType::HfileData { error.moved_to(0) } else { error }
}

/// Returns the field with the record key: the meta column in a table's log, `key` in the metadata table's.
fn key_field(schema: &Schema) -> Option<&str> {
    [meta_columns::RECORD_KEY, "key"].into_iter().find(|name| schema.field(name).is_some())
}

/// Returns a decoder of all fields, in the units of the file.
pub(super) fn decoder(schema: &Schema) -> Result<Decoder> {
    Ok(Decoder::new(Arc::new(DecodeProgram::compile_all(schema, schema, ArrowMapping::File)?)))
}

fn decode(content: &Bytes, schema: &Schema, key: Option<&str>, wanted: &KeyFilter) -> Result<RecordBatch> {
    let mut decoder = decoder(schema)?;
    if !content.is_empty() {
        let datums = avro_data::records(content)?.datums;
        decoder.decode(content, &with_wanted_keys(content, datums, schema, key, wanted)?)?;
    }
    decoder.finish()
}

/// Returns the datums with required keys. Of the others only the key is decoded.
fn with_wanted_keys(
    content: &Bytes,
    datums: Vec<Datum>,
    schema: &Schema,
    key: Option<&str>,
    wanted: &KeyFilter,
) -> Result<Vec<Datum>> {
    if *wanted == KeyFilter::All {
        return Ok(datums);
    }
    let Some(key) = key else { return Err(no_key()) };
    let mut places = Decoder::new(Arc::new(DecodeProgram::compile(
        schema,
        schema,
        &[RequestedColumn::Position(key.to_owned())],
        ArrowMapping::File,
    )?));
    places.decode(content, &datums)?;
    let places = places.finish()?;
    let places = places.column(0).as_primitive::<UInt64Type>();
    let is_wanted = |place: Option<u64>| {
        place.and_then(|place| avro_data::place_of(content, place)).is_some_and(|key| wanted.passes(key))
    };
    Ok(datums.into_iter().zip(places.iter()).filter(|(_, place)| is_wanted(*place)).map(|(datum, _)| datum).collect())
}

fn only_wanted(all: RecordBatch, key: Option<&str>, wanted: &KeyFilter) -> Result<RecordBatch> {
    if *wanted == KeyFilter::All {
        return Ok(all);
    }
    let Some(keys) = key.and_then(|key| all.column_by_name(key)).filter(|keys| *keys.data_type() == DataType::Utf8)
    else {
        return Err(no_key());
    };
    let passing = keys.as_string::<i32>().iter().map(|key| Some(key.is_some_and(|key| wanted.passes(key.as_bytes()))));
    let passing: BooleanArray = passing.collect();
    filter_record_batch(&all, &passing)
        .map_err(|error| Error::corrupt("records of a block cannot be filtered").caused_by(error))
}

fn no_key() -> Error {
    Error::invalid_argument("records cannot be read by key: the block has no field _hoodie_record_key or key")
}
