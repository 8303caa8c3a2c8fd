//! One log file, looked at by itself: its blocks, their records and deleted keys in the file's own units.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Decimal128Type, DecimalType};
use arrow_array::{ArrayRef, Date32Array, RecordBatch, StringArray};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Schema};

use super::backward::backward;
use super::block::{Block, BlockKind};
use super::block_records;
use super::content::delete;
use super::content::delete::{DECIMAL_SCALE, Ordering};
use super::forward::Forward;
use super::layout::BlockType;
use crate::error::{Error, Result};
use crate::filter::KeyFilter;
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
        block_records::head(&self.source, block)
    }

    /// How many records a data block says it has.
    pub fn record_count(&self, block: &Block) -> Result<Option<u64>> {
        block_records::count(&self.source, block).map_err(|error| self.mark(block, error))
    }

    /// The records of a data block, every column, in the file's own units; only those of wanted keys.
    pub fn records(&self, block: &Block, wanted: &KeyFilter) -> Result<RecordBatch> {
        block_records::read(&self.source, block, wanted).map_err(|error| self.mark(block, error))
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
