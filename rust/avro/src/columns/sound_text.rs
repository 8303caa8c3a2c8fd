//! Text that has been seen to be UTF-8 when it came, while it still lay in the nearest cache, and becomes a string
//! array without being looked at again.
//!
//! **The invariant.** While `is_sound`, for every two neighbours of `ends` the bytes between them are UTF-8. Only
//! [`SoundText::append`] and [`SoundText::append_empty`] write `bytes` and `ends`, and
//! 1. what is appended lies between the last end and the new last end, which `append` holds to be the bytes that it
//!    counted;
//! 2. these bytes are ASCII, or UTF-8 as a whole with every new end between two characters; otherwise `is_sound` is
//!    false from then on;
//!
//! Ends are looked at once more, as numbers, before an array is made of them.

#![allow(unsafe_code)]

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::numbers::arrow;
use super::slots::SlotBuffer;
use super::text_columns::{not_utf8, too_large};
use mortice_base::error::Result;
use mortice_base::trusted::strings;

/// The most bytes of a batch, room included.
const MOST: usize = i32::MAX as usize;

/// Values one after the other, and where each ends.
pub(super) struct SoundText {
    bytes: SlotBuffer<u8>,
    ends: SlotBuffer<i32>,
    is_sound: bool,
    /// Bytes of the batch before: this one will have about as many.
    usual: usize,
}

impl Default for SoundText {
    fn default() -> Self {
        Self { bytes: SlotBuffer::default(), ends: SlotBuffer::default(), is_sound: true, usual: 0 }
    }
}

impl SoundText {
    /// Appends `count` values of `len` bytes in all. `write` gets room for the bytes and `slack` more, room for an end
    /// of each value, and where the first value begins.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        len: usize,
        count: usize,
        slack: usize,
        write: impl FnOnce(&mut [u8], &mut [i32], i32),
    ) -> Result<()> {
        if self.bytes.len().saturating_add(len).saturating_add(slack) > MOST {
            return Err(too_large());
        }
        self.append_some(len + slack, count, |out, ends, base| {
            write(out, ends, base);
            Some(((), len))
        });
        Ok(())
    }

    /// Appends `count` values of what bytes they turn out to have: `write` gets `room` for them, room for an end of
    /// each value, and where the first value begins, and gives how many bytes it has written, or that it cannot.
    /// Nothing is appended then, nor where 2 GiB might be passed.
    #[inline(always)]
    pub(super) fn append_some<T>(
        &mut self,
        room: usize,
        count: usize,
        write: impl FnOnce(&mut [u8], &mut [i32], i32) -> Option<(T, usize)>,
    ) -> Option<T> {
        self.begin();
        let base = self.bytes.len();
        if base.saturating_add(room) > MOST {
            return None;
        }
        let base = base as i32;
        let (bytes, ends) = (self.bytes.ahead(room), self.ends.ahead(count));
        let ends = ends.get_mut(..count)?;
        let (outcome, len) = write(bytes, ends, base)?;
        let bytes = bytes.get(..len)?;
        let ends_there = ends.last().is_none_or(|end| i64::from(*end) == i64::from(base) + len as i64);
        self.is_sound &= ends_there && (bytes.is_ascii() || is_utf8(bytes, ends, base));
        self.bytes.advance(len);
        self.ends.advance(count);
        Some(outcome)
    }

    /// Appends a value without bytes.
    #[inline]
    pub(super) fn append_empty(&mut self) {
        self.begin();
        // Every value so far has been seen to end within an i32.
        self.ends.push(self.bytes.len() as i32);
    }

    /// Offsets begin with 0.
    #[inline(always)]
    fn begin(&mut self) {
        if self.ends.len() == 0 {
            self.ends.push(0);
        }
    }

    /// Makes room for values to come.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows + 1);
        if self.bytes.len() == 0 {
            self.bytes.reserve(self.usual);
        }
    }

    /// The values so far; there are none afterwards.
    pub(super) fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        self.begin();
        // A little more than was needed, so that a batch of about the same size does not grow at its end.
        self.usual = self.bytes.len() + self.bytes.len() / 16;
        let is_sound = std::mem::replace(&mut self.is_sound, true);
        let (bytes, ends) = (self.bytes.take(), ScalarBuffer::<i32>::from(self.ends.take()));
        if *data_type == DataType::Binary {
            return Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(ends), bytes, nulls).map_err(arrow)?));
        }
        if is_sound {
            // SAFETY: what lies between two ends is UTF-8, by the invariant at the head of this file.
            let strings = unsafe { strings(ends.clone(), bytes.clone(), nulls.clone()) };
            if let Some(strings) = strings {
                return Ok(Arc::new(strings));
            }
        }
        let ends = OffsetBuffer::new(ends);
        match StringArray::try_new(ends.clone(), bytes.clone(), nulls) {
            Ok(array) => Ok(Arc::new(array)),
            Err(_) => Err(not_utf8(&ends, &bytes)),
        }
    }
}

/// Whether values that end there, the first beginning at `base`, are UTF-8 each.
#[inline(never)]
fn is_utf8(bytes: &[u8], ends: &[i32], base: i32) -> bool {
    let between = |end: &i32| {
        let at = usize::try_from(end.wrapping_sub(base)).unwrap_or(usize::MAX);
        at == bytes.len() || bytes.get(at).is_some_and(|next| next & 0xc0 != 0x80)
    };
    simdutf8::basic::from_utf8(bytes).is_ok() && ends.iter().all(between)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    /// Appends values as one group, as lanes do.
    fn append(text: &mut SoundText, values: &[&[u8]]) {
        let len = values.iter().map(|value| value.len()).sum();
        text.append(len, values.len(), 64, |out, ends, base| {
            let mut at = 0;
            for (value, end) in values.iter().zip(ends) {
                out[at..at + value.len()].copy_from_slice(value);
                // What lies behind a value is not its own, and need not be text.
                out[at + value.len()] = 0xff;
                at += value.len();
                *end = base + at as i32;
            }
        })
        .unwrap();
    }

    #[test]
    fn sound_groups_become_strings_in_batch_after_batch() {
        let mut text = SoundText::default();
        for _ in 0..3 {
            append(&mut text, &[b"ascii", b"", "Straße".as_bytes()]);
            text.append_empty();
            append(&mut text, &["ß".as_bytes()]);
            let array = text.finish(&DataType::Utf8, None).unwrap();
            assert_eq!(array.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["ascii", "", "Straße", "", "ß"]);
            array.to_data().validate_full().unwrap();
        }
    }

    #[test]
    fn halves_of_a_character_are_not_sound_though_the_whole_is() {
        for groups in [vec![&[&b"\xc3"[..], b"\x9f"][..]], vec![&[&b"a"[..], b"\xc3"][..], &[&b"\x9f"[..]][..]]] {
            let mut text = SoundText::default();
            groups.iter().for_each(|group| append(&mut text, group));
            assert!(text.finish(&DataType::Utf8, None).is_err());
            append(&mut text, &[b"sound again"]);
            assert_eq!(text.finish(&DataType::Utf8, None).unwrap().as_string::<i32>().value(0), "sound again");
        }
    }

    #[test]
    fn ends_that_are_not_where_the_bytes_end_have_the_array_checked_again() {
        let mut text = SoundText::default();
        text.append(2, 1, 0, |out, ends, _| {
            out[..2].copy_from_slice(b"ab");
            ends[0] = 1;
        })
        .unwrap();
        append(&mut text, &["ß".as_bytes()]);
        text.finish(&DataType::Utf8, None).unwrap().to_data().validate_full().unwrap();
    }
}
