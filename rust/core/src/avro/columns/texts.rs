//! Strings and bytes: one buffer, and where each value ends in it.
//!
//! UTF-8 is checked once, over the whole buffer, when the column is finished: the buffer must be sound and every
//! value must begin and end between characters, which is the same as each value being sound.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::super::lane::{LANES, Lane, Lanes};
use super::column::Values;
use super::numbers::arrow;
use crate::error::{Error, Result};

/// Values that `append` puts at the end of a buffer.
pub(super) struct Texts<F> {
    append: F,
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl<F: Fn(&mut Lane<'_>, &mut Vec<u8>) -> Result<()>> Texts<F> {
    pub(super) fn new(append: F) -> Self {
        Self { append, bytes: Vec::new(), ends: vec![0] }
    }

    /// Reads a value; gives where it ends.
    #[inline(always)]
    fn read(&mut self, lane: &mut Lane<'_>) -> Result<i32> {
        (self.append)(lane, &mut self.bytes)?;
        i32::try_from(self.bytes.len()).map_err(|_| too_large())
    }

    /// Where the last value ends: [`Texts::read`] has seen that it fits.
    #[inline(always)]
    fn end(&self) -> i32 {
        self.bytes.len() as i32
    }
}

impl<F: Fn(&mut Lane<'_>, &mut Vec<u8>) -> Result<()> + Send> Values for Texts<F> {
    #[inline(always)]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        let end = self.read(lane)?;
        self.ends.push(end);
        Ok(())
    }

    #[inline]
    fn absent(&mut self) {
        self.ends.push(self.end());
    }

    #[inline(always)]
    fn values(&mut self, lanes: &mut Lanes<'_>) -> Result<()> {
        let mut slots = [0; LANES];
        if lanes.all_active() {
            lanes.fill(&mut slots, |lane| self.read(lane))?;
        } else {
            let active = lanes.active();
            lanes.each(|index, lane| {
                let end = if active >> index & 1 == 1 { self.read(lane)? } else { self.end() };
                if let Some(slot) = slots.get_mut(index) {
                    *slot = end;
                }
                Ok(())
            })?;
        }
        self.ends.extend_from_slice(slots.get(..lanes.count()).unwrap_or_default());
        Ok(())
    }

    fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows);
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let bytes = Buffer::from_vec(std::mem::take(&mut self.bytes));
        let ends = OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(&mut self.ends, vec![0])));
        if *data_type == DataType::Binary {
            return Ok(Arc::new(BinaryArray::try_new(ends, bytes, nulls).map_err(arrow)?));
        }
        match StringArray::try_new(ends.clone(), bytes.clone(), nulls) {
            Ok(array) => Ok(Arc::new(array)),
            Err(_) => Err(not_utf8(&ends, &bytes)),
        }
    }
}

#[cold]
fn too_large() -> Error {
    Error::new(crate::error::Kind::MemoryLimit, "more than 2 GiB of text in one batch of a column; ask for fewer rows")
}

#[cold]
fn not_utf8(ends: &OffsetBuffer<i32>, bytes: &[u8]) -> Error {
    let values = ends.windows(2).map(|pair| match pair {
        [from, to] => bytes.get(*from as usize..*to as usize).unwrap_or_default(),
        _ => &[],
    });
    let row = values.into_iter().position(|value| str::from_utf8(value).is_err()).unwrap_or_default();
    Error::corrupt(format!("the string in row {row} is not UTF-8"))
}
