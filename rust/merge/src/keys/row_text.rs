//! Values of key and partition columns as text, as Hudi's Avro key generators make it
//! (`HoodieAvroUtils.getNestedFieldValAsString`).
//!
//! | type | text |
//! |---|---|
//! | string | as it is |
//! | boolean, integers, floats | Java's `toString` |
//! | decimal | `BigDecimal.toString`: scientific below 10^-6 |
//! | date | `yyyy-MM-dd` |
//! | timestamp | its number of milli- or microseconds, or `java.sql.Timestamp.toString` by option |
//! | binary | its bytes in hexadecimal |
//!
//! Hudi's row writer (`bulk_insert`) makes other text of timestamps unless
//! `hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled` is true.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Local, NaiveDateTime};

use mortice_avro as avro;
use mortice_base::error::{Error, Result};

/// Refuses types that cannot be in a key or partition path. [`mortice_base::ErrorKind::Unsupported`], with the column's
/// name.
pub(super) fn check_type(name: &str, kind: &DataType) -> Result<()> {
    let remedy = match kind {
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Date32
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Millisecond, _) => return Ok(()),
        DataType::Dictionary(_, value) => return check_type(name, value),
        DataType::Timestamp(..) => "; cast it to timestamp[us], the type that the table stores",
        DataType::Date64 => "; cast it to date32",
        _ => "",
    };
    Err(Error::unsupported(format!(
        "column {name:?}: unsupported type {kind} in a record key or partition path{remedy}"
    )))
}

/// The text of each value. `consistent`: timestamps as `java.sql.Timestamp.toString` writes them in this process's time
/// zone.
pub(super) fn strings(column: &ArrayRef, consistent: bool) -> Result<StringArray> {
    let cast = |to: &DataType| {
        let cast = arrow_cast::cast(column, to);
        cast.map_err(|error| Error::internal("a key column cannot be cast").caused_by(error))
    };
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string().clone()),
        DataType::LargeUtf8 | DataType::Utf8View => Ok(cast(&DataType::Utf8)?.as_string().clone()),
        DataType::Dictionary(_, value) => {
            let value: &DataType = value;
            strings(&cast(value)?, consistent)
        }
        DataType::Boolean => Ok(column.as_boolean().iter().map(|one| one.map(|one| one.to_string())).collect()),
        DataType::UInt64 => Ok(cast(&DataType::Utf8)?.as_string().clone()),
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => {
            strings(&cast(&DataType::Int64)?, consistent)
        }
        DataType::Decimal128(_, scale) => {
            let mut strings = StringBuilder::new();
            for value in column.as_primitive::<Decimal128Type>() {
                append(&mut strings, value, |value, text| write_big_decimal(value, *scale, text));
            }
            Ok(strings.finish())
        }
        DataType::Timestamp(unit, _) => {
            let numbers = cast(&DataType::Int64)?;
            if !consistent {
                return strings(&numbers, consistent);
            }
            let per_second = if *unit == TimeUnit::Millisecond { 1000 } else { 1_000_000 };
            let mut strings = StringBuilder::new();
            for value in numbers.as_primitive::<Int64Type>() {
                append(&mut strings, value, |value, text| write_sql_timestamp(value, per_second, text));
            }
            Ok(strings.finish())
        }
        DataType::Binary => {
            let mut strings = StringBuilder::new();
            for value in column.as_binary::<i32>() {
                append(&mut strings, value, |value, text| {
                    value.iter().for_each(|byte| {
                        let _ = write!(text, "{byte:02x}");
                    });
                });
            }
            Ok(strings.finish())
        }
        DataType::LargeBinary | DataType::BinaryView => strings(&cast(&DataType::Binary)?, consistent),
        _ => Ok(avro::java_text_of(&Arc::clone(column))?.as_string().clone()),
    }
}

fn append<T>(strings: &mut StringBuilder, value: Option<T>, write: impl FnOnce(T, &mut String)) {
    match value {
        None => strings.append_null(),
        Some(value) => {
            let mut text = String::new();
            write(value, &mut text);
            strings.append_value(text);
        }
    }
}

/// `BigDecimal.toString`: plain if the scale is not negative and the first digit is no further than the sixth behind
/// the point.
fn write_big_decimal(unscaled: i128, scale: i8, out: &mut String) {
    let digits = unscaled.unsigned_abs().to_string();
    let exponent = i64::try_from(digits.len()).unwrap_or(0) - 1 - i64::from(scale);
    if scale >= 0 && exponent >= -6 {
        return avro::write_decimal(unscaled, u32::from(scale.unsigned_abs()), out);
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let (sign, point) = (if unscaled < 0 { "-" } else { "" }, if rest.is_empty() { "" } else { "." });
    let _ = write!(out, "{sign}{first}{point}{rest}");
    if exponent != 0 {
        let _ = write!(out, "E{exponent:+}");
    }
}

/// `new Timestamp(millis).toString()`, which has the time zone of the process: `2016-12-29 09:54:00.0`.
fn write_sql_timestamp(value: i64, per_second: i64, out: &mut String) {
    // `micros / 1000` of Java cuts towards zero.
    let millis = if per_second == 1000 { value } else { value / 1000 };
    let Some(utc) = DateTime::from_timestamp_millis(millis) else {
        let _ = write!(out, "{millis}");
        return;
    };
    let local: NaiveDateTime = utc.with_timezone(&Local).naive_local();
    let fraction = format!("{:03}", millis.rem_euclid(1000));
    let fraction = fraction.trim_end_matches('0');
    let _ = write!(out, "{}.{}", local.format("%Y-%m-%d %H:%M:%S"), if fraction.is_empty() { "0" } else { fraction });
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int8Array, LargeStringArray,
        TimestampMicrosecondArray, TimestampMillisecondArray, UInt64Array,
    };

    use super::*;

    fn strings_of(column: impl Array + 'static) -> Vec<Option<String>> {
        let column: ArrayRef = Arc::new(column);
        check_type("c", column.data_type()).unwrap();
        strings(&column, false).unwrap().iter().map(|text| text.map(str::to_owned)).collect()
    }

    fn some(strings: &[&str]) -> Vec<Option<String>> {
        strings.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn strings_of_types() {
        assert_eq!(strings_of(Int8Array::from(vec![Some(-1), None])), [Some("-1".to_owned()), None]);
        assert_eq!(strings_of(UInt64Array::from(vec![u64::MAX])), some(&["18446744073709551615"]));
        assert_eq!(strings_of(BooleanArray::from(vec![true, false])), some(&["true", "false"]));
        assert_eq!(strings_of(Float64Array::from(vec![1.0, 1e7, 0.1])), some(&["1.0", "1.0E7", "0.1"]));
        assert_eq!(strings_of(Date32Array::from(vec![0, 19_724])), some(&["1970-01-01", "2024-01-02"]));
        assert_eq!(strings_of(TimestampMicrosecondArray::from(vec![1_500])), some(&["1500"]));
        assert_eq!(strings_of(TimestampMillisecondArray::from(vec![-2]).with_timezone("UTC")), some(&["-2"]));
        assert_eq!(strings_of(BinaryArray::from(vec![&b"\x00\xffA"[..]])), some(&["00ff41"]));
        assert_eq!(strings_of(LargeStringArray::from(vec!["x"])), some(&["x"]));
        assert!(check_type("l", &DataType::Timestamp(TimeUnit::Nanosecond, None)).is_err());
    }

    #[test]
    fn decimals_as_java_writes_them() {
        let decimals = |scale: i8, values: Vec<i128>| {
            strings_of(Decimal128Array::from(values).with_precision_and_scale(20, scale).unwrap())
        };
        assert_eq!(decimals(2, vec![1230, -5, 0]), some(&["12.30", "-0.05", "0.00"]));
        assert_eq!(
            decimals(10, vec![1, 12_345, 0, -10_000]),
            some(&["1E-10", "0.0000012345", "0E-10", "-0.0000010000"])
        );
        assert_eq!(decimals(10, vec![1234]), some(&["1.234E-7"]));
        assert_eq!(decimals(0, vec![7]), some(&["7"]));
    }

    #[test]
    fn consistent_timestamps_end_with_a_fraction() {
        let mut text = String::new();
        write_sql_timestamp(1_120_000, 1_000_000, &mut text);
        assert!(text.ends_with(":01.12"), "{text}");
        text.clear();
        write_sql_timestamp(0, 1000, &mut text);
        assert!(text.ends_with(":00.0"), "{text}");
    }
}
