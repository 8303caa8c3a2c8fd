//! Avro: contents by pairs of schemas, and the schemas.

use std::sync::Arc;

use mortice::avro::{ArrowMapping, Datum, DecodeProgram, Decoder, RequestedColumn, Schema, arrow_schema, hudi_schema};
use mortice::log::content::avro_data;
use mortice::schema::{InternalSchema, in_tables_names};

/// Writer's schema, reader's schema and an Avro content, each except the last after its length (2 bytes).
pub fn avro(data: &[u8]) {
    let Some((writer, rest)) = text(data) else { return };
    let Some((reader, content)) = text(rest) else { return };
    let (Ok(writer), Ok(reader)) = (Schema::parse(writer), Schema::parse(reader)) else { return };
    let Ok(records) = avro_data::records(content) else { return };
    let datums: Vec<Datum> = records.datums.into_iter().take(64).collect();
    for (reader, types) in [(&writer, ArrowMapping::File), (&reader, ArrowMapping::Table)] {
        let Ok(program) = DecodeProgram::compile(&writer, reader, &all_columns(reader), types) else { continue };
        let mut decoder = Decoder::new(Arc::new(program));
        if decoder.decode(content, &datums).is_ok() {
            let batch = decoder.finish();
            assert!(batch.is_err() || batch.is_ok_and(|batch| batch.num_rows() == datums.len()));
        }
    }
}

fn all_columns(reader: &Schema) -> Vec<RequestedColumn> {
    reader.fields().iter().map(|field| RequestedColumn::Value(field.name.clone())).collect()
}

/// Text after its length, and the rest.
pub(super) fn text(data: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = data.split_first_chunk::<2>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// Writer's schema after its length (2 bytes), and reader's schema. A schema that is written again is the same, so are
/// its columns, and it can read what it has written.
pub fn schemas(data: &[u8]) {
    let Some((writer, reader)) = text(data) else { return };
    let Ok(reader) = std::str::from_utf8(reader) else { return };
    let (writer, reader) = (Schema::parse(writer), Schema::parse(reader));
    [&writer, &reader].into_iter().flatten().for_each(check_schema);
    let (Ok(writer), Ok(reader)) = (writer, reader) else { return };
    for types in [ArrowMapping::File, ArrowMapping::Table] {
        let program = DecodeProgram::compile(&writer, &reader, &all_columns(&reader), types);
        assert!(program.is_err() || arrow_schema(&reader, types).is_ok(), "columns without types");
    }
}

fn check_schema(schema: &Schema) {
    let Ok(again) = schema.with_fields(schema.fields().to_vec()) else { return };
    let parsed = Schema::parse(again.json());
    assert!(parsed.as_ref().is_ok_and(|parsed| *parsed == again), "another schema: {again:?} and {parsed:?}");
    for types in [ArrowMapping::File, ArrowMapping::Table] {
        let Ok(columns) = arrow_schema(schema, types) else { continue };
        let program = DecodeProgram::compile(schema, schema, &all_columns(schema), types);
        assert!(program.is_ok(), "a schema that cannot read what it has written: {:?}", program.err());
        let Ok(written) = hudi_schema(&columns, "t") else { continue };
        let columns = arrow_schema(&written, ArrowMapping::Table);
        let columns = columns.expect("the columns of a table that Hudi would write");
        if written.check_readable().is_ok() {
            let again = hudi_schema(&columns, "t").expect("the columns of a table");
            assert!(again == written, "other columns the second time: {written:?} and {again:?}");
        }
    }
}

/// The schemas of a table and of a file with ids, and the file's Avro schema; each except the last after its length (2
/// bytes). A schema with ids has an Avro schema that can be read, and renaming keeps the columns.
pub fn evolution(data: &[u8]) {
    let Some((table, rest)) = text(data) else { return };
    let Some((file, writer)) = text(rest) else { return };
    let _ = InternalSchema::parse_history(writer);
    let (Ok(table), Ok(file)) = (InternalSchema::parse(table), InternalSchema::parse(file)) else { return };
    let names = table.names_in(&file);
    let writer = std::str::from_utf8(writer).ok().and_then(|writer| Schema::parse(writer).ok());
    for typed in [None, writer.as_ref()] {
        let Ok(schema) = table.as_avro(typed) else { continue };
        if schema.check_readable().is_ok() {
            let parsed = Schema::parse(schema.json());
            assert!(parsed.is_ok_and(|parsed| parsed == schema), "another schema: {schema:?}");
        }
    }
    let Some(writer) = writer.filter(|writer| writer.as_record().is_ok()) else { return };
    let renamed = in_tables_names(&writer, &names).expect("a record");
    assert!(renamed.fields().len() == writer.fields().len(), "columns are lost");
    let types =
        |schema: &Schema| schema.fields().iter().map(|field| field.ty.non_null().describe()).collect::<Vec<_>>();
    assert!(types(&renamed) == types(&writer), "columns of other types");
}
