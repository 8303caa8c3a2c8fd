//! What decodes a column, by its type; nested columns with those below them.

use super::decimals::DecimalValues;
use super::nested::{ListValues, MapValues, StructValues};
use super::present::StripeColumn;
use super::scalars::{BooleanValues, ByteValues, FloatValues, IntValues};
use super::strings::{DictionaryTexts, TextValues};
use super::timestamps::TimestampValues;
use super::values::ValueReader;
use crate::orc::byte_runs::BitRuns;
use crate::orc::stripe::{Stripe, kind};
use crate::orc::types::{OrcKind, OrcType};
use mortice_base::error::{Error, Result};

/// The column of a type, with those below it.
pub(in crate::orc) fn open(stripe: &Stripe, kind: &OrcType) -> Result<StripeColumn> {
    let present = stripe.some_stream(kind.column, kind::PRESENT)?.map(BitRuns::new);
    Ok(StripeColumn::new(present, values(stripe, kind)?, kind.arrow()))
}

fn values(stripe: &Stripe, kind: &OrcType) -> Result<Box<dyn ValueReader>> {
    let column = kind.column;
    let child = |at: usize| {
        let (_, child) =
            kind.children.get(at).ok_or_else(|| Error::invalid_table("invalid ORC type: its child is missing"))?;
        open(stripe, child)
    };
    let ints = || stripe.ints(column, kind::DATA, true);
    Ok(match kind.kind {
        OrcKind::Boolean => Box::new(BooleanValues::new(stripe.stream(column, kind::DATA)?)),
        OrcKind::Byte => Box::new(ByteValues::new(stripe.stream(column, kind::DATA)?)),
        OrcKind::Short | OrcKind::Int | OrcKind::Long | OrcKind::Date => Box::new(IntValues::new(ints()?, kind.kind)),
        OrcKind::Float => Box::new(FloatValues::single(stripe.stream(column, kind::DATA)?)),
        OrcKind::Double => Box::new(FloatValues::double(stripe.stream(column, kind::DATA)?)),
        OrcKind::Text | OrcKind::Binary => match stripe.encoding(column)?.dictionary {
            Some(size) => Box::new(DictionaryTexts::open(stripe, kind, size)?),
            None => Box::new(TextValues::open(stripe, kind)?),
        },
        OrcKind::Decimal { precision, scale } => Box::new(DecimalValues {
            digits: stripe.stream(column, kind::DATA)?,
            scales: stripe.ints(column, kind::SECONDARY, true)?,
            precision,
            scale,
        }),
        OrcKind::Timestamp | OrcKind::Moment => Box::new(TimestampValues::open(stripe, kind)?),
        OrcKind::List => Box::new(ListValues { lengths: stripe.ints(column, kind::LENGTH, false)?, items: child(0)? }),
        OrcKind::Map => {
            let lengths = stripe.ints(column, kind::LENGTH, false)?;
            Box::new(MapValues { lengths, keys: child(0)?, items: child(1)?, arrow: kind.arrow() })
        }
        OrcKind::Struct => {
            let children = (0..kind.children.len()).map(child).collect::<Result<_>>()?;
            Box::new(StructValues { fields: kind.fields(), children })
        }
    })
}
