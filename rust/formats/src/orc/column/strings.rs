//! Strings and bytes: as they are, or by their place in a dictionary.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_select::take::{TakeOptions, take};

use super::values::ValueReader;
use crate::orc::int_runs::IntRuns;
use crate::orc::stream::Stream;
use crate::orc::stripe::{Stripe, kind};
use crate::orc::types::{OrcKind, OrcType};
use mortice_base::error::{Error, Result};

/// Bytes one after the other, and how many belong to each.
pub(super) struct TextValues {
    bytes: Stream,
    lengths: IntRuns,
    /// Lengths that were read ahead of their values.
    ahead: VecDeque<i64>,
    binary: bool,
}

impl TextValues {
    pub(super) fn open(stripe: &Stripe, of: &OrcType) -> Result<Self> {
        Ok(Self {
            bytes: stripe.stream(of.column, kind::DATA)?,
            lengths: stripe.ints(of.column, kind::LENGTH, false)?,
            ahead: VecDeque::new(),
            binary: of.kind == OrcKind::Binary,
        })
    }

    fn next_lengths(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut lengths: Vec<i64> = self.ahead.drain(..self.ahead.len().min(count)).collect();
        lengths.extend(self.lengths.read(count.saturating_sub(lengths.len()))?);
        Ok(lengths)
    }

    /// The next values, and the bytes of the longest one.
    fn read_with_longest(&mut self, count: usize) -> Result<(ArrayRef, u64)> {
        let lengths = self.next_lengths(count)?;
        let longest = lengths.iter().copied().max().unwrap_or_default();
        Ok((self.array(&lengths)?, u64::try_from(longest).unwrap_or_default()))
    }

    fn array(&mut self, lengths: &[i64]) -> Result<ArrayRef> {
        let offsets = offsets(lengths)?;
        let bytes = Buffer::from(self.bytes.take(end_of(&offsets))?);
        if self.binary {
            let array = BinaryArray::try_new(offsets, bytes, None);
            return array.map(|array| Arc::new(array) as ArrayRef).map_err(unsound);
        }
        let array = StringArray::try_new(offsets, bytes, None);
        array.map(|array| Arc::new(array) as ArrayRef).map_err(unsound)
    }
}

impl ValueReader for TextValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let lengths = self.next_lengths(count)?;
        self.array(&lengths)
    }

    fn most_bytes(&mut self, count: u64) -> Result<u64> {
        let values = usize::try_from(count).unwrap_or(usize::MAX);
        while self.ahead.len() < values && self.lengths.has_more() {
            let some = self.lengths.read_some(values.saturating_sub(self.ahead.len()))?;
            self.ahead.extend(some);
        }
        let lengths = self.ahead.iter().take(values).map(|len| u64::try_from(*len).unwrap_or_default());
        Ok(lengths.fold(count.saturating_mul(size_of::<i32>() as u64), u64::saturating_add))
    }

    fn bytes(&self, count: u64) -> u64 {
        // Those of all values that are left.
        (self.bytes.len() as u64).saturating_add(count.saturating_mul(size_of::<i32>() as u64))
    }
}

/// Places in a dictionary.
pub(super) struct DictionaryTexts {
    dictionary: ArrayRef,
    /// Bytes of its longest string.
    longest: u64,
    places: IntRuns,
}

impl DictionaryTexts {
    pub(super) fn open(stripe: &Stripe, of: &OrcType, size: u64) -> Result<Self> {
        let mut strings = TextValues {
            bytes: stripe.stream(of.column, kind::DICTIONARY)?,
            lengths: stripe.ints(of.column, kind::LENGTH, false)?,
            ahead: VecDeque::new(),
            binary: of.kind == OrcKind::Binary,
        };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let (dictionary, longest) = strings.read_with_longest(size)?;
        Ok(Self { dictionary, longest, places: stripe.ints(of.column, kind::DATA, false)? })
    }
}

impl ValueReader for DictionaryTexts {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let places = Int64Array::from(self.places.read(count)?);
        take(&self.dictionary, &places, Some(TakeOptions { check_bounds: true })).map_err(unsound)
    }

    fn bytes(&self, count: u64) -> u64 {
        count.saturating_mul(self.longest.saturating_add(size_of::<i32>() as u64))
    }
}

/// Where each of several things of such lengths begins, and where the last ends.
pub(super) fn offsets(lengths: &[i64]) -> Result<OffsetBuffer<i32>> {
    let mut offsets = vec![0_i32];
    let mut end = 0_i32;
    for len in lengths {
        let next = i32::try_from(*len).ok().filter(|len| *len >= 0).and_then(|len| end.checked_add(len));
        end =
            next.ok_or_else(|| Error::invalid_table("invalid ORC column: more than 2^31 bytes or items in one batch"))?;
        offsets.push(end);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

/// Where the last of them ends. Offsets have at least one entry and none is negative.
pub(super) fn end_of(offsets: &OffsetBuffer<i32>) -> usize {
    offsets.iter().last().and_then(|end| usize::try_from(*end).ok()).unwrap_or_default()
}

fn unsound(error: arrow_schema::ArrowError) -> Error {
    Error::invalid_table("invalid ORC column of strings").caused_by(error)
}
