//! Columns converted to the Arrow type of an Avro type, without the Avro form in between.
//!
//! Only where no value can be refused and none changes: the rules are those of the encoder (`avro::encode::bind`). For
//! every other column the answer is none, and the encoder decides, which names row and field.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampMicrosecondType, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

use mortice_avro::{Decimal, Record, Type};

/// A column as `target`, which is the Arrow type of `ty` in files.
pub(super) fn direct(ty: &Type, column: &ArrayRef, target: &DataType) -> Option<ArrayRef> {
    use DataType as Ty;
    if !ty.is_nullable() && column.logical_null_count() > 0 {
        return None;
    }
    let small = matches!(column.data_type(), Ty::Int8 | Ty::Int16 | Ty::UInt8 | Ty::UInt16);
    match (ty.non_null(), column.data_type()) {
        (_, Ty::Null) => ty.is_nullable().then(|| new_null_array(target, column.len())),
        (_, Ty::Dictionary(_, values)) => direct(ty, &cast(column, values)?, target),
        (Type::Record(record), Ty::Struct(_)) => structure(record, column.as_struct(), target),
        (Type::Array(items), Ty::List(_)) => list(items, column.as_list(), target),
        (Type::Array(_), Ty::LargeList(item) | Ty::FixedSizeList(item, _)) => {
            direct(ty, &cast(column, &Ty::List(Arc::clone(item)))?, target)
        }
        (Type::Map(values), Ty::Map(..)) => map(values, column.as_map(), target),
        (Type::Decimal(decimal), Ty::Decimal128(..)) => in_precision(decimal, column, target),
        (Type::String | Type::Uuid, Ty::Utf8 | Ty::LargeUtf8 | Ty::Utf8View)
        | (Type::Bytes, Ty::Binary | Ty::LargeBinary | Ty::BinaryView | Ty::FixedSizeBinary(_))
        | (Type::Boolean, Ty::Boolean)
        | (Type::Int | Type::TimeMillis, Ty::Int32)
        | (Type::TimeMillis, Ty::Time32(TimeUnit::Millisecond))
        | (Type::Long, Ty::Int32 | Ty::Int64 | Ty::UInt32)
        | (Type::TimeMicros, Ty::Int64 | Ty::Time64(TimeUnit::Microsecond))
        | (Type::Float, Ty::Float32)
        | (Type::Double, Ty::Float32 | Ty::Float64 | Ty::Int32 | Ty::UInt32)
        | (Type::Date, Ty::Date32) => cast(column, target),
        (Type::Int | Type::Long | Type::Float | Type::Double, _) if small => cast(column, target),
        (Type::Fixed(_), from) if from == target => Some(Arc::clone(column)),
        (ty, Ty::Timestamp(unit, zone)) => timestamp(ty, column, *unit, zone.is_some(), target),
        _ => None,
    }
}

fn cast(column: &ArrayRef, target: &DataType) -> Option<ArrayRef> {
    if column.data_type() == target {
        return Some(Arc::clone(column));
    }
    cast_with_options(column, target, &CastOptions { safe: false, ..CastOptions::default() }).ok()
}

/// Timestamps of the file's unit or of a coarser one, under any name of their time zone.
fn timestamp(ty: &Type, column: &ArrayRef, unit: TimeUnit, zoned: bool, target: &DataType) -> Option<ArrayRef> {
    use TimeUnit::{Microsecond, Millisecond, Second};
    let (is_utc, wanted) = match ty {
        Type::TimestampMillis => (true, Millisecond),
        Type::TimestampMicros => (true, Microsecond),
        Type::LocalTimestampMillis => (false, Millisecond),
        Type::LocalTimestampMicros => (false, Microsecond),
        _ => return None,
    };
    let coarser = match wanted {
        Millisecond => matches!(unit, Second | Millisecond),
        _ => matches!(unit, Second | Millisecond | Microsecond),
    };
    if is_utc != zoned || !coarser {
        return None;
    }
    let zone = zoned.then(|| Arc::from("UTC"));
    let zoneless: ArrayRef = match unit {
        Second => {
            Arc::new(column.as_primitive::<arrow_array::types::TimestampSecondType>().clone().with_timezone_opt(zone))
        }
        Millisecond => Arc::new(column.as_primitive::<TimestampMillisecondType>().clone().with_timezone_opt(zone)),
        _ => Arc::new(column.as_primitive::<TimestampMicrosecondType>().clone().with_timezone_opt(zone)),
    };
    cast(&zoneless, target)
}

/// Decimals of the same scale that have no more digits than they may.
fn in_precision(decimal: &Decimal, column: &ArrayRef, target: &DataType) -> Option<ArrayRef> {
    let DataType::Decimal128(precision, scale) = *target else { return None };
    let values = column.as_primitive::<Decimal128Type>();
    if values.scale() != scale {
        return None;
    }
    let limit = 10_i128.checked_pow(precision.into())?;
    let fits = |value: i128| -limit < value && value < limit;
    // The value of a null slot may be anything.
    let all_fit = match values.nulls() {
        None => values.values().iter().all(|value| fits(*value)),
        Some(_) => values.iter().flatten().all(fits),
    };
    let bytes = decimal.fixed.as_ref().map_or(usize::MAX, |fixed| fixed.size);
    let digits_fit =
        bytes >= 16 || limit <= 1_i128.checked_shl(u32::try_from(bytes.checked_mul(8)?.checked_sub(1)?).ok()?)?;
    let same = (all_fit && digits_fit).then(|| values.clone().with_precision_and_scale(precision, scale).ok())??;
    Some(Arc::new(same))
}

fn structure(record: &Record, column: &StructArray, target: &DataType) -> Option<ArrayRef> {
    let DataType::Struct(fields) = target else { return None };
    if column.num_columns() != record.fields.len() || fields.is_empty() {
        return None;
    }
    let members = record.fields.iter().zip(fields).map(|(field, target)| {
        let mut named = column.fields().iter().zip(column.columns()).filter(|(one, _)| *one.name() == field.name);
        let (_, member) = named.next().filter(|_| named.next().is_none())?;
        direct(&field.ty, member, target.data_type())
    });
    let members = members.collect::<Option<Vec<_>>>()?;
    Some(Arc::new(StructArray::try_new(fields.clone(), members, column.nulls().cloned()).ok()?))
}

fn list(items: &Type, column: &ListArray, target: &DataType) -> Option<ArrayRef> {
    let DataType::List(item) = target else { return None };
    let values = direct(items, column.values(), item.data_type())?;
    let nulls = column.nulls().cloned();
    Some(Arc::new(ListArray::try_new(Arc::clone(item), column.offsets().clone(), values, nulls).ok()?))
}

fn map(values: &Type, column: &MapArray, target: &DataType) -> Option<ArrayRef> {
    let DataType::Map(entries, false) = target else { return None };
    let DataType::Struct(fields) = entries.data_type() else { return None };
    let [key, value] = fields.as_ref() else { return None };
    let keys = direct(&Type::String, column.keys(), key.data_type())?;
    let values = direct(values, column.values(), value.data_type())?;
    let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None).ok()?;
    let nulls = column.nulls().cloned();
    Some(Arc::new(MapArray::try_new(Arc::clone(entries), column.offsets().clone(), pairs, nulls, false).ok()?))
}
