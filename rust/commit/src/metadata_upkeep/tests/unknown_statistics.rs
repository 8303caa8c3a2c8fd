//! Statistics of base files whose footers say less, as other writers leave them: no file is taken for one without the
//! rows that it has.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::metadata_upkeep::build::file_ranges::ranges_of_base_file;
use crate::metadata_upkeep::records::column_kind::{ColumnKind, IndexVersion};
use crate::metadata_upkeep::records::column_stats::known_bounds;
use mortice_avro::{ArrowMapping, Schema, arrow_schema};
use mortice_storage::LocalStorage;
use mortice_write::write::{ColumnRange, ColumnValue};

const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
    {"name":"text","type":["null","string"],"default":null},
    {"name":"n","type":["null","long"],"default":null},
    {"name":"s","type":["null",{"type":"record","name":"s_record","fields":[
        {"name":"x","type":["null","long"],"default":null}]}],"default":null}]}"#;

/// The ranges of columns of a file of these rows; the footer has no statistics of `without`.
fn ranges(rows: &RecordBatch, without: &str, columns: &[&str]) -> Vec<ColumnRange> {
    let folder = tempfile::tempdir().unwrap();
    let off = (ColumnPath::from(without), EnabledStatistics::None);
    let properties = WriterProperties::builder().set_column_statistics_enabled(off.0, off.1).build();
    let file = std::fs::File::create(folder.path().join("f.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    let store = LocalStorage::new(&folder.path().to_string_lossy(), true);
    let schema = Schema::parse(SCHEMA).unwrap();
    let types = arrow_schema(&schema, ArrowMapping::File).unwrap();
    ranges_of_base_file(&store, "f.parquet", columns.iter().copied(), &schema, &types).unwrap()
}

fn batch(strings: &[Option<&str>]) -> RecordBatch {
    let numbers: Int64Array = strings.iter().map(|text| text.map(|text| text.len() as i64)).collect();
    let field = Arc::new(Field::new("x", DataType::Int64, true));
    let structs = StructArray::from(vec![(field, Arc::new(numbers.clone()) as ArrayRef)]);
    let columns: [(&str, ArrayRef); 3] =
        [("text", Arc::new(StringArray::from(strings.to_vec()))), ("n", Arc::new(numbers)), ("s", Arc::new(structs))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

/// Whether readers find nulls, and other values, by the counts.
fn may_have_both(range: &ColumnRange) -> bool {
    range.nulls > 0 && range.values > range.nulls
}

/// Parquet-mr leaves out the statistics of a column chunk whose bounds are longer than 4096 bytes.
#[test]
fn a_file_that_does_not_say_how_many_nulls_it_has_may_have_some() {
    for strings in [&[Some("a"), None][..], &[None], &[Some("b")]] {
        let [text, n] = &ranges(&batch(strings), "text", &["text", "n"])[..] else { panic!() };
        assert!(may_have_both(text), "{strings:?}: {text:?}");
        let kind = ColumnKind::string();
        assert_eq!(known_bounds(text, &kind), Some(kind.widest()), "{strings:?}");
        let nulls = strings.iter().filter(|text| text.is_none()).count() as u64;
        assert_eq!((n.values, n.nulls), (strings.len() as u64, nulls), "the other column has statistics");
    }
}

/// Columns of statistics can be named by the paths of fields of structs.
#[test]
fn a_field_of_a_struct_may_have_all_values() {
    let rows = batch(&[Some("a"), Some("bb")]);
    let found = ranges(&rows, "text", &["s.x", "s.new", "t.x"]);
    assert_eq!(found.iter().map(|range| range.column.as_str()).collect::<Vec<_>>(), ["s.x", "s.new"]);
    let kind = ColumnKind::of_type(Schema::parse(r#""long""#).unwrap().root(), IndexVersion::V2).unwrap();
    for range in &found {
        assert!(may_have_both(range), "{range:?}");
        assert_eq!(known_bounds(range, &kind), Some(kind.widest()));
    }
}

/// Bounds are those of the rows: a column that was a float is read by its decimal text.
#[test]
fn bounds_of_a_float_that_became_a_double_are_those_of_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let floats: ArrayRef = Arc::new(arrow_array::Float32Array::from(vec![0.1, 0.7]));
    let rows = RecordBatch::try_from_iter([("d", floats)]).unwrap();
    let file = std::fs::File::create(folder.path().join("f.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let store = LocalStorage::new(&folder.path().to_string_lossy(), true);
    let schema = Schema::parse(r#"{"type":"record","name":"r","fields":[{"name":"d","type":"double"}]}"#).unwrap();
    let types = arrow_schema(&schema, ArrowMapping::File).unwrap();
    let found = ranges_of_base_file(&store, "f.parquet", ["d"].into_iter(), &schema, &types).unwrap();
    let (least, _) = found[0].bounds.clone().unwrap();
    assert_eq!(least, ColumnValue::from_f64(0.1));
}
