//! Content of an HFile data block (`HoodieHFileDataBlock`): a complete HFile, its keys the record keys, its values Avro datums in
//! the schema of the block's header, sorted by key.
//!
//! The writer blanks the key field of each value, since the key says the same; 0.9 did not. A reader puts the key back where
//! the field is there and empty. Here that is done on the bytes: the block is unpacked into the content that an Avro block of
//! the same records would have, and read as such from there on.
//!
//! Where the writer knew no key field, the keys of the file are the records' numbers instead; such a block cannot be sought in.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, UInt64Array};
use bytes::Bytes;

use super::avro_data;
use crate::avro::{Datum, Decoder, Program, Schema, Type, Types, Want};
use crate::error::{Error, Result};
use crate::filter::KeyFilter;
use crate::hfile::{Cell, Cells, HFile};
use crate::storage::{Section, Source};

/// The log block version that unpacked contents bear; readers ignore it.
const VERSION: i32 = 3;

/// How many records a block has; of its content only the trailer and what it points to are read.
pub fn record_count(file: &Arc<dyn Source>, content: &Range<u64>) -> Result<u64> {
    if content.is_empty() { Ok(0) } else { Ok(open(file, content)?.entry_count()) }
}

/// The records, as the content of an Avro data block; only those with wanted keys, where the block can be sought in. `key` is the
/// field that holds the record key.
pub fn as_avro(
    file: &Arc<dyn Source>,
    content: &Range<u64>,
    schema: &Schema,
    key: Option<&str>,
    wanted: &KeyFilter,
) -> Result<Bytes> {
    let mut unpacked = Unpacked::new(schema, key)?;
    if !content.is_empty() {
        let hfile = open(file, content)?;
        let seeking = *wanted != KeyFilter::All && unpacked.is_keyed(&hfile)?;
        let wanted = if seeking { wanted } else { &KeyFilter::All };
        match wanted {
            KeyFilter::All => hfile.scan().try_for_each(|cells| unpacked.add(&cells?))?,
            KeyFilter::Keys(keys) => hfile.seek(keys)?.try_for_each(|cells| unpacked.add(&cells?))?,
            KeyFilter::Prefixes(prefixes) => {
                hfile.seek_prefixes(prefixes)?.try_for_each(|cells| unpacked.add(&cells?))?;
            }
        }
    }
    unpacked.finish()
}

fn open(file: &Arc<dyn Source>, content: &Range<u64>) -> Result<HFile> {
    HFile::open(Arc::new(Section::new(Arc::clone(file), content.clone())?))
}

/// An Avro content that grows.
struct Unpacked {
    content: Vec<u8>,
    count: i32,
    /// Finds the key field in a value; none where there is no such text field.
    key: Option<Arc<Program>>,
}

impl Unpacked {
    fn new(schema: &Schema, key: Option<&str>) -> Result<Self> {
        let field = key.and_then(|key| schema.field(key)).filter(|field| *field.ty.non_null() == Type::String);
        let key = field.map(|field| {
            let place = [Want::Place(field.name.clone())];
            Program::compile(schema, schema, &place, Types::File).map(Arc::new)
        });
        let content = [VERSION.to_be_bytes(), 0_i32.to_be_bytes()].concat();
        Ok(Self { content, count: 0, key: key.transpose()? })
    }

    /// Whether the file's keys are the records' keys, as its first record tells: its key field holds the same, or is blank.
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

    /// Where the key field's bytes lie in each value.
    fn key_places(&self, cells: &Cells) -> Result<Option<UInt64Array>> {
        let Some(program) = &self.key else { return Ok(None) };
        let datums =
            cells.cells.iter().map(|cell| Datum { at: cell.value.start, len: cell.value.end - cell.value.start });
        let mut decoder = Decoder::new(Arc::clone(program));
        // Where in the unpacked payload it went wrong says nothing of the file.
        decoder.decode(&cells.payload, &datums.collect::<Vec<_>>()).map_err(|error| error.moved_to(0))?;
        Ok(Some(decoder.finish()?.column(0).as_primitive::<UInt64Type>().clone()))
    }

    /// Appends one datum, the key put where its field is empty. An empty field takes one byte: its length, 0.
    fn add_record(&mut self, payload: &Bytes, cell: &Cell, place: Option<u64>) -> Result<()> {
        let bytes = |range: Range<usize>| payload.get(range).ok_or_else(|| Error::corrupt("a cell outside its block"));
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

/// Avro's zig-zag varint of a length.
fn put_length(out: &mut Vec<u8>, len: usize) {
    let mut left = (len as u64) << 1;
    while left >= 0x80 {
        out.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

fn too_large() -> Error {
    Error::unsupported("an HFile block of 4 GiB or more when unpacked")
}
