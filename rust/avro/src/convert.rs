//! Which single values turn into which: the table of Hudi's `rewritePrimaryType`.
//!
//! | writer | reader | value |
//! |---|---|---|
//! | the same | the same | itself |
//! | int | long, float, double | numeric |
//! | long | float, double | numeric |
//! | float | double | by its decimal text |
//! | int, long, float, double | string | Java's `toString` |
//! | date | string | ISO; and back |
//! | bytes, enum | string | UTF-8, name; string → bytes, enum likewise |
//! | fixed, vector | bytes | raw |
//! | fixed, vector | fixed of the same size | raw |
//! | vector | vector of the same shape | itself |
//! | decimal | decimal | rescaled, HALF_UP |
//! | bytes | decimal | the reader's scale |
//! | decimal | string | plain digits |
//! | string, int, long, float, double | decimal | by text, HALF_UP |
//! | timestamp-micros, local or not | timestamp-millis, local or not | **the number as it is**: files written so are mislabelled (`HoodieSchemaRepair`) |
//! | timestamp-millis | timestamp-micros | × 1000 |
//! | long | any logical long | the number as it is; and back |

use std::sync::Arc;

use super::arrow_types::{ArrowMapping, whole};
use super::plan::{DecimalPlan, DecimalSource, NumberPlan, TextPlan, ValuePlan};
use super::types::{Decimal as DecimalType, Type, Vector};

/// How a value of one type is read as another; none where no rule leads there. Neither is null, union, array, map or
/// record.
pub(super) fn convert(writer: &Type, reader: &Type, types: ArrowMapping) -> Option<ValuePlan> {
    match reader {
        Type::Boolean => (*writer == Type::Boolean).then_some(ValuePlan::Boolean),
        Type::Float => number(match writer {
            Type::Float => NumberPlan::Float,
            _ => match whole(writer)? {
                32 => NumberPlan::IntToFloat,
                _ => NumberPlan::LongToFloat,
            },
        }),
        Type::Double => number(match writer {
            Type::Double => NumberPlan::Double,
            Type::Float => NumberPlan::FloatToDouble,
            _ => match whole(writer)? {
                32 => NumberPlan::IntToDouble,
                _ => NumberPlan::LongToDouble,
            },
        }),
        Type::Bytes => bytes(writer),
        Type::String | Type::Uuid => string(writer),
        Type::Fixed(fixed) => match writer {
            Type::Fixed(written) | Type::Vector(Vector { fixed: written, .. }) if written.size == fixed.size => {
                Some(fixed_bytes(fixed.size, types))
            }
            _ => None,
        },
        Type::Vector(wanted) => match writer {
            Type::Vector(written) if written.shape == wanted.shape => Some(ValuePlan::Vector(wanted.shape)),
            _ => None,
        },
        Type::Enum(wanted) => enumeration(writer, &wanted.symbols, wanted.default.as_ref()),
        Type::Decimal(wanted) => decimal(writer, wanted),
        _ => whole_number(writer, reader, types),
    }
}

fn number(number: NumberPlan) -> Option<ValuePlan> {
    Some(ValuePlan::Number(number))
}

/// Ints and longs with and without logical types.
fn whole_number(writer: &Type, reader: &Type, types: ArrowMapping) -> Option<ValuePlan> {
    if *reader == Type::Date && matches!(writer, Type::String | Type::Uuid) {
        return number(NumberPlan::TextToDate);
    }
    let factor = factor_between(writer, reader)?.checked_mul(factor_to_arrow(reader, types))?;
    match (whole(writer)?, whole(reader)?) {
        (32, 32) => number(NumberPlan::Int),
        (32, 64) => number(NumberPlan::IntToLongTimes(factor)),
        (64, 64) if factor == 1 => number(NumberPlan::Long),
        (64, 64) => number(NumberPlan::LongTimes(factor)),
        _ => None,
    }
}

/// What a number is multiplied by on its way to the reader's unit.
fn factor_between(writer: &Type, reader: &Type) -> Option<i64> {
    use Type::{LocalTimestampMicros, LocalTimestampMillis, TimestampMicros, TimestampMillis};
    match (writer, reader) {
        (TimestampMillis, TimestampMicros) | (LocalTimestampMillis, LocalTimestampMicros) => Some(1000),
        // Hudi corrects the unit also between an instant and a local time.
        (TimestampMicros | LocalTimestampMicros, TimestampMillis | LocalTimestampMillis) => Some(1),
        // An instant is no wall clock; nothing says what would be meant.
        (TimestampMillis | TimestampMicros, LocalTimestampMillis | LocalTimestampMicros)
        | (LocalTimestampMillis | LocalTimestampMicros, TimestampMillis | TimestampMicros) => None,
        _ => Some(1),
    }
}

/// What a number is multiplied by on its way from the reader's unit to that of the column.
fn factor_to_arrow(reader: &Type, types: ArrowMapping) -> i64 {
    match (reader, types) {
        (Type::TimestampMillis | Type::LocalTimestampMillis, ArrowMapping::Table) => 1000,
        _ => 1,
    }
}

fn bytes(writer: &Type) -> Option<ValuePlan> {
    match writer {
        Type::Bytes | Type::String | Type::Uuid => Some(ValuePlan::Text(TextPlan::Bytes)),
        Type::Fixed(fixed) => Some(ValuePlan::Text(TextPlan::Fixed(fixed.size))),
        Type::Decimal(DecimalType { fixed: Some(fixed), .. }) | Type::Vector(Vector { fixed, .. }) => {
            Some(ValuePlan::Text(TextPlan::Fixed(fixed.size)))
        }
        Type::Decimal(_) => Some(ValuePlan::Text(TextPlan::Bytes)),
        _ => None,
    }
}

fn string(writer: &Type) -> Option<ValuePlan> {
    Some(ValuePlan::Text(match writer {
        Type::String | Type::Uuid | Type::Bytes => TextPlan::Bytes,
        Type::Enum(symbols) => TextPlan::Symbol(symbols.symbols.iter().cloned().map(Some).collect()),
        Type::Date => TextPlan::Date,
        Type::Float => TextPlan::Float,
        Type::Double => TextPlan::Double,
        Type::Decimal(written) => {
            let source = stored(written);
            // As many digits as any decimal has: what was written is shown, fit or not.
            TextPlan::Decimal(DecimalPlan {
                source,
                precision: 39,
                scale: Some(written.scale).filter(|scale| *scale <= 38)?,
            })
        }
        _ => match whole(writer)? {
            32 => TextPlan::Int,
            _ => TextPlan::Long,
        },
    }))
}

fn fixed_bytes(size: usize, types: ArrowMapping) -> ValuePlan {
    match types {
        ArrowMapping::Table => ValuePlan::Text(TextPlan::Fixed(size)),
        ArrowMapping::File => ValuePlan::Fixed(size),
    }
}

fn enumeration(writer: &Type, wanted: &[String], default: Option<&String>) -> Option<ValuePlan> {
    Some(ValuePlan::Text(match writer {
        Type::Enum(written) => TextPlan::Symbol(
            written
                .symbols
                .iter()
                .map(|symbol| if wanted.contains(symbol) { Some(symbol.clone()) } else { default.cloned() })
                .collect(),
        ),
        Type::String | Type::Uuid => TextPlan::OneOf(Arc::from(wanted)),
        _ => return None,
    }))
}

fn decimal(writer: &Type, wanted: &DecimalType) -> Option<ValuePlan> {
    let source = match writer {
        Type::Decimal(written) => stored(written),
        Type::Bytes => DecimalSource::Bytes { scale: wanted.scale },
        Type::String | Type::Uuid => DecimalSource::Text,
        Type::Float => DecimalSource::Float,
        Type::Double => DecimalSource::Double,
        _ => match whole(writer)? {
            32 => DecimalSource::Int,
            _ => DecimalSource::Long,
        },
    };
    let precision = u8::try_from(wanted.precision).ok()?;
    Some(ValuePlan::Decimal(DecimalPlan { source, precision, scale: wanted.scale }))
}

fn stored(written: &DecimalType) -> DecimalSource {
    match &written.fixed {
        Some(fixed) => DecimalSource::Fixed { size: fixed.size, scale: written.scale },
        None => DecimalSource::Bytes { scale: written.scale },
    }
}
