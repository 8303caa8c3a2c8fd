//! Numbers of a fixed width in Arrow, whatever their width in Avro.

use std::sync::Arc;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::super::lane::{LANES, Lane, Lanes, Source};
use super::super::plan::Tags;
use super::column::{Values, fill};
use crate::error::{Error, Result};

/// How a number is read. The common ones are types of their own, whose reading is compiled into the loop over the lanes;
/// a closure does for the others.
pub(super) trait Read: Send {
    type Native: ArrowNativeType;
    fn read(&self, lane: &mut Lane<'_>) -> Result<Self::Native>;
}

impl<T: ArrowNativeType, F: Fn(&mut Lane<'_>) -> Result<T> + Send> Read for F {
    type Native = T;

    #[inline]
    fn read(&self, lane: &mut Lane<'_>) -> Result<T> {
        self(lane)
    }
}

/// Names a reading.
macro_rules! readings {
    ($($name:ident: $native:ty, $lane:ident => $read:expr;)*) => {$(
        pub(super) struct $name;

        impl Read for $name {
            type Native = $native;

            #[inline(always)]
            fn read(&self, $lane: &mut Lane<'_>) -> Result<$native> {
                $read
            }
        }
    )*};
}

readings! {
    Int: i32, lane => lane.int();
    Long: i64, lane => lane.long();
    Float: f32, lane => lane.array().map(f32::from_le_bytes);
    Double: f64, lane => lane.array().map(f64::from_le_bytes);
    Place: u64, lane => lane.place();
}

/// Numbers of one reading.
pub(super) struct Numbers<R: Read> {
    read: R,
    values: Vec<R::Native>,
}

impl<R: Read> Numbers<R> {
    pub(super) fn new(read: R) -> Self {
        Self { read, values: Vec::new() }
    }
}

struct Reading<'a, R>(&'a R);

impl<R: Read> Source for Reading<'_, R> {
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

impl<R: Read> Values for Numbers<R> {
    #[inline]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        self.values.push(self.read.read(lane)?);
        Ok(())
    }

    #[inline]
    fn absent(&mut self) {
        self.values.push(R::Native::default());
    }

    fn values(&mut self, tags: Tags, lanes: &mut Lanes<'_>) -> Result<u64> {
        let mut slots = [R::Native::default(); LANES];
        let there = fill(tags, lanes, &mut slots, Reading(&self.read))?;
        self.values.extend_from_slice(slots.get(..lanes.count()).unwrap_or_default());
        Ok(there)
    }

    fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    fn finish(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let values = std::mem::take(&mut self.values);
        primitive(data_type, values.len(), Buffer::from_vec(values), nulls)
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
    Error::corrupt("values that make no Arrow array").caused_by(Arc::new(error).to_string())
}
