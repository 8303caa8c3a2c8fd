//! Kinds of types, the type that values have in common, and the names of types in messages.

use arrow_schema::{DataType, TimeUnit};
use mortice_base::{Error, Result};

use crate::decimals::MOST_DIGITS;
use crate::literals::UTC;

/// The digits of a 64-bit integer.
pub(crate) const DIGITS_OF_LONG: u8 = 19;

pub(crate) fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || is_float(kind) || is_decimal(kind)
}

pub(crate) fn is_float(kind: &DataType) -> bool {
    matches!(kind, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

pub(crate) fn is_decimal(kind: &DataType) -> bool {
    matches!(kind, DataType::Decimal128(..) | DataType::Decimal256(..))
}

pub(crate) fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

pub(crate) fn is_bytes(kind: &DataType) -> bool {
    matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) | DataType::BinaryView)
}

pub(crate) fn is_date(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Date64)
}

pub(crate) fn is_timestamp(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(..))
}

pub(crate) fn has_zone(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(_, Some(_)))
}

/// The type of times, with microseconds as all that are computed.
pub(crate) fn timestamp_type(has_zone: bool) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, has_zone.then(|| UTC.into()))
}

/// Returns the type in which values of two types are compared and computed. `InvalidArgument` if there is none.
pub(crate) fn common_type(one: &DataType, other: &DataType) -> Result<DataType> {
    if one == other || other.is_null() {
        return Ok(one.clone());
    }
    if one.is_null() {
        return Ok(other.clone());
    }
    if is_text(one) && is_text(other) {
        return Ok(DataType::Utf8);
    }
    if is_bytes(one) && is_bytes(other) {
        return Ok(DataType::Binary);
    }
    if is_number(one) && is_number(other) {
        return Ok(common_number(one, other));
    }
    let is_moment = |kind: &DataType| is_timestamp(kind) || is_date(kind);
    if is_moment(one) && is_moment(other) {
        return Ok(match is_timestamp(one) || is_timestamp(other) {
            true => timestamp_type(has_zone(one) || has_zone(other)),
            false => DataType::Date32,
        });
    }
    let (one, other) = (type_name(one), type_name(other));
    Err(Error::invalid_argument(format!("{one} and {other} have no type in common; cast one of them")))
}

fn common_number(one: &DataType, other: &DataType) -> DataType {
    if is_float(one) || is_float(other) {
        return DataType::Float64;
    }
    if one.is_integer() && other.is_integer() {
        return DataType::Int64;
    }
    let ((digits, scale), (other_digits, other_scale)) = (digits(one), digits(other));
    let most_scale = scale.max(other_scale);
    let whole = (i16::from(digits) - i16::from(scale)).max(i16::from(other_digits) - i16::from(other_scale));
    let precision = (whole + i16::from(most_scale)).clamp(1, i16::from(MOST_DIGITS));
    DataType::Decimal128(u8::try_from(precision).unwrap_or(MOST_DIGITS), most_scale)
}

fn digits(kind: &DataType) -> (u8, i8) {
    match kind {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => (*precision, *scale),
        _ => (DIGITS_OF_LONG, 0),
    }
}

/// Returns the name of a type, as pyarrow shows it.
pub(crate) fn type_name(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "bool".into(),
        DataType::Float16 => "halffloat".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 => "string".into(),
        DataType::LargeUtf8 => "large_string".into(),
        DataType::Utf8View => "string_view".into(),
        DataType::Date32 => "date32[day]".into(),
        DataType::Date64 => "date64[ms]".into(),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::Timestamp(unit, None) => format!("timestamp[{}]", unit_name(*unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp[{}, tz={zone}]", unit_name(*unit)),
        DataType::Duration(unit) => format!("duration[{}]", unit_name(*unit)),
        DataType::Time32(unit) => format!("time32[{}]", unit_name(*unit)),
        DataType::Time64(unit) => format!("time64[{}]", unit_name(*unit)),
        DataType::FixedSizeBinary(size) => format!("fixed_size_binary[{size}]"),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| format!("{}: {}", field.name(), type_name(field.data_type())));
            format!("struct<{}>", fields.collect::<Vec<_>>().join(", "))
        }
        DataType::List(item) => format!("list<{}: {}>", item.name(), type_name(item.data_type())),
        other => other.to_string().to_lowercase(),
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}
