//! Column ranges of records that are written to logs, from columns in their parquet form.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, TimeUnit};

use crate::write::column_range::{ColumnRange, ColumnValue};
use mortice_avro::{Record, Schema, Type};
use mortice_base::error::Result;

/// The ranges of all columns, fields of structs among them; lists and maps have none.
pub(super) fn column_ranges(schema: &Schema, rows: &RecordBatch) -> Result<Vec<ColumnRange>> {
    let mut ranges = Vec::new();
    add_columns(schema.as_record()?, rows.columns(), "", &mut ranges);
    Ok(ranges)
}

fn add_columns(record: &Record, columns: &[ArrayRef], path: &str, ranges: &mut Vec<ColumnRange>) {
    for (field, column) in record.fields.iter().zip(columns) {
        let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
        match (field.ty.non_null(), column.as_struct_opt()) {
            (Type::Record(record), Some(rows)) => {
                let rows = pushed_down(rows);
                add_columns(record, &rows, &path, ranges);
            }
            (Type::Array(_) | Type::Map(_), _) => {}
            (leaf, _) => ranges.push(range(&path, leaf, column)),
        }
    }
}

/// The fields of structs, null where the struct is.
fn pushed_down(rows: &arrow_array::StructArray) -> Vec<ArrayRef> {
    let Some(nulls) = rows.nulls() else { return rows.columns().to_vec() };
    let with_nulls = |column: &ArrayRef| {
        let both = arrow_buffer::NullBuffer::union(column.nulls(), Some(nulls));
        let data = column.to_data().into_builder().nulls(both);
        data.build()
            .map_or_else(|_| arrow_array::new_null_array(column.data_type(), column.len()), arrow_array::make_array)
    };
    rows.columns().iter().map(with_nulls).collect()
}

fn range(path: &str, ty: &Type, column: &ArrayRef) -> ColumnRange {
    let mut range = ColumnRange::new(path);
    range.values = column.len() as u64;
    range.nulls = column.logical_null_count() as u64;
    range.total_uncompressed_size = column.to_data().get_slice_memory_size().unwrap_or_default() as u64;
    range.total_size = range.total_uncompressed_size;
    range.bounds = bounds(ty, column);
    range
}

fn bounds(ty: &Type, column: &ArrayRef) -> Option<(ColumnValue, ColumnValue)> {
    use DataType as Ty;
    match column.data_type() {
        Ty::Boolean => {
            let values = column.as_boolean();
            let has = |wanted: bool| values.iter().flatten().any(|value| value == wanted);
            let (falses, trues) = (has(false), has(true));
            (falses || trues).then_some((ColumnValue::Boolean(!falses), ColumnValue::Boolean(trues)))
        }
        Ty::Int32 => numbers::<Int32Type>(column, ColumnValue::Int),
        Ty::Date32 => numbers::<Date32Type>(column, ColumnValue::Int),
        Ty::Int64 => numbers::<Int64Type>(column, ColumnValue::Long),
        Ty::Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(column, ColumnValue::Long),
        Ty::Timestamp(TimeUnit::Millisecond, _) => numbers::<TimestampMillisecondType>(column, ColumnValue::Long),
        Ty::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            let nan = values.iter().flatten().any(f32::is_nan).then_some((f32::NAN, f32::NAN));
            let numbers = extremes(values, |value| value.is_nan());
            let (least, greatest) = (numbers.or(nan)?.0, nan.or(numbers)?.1);
            // As in parquet, a zero stands for both.
            let zero = |value: f32, sign: f32| if value == 0.0 { 0.0_f32.copysign(sign) } else { value };
            Some((ColumnValue::from_f32(zero(least, -1.0)), ColumnValue::from_f32(zero(greatest, 1.0))))
        }
        Ty::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            let nan = values.iter().flatten().any(f64::is_nan).then_some((f64::NAN, f64::NAN));
            let numbers = extremes(values, |value| value.is_nan());
            let (least, greatest) = (numbers.or(nan)?.0, nan.or(numbers)?.1);
            let zero = |value: f64, sign: f64| if value == 0.0 { 0.0_f64.copysign(sign) } else { value };
            Some((ColumnValue::from_f64(zero(least, -1.0)), ColumnValue::from_f64(zero(greatest, 1.0))))
        }
        Ty::Utf8 => {
            let (least, greatest) = extreme_strings(column.as_string::<i32>())?;
            Some((ColumnValue::String(least.to_owned()), ColumnValue::String(greatest.to_owned())))
        }
        Ty::Binary => of_bytes(ty, column.as_binary::<i32>().iter().flatten()),
        Ty::FixedSizeBinary(_) => of_bytes(ty, column.as_fixed_size_binary().iter().flatten()),
        _ => None,
    }
}

fn numbers<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    value: fn(T::Native) -> ColumnValue,
) -> Option<(ColumnValue, ColumnValue)>
where
    T::Native: PartialOrd,
{
    let (least, greatest) = extremes(column.as_primitive::<T>(), |_| false)?;
    Some((value(least), value(greatest)))
}

/// The least and the greatest value that is not to be skipped.
fn extremes<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    skip: impl Fn(&T::Native) -> bool,
) -> Option<(T::Native, T::Native)>
where
    T::Native: PartialOrd,
{
    let wider = |(least, greatest): (T::Native, T::Native), value: T::Native| {
        (if value < least { value } else { least }, if value > greatest { value } else { greatest })
    };
    if values.null_count() == 0 {
        // Without nulls, several values are compared at once.
        let first = values.values().iter().find(|value| !skip(value)).copied()?;
        let wider = |ends, value: &T::Native| if skip(value) { ends } else { wider(ends, *value) };
        return Some(values.values().iter().fold((first, first), wider));
    }
    let mut values = values.iter().flatten().filter(|value| !skip(value));
    let first = values.next()?;
    Some(values.fold((first, first), wider))
}

/// The least and the greatest text, by its bytes.
fn extreme_strings(values: &StringArray) -> Option<(&str, &str)> {
    let valid = |row: &usize| values.is_valid(*row);
    let mut rows = (0..values.len()).filter(valid).map(|row| values.value(row));
    let first = rows.next()?;
    let (mut least, mut greatest) = (first, first);
    let (mut least_head, mut greatest_head) = (head(first), head(first));
    for value in rows {
        // Most strings differ in their first bytes.
        let own = head(value);
        if own < least_head || own == least_head && value < least {
            (least, least_head) = (value, own);
        }
        if own > greatest_head || own == greatest_head && value > greatest {
            (greatest, greatest_head) = (value, own);
        }
    }
    Some((least, greatest))
}

/// The first eight bytes, as a number of the same order; zeros behind shorter strings.
fn head(text: &str) -> u64 {
    match text.as_bytes().first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => text.bytes().fold(0, |head, byte| head << 8 | u64::from(byte)) << (64 - 8 * text.len().clamp(1, 8)),
    }
}

/// Of bytes, and of decimals, which are bytes in parquet.
fn of_bytes<'a>(ty: &Type, values: impl Iterator<Item = &'a [u8]>) -> Option<(ColumnValue, ColumnValue)> {
    let Type::Decimal(_) = ty else {
        let (least, greatest) = values.fold(None, |range: Option<(&[u8], &[u8])>, value| match range {
            None => Some((value, value)),
            Some((least, greatest)) => Some((least.min(value), greatest.max(value))),
        })?;
        return Some((ColumnValue::Bytes(least.to_vec()), ColumnValue::Bytes(greatest.to_vec())));
    };
    let (least, greatest) =
        values.filter_map(decimal).fold(None, |range: Option<(i128, i128)>, value| match range {
            None => Some((value, value)),
            Some((least, greatest)) => Some((least.min(value), greatest.max(value))),
        })?;
    Some((ColumnValue::Decimal(least), ColumnValue::Decimal(greatest)))
}

/// Two's complement, big-endian.
fn decimal(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1_i128 };
    Some(bytes.iter().fold(sign, |value, byte| (value << 8) | i128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_the_greatest_number() {
        let nan = f64::NAN;
        for (values, least, greatest) in
            [([Some(1.0), Some(nan), None, Some(2.0)], 1.0, nan), ([Some(nan), None, None, None], nan, nan)]
        {
            let column: ArrayRef = std::sync::Arc::new(arrow_array::Float64Array::from(values.to_vec()));
            let expected = (ColumnValue::from_f64(least), ColumnValue::from_f64(greatest));
            assert_eq!(bounds(&Type::Double, &column), Some(expected));
            let column: ArrayRef =
                std::sync::Arc::new(values.iter().map(|x| x.map(|x| x as f32)).collect::<arrow_array::Float32Array>());
            let expected = (ColumnValue::from_f32(least as f32), ColumnValue::from_f32(greatest as f32));
            assert_eq!(bounds(&Type::Float, &column), Some(expected));
        }
    }

    #[test]
    fn strings_are_ordered_by_their_bytes() {
        let strings = [
            "",
            "\0",
            "a",
            "a\0",
            "ab",
            "abcdefg",
            "abcdefgh",
            "abcdefgh\0",
            "abcdefghi",
            "b",
            "z",
            "zß",
            "ß",
            "\u{10000}",
        ];
        for (at, least) in strings.iter().enumerate() {
            for greatest in strings.iter().skip(at) {
                let column = StringArray::from(vec![Some(*greatest), None, Some(*least), Some(*greatest)]);
                assert_eq!(extreme_strings(&column), Some((*least, *greatest)));
                assert!(head(least) <= head(greatest), "{least:?} {greatest:?}");
            }
        }
        assert_eq!(extreme_strings(&StringArray::from(vec![None::<&str>])), None);
    }
}
