//! Ranges of the columns of base files that are there already, from their footers.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema, TimeUnit};

use mortice_avro as avro;
use mortice_base::error::Result;
use mortice_base::names::FieldNames;
use mortice_formats::base_file::{self, BaseFile};
use mortice_formats::filter::ColumnBounds;
use mortice_storage::Storage;
use mortice_write::write::{ColumnRange, ColumnValue};

/// The ranges of those columns that the file has, or has a struct for. `table` is the table's schema, `types` are its
/// types in the units of files.
///
/// Where a footer does not say how many nulls a column has, there is one, and another value: readers skip a file
/// without nulls for `IS NULL`, and one with nothing else for other filters. Parquet-mr leaves out the statistics of
/// long values.
pub(in crate::metadata_upkeep) fn ranges_of_base_file<'a>(
    place: &dyn Storage,
    path: &str,
    columns: impl Iterator<Item = &'a str>,
    table: &avro::Schema,
    types: &Schema,
) -> Result<Vec<ColumnRange>> {
    let file = base_file::read_as(base_file::open(place.open(path)?)?, table, FieldNames::identity())?;
    let known = columns.filter(|column| column.split('.').next().is_some_and(|root| file.has_column(root)));
    Ok(known.map(|column| range(file.as_ref(), column, types)).collect())
}

fn range(file: &dyn BaseFile, column: &str, types: &Schema) -> ColumnRange {
    let rows = file.row_groups();
    // Nothing is known here of the fields of structs.
    let bounds = types.fields().find(column).and_then(|(_, field)| file.bounds(field));
    let mut sum = ColumnRange::new(column);
    for (group, rows) in rows.into_iter().enumerate() {
        let mut range = ColumnRange { values: rows.max(2), nulls: 1, ..ColumnRange::new(column) };
        if let Some(ColumnBounds { least, greatest, nulls }) = &bounds {
            if nulls.is_valid(group) {
                (range.values, range.nulls) = (rows, nulls.value(group).min(rows));
            }
            range.bounds = value(least, group).zip(value(greatest, group));
            // The bounds of a file leave out NaN, which is the greatest number. It is no bound itself: Hudi's data
            // skipping (1.2, measured) finds that no number is at most NaN.
            range.bounds = range.bounds.map(|(least, greatest)| (least, greatest.infinity().unwrap_or(greatest)));
        }
        sum.add(range);
    }
    sum
}

fn value(values: &ArrayRef, row: usize) -> Option<ColumnValue> {
    if row >= values.len() || values.is_null(row) {
        return None;
    }
    Some(match values.data_type() {
        DataType::Boolean => ColumnValue::Boolean(values.as_boolean().value(row)),
        DataType::Int32 => ColumnValue::Int(values.as_primitive::<Int32Type>().value(row)),
        DataType::Date32 => ColumnValue::Int(values.as_primitive::<Date32Type>().value(row)),
        DataType::Time32(TimeUnit::Millisecond) => {
            ColumnValue::Int(values.as_primitive::<Time32MillisecondType>().value(row))
        }
        DataType::Int64 => ColumnValue::Long(values.as_primitive::<Int64Type>().value(row)),
        DataType::Time64(TimeUnit::Microsecond) => {
            ColumnValue::Long(values.as_primitive::<Time64MicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            ColumnValue::Long(values.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            ColumnValue::Long(values.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Float32 => not_nan(f64::from(values.as_primitive::<Float32Type>().value(row)))
            .map(|_| ColumnValue::from_f32(values.as_primitive::<Float32Type>().value(row)))?,
        DataType::Float64 => not_nan(values.as_primitive::<Float64Type>().value(row)).map(ColumnValue::from_f64)?,
        DataType::Utf8 => ColumnValue::String(values.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => ColumnValue::Bytes(values.as_binary::<i32>().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => ColumnValue::Bytes(values.as_fixed_size_binary().value(row).to_vec()),
        DataType::Decimal128(..) => ColumnValue::Decimal(values.as_primitive::<Decimal128Type>().value(row)),
        _ => return None,
    })
}

fn not_nan(value: f64) -> Option<f64> {
    Some(value).filter(|value| !value.is_nan())
}
