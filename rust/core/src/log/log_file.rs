//! One log file, looked at by itself: its blocks, their records and deleted keys in the file's own units.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Decimal128Type, DecimalType};
use arrow_array::{ArrayRef, Date32Array, RecordBatch, StringArray};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Schema};

use super::backward::backward;
use super::block::{Block, BlockKind};
use super::content::delete::{DECIMAL_SCALE, Ordering};
use super::content::{avro_data, delete, parquet_data};
use super::forward::Forward;
use super::layout::{BlockType, HeaderKey};
use crate::avro::{self, Datum, Decoder, Program, Types, Want};
use crate::error::{Error, Result};
use crate::storage::{LocalPlace, Source};

/// An open log file.
pub struct LogFile {
    source: Arc<dyn Source>,
}

impl LogFile {
    /// Opens a local file; `mapped` false reads it by windows.
    pub fn open(path: &str, mapped: bool) -> Result<Self> {
        Ok(Self { source: LocalPlace::open_file(Path::new(path), mapped)? })
    }

    /// Bytes in the file.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// Whether the file has no bytes; such a file is sound and has no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// The bytes, for a reader of its own.
    #[must_use]
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// The blocks, first to last or last to first: the same either way.
    pub fn blocks(&self, reverse: bool) -> Box<dyn Iterator<Item = Result<Block>> + Send> {
        let source = Arc::clone(&self.source);
        if reverse { backward(source) } else { Box::new(Forward::new(source)) }
    }

    /// The two numbers at the head of an Avro, CDC or delete content: log block version, and record count or byte length.
    pub fn content_head(&self, block: &Block) -> Result<Option<(i32, i32)>> {
        let BlockKind::Sound(BlockType::AvroData | BlockType::CdcData | BlockType::Delete) = block.kind else {
            return Ok(None);
        };
        if block.content.end - block.content.start < 8 {
            return Ok(None);
        }
        let head = self.source.read(block.content.start..block.content.start + 8)?;
        avro_data::head(&head).map(Some)
    }

    /// How many records a data block says it has.
    pub fn record_count(&self, block: &Block) -> Result<Option<u64>> {
        match block.kind {
            BlockKind::Sound(BlockType::AvroData | BlockType::CdcData) => {
                Ok(self.content_head(block)?.map_or(Some(0), |(_, count)| u64::try_from(count).ok()))
            }
            BlockKind::Sound(BlockType::ParquetData) => {
                parquet_data::record_count(&self.source, &block.content).map(Some).map_err(|error| self.mark(block, error))
            }
            _ => Ok(None),
        }
    }

    /// The records of a data block, every column, in the file's own units.
    pub fn records(&self, block: &Block) -> Result<RecordBatch> {
        self.read_records(block).map_err(|error| self.mark(block, error))
    }

    fn read_records(&self, block: &Block) -> Result<RecordBatch> {
        match block.kind {
            BlockKind::Sound(
                BlockType::AvroData | BlockType::CdcData | BlockType::ParquetData | BlockType::HfileData,
            ) => {}
            _ => return Err(Error::invalid_argument(format!("a {} has no records", block.type_name()))),
        }
        let Some(text) = block.header.get(HeaderKey::Schema) else {
            return Err(Error::corrupt("a data block without SCHEMA in its header"));
        };
        let schema = avro::Schema::parse(&text)?;
        if block.kind == BlockKind::Sound(BlockType::ParquetData) {
            let wanted = Arc::new(avro::arrow_schema(&schema, Types::File)?);
            return parquet_data::records(&self.source, &block.content, &wanted);
        }
        let wants: Vec<Want> = schema.fields().iter().map(|field| Want::Value(field.name.clone())).collect();
        let program = Program::compile(&schema, &schema, &wants, Types::File)?;
        let content = self.source.read(block.content.clone())?;
        let mut decoder = Decoder::new(Arc::new(program));
        if !content.is_empty() {
            let datums: Vec<Datum> =
                avro_data::records(&content)?.datums.into_iter().map(|(at, len)| Datum { at, len }).collect();
            decoder.decode(&content, &datums)?;
        }
        decoder.finish()
    }

    /// The keys of a delete block: `record_key`, `partition_path`, `ordering_value` as text and `ordering_type`.
    pub fn deletes(&self, block: &Block) -> Result<RecordBatch> {
        self.read_deletes(block).map_err(|error| self.mark(block, error))
    }

    fn read_deletes(&self, block: &Block) -> Result<RecordBatch> {
        if block.kind != BlockKind::Sound(BlockType::Delete) {
            return Err(Error::invalid_argument(format!("a {} has no deleted keys", block.type_name())));
        }
        let content = self.source.read(block.content.clone())?;
        let text = |at: &std::ops::Range<u32>| -> Result<String> {
            let bytes = content.get(at.start as usize..at.end as usize).unwrap_or_default().to_vec();
            let not_text =
                |error| Error::corrupt("a deleted key is not UTF-8").at_offset(u64::from(at.start)).caused_by(error);
            String::from_utf8(bytes).map_err(not_text)
        };
        let mut columns: [Vec<Option<String>>; 4] = Default::default();
        for one in delete::deleted(&content)? {
            let [keys, partitions, values, types] = &mut columns;
            keys.push(one.key.as_ref().map(text).transpose()?);
            partitions.push(one.partition.as_ref().map(text).transpose()?);
            values.push(ordering_text(&one.ordering, &text)?);
            types.push(ordering_type(&one.ordering).map(str::to_owned));
        }
        let names = ["record_key", "partition_path", "ordering_value", "ordering_type"];
        let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
        let arrays: Vec<ArrayRef> =
            columns.into_iter().map(|column| Arc::new(StringArray::from(column)) as ArrayRef).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| Error::corrupt("deleted keys of different lengths").caused_by(error))
    }

    fn mark(&self, block: &Block, error: Error) -> Error {
        let error = error.offset_from(block.content.start).in_block(block.index).in_file(self.source.path());
        match block.header.instant_time() {
            Some(instant) => error.at_instant(instant),
            None => error,
        }
    }
}

type Text<'a> = &'a dyn Fn(&std::ops::Range<u32>) -> Result<String>;

fn ordering_text(value: &Ordering, text: Text<'_>) -> Result<Option<String>> {
    Ok(Some(match value {
        Ordering::None => return Ok(None),
        Ordering::Boolean(value) => value.to_string(),
        Ordering::Int(value) => value.to_string(),
        Ordering::Long(value) | Ordering::TimeMicros(value) | Ordering::TimestampMicros(value) => value.to_string(),
        Ordering::Float(value) => value.to_string(),
        Ordering::Double(value) => value.to_string(),
        Ordering::Bytes(at) => format!("{at:?}"),
        Ordering::Text(at) => text(at)?,
        Ordering::Date(days) => iso_date(*days)?,
        Ordering::Decimal(unscaled) => Decimal128Type::format_decimal(*unscaled, 38, DECIMAL_SCALE),
        Ordering::Array(values) => {
            let texts = values.iter().map(|value| ordering_text(value, text)).collect::<Result<Vec<_>>>()?;
            let texts: Vec<String> = texts.into_iter().map(|text| text.unwrap_or_else(|| "null".into())).collect();
            format!("[{}]", texts.join(", "))
        }
    }))
}

fn iso_date(days: i32) -> Result<String> {
    array_value_to_string(&Date32Array::from(vec![days]), 0)
        .map_err(|error| Error::corrupt("a date out of range").caused_by(error))
}

fn ordering_type(value: &Ordering) -> Option<&'static str> {
    Some(match value {
        Ordering::None => return None,
        Ordering::Boolean(_) => "boolean",
        Ordering::Int(_) => "int",
        Ordering::Long(_) => "long",
        Ordering::Float(_) => "float",
        Ordering::Double(_) => "double",
        Ordering::Bytes(_) => "bytes",
        Ordering::Text(_) => "string",
        Ordering::Date(_) => "date",
        Ordering::Decimal(_) => "decimal",
        Ordering::TimeMicros(_) => "time",
        Ordering::TimestampMicros(_) => "timestamp",
        Ordering::Array(_) => "array",
    })
}
