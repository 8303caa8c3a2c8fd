//! Numbers of a fixed width in Arrow, whatever their width in Avro.

use std::sync::Arc;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::super::lane::{LANES, Lane, Lanes};
use super::column::Values;
use crate::error::{Error, Result};

/// Numbers that `read` gives.
pub(super) struct Numbers<T, F> {
    read: F,
    values: Vec<T>,
}

impl<T, F: Fn(&mut Lane<'_>) -> Result<T>> Numbers<T, F> {
    pub(super) fn new(read: F) -> Self {
        Self { read, values: Vec::new() }
    }
}

impl<T: ArrowNativeType, F: Fn(&mut Lane<'_>) -> Result<T> + Send> Values for Numbers<T, F> {
    #[inline(always)]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        self.values.push((self.read)(lane)?);
        Ok(())
    }

    #[inline]
    fn absent(&mut self) {
        self.values.push(T::default());
    }

    #[inline(always)]
    fn values(&mut self, lanes: &mut Lanes<'_>) -> Result<()> {
        let mut slots = [T::default(); LANES];
        if lanes.all_active() {
            lanes.fill(&mut slots, |lane| (self.read)(lane))?;
        } else {
            lanes.fill_active(&mut slots, |lane| (self.read)(lane))?;
        }
        self.values.extend_from_slice(slots.get(..lanes.count()).unwrap_or_default());
        Ok(())
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
