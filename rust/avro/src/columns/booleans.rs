//! Booleans: a byte in Avro, a bit in Arrow.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::lanes::{LANES, Lanes, PeekValue, SlotSource};
use super::super::plan::UnionTags;
use super::column::{ColumnValues, FastPathCounter, fill, peek};
use super::validity::BitBuffer;
use mortice_base::error::{Error, Result};

#[derive(Default)]
pub(super) struct BooleanColumn {
    bits: BitBuffer,
    wary: FastPathCounter,
}

struct Bytes;

impl SlotSource for Bytes {
    type Slot = u8;

    #[inline(always)]
    fn read(&mut self, lane: &mut Lane<'_>) -> Result<u8> {
        bit(lane)
    }

    #[inline(always)]
    fn pass(&mut self) -> u8 {
        0
    }
}

impl PeekValue for Bytes {
    type Slot = u8;

    #[inline(always)]
    fn peek(&self, [byte, ..]: &[u8; 16]) -> (u8, u32, bool) {
        (*byte & 1, 1, *byte <= 1)
    }
}

impl ColumnValues for BooleanColumn {
    #[inline(always)]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        self.bits.push(bit(lane)? == 1);
        Ok(())
    }

    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let mut slots = [0_u8; LANES];
        let there = match self.wary.peek(|| peek(tags, lanes, &mut slots, &Bytes)) {
            Some(there) => there,
            None => fill(tags, lanes, &mut slots, &mut Bytes)?,
        };
        let word = slots.iter().rev().fold(0, |word, bit| word << 1 | u64::from(*bit));
        self.bits.push_word(word, lanes.count());
        Ok(there)
    }

    #[inline]
    fn absent(&mut self) {
        self.bits.push(false);
    }

    fn reserve(&mut self, rows: usize) {
        self.bits.reserve(rows);
    }

    fn finish(&mut self, _: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(Arc::new(BooleanArray::new(self.bits.take(), nulls)))
    }
}

#[inline(always)]
fn bit(lane: &mut Lane<'_>) -> Result<u8> {
    match lane.byte()? {
        bit @ 0..=1 => Ok(bit),
        other => Err(no_boolean(*lane, other)),
    }
}

#[cold]
fn no_boolean(lane: Lane<'_>, byte: u8) -> Error {
    lane.corrupt(format!("invalid boolean: expected 0 or 1, found {byte:#04x}"))
}
