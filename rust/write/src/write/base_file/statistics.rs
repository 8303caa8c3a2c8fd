//! Column ranges from the metadata of a parquet file that was written (`ParquetUtils.readColumnStatsFromMetadata`).
//!
//! The bounds in a parquet file leave out NaN. Hudi would skip a file with the values 1, NaN and 2 for the filter `x >
//! 5`, which NaN passes; it would also skip a file without bounds. So the writer looks for NaN, which is the greatest
//! value then.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;

use crate::write::column_range::{ColumnRange, ColumnValue};
use mortice_avro::{Record, Schema, Type};
use mortice_base::error::{Error, Result};

/// Adds the columns that have NaN, fields of structs among them.
pub(super) fn add_nan_columns(record: &Record, columns: &[ArrayRef], path: &str, found: &mut BTreeSet<String>) {
    for (field, column) in record.fields.iter().zip(columns) {
        let has_nan = match column.data_type() {
            DataType::Float32 => column.as_primitive::<Float32Type>().iter().flatten().any(f32::is_nan),
            DataType::Float64 => column.as_primitive::<Float64Type>().iter().flatten().any(f64::is_nan),
            DataType::Struct(_) => true,
            _ => false,
        };
        if !has_nan {
            continue;
        }
        let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
        match (field.ty.non_null(), column.as_struct_opt()) {
            (Type::Record(record), Some(rows)) => add_nan_columns(record, rows.columns(), &path, found),
            (_, Some(_)) => {}
            _ => {
                found.insert(path);
            }
        }
    }
}

/// The ranges of all columns, fields of structs among them. Lists and maps have none. `with_nan` are the columns that
/// have NaN.
pub(super) fn column_ranges(
    schema: &Schema,
    metadata: &ParquetMetaData,
    with_nan: &BTreeSet<String>,
) -> Result<Vec<ColumnRange>> {
    let mut leaves = Vec::new();
    add_leaves(schema.as_record()?, "", &mut leaves);
    let range = |(path, ty): (String, &Type)| {
        let mut range = ColumnRange::new(&path);
        for group in metadata.row_groups() {
            let chunk = group.columns().iter().find(|chunk| chunk.column_path().parts().join(".") == path);
            let chunk = chunk.ok_or_else(|| Error::internal(format!("column {path} was not written")))?;
            range.add(chunk_range(&path, chunk, ty, with_nan.contains(&path))?);
        }
        Ok(range)
    };
    leaves.into_iter().map(range).collect()
}

fn add_leaves<'a>(record: &'a Record, path: &str, leaves: &mut Vec<(String, &'a Type)>) {
    for field in &record.fields {
        let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
        match field.ty.non_null() {
            Type::Record(record) => add_leaves(record, &path, leaves),
            Type::Array(_) | Type::Map(_) => {}
            leaf => leaves.push((path, leaf)),
        }
    }
}

fn chunk_range(path: &str, chunk: &ColumnChunkMetaData, ty: &Type, has_nan: bool) -> Result<ColumnRange> {
    let misfit = || Error::internal(format_args!("column {path:?} was written without statistics"));
    let count = |number: i64| u64::try_from(number).map_err(|_| misfit());
    let mut range = ColumnRange::new(path);
    range.values = count(chunk.num_values())?;
    // Readers skip a file for `IS NULL` if it has no nulls.
    range.nulls = chunk.statistics().and_then(Statistics::null_count_opt).ok_or_else(misfit)?;
    range.total_size = count(chunk.compressed_size())?;
    range.total_uncompressed_size = count(chunk.uncompressed_size())?;
    range.bounds = chunk.statistics().and_then(|statistics| bounds(statistics, ty));
    if has_nan && range.nulls < range.values {
        let nan =
            if matches!(ty, Type::Float) { ColumnValue::from_f32(f32::NAN) } else { ColumnValue::from_f64(f64::NAN) };
        let least = range.bounds.map_or_else(|| nan.clone(), |(least, _)| least);
        range.bounds = Some((least, nan));
    }
    Ok(range)
}

fn bounds(statistics: &Statistics, ty: &Type) -> Option<(ColumnValue, ColumnValue)> {
    let both = |least: Option<ColumnValue>, greatest: Option<ColumnValue>| Some((least?, greatest?));
    match statistics {
        Statistics::Boolean(of) => {
            both(of.min_opt().map(|one| ColumnValue::Boolean(*one)), of.max_opt().map(|one| ColumnValue::Boolean(*one)))
        }
        Statistics::Int32(of) => {
            both(of.min_opt().map(|one| ColumnValue::Int(*one)), of.max_opt().map(|one| ColumnValue::Int(*one)))
        }
        Statistics::Int64(of) => {
            both(of.min_opt().map(|one| ColumnValue::Long(*one)), of.max_opt().map(|one| ColumnValue::Long(*one)))
        }
        Statistics::Float(of) => {
            let value = |one: Option<&f32>| one.filter(|one| !one.is_nan()).map(|one| ColumnValue::from_f32(*one));
            both(value(of.min_opt()), value(of.max_opt()))
        }
        Statistics::Double(of) => {
            let value = |one: Option<&f64>| one.filter(|one| !one.is_nan()).map(|one| ColumnValue::from_f64(*one));
            both(value(of.min_opt()), value(of.max_opt()))
        }
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) => {
            let value = |bytes: Option<&[u8]>| of_bytes(bytes?, ty);
            both(value(statistics.min_bytes_opt()), value(statistics.max_bytes_opt()))
        }
        Statistics::Int96(_) => None,
    }
}

/// A value that is stored as bytes.
fn of_bytes(bytes: &[u8], ty: &Type) -> Option<ColumnValue> {
    Some(match ty {
        Type::String | Type::Uuid | Type::Enum(_) => ColumnValue::String(std::str::from_utf8(bytes).ok()?.to_owned()),
        Type::Decimal(_) => {
            let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1_i128 };
            // Bytes above the 16th repeat the sign: an Arrow decimal has no more.
            ColumnValue::Decimal(bytes.iter().fold(sign, |value, byte| (value << 8) | i128::from(*byte)))
        }
        _ => ColumnValue::Bytes(bytes.to_vec()),
    })
}
