//! Text that is made of other values, or of bytes of a fixed size: one buffer, and where each value ends in it.
//!
//! UTF-8 is checked once, over the whole buffer, when the column is finished: the buffer must be sound and every
//! value must begin and end between characters, which is the same as each value being sound.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::super::lanes::{LANES, Lanes, SlotSource};
use super::super::plan::UnionTags;
use super::column::{ColumnValues, fill};
use super::numbers::arrow;
use mortice_base::error::{Error, Result};

/// How a value gets to the end of the buffer.
pub(super) trait AppendText: Send {
    fn append(&self, lane: &mut Lane<'_>, out: &mut Vec<u8>) -> Result<()>;
}

impl<F: Fn(&mut Lane<'_>, &mut Vec<u8>) -> Result<()> + Send> AppendText for F {
    #[inline]
    fn append(&self, lane: &mut Lane<'_>, out: &mut Vec<u8>) -> Result<()> {
        self(lane, out)
    }
}

/// Values of one kind of text.
pub(super) struct TextColumn<A> {
    append: A,
    bytes: Vec<u8>,
    ends: Vec<i32>,
    /// Bytes of the batch before: this one will have about as many.
    usual: usize,
}

impl<A: AppendText> TextColumn<A> {
    pub(super) fn new(append: A) -> Self {
        Self { append, bytes: Vec::new(), ends: vec![0], usual: 0 }
    }
}

/// Where the last value ends.
#[inline(always)]
fn end_of(bytes: &[u8]) -> Result<i32> {
    i32::try_from(bytes.len()).map_err(|_| too_large())
}

/// Slots are where values end.
struct TextAppender<'a, A> {
    append: &'a A,
    bytes: &'a mut Vec<u8>,
}

impl<A: AppendText> SlotSource for TextAppender<'_, A> {
    type Slot = i32;

    #[inline(always)]
    fn read(&mut self, lane: &mut Lane<'_>) -> Result<i32> {
        self.append.append(lane, self.bytes)?;
        end_of(self.bytes)
    }

    #[inline(always)]
    fn pass(&mut self) -> i32 {
        self.bytes.len() as i32
    }
}

impl<A: AppendText> ColumnValues for TextColumn<A> {
    #[inline]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        self.append.append(lane, &mut self.bytes)?;
        self.ends.push(end_of(&self.bytes)?);
        Ok(())
    }

    #[inline]
    fn absent(&mut self) {
        // Every value so far has been seen to end within an i32.
        self.ends.push(self.bytes.len() as i32);
    }

    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let mut slots = [0; LANES];
        let mut source = TextAppender { append: &self.append, bytes: &mut self.bytes };
        let there = fill(tags, lanes, &mut slots, &mut source)?;
        debug_assert!(lanes.count() <= LANES, "more than {LANES} values at a time");
        self.ends.extend_from_slice(slots.get(..lanes.count()).unwrap_or_default());
        Ok(there)
    }

    fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows);
        if self.bytes.is_empty() {
            self.bytes.reserve(self.usual);
        }
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        // A little more than was needed, so that a batch of about the same size does not grow at its end.
        self.usual = self.bytes.len() + self.bytes.len() / 16;
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
pub(super) fn too_large() -> Error {
    Error::new(
        mortice_base::error::ErrorKind::MemoryLimit,
        "more than 2 GiB of text in one batch of a column; ask for fewer rows",
    )
}

#[cold]
pub(super) fn not_utf8(ends: &OffsetBuffer<i32>, bytes: &[u8]) -> Error {
    let values = ends.windows(2).map(|pair| match pair {
        [from, to] => bytes.get(*from as usize..*to as usize).unwrap_or_default(),
        _ => &[],
    });
    let row = values.into_iter().position(|value| str::from_utf8(value).is_err()).unwrap_or_default();
    Error::corrupt(format!("invalid string in row {row}: not UTF-8"))
}
