//! Booleans: a byte in Avro, a bit in Arrow.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::super::lane::Lane;
use super::column::Values;
use super::validity::Bits;
use crate::error::Result;

#[derive(Default)]
pub(super) struct Booleans {
    bits: Bits,
}

impl Values for Booleans {
    #[inline(always)]
    fn value(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        match lane.byte()? {
            bit @ 0..=1 => {
                self.bits.push(bit == 1);
                Ok(())
            }
            other => Err(lane.corrupt(format!("a boolean of {other:#04x}"))),
        }
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
