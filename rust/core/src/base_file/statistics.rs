//! What the footer of a parquet file says of a column: bounds and nulls of each row group, as values of the table's type.
//!
//! | statistics | taken |
//! |---|---|
//! | `min_value`, `max_value` | where the file says that they are in the order of the column's type |
//! | `min`, `max`, deprecated | of integers: of anything else their order was signed bytes, whatever the type |
//! | of INT96 times | never |
//! | no `null_count` | not known, unless the column is required |
//!
//! Bounds survive where a column is widened without loss and in order: not where a number has become a text.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, UInt64Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_select::nullif::nullif;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::parquet_column;
use parquet::basic::{ColumnOrder, SortOrder, Type};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::conform::conform;
use crate::filter::Bounds;

/// The bounds of a wanted column in each row group; none where nothing can be said. `file` are the columns as they are in the
/// file.
pub(super) fn bounds(metadata: &ParquetMetaData, file: &Schema, wanted: &Field) -> Option<Bounds> {
    let groups = metadata.row_groups();
    let Some((_, field)) = file.fields().find(wanted.name()) else {
        // A column that the file has not is null.
        let unknown = new_null_array(wanted.data_type(), groups.len());
        let nulls = groups.iter().map(|group| u64::try_from(group.num_rows()).ok()).collect();
        return Some(Bounds { least: Arc::clone(&unknown), greatest: unknown, nulls });
    };
    let parquet = metadata.file_metadata().schema_descr();
    let (leaf, _) = parquet_column(parquet, file, field.name())?;
    let converter = StatisticsConverter::try_new(field.name(), file, parquet).ok()?;
    let converter = converter.with_missing_null_counts_as_zero(false);
    let nulls = if parquet.column(leaf).max_def_level() == 0 {
        UInt64Array::from(vec![0; groups.len()])
    } else {
        converter.row_group_null_counts(groups).ok()?
    };
    let doubtful: BooleanArray = groups.iter().map(|group| Some(!is_in_order(metadata, group, leaf))).collect();
    let in_order = |bounds: ArrayRef| -> Option<ArrayRef> {
        if !keeps_order(field.data_type(), wanted.data_type()) {
            return None;
        }
        conform(&nullif(&bounds, &doubtful).ok()?, wanted.data_type(), wanted.name()).ok()
    };
    let unknown = || new_null_array(wanted.data_type(), groups.len());
    let least = converter.row_group_mins(groups).ok().and_then(in_order).unwrap_or_else(unknown);
    let greatest = converter.row_group_maxes(groups).ok().and_then(in_order).unwrap_or_else(unknown);
    Some(Bounds { least, greatest, nulls })
}

/// Whether the bounds of a column chunk are in the order of its type.
fn is_in_order(metadata: &ParquetMetaData, group: &RowGroupMetaData, leaf: usize) -> bool {
    let Some(chunk) = group.columns().get(leaf) else { return false };
    let Some(statistics) = chunk.statistics() else { return false };
    match (chunk.column_type(), statistics.is_min_max_deprecated()) {
        (Type::INT96, _) => false,
        (physical, true) => matches!(physical, Type::INT32 | Type::INT64),
        (_, false) => matches!(
            metadata.file_metadata().column_order(leaf),
            ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED | SortOrder::UNSIGNED)
                | ColumnOrder::IEEE_754_TOTAL_ORDER
        ),
    }
}

/// Whether values of a file's type, once they are the table's, are in the same order.
fn keeps_order(file: &DataType, table: &DataType) -> bool {
    use DataType::{
        Binary, Boolean, Date32, Decimal128, FixedSizeBinary, Float32, Float64, Int32, Int64, Timestamp, Utf8,
    };
    match (file, table) {
        (Boolean, Boolean)
        | (Int32, Int32 | Int64 | Float64)
        | (Int64, Int64)
        | (Float32, Float32 | Float64)
        | (Float64, Float64)
        | (Date32, Date32)
        | (Utf8 | Binary, Utf8 | Binary)
        | (FixedSizeBinary(_), Binary)
        | (Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond, _), Timestamp(TimeUnit::Microsecond, _)) => true,
        (Decimal128(_, scale), Decimal128(_, to_scale)) => to_scale >= scale,
        _ => false,
    }
}
