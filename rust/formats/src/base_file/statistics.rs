//! What the footer of a parquet file says of a column: bounds and nulls of each row group, as values of the table's
//! type.
//!
//! | statistics | taken |
//! |---|---|
//! | `min_value`, `max_value` | where the file says that they are in the order of the column's type |
//! | `min`, `max`, deprecated | of integers: of other types they were ordered by signed bytes |
//! | of INT96 times | never |
//! | of dates of the hybrid calendar | converted; of its times only late ones |
//! | no `null_count` | not known, unless the column is required |
//!
//! Bounds survive where a column is widened without loss and in order: not where a number has become a text. Nulls are
//! not known where values that do not fit become nulls.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, UInt64Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_select::nullif::nullif;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::parquet_column;
use parquet::basic::{ColumnOrder, SortOrder, Type};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::conform::conform;
use super::legacy_calendar::LegacyCalendar;
use crate::filter::ColumnBounds;

/// The bounds of a wanted column in each row group; none where nothing can be said. `file` are the columns as they are
/// in the file; `calendar` is that of its dates and times, if it is the hybrid one.
pub(super) fn bounds(
    metadata: &ParquetMetaData,
    file: &Schema,
    wanted: &Field,
    calendar: Option<&LegacyCalendar>,
) -> Option<ColumnBounds> {
    let groups = metadata.row_groups();
    let Some((_, field)) = file.fields().find(wanted.name()) else {
        // A column that the file has not is null.
        let unknown = new_null_array(wanted.data_type(), groups.len());
        let nulls = groups.iter().map(|group| u64::try_from(group.num_rows()).ok()).collect();
        return Some(ColumnBounds { least: Arc::clone(&unknown), greatest: unknown, nulls });
    };
    let parquet = metadata.file_metadata().schema_descr();
    let (leaf, _) = parquet_column(parquet, file, field.name())?;
    let converter = StatisticsConverter::try_new(field.name(), file, parquet).ok()?;
    let converter = converter.with_missing_null_counts_as_zero(false);
    let nulls = if may_become_null(field.data_type(), wanted.data_type()) {
        UInt64Array::new_null(groups.len())
    } else if parquet.column(leaf).max_def_level() == 0 {
        UInt64Array::from(vec![0; groups.len()])
    } else {
        converter.row_group_null_counts(groups).ok()?
    };
    let doubtful: BooleanArray = groups.iter().map(|group| Some(!is_in_order(metadata, group, leaf))).collect();
    let in_order = |bounds: ArrayRef| -> Option<ArrayRef> {
        if !keeps_order(field.data_type(), wanted.data_type()) {
            return None;
        }
        let known = nullif(&bounds, &doubtful).ok()?;
        let proleptic = match calendar {
            Some(calendar) => calendar.proleptic_bounds(&parquet.column(leaf), known),
            None => known,
        };
        conform(&proleptic, wanted.data_type(), wanted.name()).ok()
    };
    let unknown = || new_null_array(wanted.data_type(), groups.len());
    let least = converter.row_group_mins(groups).ok().and_then(in_order).unwrap_or_else(unknown);
    let greatest = converter.row_group_maxes(groups).ok().and_then(in_order).unwrap_or_else(unknown);
    Some(ColumnBounds { least, greatest, nulls })
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

/// Whether values of a file's type may be nulls once they are the table's.
fn may_become_null(file: &DataType, table: &DataType) -> bool {
    file != table && matches!((file, table), (DataType::Utf8, DataType::Date32) | (_, DataType::Decimal128(..)))
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
        | (Timestamp(TimeUnit::Millisecond, _), Timestamp(TimeUnit::Millisecond, _))
        | (Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond, _), Timestamp(TimeUnit::Microsecond, _)) => true,
        (Decimal128(_, scale), Decimal128(_, to_scale)) => to_scale >= scale,
        (FixedSizeBinary(size), FixedSizeBinary(to_size)) => size == to_size,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType};
    use parquet::data_type::{ByteArray, Int96};
    use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData};
    use parquet::file::statistics::Statistics;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    /// Footer of a file of one column `c` and one row group of ten rows, and the bounds of the column as `wanted`.
    fn bounds_of(column: &str, statistics: Option<Statistics>, ordered: bool, wanted: &DataType) -> ColumnBounds {
        let schema = Arc::new(parse_message_type(&format!("message m {{ {column}; }}")).unwrap());
        let schema = Arc::new(SchemaDescriptor::new(schema));
        let leaf = schema.column(0);
        let order =
            ColumnOrder::column_order_for_type(leaf.logical_type_ref(), leaf.converted_type(), leaf.physical_type());
        let mut chunk = ColumnChunkMetaData::builder(leaf);
        if let Some(statistics) = statistics {
            chunk = chunk.set_statistics(statistics);
        }
        let group = RowGroupMetaData::builder(Arc::clone(&schema)).set_num_rows(10);
        let group = group.set_column_metadata(vec![chunk.build().unwrap()]).build().unwrap();
        let orders = ordered.then(|| vec![order]);
        let file = parquet::arrow::parquet_to_arrow_schema(&schema, None).unwrap();
        let footer = FileMetaData::new(1, 10, None, None, schema, orders);
        let metadata = ParquetMetaData::new(footer, vec![group]);
        bounds(&metadata, &file, &Field::new("c", wanted.clone(), true), None).unwrap()
    }

    fn is_known(bounds: &ColumnBounds) -> bool {
        bounds.least.is_valid(0) && bounds.greatest.is_valid(0)
    }

    fn strings(deprecated: bool) -> Option<Statistics> {
        let text = |text: &str| Some(ByteArray::from(text));
        Some(Statistics::byte_array(text("a"), text("b"), None, Some(0), deprecated))
    }

    fn ints(deprecated: bool) -> Option<Statistics> {
        Some(Statistics::int32(Some(-1), Some(7), None, Some(2), deprecated))
    }

    #[test]
    fn only_bounds_in_the_order_of_their_type_are_taken() {
        let text = "optional binary c (STRING)";
        assert!(is_known(&bounds_of(text, strings(false), true, &DataType::Utf8)));
        assert!(!is_known(&bounds_of(text, strings(true), true, &DataType::Utf8)), "signed bytes");
        assert!(
            !is_known(&bounds_of(text, strings(false), false, &DataType::Utf8)),
            "an order that the file does not tell"
        );
        assert!(is_known(&bounds_of("optional int32 c", ints(false), true, &DataType::Int32)));
        assert!(is_known(&bounds_of("optional int32 c", ints(true), false, &DataType::Int32)));
        assert!(!is_known(&bounds_of("optional int32 c", None, true, &DataType::Int32)));
        let doubles = |deprecated| Some(Statistics::double(Some(1.0), Some(2.0), None, Some(0), deprecated));
        assert!(is_known(&bounds_of("optional double c", doubles(false), true, &DataType::Float64)));
        assert!(!is_known(&bounds_of("optional double c", doubles(true), true, &DataType::Float64)));
    }

    #[test]
    fn int96_has_no_bounds() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let time = || Some(Int96::from(vec![0, 0, 2_440_588]));
        let statistics = Statistics::int96(time(), time(), None, Some(3), false);
        let bounds = bounds_of("optional int96 c", Some(statistics), true, &micros);
        assert!(!is_known(&bounds));
        assert_eq!(bounds.nulls.value(0), 3);
    }

    #[test]
    fn nulls_are_known_or_not() {
        let without = |deprecated| Some(Statistics::int32(Some(1), Some(7), None, None, deprecated));
        let nulls = |column, statistics| bounds_of(column, statistics, true, &DataType::Int32).nulls;
        assert_eq!(nulls("optional int32 c", ints(false)).value(0), 2);
        assert!(nulls("optional int32 c", without(false)).is_null(0));
        assert!(nulls("optional int32 c", None).is_null(0));
        assert_eq!(nulls("required int32 c", None).value(0), 0);
    }

    #[test]
    fn bounds_of_widened_columns_are_values_of_the_tables_type() {
        let long = bounds_of("optional int32 c", ints(false), true, &DataType::Int64);
        assert_eq!(long.greatest.as_primitive::<Int64Type>().value(0), 7);
        let float = Some(Statistics::float(Some(0.1), Some(2.5), None, Some(0), false));
        let double = bounds_of("optional float c", float, true, &DataType::Float64);
        assert_eq!(double.least.as_primitive::<Float64Type>().values(), &[0.1], "as Hudi widens floats");
        let millis = |most| Some(Statistics::int64(Some(-5), Some(most), None, Some(0), false));
        let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let column = "optional int64 c (TIMESTAMP(MILLIS,true))";
        let times = bounds_of(column, millis(7), true, &micros);
        assert_eq!(times.least.as_primitive::<TimestampMicrosecondType>().values(), &[-5000]);
        assert!(!is_known(&bounds_of(column, millis(i64::MAX), true, &micros)), "microseconds that no long holds");
        let digits = Some(Statistics::fixed_len_byte_array(
            Some(ByteArray::from(vec![0xff, 0x6a]).into()),
            Some(ByteArray::from(vec![0, 0x96]).into()),
            None,
            Some(0),
            false,
        ));
        let column = "optional fixed_len_byte_array(2) c (DECIMAL(4,2))";
        let decimals = bounds_of(column, digits, true, &DataType::Decimal128(10, 4));
        assert_eq!(decimals.least.as_primitive::<Decimal128Type>().values(), &[-15_000]);
    }

    #[test]
    fn values_that_do_not_fit_become_nulls_that_the_file_does_not_count() {
        for (column, statistics, kind) in [
            ("optional int32 c", ints(false), DataType::Decimal128(3, 2)),
            ("optional binary c (STRING)", strings(false), DataType::Date32),
        ] {
            let bounds = bounds_of(column, statistics, true, &kind);
            assert!(bounds.nulls.is_null(0) && !is_known(&bounds), "{kind}");
        }
    }

    #[test]
    fn numbers_that_became_texts_are_in_another_order() {
        assert!(!is_known(&bounds_of("optional int32 c", ints(false), true, &DataType::Utf8)));
        let bounds = bounds_of("optional int32 c", ints(false), true, &DataType::Utf8);
        assert_eq!((bounds.nulls.value(0), bounds.least.data_type()), (2, &DataType::Utf8));
    }

    #[test]
    fn a_column_that_the_file_has_not_is_null() {
        let bounds = bounds_of("optional int32 other", ints(false), true, &DataType::Int32);
        assert_eq!((bounds.nulls.value(0), is_known(&bounds)), (10, false));
    }
}
