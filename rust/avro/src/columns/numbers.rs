//! Numbers of a fixed width in Arrow, of any width in Avro.

use std::sync::Arc;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::super::lane::{Lane, peek_any_long, peek_long};
use super::super::lanes::{LaneRanges, Lanes, PeekValue, SlotSource};
use super::super::plan::UnionTags;
use super::column::{ColumnValues, FastPathCounter, fill, peek, spans_of};
use super::slots::SlotBuffer;
use mortice_base::error::{Error, Result};

/// How a number is read. The common ones are types of their own, whose reading is compiled into the loop over the
/// lanes; a closure does for the others.
pub(super) trait ReadNumber: Send {
    type Native: ArrowNativeType;

    /// True if most numbers can be read by [`ReadNumber::peek`].
    const HAS_PEEK: bool = false;

    fn read(&self, lane: &mut Lane<'_>) -> Result<Self::Native>;

    /// See [`PeekValue`].
    #[inline(always)]
    fn peek(&self, _: &[u8; 16]) -> (Self::Native, u32, bool) {
        (Self::Native::default(), 0, false)
    }
}

impl<T: ArrowNativeType, F: Fn(&mut Lane<'_>) -> Result<T> + Send> ReadNumber for F {
    type Native = T;

    #[inline]
    fn read(&self, lane: &mut Lane<'_>) -> Result<T> {
        self(lane)
    }
}

/// Names a reading: of a lane, and of the bytes ahead.
macro_rules! readings {
    ($($name:ident: $native:ty, $lane:ident => $read:expr, $ahead:pat => $peek:expr;)*) => {$(
        pub(super) struct $name;

        impl ReadNumber for $name {
            type Native = $native;
            const HAS_PEEK: bool = true;

            #[inline(always)]
            fn read(&self, $lane: &mut Lane<'_>) -> Result<$native> {
                $read
            }

            #[inline(always)]
            fn peek(&self, $ahead: &[u8; 16]) -> ($native, u32, bool) {
                $peek
            }
        }
    )*};
}

readings! {
    Int: i32, lane => lane.int(), ahead => {
        let (value, bytes, is_read) = peek_long(first(ahead));
        (value as i32, bytes, is_read & (i64::from(value as i32) == value))
    };
    Long: i64, lane => lane.long(), ahead => peek_any_long(&first(ahead));
    Float: f32, lane => lane.array().map(f32::from_le_bytes), ahead => (f32::from_le_bytes(first(ahead)), 4, true);
    Double: f64, lane => lane.array().map(f64::from_le_bytes), ahead => (f64::from_le_bytes(first(ahead)), 8, true);
}

/// The first of sixteen bytes.
#[inline(always)]
pub(super) fn first<const N: usize>(ahead: &[u8; 16]) -> [u8; N] {
    ahead.first_chunk().copied().unwrap_or([0; N])
}

/// Numbers of one reading.
pub(super) struct NumberColumn<R: ReadNumber> {
    read: R,
    values: SlotBuffer<R::Native>,
    wary: FastPathCounter,
}

impl<R: ReadNumber> NumberColumn<R> {
    pub(super) fn new(read: R) -> Self {
        Self { read, values: SlotBuffer::default(), wary: FastPathCounter::default() }
    }
}

struct Reading<'a, R>(&'a R);

impl<R: ReadNumber> SlotSource for Reading<'_, R> {
    type Slot = R::Native;

    #[inline(always)]
    fn read(&mut self, lane: &mut Lane<'_>) -> Result<R::Native> {
        self.0.read(lane)
    }

    #[inline(always)]
    fn pass(&mut self) -> R::Native {
        R::Native::default()
    }
}

impl<R: ReadNumber> PeekValue for Reading<'_, R> {
    type Slot = R::Native;

    #[inline(always)]
    fn peek(&self, ahead: &[u8; 16]) -> (R::Native, u32, bool) {
        self.0.peek(ahead)
    }
}

impl<R: ReadNumber> ColumnValues for NumberColumn<R> {
    #[inline]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        self.values.push(self.read.read(lane)?);
        Ok(())
    }

    #[inline]
    fn absent(&mut self) {
        self.values.push(R::Native::default());
    }

    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let slots = self.values.ahead(lanes.count());
        let mut source = Reading(&self.read);
        let is_read = if R::HAS_PEEK { self.wary.peek(|| peek(tags, lanes, slots, &source)) } else { None };
        let there = match is_read {
            Some(there) => there,
            None => fill(tags, lanes, slots, &mut source)?,
        };
        self.values.advance(lanes.count());
        Ok(there)
    }

    fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let len = self.values.len();
        primitive(data_type, len, self.values.take(), nulls)
    }
}

/// The position in the content of the bytes after a length, `offset << 32 | length`.
#[derive(Default)]
pub(super) struct BytePositions {
    values: SlotBuffer<u64>,
}

impl ColumnValues for BytePositions {
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        self.values.push(lane.place()?);
        Ok(())
    }

    fn absent(&mut self) {
        self.values.push(0);
    }

    fn values(&mut self, tags: UnionTags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let mut spans = LaneRanges::new();
        let there = spans_of(tags, lanes, &mut spans)?;
        let slots = self.values.ahead(lanes.count());
        for (slot, (at, len)) in slots.iter_mut().zip(spans.at.iter().zip(&spans.len)) {
            *slot = u64::from(*at) << 32 | u64::from(*len);
        }
        self.values.advance(lanes.count());
        Ok(there)
    }

    fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let len = self.values.len();
        primitive(data_type, len, self.values.take(), nulls)
    }
}

/// An array over one buffer of fixed-width values.
pub(super) fn primitive(
    data_type: &DataType,
    len: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let data = ArrayData::builder(data_type.clone()).len(len).add_buffer(values).nulls(nulls).build();
    data.map(make_array).map_err(arrow)
}

/// An error of Arrow's constructors, which the callers' own checks leave no way to.
#[cold]
pub(super) fn arrow(error: arrow_schema::ArrowError) -> Error {
    Error::corrupt("decoded values make no Arrow array").caused_by(Arc::new(error).to_string())
}
