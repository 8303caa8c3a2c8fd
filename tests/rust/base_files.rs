//! Base files as the many writers of Hudi tables leave them: each list layout, old time types, columns that were
//! widened since; and damaged ones.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Float32Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat_batches;
use mortice::storage::MemoryFile;
use mortice::{BatchLimit, ErrorKind, Result, base_file};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel};
use parquet::data_type::{Int32Type as ParquetInt32, Int96, Int96Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn read(bytes: &[u8], wanted: &SchemaRef, batch_rows: usize) -> Result<Vec<RecordBatch>> {
    let file = MemoryFile::new("memory/a-0_0-1-2_001.parquet", bytes.to_vec()).by_windows(64);
    base_file::open(Arc::new(file))?.batches(wanted, BatchLimit::with_rows(batch_rows))?.collect()
}

fn wanted(fields: &[(&str, DataType)]) -> SchemaRef {
    Arc::new(Schema::new(fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect::<Vec<_>>()))
}

fn one_column(bytes: &[u8], name: &str, kind: &DataType) -> Result<ArrayRef> {
    Ok(Arc::clone(read(bytes, &wanted(&[(name, kind.clone())]), 1000)?[0].column(0)))
}

/// A file of Arrow columns.
fn arrow_file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// A file of one int column within a message, with definition and repetition levels: how lists are laid out by hand.
fn int_file(message: &str, values: &[i32], definitions: &[i16], repetitions: &[i16]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ParquetInt32>().write_batch(values, Some(definitions), Some(repetitions)).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn int_list() -> DataType {
    DataType::List(Arc::new(Field::new("element", DataType::Int32, true)))
}

/// [1, 2], null, [] and [3] in each layout.
#[test]
fn every_list_layout_is_a_list() {
    let two_level = "message m { optional group l (LIST) { repeated int32 array; } }";
    let bag = "message m { optional group l (LIST) { repeated group bag { optional int32 array_element; } } }";
    let three_level = "message m { optional group l (LIST) { repeated group list { optional int32 element; } } }";
    let files = [
        int_file(two_level, &[1, 2, 3], &[2, 2, 0, 1, 2], &[0, 1, 0, 0, 0]),
        int_file(bag, &[1, 2, 3], &[3, 3, 0, 1, 3], &[0, 1, 0, 0, 0]),
        int_file(three_level, &[1, 2, 3], &[3, 3, 0, 1, 3], &[0, 1, 0, 0, 0]),
    ];
    for file in files {
        let column = one_column(&file, "l", &int_list()).unwrap();
        assert_eq!(*column.data_type(), int_list());
        let lists = column.as_list::<i32>();
        let strings: Vec<Option<Vec<i32>>> =
            lists.iter().map(|list| list.map(|list| list.as_primitive::<Int32Type>().values().to_vec())).collect();
        assert_eq!(strings, [Some(vec![1, 2]), None, Some(vec![]), Some(vec![3])]);
    }
}

/// Pages of both versions, with a dictionary and without, and pages of nulls alone, which have no content.
#[test]
fn pages_are_read_in_every_codec() {
    let rows = 0..5000_i32;
    let texts = rows.clone().map(|row| (row % 3 > 0).then(|| format!("text {}", row % 70))).collect::<StringArray>();
    let numbers = rows.map(|row| (row % 5 > 0).then_some(row)).collect::<Int32Array>();
    let nulls = Int32Array::from(vec![None; 5000]);
    let columns: Vec<(&str, ArrayRef)> = vec![("s", Arc::new(texts)), ("i", Arc::new(numbers)), ("n", Arc::new(nulls))];
    let wanted = wanted(&[("s", DataType::Utf8), ("i", DataType::Int32), ("n", DataType::Int32)]);
    let expected = RecordBatch::try_new(Arc::clone(&wanted), columns.iter().map(|(_, c)| Arc::clone(c)).collect());
    let expected = expected.unwrap();
    let codecs = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(GzipLevel::default())];
    for (codec, version, dictionary) in codecs.into_iter().flat_map(|codec| {
        let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
        versions.into_iter().flat_map(move |version| [(codec, version, true), (codec, version, false)])
    }) {
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_writer_version(version)
            .set_dictionary_enabled(dictionary)
            .set_data_page_row_count_limit(700)
            .set_write_batch_size(100)
            .set_max_row_group_row_count(Some(2000))
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), expected.schema(), Some(properties)).unwrap();
        writer.write(&expected).unwrap();
        let read = read(&writer.into_inner().unwrap(), &wanted, 1000).unwrap();
        let read = concat_batches(&wanted, &read).unwrap();
        assert_eq!(read, expected, "{codec:?} {version:?} {dictionary}");
    }
}

#[test]
fn old_int96_times_survive_far_dates() {
    let schema = Arc::new(parse_message_type("message m { required int96 t; }").unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    // Nanoseconds of the day, then the Julian day: 1970-01-01 and 9999-12-31.
    let mut times = [Int96::new(), Int96::new()];
    times[0].set_data(5000, 0, 2_440_588);
    times[1].set_data(0, 0, 2_440_588 + 2_932_896);
    column.typed::<Int96Type>().write_batch(&times, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    let kind = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let column = one_column(&writer.into_inner().unwrap(), "t", &kind).unwrap();
    assert_eq!(column.as_primitive::<TimestampMicrosecondType>().values(), &[5, 2_932_896 * 86_400_000_000]);
}

#[test]
fn columns_widen_as_hudi_widens_them() {
    let file = arrow_file(vec![
        ("i", Arc::new(Int32Array::from(vec![Some(7), None]))),
        ("f", Arc::new(Float32Array::from(vec![1.1, 1e9]))),
        ("b", Arc::new(FixedSizeBinaryArray::try_from_iter([[1_u8, 2], [3, 4]].into_iter()).unwrap())),
    ]);
    assert_eq!(one_column(&file, "i", &DataType::Int64).unwrap().as_primitive::<Int64Type>().value(0), 7);
    assert_eq!(one_column(&file, "f", &DataType::Float64).unwrap().as_primitive::<Float64Type>().value(0), 1.1);
    assert_eq!(one_column(&file, "f", &DataType::Utf8).unwrap().as_string::<i32>().value(1), "1.0E9");
    assert_eq!(one_column(&file, "i", &DataType::Utf8).unwrap().as_string::<i32>().value(0), "7");
    assert_eq!(one_column(&file, "b", &DataType::Binary).unwrap().as_binary::<i32>().value(1), [3, 4]);
    assert!(one_column(&file, "i", &DataType::Int64).unwrap().is_null(1));
}

#[test]
fn strings_become_dates_and_numbers_become_decimals() {
    let file = arrow_file(vec![
        ("i", Arc::new(Int32Array::from(vec![Some(7), None, Some(100_000)]))),
        ("f", Arc::new(Float32Array::from(vec![1.1, -2.675, f32::NAN]))),
        ("s", Arc::new(StringArray::from(vec!["2024-02-29", "2023-02-29", " 1.005"]))),
    ]);
    let decimals = |column: &str| {
        let column = one_column(&file, column, &DataType::Decimal128(5, 2)).unwrap();
        column.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>()
    };
    assert_eq!(decimals("i"), [Some(700), None, None]);
    assert_eq!(decimals("f"), [Some(110), Some(-268), None], "by their strings, HALF_UP");
    assert_eq!(decimals("s"), [None, None, Some(101)]);
    let dates = one_column(&file, "s", &DataType::Date32).unwrap();
    assert_eq!(dates.as_primitive::<Date32Type>().iter().collect::<Vec<_>>(), [Some(19_782), None, None]);
}

#[test]
fn what_would_lose_values_is_refused_by_name() {
    let file = arrow_file(vec![("f", Arc::new(Float32Array::from(vec![1.5])))]);
    let error = one_column(&file, "f", &DataType::Int32).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("column f") && error.to_string().contains("parquet"), "{error}");
}

#[test]
fn columns_come_in_the_wanted_order_and_missing_ones_are_null() {
    let file = arrow_file(vec![
        ("a", Arc::new(Int32Array::from(vec![1, 2, 3]))),
        ("b", Arc::new(StringArray::from(vec!["x", "y", "z"]))),
    ]);
    let schema = wanted(&[("new", DataType::Float64), ("b", DataType::Utf8), ("a", DataType::Int32)]);
    let batches = read(&file, &schema, 2).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(batches[0].schema(), schema);
    assert_eq!(batches[0].column(0).null_count(), 2);
    assert_eq!(batches[1].column(1).as_string::<i32>().value(0), "z");
}

#[test]
fn no_columns_still_have_rows() {
    let file = arrow_file(vec![("a", Arc::new(Int32Array::from(vec![1, 2, 3])))]);
    for schema in [wanted(&[]), wanted(&[("new", DataType::Int32)])] {
        let rows: usize = read(&file, &schema, 2).unwrap().iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 3);
    }
}

#[test]
fn damaged_files_are_errors_and_no_panics() {
    let file = arrow_file(vec![
        ("a", Arc::new(Int32Array::from((0..100).collect::<Vec<_>>()))),
        ("b", Arc::new(StringArray::from((0..100).map(|n| format!("text {n}")).collect::<Vec<_>>()))),
    ]);
    let schema = wanted(&[("a", DataType::Int32), ("b", DataType::Utf8)]);
    for len in 0..file.len() {
        let error = read(&file[..len], &schema, 1000).unwrap_err();
        assert!(error.location().path.is_some(), "{len}");
    }
    for at in 0..file.len() {
        let mut bytes = file.clone();
        bytes[at] ^= 0x55;
        let _ = read(&bytes, &schema, 1000);
    }
}

/// Bytes of a batch in the tests of large values.
const BATCH_BYTES: usize = 1 << 16;

/// A file of strings, and what batches of it have: rows and bytes of each.
fn wide_batches(texts: &StringArray, properties: WriterProperties) -> Vec<(usize, usize)> {
    let column: ArrayRef = Arc::new(texts.clone());
    let rows = RecordBatch::try_from_iter_with_nullable([("s", column, true)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    let file = MemoryFile::new("memory/a-0_0-1-2_001.parquet", writer.into_inner().unwrap()).by_windows(1 << 12);
    let file = base_file::open(Arc::new(file)).unwrap();
    let limit = BatchLimit::with_rows(1000).with_bytes(BATCH_BYTES);
    let batches: Vec<RecordBatch> =
        file.batches(&wanted(&[("s", DataType::Utf8)]), limit).unwrap().collect::<Result<_>>().unwrap();
    let found = concat_batches(&batches[0].schema(), &batches).unwrap();
    assert_eq!(found.column(0).as_string::<i32>(), texts);
    let bytes = |batch: &RecordBatch| batch.column(0).as_string::<i32>().iter().flatten().map(str::len).sum();
    batches.iter().map(|batch| (batch.num_rows(), bytes(batch))).collect()
}

/// Every form of pages of strings: versions, dictionaries, encodings, pages of one value and of many.
fn forms() -> Vec<WriterProperties> {
    let mut forms = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for dictionary in [true, false] {
            for page in [1 << 10, 1 << 20] {
                for compression in [Compression::UNCOMPRESSED, Compression::GZIP(GzipLevel::default())] {
                    let form = WriterProperties::builder()
                        .set_writer_version(version)
                        .set_dictionary_enabled(dictionary)
                        .set_data_page_size_limit(page)
                        .set_compression(compression);
                    forms.push(form.set_max_row_group_row_count(Some(700)).build());
                }
            }
        }
    }
    forms
}

#[test]
fn batches_of_large_values_are_limited_by_bytes() {
    let text = |size: usize, number: usize| format!("{number:08}{}", "x".repeat(size));
    let wide: StringArray = (0..100).map(|number| Some(text(8 << 10, number))).collect();
    let alike: StringArray = (0..1000).map(|number| Some(text(8 << 10, number % 2))).collect();
    let some: StringArray =
        (0..2000).map(|number| Some(text(if number / 100 == 3 { 8 << 10 } else { 1 }, number))).collect();
    for form in forms() {
        for texts in [&wide, &alike, &some] {
            let batches = wide_batches(texts, form.clone());
            let largest = batches.iter().map(|(_, bytes)| *bytes).max().unwrap();
            assert!(largest <= 2 * BATCH_BYTES, "{largest} {form:?}");
            assert!(batches.len() >= 6 && batches.len() <= texts.len() / 2, "{} {form:?}", batches.len());
        }
    }
}

#[test]
fn batches_of_small_values_are_limited_by_rows() {
    let texts: StringArray = (0..2500).map(|number| Some(format!("{number}"))).collect();
    for form in forms() {
        let rows: Vec<usize> = wide_batches(&texts, form).into_iter().map(|(rows, _)| rows).collect();
        assert_eq!(rows, [1000, 1000, 500]);
    }
}
