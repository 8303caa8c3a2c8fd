//! Statistics of base files: of a file that a commit wrote, and of one that is there when the metadata table is built,
//! compared with the values in it.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::is_at_most;
use crate::metadata_upkeep::build::file_ranges::ranges_of_base_file;
use mortice_avro::{ArrowMapping, Schema, arrow_schema};
use mortice_base::names::meta_columns;
use mortice_base::property::check;
use mortice_merge::config::{TimelineLayout, WriteOptions};
use mortice_storage::LocalStorage;
use mortice_write::write::{
    BaseFileOptions, BaseFileTarget, BaseFileWriter, ColumnRange, ColumnValue, MetaColumns, WriteToken,
};

/// One value of each column.
type Row = (
    (Option<bool>, Option<i32>, Option<i64>, Option<f32>, Option<f64>),
    (Option<String>, Option<Vec<u8>>, Option<i128>, Option<i32>, Option<i64>),
);

const COLUMNS: [(&str, &str); 10] = [
    ("boolean", r#""boolean""#),
    ("int", r#""int""#),
    ("long", r#""long""#),
    ("float", r#""float""#),
    ("double", r#""double""#),
    ("string", r#""string""#),
    ("bytes", r#""bytes""#),
    ("decimal", r#"{"type":"fixed","name":"d","size":6,"logicalType":"decimal","precision":12,"scale":3}"#),
    ("date", r#"{"type":"int","logicalType":"date"}"#),
    ("micros", r#"{"type":"long","logicalType":"timestamp-micros"}"#),
];

fn schema() -> Schema {
    let field = |(name, ty): &(&str, &str)| format!(r#"{{"name":"{name}","type":["null",{ty}],"default":null}}"#);
    let fields: Vec<String> = COLUMNS.iter().map(field).collect();
    let text =
        format!(r#"{{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[{}]}}"#, fields.join(","));
    Schema::parse(&text).unwrap().with_leading_nullable_strings(&meta_columns::ALL).unwrap()
}

fn strings() -> impl Strategy<Value = String> {
    // Strings longer than bounds are cut, which share what is left.
    let long = ("[ab\u{10ffff}]{0,3}", 4090_usize..4100).prop_map(|(end, length)| "b".repeat(length) + &end);
    let greatest = (1360_usize..1370).prop_map(|length| "\u{10ffff}".repeat(length));
    prop_oneof![8 => "[\0-~ß\u{ffff}\u{10000}]{0,6}", 1 => long, 1 => greatest]
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let floats = prop_oneof![4 => any::<f32>(), 1 => Just(f32::NAN), 1 => Just(0.0), 1 => Just(-0.0), 1 => -2_f32..2.0];
    let doubles =
        prop_oneof![4 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0), 1 => Just(-0.0), 1 => -2_f64..2.0];
    let first = (
        option::of(any::<bool>()),
        option::of(any::<i32>()),
        option::of(any::<i64>()),
        option::of(floats),
        option::of(doubles),
    );
    let bytes = prop_oneof![4 => vec(any::<u8>(), 0..5), 1 => Just(vec![0xff; 5000])];
    let decimals = -999_999_999_999_i128..=999_999_999_999;
    let second = (
        option::of(strings()),
        option::of(bytes),
        option::of(decimals),
        option::of(any::<i32>()),
        option::of(any::<i64>()),
    );
    vec((first, second), 1..7)
}

fn batch(rows: &[Row]) -> RecordBatch {
    let decimals: Decimal128Array = rows.iter().map(|(_, row)| row.2).collect();
    let bytes: Vec<Option<&[u8]>> = rows.iter().map(|(_, row)| row.1.as_deref()).collect();
    let columns: [ArrayRef; 10] = [
        Arc::new(rows.iter().map(|(row, _)| row.0).collect::<BooleanArray>()),
        Arc::new(rows.iter().map(|(row, _)| row.1).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|(row, _)| row.2).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|(row, _)| row.3).collect::<Float32Array>()),
        Arc::new(rows.iter().map(|(row, _)| row.4).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|(_, row)| row.0.as_deref()).collect::<StringArray>()),
        Arc::new(BinaryArray::from(bytes)),
        Arc::new(decimals.with_precision_and_scale(12, 3).unwrap()),
        Arc::new(rows.iter().map(|(_, row)| row.3).collect::<Date32Array>()),
        Arc::new(rows.iter().map(|(_, row)| row.4).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
    ];
    let columns = COLUMNS.iter().zip(columns).map(|((name, _), column)| (*name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The value of a column in a row.
fn value(row: &Row, column: &str) -> Option<ColumnValue> {
    let (first, second) = row.clone();
    match column {
        "boolean" => first.0.map(ColumnValue::Boolean),
        "int" => first.1.map(ColumnValue::Int),
        "long" => first.2.map(ColumnValue::Long),
        "float" => first.3.map(ColumnValue::from_f32),
        "double" => first.4.map(ColumnValue::from_f64),
        "string" => second.0.map(ColumnValue::String),
        "bytes" => second.1.map(ColumnValue::Bytes),
        "decimal" => second.2.map(ColumnValue::Decimal),
        "date" => second.3.map(ColumnValue::Int),
        _ => second.4.map(ColumnValue::Long),
    }
}

/// The statistics have all rows, no more nulls, and bounds that are values: but of long strings, whose bounds are cut.
fn check_column(column: &str, rows: &[Row], found: &ColumnRange) -> Result<(), TestCaseError> {
    let values: Vec<ColumnValue> = rows.iter().filter_map(|row| value(row, column)).collect();
    let counts = (rows.len() as u64, (rows.len() - values.len()) as u64);
    prop_assert_eq!((found.values, found.nulls), counts, "{}", column);
    let Some((least, greatest)) = &found.bounds else {
        prop_assert!(values.is_empty(), "{} has no bounds", column);
        return Ok(());
    };
    for value in &values {
        prop_assert!(is_at_most(least, value) && is_at_most(value, greatest), "{} {:?} {:?}", column, found, value);
    }
    let is_long = |value: &ColumnValue| match value {
        ColumnValue::String(text) => text.len() > 4000,
        ColumnValue::Bytes(bytes) => bytes.len() > 4000,
        _ => false,
    };
    // Wider bounds than the values would be correct, and useless.
    if !values.iter().any(is_long) {
        prop_assert!(values.iter().any(|value| is_at_most(value, least)), "{} {:?}", column, found);
        prop_assert!(values.iter().any(|value| is_at_most(greatest, value)), "{} {:?}", column, found);
    }
    Ok(())
}

#[test]
fn statistics_of_base_files_are_those_of_their_values() {
    let schema = schema();
    let types = arrow_schema(&schema, ArrowMapping::File).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStorage::new(&folder.path().to_string_lossy(), true);
    let token = WriteToken { task: 0, stage: 0, attempt: 0 };
    let number = std::cell::Cell::new(0);
    check(48, &vec(rows(), 1..4), |groups| {
        number.set(number.get() + 1);
        let file_id = format!("f{}-0", number.get());
        let instant = "20240101000000000".into();
        let target = BaseFileTarget { partition: String::new(), file_id, instant, token };
        let options = BaseFileOptions::resolve(&WriteOptions::default(), TimelineLayout::V2).unwrap();
        let options = BaseFileOptions { bloom: None, ..options };
        let mut writer = BaseFileWriter::new(&store, &schema, &target, &options).unwrap();
        for group in &groups {
            let keys: StringArray = (0..group.len()).map(|row| Some(format!("k{row}"))).collect();
            writer.write(&batch(group), MetaColumns::Computed { record_keys: &keys }).unwrap();
            writer.end_row_group().unwrap();
        }
        let written = writer.finish().unwrap();
        let names = COLUMNS.iter().map(|(name, _)| *name);
        let built = ranges_of_base_file(&store, &written.path, names, &schema, &types).unwrap();
        let rows = groups.concat();
        for (column, _) in COLUMNS {
            for ranges in [&written.columns, &built] {
                let found = ranges.iter().find(|range| range.column == column);
                prop_assert!(found.is_some(), "{}", column);
                check_built(column, &rows, found.unwrap(), std::ptr::eq(ranges, &raw const built))?;
            }
        }
        Ok(())
    });
}

/// Of a file that is there, the greatest number is taken for infinity, as footers leave NaN out.
fn check_built(column: &str, rows: &[Row], found: &ColumnRange, is_built: bool) -> Result<(), TestCaseError> {
    let infinity = found.bounds.as_ref().and_then(|(least, _)| least.infinity());
    let mut found = found.clone();
    if let (Some(infinity), Some((_, greatest)), true) = (infinity, &mut found.bounds, is_built) {
        prop_assert_eq!(&infinity, &*greatest);
        let values = rows.iter().filter_map(|row| value(row, column));
        if let Some(most) = values.reduce(|one, other| if is_at_most(&one, &other) { other } else { one }) {
            *greatest = most;
        }
    }
    if is_built && found.bounds.is_none() && matches!(column, "float" | "double") {
        // A row group of nothing but NaN has no bounds: the widest ones are stored.
        let is_nan = |value: ColumnValue| value.infinity().is_some_and(|infinity| !is_at_most(&value, &infinity));
        prop_assert!(rows.iter().filter_map(|row| value(row, column)).any(is_nan) || found.values == found.nulls);
        return Ok(());
    }
    check_column(column, rows, &found)
}
