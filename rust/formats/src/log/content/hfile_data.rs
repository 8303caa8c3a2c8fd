//! Content of an HFile data block (`HoodieHFileDataBlock`): a complete HFile. Its keys are the record keys, its values
//! Avro datums with the schema in the block's header, sorted by key.
//!
//! The writer empties the key field of each value, as the key has the same string; 0.9 did not. A reader restores the
//! key if the field exists and is empty. Here the bytes are converted to the content of an Avro block with the same
//! records, which is then read as such.
//!
//! If the writer knew no key field, the keys of the file are the records' numbers; such a block cannot be searched by
//! key.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, UInt64Array};
use bytes::Bytes;

use super::avro_data;
use crate::filter::KeyFilter;
use crate::hfile::{Cell, Cells, HFile};
use mortice_avro::{ArrowMapping, Datum, DecodeProgram, Decoder, RequestedColumn, Schema, Type};
use mortice_base::error::{Error, Result};
use mortice_storage::{FileSource, SectionSource};

/// The field that is empty in the values of a native log, as in base files (`HoodieAvroHFileReaderImplBase`): the key
/// field has another name, unless the table is a metadata table.
pub const NATIVE_KEY_FIELD: &str = "key";

/// The log block version of converted contents; readers ignore it.
const VERSION: i32 = 3;

/// Returns the record count of a block; reads only the trailer and the metadata that it refers to.
pub fn record_count(file: &Arc<dyn FileSource>, content: &Range<u64>) -> Result<u64> {
    if content.is_empty() { Ok(0) } else { Ok(open(file, content)?.entry_count()) }
}

/// Returns the records as the content of an Avro data block; if the block can be searched by key, only those with
/// required keys. `key` is the field with the record key.
pub fn as_avro(
    file: &Arc<dyn FileSource>,
    content: &Range<u64>,
    schema: &Schema,
    key: Option<&str>,
    wanted: &KeyFilter,
) -> Result<Bytes> {
    let mut converted = ConvertedContent::new(schema, key)?;
    if !content.is_empty() {
        let hfile = open(file, content)?;
        let seeking = *wanted != KeyFilter::All && converted.is_keyed(&hfile)?;
        let wanted = if seeking { wanted } else { &KeyFilter::All };
        match wanted {
            KeyFilter::All => hfile.scan().try_for_each(|cells| converted.add(&cells?))?,
            KeyFilter::Keys(keys) => hfile.seek(keys)?.try_for_each(|cells| converted.add(&cells?))?,
            KeyFilter::Prefixes(prefixes) => {
                hfile.seek_prefixes(prefixes)?.try_for_each(|cells| converted.add(&cells?))?;
            }
        }
    }
    converted.finish()
}

fn open(file: &Arc<dyn FileSource>, content: &Range<u64>) -> Result<HFile> {
    HFile::open(Arc::new(SectionSource::new(Arc::clone(file), content.clone())?))
}

/// A growing Avro content.
struct ConvertedContent {
    content: Vec<u8>,
    count: i32,
    /// Locates the key field in a value; `None` if there is no such string field.
    key: Option<Arc<DecodeProgram>>,
}

impl ConvertedContent {
    fn new(schema: &Schema, key: Option<&str>) -> Result<Self> {
        let field = key.and_then(|key| schema.field(key)).filter(|field| *field.ty.non_null() == Type::String);
        let key = field.map(|field| {
            let place = [RequestedColumn::Position(field.name.clone())];
            DecodeProgram::compile(schema, schema, &place, ArrowMapping::File).map(Arc::new)
        });
        let content = [VERSION.to_be_bytes(), 0_i32.to_be_bytes()].concat();
        Ok(Self { content, count: 0, key: key.transpose()? })
    }

    /// Returns true if the keys of the file are the record keys: the key field of its first record has the same string,
    /// or is empty.
    fn is_keyed(&self, hfile: &HFile) -> Result<bool> {
        let Some(cells) = hfile.scan().next().transpose()? else { return Ok(true) };
        let first = Cells { cells: cells.cells.iter().take(1).cloned().collect(), ..cells };
        let (Some(places), Some(cell)) = (self.key_places(&first)?, first.cells.first()) else { return Ok(false) };
        let places =
            places.iter().flatten().map(|place| avro_data::place_of(&first.payload, place).unwrap_or_default());
        Ok(places.into_iter().any(|key| key.is_empty() || key == first.key(cell)))
    }

    fn add(&mut self, cells: &Cells) -> Result<()> {
        let places = self.key_places(cells)?;
        for (row, cell) in cells.cells.iter().enumerate() {
            let place = places.as_ref().filter(|places| places.is_valid(row)).map(|places| places.value(row));
            self.add_record(&cells.payload, cell, place)?;
        }
        let count = i32::try_from(cells.cells.len()).ok().and_then(|more| self.count.checked_add(more));
        self.count = count.ok_or_else(too_large)?;
        Ok(())
    }

    /// Returns the position of the key field's bytes in each value.
    fn key_places(&self, cells: &Cells) -> Result<Option<UInt64Array>> {
        let Some(program) = &self.key else { return Ok(None) };
        let datums =
            cells.cells.iter().map(|cell| Datum { at: cell.value.start, len: cell.value.end - cell.value.start });
        let mut decoder = Decoder::new(Arc::clone(program));
        // The position of an error in the converted payload is not an offset of the file.
        decoder.decode(&cells.payload, &datums.collect::<Vec<_>>()).map_err(|error| error.moved_to(0))?;
        Ok(Some(decoder.finish()?.column(0).as_primitive::<UInt64Type>().clone()))
    }

    /// Appends one datum, with the key in its field if that is empty. An empty field takes one byte: its length, 0.
    fn add_record(&mut self, payload: &Bytes, cell: &Cell, place: Option<u64>) -> Result<()> {
        let bytes = |range: Range<usize>| {
            payload.get(range).ok_or_else(|| Error::corrupt("invalid HFile cell: it is outside its block"))
        };
        let (start, end) = (cell.value.start as usize, cell.value.end as usize);
        let blank = place.filter(|place| *place & 0xffff_ffff == 0).map(|place| (place >> 32) as usize);
        let length_at = self.content.len();
        self.content.extend_from_slice(&[0; 4]);
        match blank {
            None => self.content.extend_from_slice(bytes(start..end)?),
            Some(after) => {
                let key = bytes(cell.key.start as usize..cell.key.end as usize)?;
                self.content.extend_from_slice(bytes(start..after.saturating_sub(1))?);
                put_length(&mut self.content, key.len());
                self.content.extend_from_slice(key);
                self.content.extend_from_slice(bytes(after..end)?);
            }
        }
        let len = i32::try_from(self.content.len() - length_at - 4).map_err(|_| too_large())?;
        if let Some(length) = self.content.get_mut(length_at..length_at + 4) {
            length.copy_from_slice(&len.to_be_bytes());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Bytes> {
        u32::try_from(self.content.len()).map_err(|_| too_large())?;
        if let Some(count) = self.content.get_mut(4..8) {
            count.copy_from_slice(&self.count.to_be_bytes());
        }
        Ok(self.content.into())
    }
}

/// Appends a length as Avro's zig-zag varint.
fn put_length(out: &mut Vec<u8>, len: usize) {
    let mut left = (len as u64) << 1;
    while left >= 0x80 {
        out.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

fn too_large() -> Error {
    Error::unsupported("unsupported HFile block: 4 GiB or more when decompressed")
}
