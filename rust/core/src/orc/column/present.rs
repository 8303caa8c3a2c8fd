//! A column: which rows have a value, and the values.

use arrow_array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;

use super::decimals::Decimals;
use super::nested::{Lists, Maps, Structs};
use super::scalars::{Booleans, Bytes, Floats, Ints};
use super::texts::{DictionaryTexts, Texts};
use super::timestamps::Timestamps;
use super::values::Values;
use crate::error::{Error, Result};
use crate::orc::byte_runs::BitRuns;
use crate::orc::stripe::{Stripe, kind};
use crate::orc::types::{OrcKind, OrcType};

/// A column of a stripe.
pub(in crate::orc) struct Column {
    /// None where all rows have a value.
    present: Option<BitRuns>,
    values: Box<dyn Values>,
    arrow: DataType,
}

impl Column {
    /// The column of a type, with those below it.
    pub(in crate::orc) fn open(stripe: &Stripe, kind: &OrcType) -> Result<Self> {
        let present = stripe.some_stream(kind.column, kind::PRESENT)?.map(BitRuns::new);
        Ok(Self { present, values: values(stripe, kind)?, arrow: kind.arrow() })
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

    fn exactly(&mut self, count: usize) -> Result<ArrayRef> {
        let values = self.values.read(count)?;
        if values.len() == count {
            return Ok(values);
        }
        Err(Error::invalid_table(format!("{count} values wanted of a column of an ORC file, {} found", values.len())))
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
    take(values, &from, None).map_err(|error| Error::invalid_table("rows of an ORC file").caused_by(error))
}

fn values(stripe: &Stripe, kind: &OrcType) -> Result<Box<dyn Values>> {
    let column = kind.column;
    let child = |at: usize| {
        let (_, child) = kind.children.get(at).ok_or_else(|| Error::invalid_table("an ORC type without its child"))?;
        Column::open(stripe, child)
    };
    let ints = || stripe.ints(column, kind::DATA, true);
    Ok(match kind.kind {
        OrcKind::Boolean => Box::new(Booleans::new(stripe.stream(column, kind::DATA)?)),
        OrcKind::Byte => Box::new(Bytes::new(stripe.stream(column, kind::DATA)?)),
        OrcKind::Short | OrcKind::Int | OrcKind::Long | OrcKind::Date => Box::new(Ints::new(ints()?, kind.kind)),
        OrcKind::Float => Box::new(Floats::single(stripe.stream(column, kind::DATA)?)),
        OrcKind::Double => Box::new(Floats::double(stripe.stream(column, kind::DATA)?)),
        OrcKind::Text | OrcKind::Binary => match stripe.encoding(column)?.dictionary {
            Some(size) => Box::new(DictionaryTexts::open(stripe, kind, size)?),
            None => Box::new(Texts::open(stripe, kind)?),
        },
        OrcKind::Decimal { precision, scale } => Box::new(Decimals {
            digits: stripe.stream(column, kind::DATA)?,
            scales: stripe.ints(column, kind::SECONDARY, true)?,
            precision,
            scale,
        }),
        OrcKind::Timestamp | OrcKind::Moment => Box::new(Timestamps::open(stripe, kind)?),
        OrcKind::List => Box::new(Lists { lengths: stripe.ints(column, kind::LENGTH, false)?, items: child(0)? }),
        OrcKind::Map => {
            let lengths = stripe.ints(column, kind::LENGTH, false)?;
            Box::new(Maps { lengths, keys: child(0)?, items: child(1)?, arrow: kind.arrow() })
        }
        OrcKind::Struct => {
            let children = (0..kind.children.len()).map(child).collect::<Result<_>>()?;
            Box::new(Structs { fields: kind.fields(), children })
        }
    })
}
