//! Booleans, integers, floats and dates.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
};

use super::values::ValueReader;
use crate::orc::byte_runs::{BitRuns, ByteRuns};
use crate::orc::int_runs::IntRuns;
use crate::orc::stream::Stream;
use crate::orc::types::OrcKind;
use mortice_base::error::{Error, Result};

/// Booleans: bits.
pub(super) struct BooleanValues(BitRuns);

impl BooleanValues {
    pub(super) fn new(stream: Stream) -> Self {
        Self(BitRuns::new(stream))
    }
}

impl ValueReader for BooleanValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        Ok(Arc::new(BooleanArray::new(self.0.read(count)?, None)))
    }
}

/// Whole numbers of eight bits: bytes.
pub(super) struct ByteValues(ByteRuns);

impl ByteValues {
    pub(super) fn new(stream: Stream) -> Self {
        Self(ByteRuns::new(stream))
    }
}

impl ValueReader for ByteValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let bytes = self.0.read(count)?;
        Ok(Arc::new(bytes.into_iter().map(u8::cast_signed).collect::<Int8Array>()))
    }
}

/// Wider whole numbers and dates.
pub(super) struct IntValues {
    runs: IntRuns,
    kind: OrcKind,
}

impl IntValues {
    pub(super) const fn new(runs: IntRuns, kind: OrcKind) -> Self {
        Self { runs, kind }
    }
}

impl ValueReader for IntValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let numbers = self.runs.read(count)?;
        Ok(match self.kind {
            OrcKind::Short => Arc::new(Int16Array::from(narrowed::<i16>(&numbers)?)),
            OrcKind::Int => Arc::new(Int32Array::from(narrowed::<i32>(&numbers)?)),
            OrcKind::Date => Arc::new(Date32Array::from(narrowed::<i32>(&numbers)?)),
            _ => Arc::new(Int64Array::from(numbers)),
        })
    }
}

fn narrowed<T: TryFrom<i64>>(numbers: &[i64]) -> Result<Vec<T>> {
    let narrowed = |number: &i64| {
        T::try_from(*number)
            .map_err(|_| Error::invalid_table(format!("invalid ORC column: {number} does not fit in its type")))
    };
    numbers.iter().map(narrowed).collect()
}

/// Floats: their bytes, little-endian.
pub(super) struct FloatValues {
    stream: Stream,
    double: bool,
}

impl FloatValues {
    pub(super) const fn single(stream: Stream) -> Self {
        Self { stream, double: false }
    }

    pub(super) const fn double(stream: Stream) -> Self {
        Self { stream, double: true }
    }
}

impl ValueReader for FloatValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        if self.double {
            let bytes = self.stream.take(count.saturating_mul(8))?;
            let (values, _) = bytes.as_chunks::<8>();
            return Ok(Arc::new(values.iter().map(|value| f64::from_le_bytes(*value)).collect::<Float64Array>()));
        }
        let bytes = self.stream.take(count.saturating_mul(4))?;
        let (values, _) = bytes.as_chunks::<4>();
        Ok(Arc::new(values.iter().map(|value| f32::from_le_bytes(*value)).collect::<Float32Array>()))
    }
}
