//! The deleted keys of one delete block, and as string columns.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::{Decimal128Type, DecimalType};
use arrow_array::{ArrayRef, Date32Array, RecordBatch, TimestampMicrosecondArray};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::block::{Block, BlockKind};
use super::content::delete;
use super::content::deleted::{DeletedKeys, StoredOrdering};
use super::layout::BlockType;
use super::native::native_name;
use super::native_deletes;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::FileSource;

/// Returns the deleted keys of a delete block, inline or native. A native log has no partition path: `partition` is
/// that of its file group, if it is known.
///
/// # Errors
/// Those of reading; offsets are relative to the block's content.
pub fn deleted_keys(file: &Arc<dyn FileSource>, block: &Block, partition: Option<&str>) -> Result<DeletedKeys> {
    match native_name(file.path()).filter(|_| block.is_native) {
        Some(name) => native_deletes::read(file, &name, partition),
        None => delete::deletes(&file.read(block.content.clone())?),
    }
}

/// Returns `record_key`, `partition_path`, `ordering_value` as a string, and `ordering_type`; the last two are null for
/// deletes without an ordering value.
pub(super) fn read(file: &Arc<dyn FileSource>, block: &Block) -> Result<RecordBatch> {
    if block.kind != BlockKind::Sound(BlockType::Delete) {
        return Err(Error::invalid_argument(format!("a {} has no deleted keys", block.type_name())));
    }
    let deletes = deleted_keys(file, block, None)?;
    let [mut keys, mut partitions, mut values, mut types]: [Strings; 4] = Default::default();
    for one in &deletes.deleted {
        keys.push(one.key.as_ref().map(|at| text(&deletes, at)).transpose()?)?;
        partitions.push(one.partition.as_ref().map(|at| text(&deletes, at)).transpose()?)?;
        values.push(ordering_text(&one.ordering, &deletes)?.as_deref())?;
        types.push(ordering_type(&one.ordering))?;
    }
    let names = ["record_key", "partition_path", "ordering_value", "ordering_type"];
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
    let arrays = [keys, partitions, values, types].map(|mut strings| Arc::new(strings.built.finish()) as ArrayRef);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.to_vec())
        .map_err(|error| Error::corrupt("columns of deleted keys differ in length").caused_by(error))
}

/// A growing string column, limited to the range of its offsets: in Kryo a long string can be repeated with three
/// bytes.
#[derive(Default)]
struct Strings {
    built: StringBuilder,
    len: usize,
}

impl Strings {
    fn push(&mut self, text: Option<&str>) -> Result<()> {
        self.len = self.len.saturating_add(text.map_or(0, str::len));
        if i32::try_from(self.len).is_err() {
            return Err(Error::new(
                ErrorKind::MemoryLimit,
                "unsupported block: its deleted keys have more than 2 GiB of strings",
            ));
        }
        self.built.append_option(text);
        Ok(())
    }
}

fn bytes<'a>(deletes: &'a DeletedKeys, at: &Range<u32>) -> Result<&'a [u8]> {
    let bytes = deletes.text.get(at.start as usize..at.end as usize);
    bytes.ok_or_else(|| Error::internal(format_args!("a deleted key at {at:?} of a shorter block")))
}

fn text<'a>(deletes: &'a DeletedKeys, at: &Range<u32>) -> Result<&'a str> {
    str::from_utf8(bytes(deletes, at)?).map_err(|error| {
        Error::corrupt("invalid deleted key: not UTF-8").at_offset(u64::from(at.start)).caused_by(error)
    })
}

fn ordering_text(value: &StoredOrdering, deletes: &DeletedKeys) -> Result<Option<String>> {
    let out_of_range =
        |error: ArrowError| Error::corrupt("invalid ordering value: the date is out of range").caused_by(error);
    Ok(Some(match value {
        StoredOrdering::None => return Ok(None),
        StoredOrdering::Boolean(value) => value.to_string(),
        StoredOrdering::Int(value) => value.to_string(),
        StoredOrdering::Long(value) | StoredOrdering::TimeMicros(value) => value.to_string(),
        StoredOrdering::Float(value) => value.to_string(),
        StoredOrdering::Double(value) => value.to_string(),
        StoredOrdering::Bytes(at) => hexadecimal(bytes(deletes, at)?),
        StoredOrdering::Text(at) => text(deletes, at)?.to_owned(),
        StoredOrdering::Date(days) => {
            array_value_to_string(&Date32Array::from(vec![*days]), 0).map_err(out_of_range)?
        }
        StoredOrdering::TimestampMicros(micros) => {
            let column = TimestampMicrosecondArray::from(vec![*micros]).with_timezone("+00:00");
            array_value_to_string(&column, 0).map_err(out_of_range)?
        }
        StoredOrdering::Decimal { unscaled, scale } => match i8::try_from(*scale) {
            Ok(scale) => Decimal128Type::format_decimal(*unscaled, 38, scale),
            Err(_) => format!("{unscaled}E{}", -i64::from(*scale)),
        },
        StoredOrdering::Array(values) => {
            let strings = values.iter().map(|value| ordering_text(value, deletes)).collect::<Result<Vec<_>>>()?;
            let strings: Vec<String> = strings.into_iter().map(|text| text.unwrap_or_else(|| "null".into())).collect();
            format!("[{}]", strings.join(", "))
        }
    }))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::from("0x"), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn ordering_type(value: &StoredOrdering) -> Option<&'static str> {
    Some(match value {
        StoredOrdering::None => return None,
        StoredOrdering::Boolean(_) => "boolean",
        StoredOrdering::Int(_) => "int",
        StoredOrdering::Long(_) => "long",
        StoredOrdering::Float(_) => "float",
        StoredOrdering::Double(_) => "double",
        StoredOrdering::Bytes(_) => "bytes",
        StoredOrdering::Text(_) => "string",
        StoredOrdering::Date(_) => "date",
        StoredOrdering::Decimal { .. } => "decimal",
        StoredOrdering::TimeMicros(_) => "time",
        StoredOrdering::TimestampMicros(_) => "timestamp",
        StoredOrdering::Array(_) => "array",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_text_than_a_column_can_hold_is_an_error() {
        let mut strings = Strings { len: i32::MAX as usize - 3, ..Strings::default() };
        strings.push(Some("abc")).unwrap();
        strings.push(None).unwrap();
        assert_eq!(strings.push(Some("d")).unwrap_err().kind(), ErrorKind::MemoryLimit);
    }
}
