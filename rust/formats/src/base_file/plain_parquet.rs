//! Whether another Parquet reader returns the rows of a file as a table declares them: Spark's, which is given the
//! columns of the table. What this release repairs or converts when it reads a file is a reason against it.
//!
//! | a file is plain if | otherwise |
//! |---|---|
//! | its types are those that the table's columns have | `conform`, `mislabelled` convert them |
//! | its lists and maps have a standard layout | `list_of_maps` |
//! | its dates and times are proleptic | `legacy_calendar` |
//! | no two names differ in case only, and names are the table's | `any_case`: Spark ignores case, or not, by a setting |
//! | columns with one value in the whole partition have it in all rows | the value of the path is inserted |
//! | Spark's vectorised reader knows its compression and encodings | it fails |
//!
//! A column that the file does not have is null in both readers.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema as ArrowSchema, TimeUnit};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{
    Compression, ConvertedType, Encoding, LogicalType, Repetition, TimeUnit as Unit, Type as Physical,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::schema::types::{Type as ParquetType, TypePtr};

use super::footer::read_footer;
use super::footer_schema::repetition;
use super::legacy_calendar::LegacyCalendar;
use super::mislabelled;
use super::source_bytes::{SourceBytes, guarded};
use super::statistics::bounds;
use mortice_avro::{HUDI_TYPE, Schema};
use mortice_base::error::Result;
use mortice_base::names::FieldNames;
use mortice_storage::FileSource;

/// How `created_by` of the writer begins that gives no bounds to columns with NaN.
const PARQUET_MR: &str = "parquet-mr";

/// What a file is for another Parquet reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlainParquet {
    /// Its rows are those of the table. Of these columns of floats, the bounds may leave out NaN, which a reader that
    /// compares NaN as the greatest value must not prune by.
    Plain(BTreeSet<String>),
    /// They are not, for this reason.
    Repaired(&'static str),
}

/// Reads the footer of a file, and returns whether another Parquet reader returns its rows.
///
/// `table` is the table's schema, `wanted` the columns to read. `constants` has, in its only row, the values that all
/// rows of the file have in some columns.
///
/// # Errors
/// Those of reading the footer.
pub fn plain_parquet(
    source: &Arc<dyn FileSource>,
    table: &Schema,
    wanted: &ArrowSchema,
    constants: &RecordBatch,
) -> Result<PlainParquet> {
    let bytes = SourceBytes::new(Arc::clone(source));
    guarded(&bytes, || {
        let metadata = read_footer(&bytes)?;
        let root = metadata.file_metadata().schema_descr().root_schema_ptr();
        let is_mislabelled = mislabelled::corrected(&root, table, FieldNames::identity())?.is_some();
        let file = parquet_to_arrow_schema(metadata.file_metadata().schema_descr(), None)?;
        let reason = if is_mislabelled {
            Some("mislabelled timestamps")
        } else {
            unfit(&metadata, &root, &file, wanted, constants)
        };
        let verdict = reason.map_or_else(|| unbounded(&metadata, wanted), Err);
        Ok::<_, ParquetError>(verdict.map_or_else(PlainParquet::Repaired, PlainParquet::Plain))
    })
}

/// Returns why the file is not plain; `None` if it is.
fn unfit(
    metadata: &ParquetMetaData,
    root: &TypePtr,
    file: &ArrowSchema,
    wanted: &ArrowSchema,
    constants: &RecordBatch,
) -> Option<&'static str> {
    let schema = metadata.file_metadata().schema_descr();
    if LegacyCalendar::from_footer(metadata.file_metadata()).is_some_and(|it| it.applies_to_any(schema)) {
        return Some("dates of a legacy calendar");
    }
    if !are_distinct(root.get_fields().iter().map(|field| field.name()))
        || !are_distinct(wanted.fields().iter().map(|field| field.name().as_str()))
    {
        return Some("names that differ in case only");
    }
    for field in wanted.fields() {
        let named = |one: &&TypePtr| is_same_name(one.name(), field.name());
        match root.get_fields().iter().find(named) {
            Some(column) if column.name() != field.name() => return Some("names in another case"),
            Some(column) if !is_column(column, field) => return Some("types other than the table's"),
            _ => {}
        }
    }
    let is_constant = |(field, value): (&Arc<Field>, &ArrayRef)| {
        wanted.fields().find(field.name()).is_none() || is_everywhere(metadata, file, field, value)
    };
    if !constants.schema_ref().fields().iter().zip(constants.columns()).all(is_constant) {
        return Some("partition values other than those of the path");
    }
    let are_known =
        chunks(metadata, wanted).all(|(_, chunk)| is_known_compression(chunk) && has_known_encodings(chunk));
    (!are_known).then_some("compression or encodings that Spark may not read")
}

/// Returns true if all rows have the value in a column: the bounds of every row group are the value.
fn is_everywhere(metadata: &ParquetMetaData, file: &ArrowSchema, field: &Field, value: &ArrayRef) -> bool {
    let Some(bounds) = bounds(metadata, file, field, None) else { return false };
    metadata.row_groups().iter().enumerate().all(|(at, group)| {
        if at >= bounds.nulls.len() || bounds.nulls.is_null(at) {
            return false;
        }
        let nulls = bounds.nulls.value(at);
        if value.is_null(0) {
            return u64::try_from(group.num_rows()) == Ok(nulls);
        }
        let is_value =
            |bound: &ArrayRef| at < bound.len() && bound.is_valid(at) && bound.slice(at, 1).as_ref() == value.as_ref();
        nulls == 0 && is_value(&bounds.least) && is_value(&bounds.greatest)
    })
}

/// Returns the columns of floats that may have NaN beyond the bounds of a column chunk; an error for fields of such
/// columns.
fn unbounded(metadata: &ParquetMetaData, wanted: &ArrowSchema) -> std::result::Result<BTreeSet<String>, &'static str> {
    if metadata.file_metadata().created_by().is_some_and(|writer| writer.starts_with(PARQUET_MR)) {
        return Ok(BTreeSet::new());
    }
    let may_leave_out = |chunk: &ColumnChunkMetaData| {
        let is_float = matches!(chunk.column_type(), Physical::FLOAT | Physical::DOUBLE);
        let nans = chunk.statistics().and_then(|statistics| statistics.nan_count_opt());
        is_float && nans != Some(0) && (chunk.statistics().is_some() || chunk.column_index_offset().is_some())
    };
    let mut columns = BTreeSet::new();
    for (field, _) in chunks(metadata, wanted).filter(|(_, chunk)| may_leave_out(chunk)) {
        match field.data_type() {
            // Items and entries are not compared with bounds.
            DataType::List(_) | DataType::Map(..) => {}
            DataType::Struct(_) => return Err("NaN within structs"),
            _ => {
                columns.insert(field.name().to_owned());
            }
        }
    }
    Ok(columns)
}

/// Returns the column chunks of the wanted columns with these columns.
fn chunks<'m>(
    metadata: &'m ParquetMetaData,
    wanted: &'m ArrowSchema,
) -> impl Iterator<Item = (&'m Field, &'m ColumnChunkMetaData)> {
    metadata.row_groups().iter().flat_map(|group| group.columns()).filter_map(|chunk| {
        let root = chunk.column_path().parts().first()?;
        wanted.fields().find(root).map(|(_, field)| (field.as_ref(), chunk))
    })
}

fn is_known_compression(chunk: &ColumnChunkMetaData) -> bool {
    use Compression::{GZIP, SNAPPY, UNCOMPRESSED, ZSTD};
    matches!(chunk.compression(), UNCOMPRESSED | SNAPPY | GZIP(_) | ZSTD(_))
}

fn has_known_encodings(chunk: &ColumnChunkMetaData) -> bool {
    use Encoding::{PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY};
    #[expect(deprecated, reason = "the levels of pages of version 1 have had this encoding")]
    let is_known = |one| matches!(one, PLAIN | RLE | RLE_DICTIONARY | PLAIN_DICTIONARY | Encoding::BIT_PACKED);
    chunk.encodings().all(is_known)
}

fn is_same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

/// Returns true if no two names are the same in lower case, as Spark compares them by default.
fn are_distinct<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let mut known = HashSet::new();
    names.into_iter().all(|name| known.insert(name.to_lowercase()))
}

/// Returns true if a field of a file is read by Spark as the wanted one.
fn is_column(file: &ParquetType, wanted: &Field) -> bool {
    let is_repeated = repetition(file).is_none_or(|it| it == Repetition::REPEATED);
    !is_repeated && is_value(file, wanted)
}

/// Returns true if values of a type, repeated or not, are those of the wanted field.
fn is_value(file: &ParquetType, wanted: &Field) -> bool {
    if wanted.metadata().contains_key(HUDI_TYPE) {
        return false;
    }
    match wanted.data_type() {
        DataType::Struct(fields) => file.is_group() && is_bare(file) && is_struct(file, fields),
        DataType::List(item) => is_list(file, item),
        DataType::Map(entries, _) => is_map(file, entries),
        leaf => file.is_primitive() && is_leaf(file, leaf),
    }
}

/// Spark 4.0 and earlier make a null of a struct of whose fields the file has none: it must have all of them.
fn is_struct(file: &ParquetType, wanted: &Fields) -> bool {
    let is_there = |field: &Arc<Field>| {
        let found = file.get_fields().iter().find(|one| one.name() == field.name());
        found.is_some_and(|found| is_column(found, field))
    };
    !wanted.is_empty()
        && are_distinct(file.get_fields().iter().map(|field| field.name()))
        && are_distinct(wanted.iter().map(|field| field.name().as_str()))
        && wanted.iter().all(is_there)
}

/// Layouts of Spark and parquet-avro: `list.element`, and `array`, which is the item itself.
fn is_list(file: &ParquetType, item: &Field) -> bool {
    let [repeated] = fields_of(file, ConvertedType::LIST, &LogicalType::List) else { return false };
    if repetition(repeated) != Some(Repetition::REPEATED) {
        return false;
    }
    match (repeated.name(), item.data_type()) {
        ("array", DataType::List(_) | DataType::Map(..)) => false,
        ("array", _) => is_value(repeated, item),
        ("list", _) if repeated.is_group() && is_bare(repeated) => match repeated.get_fields() {
            [element] => element.name() == "element" && is_column(element, item),
            _ => false,
        },
        _ => false,
    }
}

fn is_map(file: &ParquetType, entries: &Field) -> bool {
    let DataType::Struct(pair) = entries.data_type() else { return false };
    let ([wanted_key, wanted_value], [repeated]) =
        (pair.as_ref(), fields_of(file, ConvertedType::MAP, &LogicalType::Map))
    else {
        return false;
    };
    if repetition(repeated) != Some(Repetition::REPEATED) || !repeated.is_group() || repeated.name() != "key_value" {
        return false;
    }
    match repeated.get_fields() {
        [key, value] => {
            key.name() == "key"
                && value.name() == "value"
                && repetition(key) == Some(Repetition::REQUIRED)
                && is_column(key, wanted_key)
                && is_column(value, wanted_value)
        }
        _ => false,
    }
}

/// Returns the fields of a group with this annotation; none of another type.
fn fields_of<'f>(file: &'f ParquetType, converted: ConvertedType, logical: &LogicalType) -> &'f [TypePtr] {
    if file.is_group() && is_annotated(file, logical, converted) { file.get_fields() } else { &[] }
}

/// Returns true if a type has an annotation, which older writers name by its converted type alone.
fn is_annotated(file: &ParquetType, logical: &LogicalType, converted: ConvertedType) -> bool {
    let info = file.get_basic_info();
    info.logical_type_ref().map_or_else(|| info.converted_type() == converted, |found| found == logical)
}

fn is_bare(file: &ParquetType) -> bool {
    let info = file.get_basic_info();
    info.logical_type_ref().is_none() && info.converted_type() == ConvertedType::NONE
}

/// Timestamps of milliseconds are not read by Spark: it compares the bounds of row groups with literals whose
/// microseconds it has cut off, so that `t < 00:00:00.0005` misses `t = 00:00:00`.
fn is_leaf(file: &ParquetType, wanted: &DataType) -> bool {
    let has = |logical, converted| is_annotated(file, &logical, converted);
    match (file.get_physical_type(), wanted) {
        (Physical::BOOLEAN, DataType::Boolean)
        | (Physical::FLOAT, DataType::Float32)
        | (Physical::DOUBLE, DataType::Float64)
        | (Physical::BYTE_ARRAY, DataType::Binary) => is_bare(file),
        (Physical::INT32, DataType::Int32) => {
            is_bare(file) || has(LogicalType::integer(32, true), ConvertedType::INT_32)
        }
        (Physical::INT64, DataType::Int64) => {
            is_bare(file) || has(LogicalType::integer(64, true), ConvertedType::INT_64)
        }
        (Physical::BYTE_ARRAY, DataType::Utf8) => has(LogicalType::String, ConvertedType::UTF8),
        (Physical::INT32, DataType::Date32) => has(LogicalType::Date, ConvertedType::DATE),
        (Physical::INT64, DataType::Timestamp(TimeUnit::Microsecond, Some(_))) => {
            has(LogicalType::timestamp(true, Unit::MICROS), ConvertedType::TIMESTAMP_MICROS)
        }
        // Without a logical type, times are instants.
        (Physical::INT64, DataType::Timestamp(TimeUnit::Microsecond, None)) => {
            file.get_basic_info().logical_type_ref() == Some(&LogicalType::timestamp(false, Unit::MICROS))
        }
        (
            Physical::INT32 | Physical::INT64 | Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY,
            DataType::Decimal128(precision, scale),
        ) => {
            let (precision, scale) = (i32::from(*precision), i32::from(*scale));
            has(LogicalType::decimal(scale, precision), ConvertedType::DECIMAL)
                && (file.get_precision(), file.get_scale()) == (precision, scale)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_array::{Float64Array, Int32Array, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::{EnabledStatistics, WriterProperties};
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use mortice_storage::MemoryFile;

    fn micros(zone: Option<&str>) -> DataType {
        DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into))
    }

    fn is_read(file: &str, wanted: DataType) -> bool {
        let root = parse_message_type(&format!("message m {{ {file} }}")).unwrap();
        is_column(&root.get_fields()[0], &Field::new("c", wanted, true))
    }

    #[test]
    fn leaves_have_the_types_of_the_table() {
        for (file, wanted, expected) in [
            ("BOOLEAN c", DataType::Boolean, true),
            ("INT32 c", DataType::Int32, true),
            ("INT32 c (INTEGER(32,true))", DataType::Int32, true),
            ("INT32 c (INTEGER(8,true))", DataType::Int32, false),
            ("INT32 c (TIME(MILLIS,true))", DataType::Int32, false),
            ("INT32 c", DataType::Int64, false),
            ("INT64 c", DataType::Int64, true),
            ("INT64 c (TIME(MICROS,true))", DataType::Int64, false),
            ("FLOAT c", DataType::Float32, true),
            ("FLOAT c", DataType::Float64, false),
            ("BINARY c (STRING)", DataType::Utf8, true),
            ("BINARY c (UTF8)", DataType::Utf8, true),
            ("BINARY c (ENUM)", DataType::Utf8, false),
            ("BINARY c", DataType::Utf8, false),
            ("BINARY c", DataType::Binary, true),
            ("FIXED_LEN_BYTE_ARRAY (3) c", DataType::Binary, false),
            ("INT32 c (DATE)", DataType::Date32, true),
            ("INT64 c (TIMESTAMP(MICROS,true))", micros(Some("UTC")), true),
            ("INT64 c (TIMESTAMP_MICROS)", micros(Some("UTC")), true),
            ("INT64 c (TIMESTAMP_MILLIS)", micros(Some("UTC")), false),
            ("INT64 c (TIMESTAMP(NANOS,true))", micros(Some("UTC")), false),
            ("INT64 c (TIMESTAMP(MICROS,true))", micros(None), false),
            ("INT64 c (TIMESTAMP(MICROS,false))", micros(None), true),
            ("INT64 c (TIMESTAMP(MILLIS,false))", micros(None), false),
            ("INT64 c", micros(None), false),
            ("INT96 c", micros(Some("UTC")), false),
            ("FIXED_LEN_BYTE_ARRAY (3) c (DECIMAL(5,2))", DataType::Decimal128(5, 2), true),
            ("INT64 c (DECIMAL(5,2))", DataType::Decimal128(5, 2), true),
            ("INT64 c (DECIMAL(5,2))", DataType::Decimal128(6, 2), false),
            ("INT64 c (DECIMAL(5,2))", DataType::Decimal128(5, 1), false),
        ] {
            assert_eq!(is_read(&format!("OPTIONAL {file};"), wanted.clone()), expected, "{file} as {wanted}");
        }
        assert!(!is_read("REPEATED INT32 c;", DataType::Int32));
    }

    #[test]
    fn nested_types_have_a_standard_layout() {
        let fields = Fields::from(vec![Field::new("x", DataType::Int32, true)]);
        let (ints, structs) = (DataType::new_list(DataType::Int32, true), DataType::Struct(fields));
        let list = |inner: &str| format!("OPTIONAL group c (LIST) {{ {inner} }}");
        let three = |name: &str| list(&format!("REPEATED group list {{ OPTIONAL INT32 {name}; }}"));
        assert!(is_read(&three("element"), ints.clone()));
        assert!(!is_read(&three("item"), ints.clone()));
        assert!(is_read(&list("REPEATED INT32 array;"), ints.clone()));
        assert!(!is_read("OPTIONAL group c { REPEATED INT32 array; }", ints.clone()));
        let items = DataType::new_list(structs.clone(), true);
        assert!(is_read(&list("REPEATED group array { OPTIONAL INT32 x; OPTIONAL INT32 y; }"), items.clone()));
        assert!(!is_read(&list("REPEATED group array { OPTIONAL INT32 y; }"), items));
        let lists = DataType::new_list(ints, true);
        assert!(!is_read(&list("REPEATED group array (LIST) { REPEATED INT32 array; }"), lists));
        assert!(is_read("OPTIONAL group c { OPTIONAL INT32 x; }", structs.clone()));
        assert!(!is_read("OPTIONAL group c { OPTIONAL INT32 X; }", structs.clone()));
        assert!(!is_read("OPTIONAL group c { OPTIONAL INT32 x; OPTIONAL INT32 X; }", structs));
        let value = Field::new("value", DataType::Int32, true);
        let pair = vec![Field::new("key", DataType::Utf8, false), value];
        let entries = Field::new("entries", DataType::Struct(pair.into()), false);
        let map = DataType::Map(Arc::new(entries), false);
        let of = |key: &str| {
            format!("OPTIONAL group c (MAP) {{ REPEATED group key_value {{ {key}; OPTIONAL INT32 value; }} }}")
        };
        assert!(is_read(&of("REQUIRED BINARY key (STRING)"), map.clone()));
        assert!(!is_read(&of("REQUIRED BINARY key"), map.clone()));
        assert!(!is_read(&of("OPTIONAL BINARY key (STRING)"), map));
    }

    #[test]
    fn types_that_spark_lacks_are_converted() {
        let root = parse_message_type("message m { OPTIONAL group c { OPTIONAL BINARY metadata; } }").unwrap();
        let fields = Fields::from(vec![Field::new("metadata", DataType::Binary, true)]);
        let plain = Field::new("c", DataType::Struct(fields), true);
        let variant = plain.clone().with_metadata(HashMap::from([(HUDI_TYPE.to_owned(), "VARIANT".to_owned())]));
        assert!(is_column(&root.get_fields()[0], &plain) && !is_column(&root.get_fields()[0], &variant));
    }

    fn rows() -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([
            ("id", Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef, true),
            ("area", Arc::new(StringArray::from(vec!["north"; 3])) as ArrayRef, true),
            ("none", Arc::new(StringArray::from(vec![None::<&str>; 3])) as ArrayRef, true),
            ("fare", Arc::new(Float64Array::from(vec![1.0, f64::NAN, 2.0])) as ArrayRef, true),
            ("tip", Arc::new(Float64Array::from(vec![1.0, 0.5, 2.0])) as ArrayRef, true),
        ])
        .unwrap()
    }

    fn written(properties: WriterProperties) -> Arc<dyn FileSource> {
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, rows().schema(), Some(properties)).unwrap();
        writer.write(&rows()).unwrap();
        writer.close().unwrap();
        Arc::new(MemoryFile::new("f.parquet", bytes))
    }

    fn verdict(properties: WriterProperties, columns: &[&str], constants: &[(&str, Option<&str>)]) -> PlainParquet {
        let rows = rows();
        let mut wanted: Vec<Field> =
            columns.iter().map(|name| rows.schema().field_with_name(name).unwrap().clone()).collect();
        wanted.push(Field::new("added", DataType::Int64, true));
        let fields = r#"[{"name":"id","type":["null","int"]}]"#;
        let table = Schema::parse(&format!(r#"{{"type":"record","name":"t","fields":{fields}}}"#)).unwrap();
        let id = ("id", Arc::new(Int32Array::from(vec![7])) as ArrayRef, true);
        let constants =
            constants.iter().map(|(name, value)| (*name, Arc::new(StringArray::from(vec![*value])) as ArrayRef, true));
        // A constant that is not read has no effect.
        let constants = RecordBatch::try_from_iter_with_nullable(constants.chain([id])).unwrap();
        plain_parquet(&written(properties), &table, &ArrowSchema::new(wanted), &constants).unwrap()
    }

    fn plain(unbounded: &[&str]) -> PlainParquet {
        PlainParquet::Plain(unbounded.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn partition_values_are_those_of_all_rows() {
        let of = |name, value| verdict(WriterProperties::default(), &["area", "none"], &[(name, value)]);
        let other = PlainParquet::Repaired("partition values other than those of the path");
        assert_eq!([of("area", Some("north")), of("none", None)], [plain(&[]), plain(&[])]);
        assert_eq!([of("area", Some("south")), of("area", None)], [other.clone(), other.clone()]);
        assert_eq!([of("none", Some("north")), of("absent", Some("x"))], [other, plain(&[])]);
        let without = || WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None).build();
        assert!(matches!(verdict(without(), &["area"], &[("area", Some("north"))]), PlainParquet::Repaired(_)));
    }

    #[test]
    fn bounds_that_leave_out_nan_are_named() {
        let of = |writer: &str| {
            let properties = WriterProperties::builder().set_created_by(writer.to_owned()).build();
            verdict(properties, &["fare", "tip"], &[])
        };
        assert_eq!(of("parquet-rs version 60.1.0"), plain(&["fare"]));
        assert_eq!(of("parquet-mr version 1.13.1"), plain(&[]));
    }

    #[test]
    fn calendars_and_codecs_are_sparks() {
        let with = |key: &str, value: &str| {
            let pair = KeyValue::new(key.to_owned(), value.to_owned());
            WriterProperties::builder().set_key_value_metadata(Some(vec![pair])).build()
        };
        // The file has no dates.
        assert_eq!(verdict(with("org.apache.spark.version", "2.4.8"), &["tip"], &[]), plain(&[]));
        let unknown = PlainParquet::Repaired("compression or encodings that Spark may not read");
        let lz4 = WriterProperties::builder().set_compression(Compression::LZ4_RAW).build();
        assert_eq!(verdict(lz4, &["tip"], &[]), unknown);
        let split = WriterProperties::builder().set_column_dictionary_enabled("tip".into(), false);
        let split = split.set_column_encoding("tip".into(), Encoding::BYTE_STREAM_SPLIT).build();
        assert_eq!([verdict(split.clone(), &["tip"], &[]), verdict(split, &["none"], &[])], [unknown, plain(&[])]);
    }
}
