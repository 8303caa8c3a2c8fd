//! HFiles as base files: rows in batches, keys put back, columns by name, and only what is sought.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use mortice::filter::{BoundFilter, Filter, Literal, Operator, Term};
use mortice::storage::FileSource;
use mortice::{BatchLimit, ErrorKind, Result, base_file};

use super::builder::{Entries, HFileForm, hfile};
use super::source::Memory;

const SCHEMA: &str =
    r#"{"type":"record","name":"r","fields":[{"name":"key","type":"string"},{"name":"n","type":"int"}]}"#;

/// 100 records, numbered; in each the field `key` holds what `key_of` says.
fn numbered(key_of: fn(&str) -> String, form: &HFileForm) -> Vec<u8> {
    let record = |number: usize| {
        let name = format!("key{number:03}");
        let field = key_of(&name);
        let value = [&[(field.len() * 2) as u8], field.as_bytes(), &avro_int(number)].concat();
        (name.into_bytes(), value)
    };
    let entries: Entries = (0..100).map(record).collect();
    hfile(&entries, &HFileForm { schema: SCHEMA, ..form.clone() })
}

/// Avro's int of a small number.
fn avro_int(number: usize) -> Vec<u8> {
    if number < 64 { vec![(number * 2) as u8] } else { vec![(number * 2) as u8 | 0x80, 1] }
}

fn blank(_: &str) -> String {
    String::new()
}

fn wanted(fields: &[(&str, DataType)]) -> SchemaRef {
    Arc::new(Schema::new(fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect::<Vec<_>>()))
}

fn key_and_number() -> SchemaRef {
    wanted(&[("n", DataType::Int64), ("key", DataType::Utf8)])
}

fn read(source: Arc<dyn FileSource>, wanted: &SchemaRef, batch_rows: usize) -> Result<Vec<RecordBatch>> {
    base_file::open(source)?.batches(wanted, BatchLimit::with_rows(batch_rows))?.collect()
}

fn rows(batches: &[RecordBatch]) -> Vec<(i64, String)> {
    let of = |batch: &RecordBatch| {
        let numbers = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        numbers.into_iter().zip(batch.column(1).as_string::<i32>().iter().map(|key| key.unwrap().to_owned())).collect()
    };
    batches.iter().flat_map::<Vec<_>, _>(of).collect()
}

#[test]
fn rows_come_in_batches_with_their_keys_whether_blanked_or_not() {
    for key_of in [blank, str::to_owned] {
        for (gz, cells, batch_rows) in [(false, 4, 7), (true, 30, 100), (false, 100, 1)] {
            let bytes = numbered(key_of, &HFileForm { gz, cells, ..HFileForm::default() });
            let batches = read(Memory::new(bytes, 0), &key_and_number(), batch_rows).unwrap();
            let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
            assert!(sizes.iter().rev().skip(1).all(|size| *size == batch_rows), "{sizes:?}");
            let expected: Vec<_> = (0..100).map(|number| (number, format!("key{number:03}"))).collect();
            assert_eq!(rows(&batches), expected);
        }
    }
}

#[test]
fn columns_that_the_file_has_not_are_null_and_a_count_needs_none() {
    let bytes = numbered(blank, &HFileForm::default());
    let file = base_file::open(Memory::new(bytes.clone(), 0)).unwrap();
    assert_eq!(file.row_count(), 100);
    assert!(file.avro_schema().unwrap().contains("\"key\""));
    let batches = read(Memory::new(bytes.clone(), 0), &wanted(&[("later", DataType::Float64)]), 1000).unwrap();
    assert_eq!((batches[0].num_rows(), batches[0].column(0).null_count()), (100, 100));
    let counted = read(Memory::new(bytes.clone(), 0), &wanted(&[]), 1000).unwrap();
    assert_eq!(counted[0].num_rows(), 100);
    let narrowed = read(Memory::new(bytes, 0), &wanted(&[("n", DataType::Date32)]), 1000).unwrap_err();
    assert_eq!(narrowed.kind(), ErrorKind::Unsupported);
}

fn some_keys(keys: &[&str]) -> BoundFilter {
    let literals = keys.iter().map(|key| Literal::Text((*key).to_owned())).collect();
    let filter = Filter::any_of(vec![vec![Term::new("key", Operator::In, literals).unwrap()]]);
    BoundFilter::bind(&filter, &key_and_number()).unwrap()
}

#[test]
fn keys_are_sought_where_the_field_is_theirs() {
    let form = HFileForm { cells: 5, ..HFileForm::default() };
    let sought = |bytes: Vec<u8>| {
        let source = Memory::new(bytes, 0);
        let mut file = base_file::open(source.clone()).unwrap();
        file.prune(&key_and_number(), &some_keys(&["key077", "key012", "absent"])).unwrap();
        source.reads();
        let found: Vec<_> =
            file.batches(&key_and_number(), BatchLimit::with_rows(50)).unwrap().collect::<Result<_>>().unwrap();
        (rows(&found).len(), source.reads().len())
    };
    assert_eq!(sought(numbered(blank, &form)), (2, 2), "two rows of two blocks");
    // What a field holds that was never blanked need not be the cell's key.
    assert_eq!(sought(numbered(|key| key.replace("key", "no"), &form)), (100, 20));
}

#[test]
fn damage_names_the_file_and_ends_the_rows() {
    let mut bytes = numbered(blank, &HFileForm { cells: 5, ..HFileForm::default() });
    // The length of the first value's text.
    let at = bytes.windows(6).position(|window| window == b"key050").unwrap() + 6 + 10;
    bytes[at] = 0x7f;
    let mut batches =
        base_file::open(Memory::new(bytes, 0)).unwrap().batches(&key_and_number(), BatchLimit::with_rows(10)).unwrap();
    let error = batches.by_ref().find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::CorruptLog);
    assert_eq!(error.location().path.as_deref(), Some("memory.hfile"));
    assert!(batches.next().is_none());
    let plain = hfile(&[(b"k".to_vec(), b"v".to_vec())], &HFileForm::default());
    let error = read(Memory::new(plain, 0), &key_and_number(), 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidTable);
    assert_eq!(error.location().path.as_deref(), Some("memory.hfile"), "its values are no records");
}
