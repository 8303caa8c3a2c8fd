//! A column: which rows have a value, and the values.

use arrow_array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;

use super::values::ValueReader;
use crate::orc::byte_runs::BitRuns;
use mortice_base::error::{Error, Result};

/// A column of a stripe.
pub(in crate::orc) struct StripeColumn {
    /// None where all rows have a value.
    present: Option<BitRuns>,
    values: Box<dyn ValueReader>,
    arrow: DataType,
}

impl StripeColumn {
    pub(super) fn new(present: Option<BitRuns>, values: Box<dyn ValueReader>, arrow: DataType) -> Self {
        Self { present, values, arrow }
    }

    /// The next `count` rows.
    pub(in crate::orc) fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let Some(present) = &mut self.present else { return self.exactly(count) };
        let present = present.read(count)?;
        match present.count_set_bits() {
            0 => Ok(new_null_array(&self.arrow, count)),
            there if there == count => self.exactly(count),
            there => spread(&self.exactly(there)?, &present),
        }
    }

    /// About how many bytes all rows that are left take in memory, if they are `count`.
    pub(in crate::orc) fn bytes(&self, count: u64) -> u64 {
        self.values.bytes(count)
    }

    /// At most how many bytes the next `count` rows take in memory.
    pub(in crate::orc) fn most_bytes(&mut self, count: u64) -> Result<u64> {
        self.values.most_bytes(count)
    }

    fn exactly(&mut self, count: usize) -> Result<ArrayRef> {
        let values = self.values.read(count)?;
        if values.len() == count {
            return Ok(values);
        }
        Err(Error::invalid_table(format!("invalid ORC column: expected {count} values, found {}", values.len())))
    }
}

/// Values in the rows that have one, nulls in the others.
fn spread(values: &ArrayRef, present: &BooleanBuffer) -> Result<ArrayRef> {
    let mut next = 0_u32;
    let from: UInt32Array = present
        .iter()
        .map(|there| {
            there.then(|| {
                next += 1;
                next - 1
            })
        })
        .collect();
    take(values, &from, None)
        .map_err(|error| Error::invalid_table("rows of an ORC column cannot be assembled").caused_by(error))
}
