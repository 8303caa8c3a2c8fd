//! Strings and bytes as Avro has them, a length and as many bytes. Short ones are copied as they are read; where there
//! are others, it is found first where they lie, so that how much room they need is known.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::{Lane, MIDDLING};
use super::super::lanes::{LaneRanges, Lanes, ROOM};
use super::super::plan::UnionTags;
use super::column::{ColumnValues, FastPathCounter, copy_short, spans_of};
use super::sound_text::SoundText;
use mortice_base::error::Result;

/// Strings, or bytes.
#[derive(Default)]
pub(super) struct StringColumn {
    text: SoundText,
    wary: FastPathCounter,
}

impl ColumnValues for StringColumn {
    #[inline]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        let length = lane.length()?;
        let value = lane.slice(length)?;
        self.text.append(value.len(), 1, 0, |out, ends, base| {
            if let (Some(out), Some(end)) = (out.get_mut(..value.len()), ends.first_mut()) {
                out.copy_from_slice(value);
                *end = base.wrapping_add(value.len() as i32);
            }
        })
    }

    #[inline]
    fn absent(&mut self) {
        self.text.append_empty();
    }

    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let text = &mut self.text;
        let count = lanes.count();
        let short = self
            .wary
            .peek(|| text.append_some(ROOM, count, |out, ends, base| copy_short(tags, lanes, out, ends, base)));
        if let Some(there) = short {
            return Ok(there);
        }
        let mut spans = LaneRanges::new();
        let there = spans_of(tags, lanes, &mut spans)?;
        let content = lanes.content;
        let copy = |out: &mut [u8], ends: &mut [i32], base| spans.copy(content, out, ends, base);
        self.text.append(spans.total, lanes.count(), MIDDLING, copy)?;
        Ok(there)
    }

    fn reserve(&mut self, rows: usize) {
        self.text.reserve(rows);
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        self.text.finish(data_type, nulls)
    }
}
