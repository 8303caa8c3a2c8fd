//! A writer's type against a reader's: the plan by which what was written becomes what is wanted.
//!
//! These are Hudi's rules, not Avro's (`HoodieAvroUtils.rewriteRecordWithNewSchema`, `HoodieSchemaRepair`): fields go
//! by their case-sensitive names, aliases and the names of nested records do not count, a field that the writer lacks
//! is its default, or null where it may be, and a null is delivered even where the reader's type has none. What single
//! values turn into is in `convert`. Unions of several types have to be the same on both sides, but for those of Hudi's
//! own records, which it reads by Avro's rules.

use std::collections::HashMap;

use super::arrow_types::{ArrowMapping, data_type, number_of_union, under};
use super::convert::convert;
use super::defaults;
use super::plan::{
    ColumnPlan, FieldStep, FieldsPlan, ItemsPlan, NumberPlan, SkipStep, UnionBranch, UnionTags, ValuePlan,
};
use super::skip::{skip, skip_all};
use super::types::{Field, Record, Type};
use mortice_base::error::{Error, Result};

/// The plan for a value; `path` is the field's name for messages.
pub(super) fn resolve(writer: &Type, reader: &Type, types: ArrowMapping, path: &str) -> Result<ColumnPlan> {
    let data_type = data_type(reader, types, path)?;
    let (tags, inner) = tags_of(writer);
    let wanted = reader.non_null();
    if *inner == Type::Null {
        return Ok(ColumnPlan { tags: null_tags(writer), kind: ValuePlan::Null, data_type });
    }
    let kind = match (inner, wanted) {
        (Type::Union(branches), Type::Union(members))
            if inner == wanted || (is_of_hudi_records(branches) && is_of_hudi_records(members)) =>
        {
            union(branches, members, types, path)?
        }
        (Type::Union(_), _) | (_, Type::Union(_)) => {
            return Err(refused("unions of several types must be equal", writer, reader, path));
        }
        (Type::Array(items), Type::Array(wanted)) => {
            ValuePlan::List(self::items(&[], items, wanted, types, &under(path, "element"))?)
        }
        (Type::Map(values), Type::Map(wanted)) => {
            ValuePlan::Map(self::items(&[Type::String], values, wanted, types, &under(path, "value"))?)
        }
        (Type::Record(record), Type::Record(wanted)) => ValuePlan::Struct(fields(record, wanted, types, path)?),
        _ => convert(inner, wanted, types)
            .ok_or_else(|| refused("Avro's schema resolution does not allow it", writer, reader, path))?,
    };
    Ok(ColumnPlan { tags, kind, data_type })
}

/// The union around a type, and the type in it.
pub(super) fn tags_of(ty: &Type) -> (UnionTags, &Type) {
    let Type::Union(branches) = ty else { return (UnionTags::Bare, ty) };
    let tag = |wanted: &dyn Fn(&Type) -> bool| {
        branches.iter().position(wanted).and_then(|branch| u8::try_from(branch * 2).ok()).filter(|tag| *tag < 0x80)
    };
    let null = tag(&|branch| *branch == Type::Null);
    let inner = ty.non_null();
    match (inner, tag(&|branch| branch == inner)) {
        (Type::Union(_), _) | (_, None) => (UnionTags::Several { null }, ty),
        (_, Some(value)) => (UnionTags::Nullable { null, value }, inner),
    }
}

/// The tags of a writer's type that has no value but null. No tag reads 0xff: its high bit would want another byte.
fn null_tags(writer: &Type) -> UnionTags {
    match writer {
        Type::Union(_) => UnionTags::Nullable { null: Some(0), value: 0xff },
        _ => UnionTags::Bare,
    }
}

/// Items that are a value each, and what stands before it.
fn items(before: &[Type], writer: &Type, reader: &Type, types: ArrowMapping, path: &str) -> Result<ItemsPlan> {
    let plan = Box::new(resolve(writer, reader, types, path)?);
    let parts = || before.iter().chain([writer]);
    let least = parts().fold(0_usize, |sum, part| sum.saturating_add(part.least_bytes()));
    let steps = skip_all(parts());
    // Inner blocks may say how many bytes they take, which is not to be believed where items are read; and without
    // bytes there is nothing to be found.
    let is_plain = least > 0 && steps.iter().all(SkipStep::is_plain);
    Ok(ItemsPlan { plan, least, steps: is_plain.then_some(steps) })
}

/// Returns true if all types of a union are records of Hudi's own, which later releases add types to: the values in
/// column statistics of a metadata table, which has records of several releases where they write to a table in turns.
fn is_of_hudi_records(union: &[Type]) -> bool {
    union.iter().all(|branch| match branch {
        Type::Record(record) => record.name.starts_with("org.apache.hudi.avro.model."),
        other => *other == Type::Null,
    })
}

/// The union `written`, of whose branches the reader has those that equal one in `wanted`.
fn union(written: &[Type], wanted: &[Type], types: ArrowMapping, path: &str) -> Result<ValuePlan> {
    if number_of_union(written).is_some() {
        let float = written.iter().position(|branch| *branch == Type::Float);
        let branches = written.len();
        return Ok(ValuePlan::Number(match float {
            Some(float) => NumberPlan::FloatOrDouble { branches, float },
            None => NumberPlan::IntOrLong { branches },
        }));
    }
    let members: Vec<&Type> = wanted.iter().filter(|branch| **branch != Type::Null).collect();
    let branch_of = |branch: &Type| match members.iter().position(|member| *member == branch) {
        _ if *branch == Type::Null => UnionBranch::Null,
        Some(member) => UnionBranch::Member(member),
        None => UnionBranch::Absent,
    };
    let branches = written.iter().map(branch_of).collect();
    let plan =
        |(index, member): (usize, &&Type)| resolve(member, member, types, &under(path, &format!("member{index}")));
    let members = members.iter().enumerate().map(plan).collect::<Result<_>>()?;
    Ok(ValuePlan::Union { branches, members })
}

fn fields(writer: &Record, reader: &Record, types: ArrowMapping, path: &str) -> Result<FieldsPlan> {
    let wanted: HashMap<&str, usize> = reader.fields.iter().map(|field| field.name.as_str()).zip(0..).collect();
    let mut columns: Vec<Option<ColumnPlan>> = vec![None; reader.fields.len()];
    let mut steps = StepBuilder::default();
    for field in &writer.fields {
        let index = wanted.get(field.name.as_str()).copied();
        let pair = index.and_then(|index| Some((index, reader.fields.get(index)?, columns.get_mut(index)?)));
        match pair {
            Some((index, target, slot)) => {
                *slot = Some(resolve(&field.ty, &target.ty, types, &under(path, &field.name))?);
                steps.read(index);
            }
            None => steps.skip(&field.ty),
        }
    }
    let mut all = Vec::with_capacity(columns.len());
    for (index, (plan, field)) in columns.into_iter().zip(&reader.fields).enumerate() {
        all.push(match plan {
            Some(plan) => plan,
            None => {
                steps.absent.push(FieldStep::Read(index));
                missing(field, types, &under(path, &field.name))?
            }
        });
    }
    Ok(FieldsPlan { columns: all, steps: steps.until_end() })
}

/// The plan for a field that the writer does not have.
pub(super) fn missing(field: &Field, types: ArrowMapping, path: &str) -> Result<ColumnPlan> {
    let data_type = data_type(&field.ty, types, path)?;
    match &field.default {
        None | Some(serde_json::Value::Null) if field.ty.is_nullable() => Ok(ColumnPlan::null(data_type)),
        Some(default) => {
            let mut bytes = Vec::new();
            defaults::write(default, &field.ty, &mut bytes, path)?;
            let plan = Box::new(resolve(&field.ty, &field.ty, types, path)?);
            Ok(ColumnPlan { tags: UnionTags::Bare, kind: ValuePlan::Default { bytes: bytes.into(), plan }, data_type })
        }
        None => Err(Error::invalid_table(format!(
            "field {path} is missing in the writer's schema, and {} has neither a default nor null",
            field.ty.describe()
        ))),
    }
}

/// Steps through a record as written, with neighbours that nobody wants gathered.
#[derive(Default)]
pub(super) struct StepBuilder<'a> {
    steps: Vec<FieldStep>,
    unwanted: Vec<&'a Type>,
    absent: Vec<FieldStep>,
}

impl<'a> StepBuilder<'a> {
    pub(super) fn skip(&mut self, ty: &'a Type) {
        self.unwanted.push(ty);
    }

    pub(super) fn read(&mut self, column: usize) {
        self.flush();
        self.steps.push(FieldStep::Read(column));
    }

    pub(super) fn peek(&mut self, column: usize) {
        self.flush();
        self.steps.push(FieldStep::Peek(column));
    }

    /// A column that takes no bytes.
    pub(super) fn absent(&mut self, column: usize) {
        self.absent.push(FieldStep::Read(column));
    }

    /// All steps to the record's end: where something follows it.
    pub(super) fn until_end(mut self) -> Vec<FieldStep> {
        self.flush();
        self.until_last_wanted()
    }

    /// The steps to the last field that is wanted.
    pub(super) fn until_last_wanted(mut self) -> Vec<FieldStep> {
        self.steps.append(&mut self.absent);
        self.steps
    }

    fn flush(&mut self) {
        let steps = match self.unwanted.as_slice() {
            [only] => skip(only),
            several => skip_all(several.iter().copied()),
        };
        self.unwanted.clear();
        if !steps.is_empty() {
            self.steps.push(FieldStep::Skip(steps));
        }
    }
}

#[cold]
pub(super) fn refused(why: &str, writer: &Type, reader: &Type, path: &str) -> Error {
    let (writer, reader) = (writer.describe(), reader.describe());
    Error::unsupported(format!("field {path}: cannot read {writer} as {reader}: {why}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, RecordBatch};
    use arrow_cast::display::array_value_to_string;
    use arrow_schema::DataType;

    use super::super::{ArrowMapping, Datum, DecodeProgram, Decoder, Schema};
    use mortice_base::error::{ErrorKind, Result};

    fn schema(fields: &str) -> Schema {
        Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)).unwrap()
    }

    fn field(ty: &str) -> Schema {
        schema(&format!(r#"{{"name":"f","type":{ty}}}"#))
    }

    fn read(writer: &Schema, reader: &Schema, types: ArrowMapping, bytes: &[u8]) -> Result<RecordBatch> {
        let mut decoder = Decoder::new(Arc::new(DecodeProgram::compile_all(writer, reader, types)?));
        // Twice, so that a whole value is read and no more.
        let content = [bytes, bytes].concat();
        let len = bytes.len() as u32;
        decoder.decode(&content, &[Datum { at: 0, len }, Datum { at: len, len }])?;
        let batch = decoder.finish()?;
        assert_eq!(batch.slice(0, 1), batch.slice(1, 1));
        Ok(batch)
    }

    fn text(array: &dyn Array) -> String {
        if array.is_null(0) {
            return "null".into();
        }
        match array.data_type() {
            // The number: names of zones are not built in.
            DataType::Timestamp(unit, zone) => {
                let number = arrow_cast::cast(array, &DataType::Int64).unwrap();
                let zone = zone.as_deref().unwrap_or("local");
                format!("{} {unit} {zone}", text(&number))
            }
            _ => array_value_to_string(array, 0).unwrap(),
        }
    }

    /// What a value of one type reads as under another.
    fn becomes(writer: &str, bytes: &[u8], reader: &str) -> String {
        let batch = read(&field(writer), &field(reader), ArrowMapping::Table, bytes).unwrap();
        text(batch.column(0))
    }

    fn fails(writer: &str, bytes: &[u8], reader: &str) -> (ErrorKind, String) {
        let error = read(&field(writer), &field(reader), ArrowMapping::Table, bytes).unwrap_err();
        (error.kind(), error.to_string())
    }

    const DATE: &str = r#"{"type":"int","logicalType":"date"}"#;
    const MILLIS: &str = r#"{"type":"long","logicalType":"timestamp-millis"}"#;
    const MICROS: &str = r#"{"type":"long","logicalType":"timestamp-micros"}"#;
    const LOCAL_MICROS: &str = r#"{"type":"long","logicalType":"local-timestamp-micros"}"#;
    const LOCAL_MILLIS: &str = r#"{"type":"long","logicalType":"local-timestamp-millis"}"#;

    fn decimal(precision: u32, scale: u32, size: Option<usize>) -> String {
        let of = size.map_or(r#""bytes""#.into(), |size| format!(r#""fixed","name":"d","size":{size}"#));
        format!(r#"{{"type":{of},"logicalType":"decimal","precision":{precision},"scale":{scale}}}"#)
    }

    #[test]
    fn numbers_widen_and_floats_keep_their_text() {
        let float = 1.1_f32.to_le_bytes();
        assert_eq!(becomes(r#""int""#, &[5], r#""long""#), "-3");
        assert_eq!(becomes(r#""int""#, &[6], r#""float""#), "3.0");
        assert_eq!(becomes(r#""long""#, &[6], r#""double""#), "3.0");
        assert_eq!(becomes(r#""float""#, &float, r#""double""#), "1.1");
        assert_eq!(becomes(r#""float""#, &float, r#""string""#), "1.1");
        assert_eq!(becomes(r#""double""#, &5e7_f64.to_le_bytes(), r#""string""#), "5.0E7");
        assert_eq!(becomes(r#""long""#, &[5], r#"["null","string"]"#), "-3");
    }

    #[test]
    fn unions_of_hudi_records_may_lack_branches_of_the_other_side() {
        let record = |name: &str, ty: &str| {
            format!(
                r#"{{"type":"record","name":"{name}","namespace":"org.apache.hudi.avro.model",
                     "fields":[{{"name":"value","type":"{ty}"}}]}}"#
            )
        };
        let (long, text, boolean) = (record("L", "long"), record("S", "string"), record("B", "boolean"));
        let more = format!(r#"["null",{long},{text},{boolean}]"#);
        let fewer = format!(r#"["null",{boolean},{text}]"#);
        let values = becomes(&fewer, &[2, 1], &more);
        assert_eq!(values, "{member0: , member1: , member2: {value: true}}");
        assert_eq!(becomes(&fewer, &[0], &more), "null");
        assert_eq!(becomes(&more, &[4, 2, b'a'], &fewer), "{member0: , member1: {value: a}}");
        let (_, message) = fails(&more, &[2, 5], &fewer);
        assert!(message.contains("does not have branch 1 of this union"), "{message}");
        let others = fewer.replace("hudi", "other");
        let (_, message) = fails(&others, &[0], &more);
        assert!(message.contains("unions of several types must be equal"), "{message}");
    }

    #[test]
    fn what_hudi_does_not_rewrite_is_refused_by_name() {
        for (writer, bytes, reader) in [
            (r#""long""#, &[0][..], r#""int""#),
            (r#""string""#, &[0], r#""int""#),
            (r#""double""#, &[0; 8], r#""float""#),
            (r#""boolean""#, &[0], r#""string""#),
            (r#""int""#, &[0], r#""boolean""#),
            (MICROS, &[0], LOCAL_MICROS),
            (LOCAL_MICROS, &[0], MICROS),
            (MILLIS, &[0], LOCAL_MILLIS),
            (LOCAL_MILLIS, &[0], MICROS),
            (r#"{"type":"fixed","name":"a","size":1}"#, &[0], r#"{"type":"fixed","name":"a","size":2}"#),
            (r#"["int","string"]"#, &[0, 0], r#"["int","string","null"]"#),
            (r#"{"type":"array","items":"int"}"#, &[0], r#"{"type":"map","values":"int"}"#),
        ] {
            let (kind, message) = fails(writer, bytes, reader);
            assert_eq!(kind, ErrorKind::Unsupported, "{writer} {reader}");
            assert!(message.contains("field f:"), "{message}");
        }
    }

    fn vector(dimension: usize, element: &str, size: usize) -> String {
        let measures = format!(r#""dimension":{dimension},"elementType":"{element}""#);
        format!(r#"{{"type":"fixed","name":"v","size":{size},"logicalType":"vector",{measures}}}"#)
    }

    #[test]
    fn vectors_are_lists_of_their_own_shape_only() {
        let bytes: Vec<u8> = [1.5_f32, f32::NAN].iter().flat_map(|value| value.to_le_bytes()).collect();
        let floats = vector(2, "FLOAT", 8);
        assert_eq!(becomes(&floats, &bytes, &floats), "[1.5, NaN]");
        let nullable = format!(r#"["null",{floats}]"#);
        assert_eq!(becomes(&nullable, &[&[2][..], &bytes].concat(), &nullable), "[1.5, NaN]");
        assert_eq!(becomes(&nullable, &[0], &nullable), "null");
        assert_eq!(becomes(&vector(3, "INT8", 3), &[0x80, 0, 0x7f], &vector(3, "INT8", 3)), "[-128, 0, 127]");
        assert_eq!(becomes(&floats, &[0; 8], r#""bytes""#), "0000000000000000");
        for other in [vector(8, "INT8", 8), vector(1, "DOUBLE", 8), r#"{"type":"array","items":"float"}"#.into()] {
            assert_eq!(fails(&floats, &bytes, &other).0, ErrorKind::Unsupported, "{other}");
        }
        assert_eq!(fails(&floats, &bytes[..7], &floats).0, ErrorKind::CorruptLog);
        let within = format!(r#"{{"type":"array","items":{floats}}}"#);
        let (kind, message) = fails(&within, &[0], &within);
        assert_eq!(kind, ErrorKind::Unsupported);
        assert!(message.contains("f.element") && message.contains("VECTOR(2)"), "{message}");
    }

    #[test]
    fn dates_texts_bytes_and_enums_cross() {
        let colours = r#"{"type":"enum","name":"c","symbols":["RED","BLUE"]}"#;
        assert_eq!(becomes(DATE, &[2], r#""string""#), "1970-01-02");
        assert_eq!(becomes(r#""string""#, b"\x142024-02-29", DATE), "2024-02-29");
        assert_eq!(fails(r#""string""#, b"\x142024-02-30", DATE).0, ErrorKind::CorruptLog);
        assert_eq!(becomes(r#""bytes""#, b"\x04\xc3\xa4", r#""string""#), "ä");
        assert_eq!(becomes(r#""string""#, b"\x04ab", r#""bytes""#), "6162");
        assert_eq!(becomes(colours, &[2], r#""string""#), "BLUE");
        assert_eq!(becomes(r#""string""#, b"\x08BLUE", colours), "BLUE");
        assert_eq!(fails(r#""string""#, b"\x08PINK", colours).0, ErrorKind::CorruptLog);
        assert_eq!(becomes(colours, &[2], r#"{"type":"enum","name":"c","symbols":["BLUE"]}"#), "BLUE");
        assert_eq!(fails(colours, &[0], r#"{"type":"enum","name":"c","symbols":["BLUE"]}"#).0, ErrorKind::CorruptLog);
        assert_eq!(becomes(r#"{"type":"fixed","name":"a","size":2}"#, b"ab", r#""bytes""#), "6162");
    }

    #[test]
    fn decimals_are_rescaled_and_come_of_strings() {
        let wide = decimal(20, 4, Some(9));
        assert_eq!(becomes(&decimal(10, 2, Some(5)), &[0, 0, 0, 0x04, 0xd2], &wide), "12.3400");
        assert_eq!(becomes(&decimal(10, 2, None), &[4, 0xff, 0x38], &decimal(10, 1, None)), "-2.0");
        assert_eq!(becomes(&decimal(10, 2, None), &[4, 0x04, 0xd7], &decimal(10, 1, None)), "12.4");
        assert_eq!(becomes(&decimal(10, 2, None), &[4, 0x04, 0xd2], r#""string""#), "12.34");
        assert_eq!(becomes(r#""string""#, b"\x0c1.0050", &decimal(5, 2, Some(3))), "1.01");
        assert_eq!(becomes(r#""double""#, &2.675_f64.to_le_bytes(), &decimal(5, 2, Some(3))), "2.68");
        assert_eq!(becomes(r#""int""#, &[14], &decimal(5, 2, Some(3))), "7.00");
        assert_eq!(fails(r#""int""#, &[0xa0, 0x8d, 0x06], &decimal(5, 2, Some(3))).0, ErrorKind::CorruptLog);
    }

    #[test]
    fn timestamps_change_units_by_hudis_rules() {
        assert_eq!(becomes(MILLIS, &[2], MICROS), "1000 µs UTC");
        assert_eq!(becomes(LOCAL_MILLIS, &[2], LOCAL_MICROS), "1000 µs local");
        // Written as micros, read as millis: the number itself is milliseconds.
        assert_eq!(becomes(MICROS, &[2], MILLIS), "1000 µs UTC");
        assert_eq!(becomes(LOCAL_MICROS, &[2], LOCAL_MILLIS), "1000 µs local");
        assert_eq!(becomes(MICROS, &[2], LOCAL_MILLIS), "1000 µs local");
        assert_eq!(becomes(LOCAL_MICROS, &[2], MILLIS), "1000 µs UTC");
        assert_eq!(becomes(r#""long""#, &[2], MILLIS), "1000 µs UTC");
        assert_eq!(becomes(r#""long""#, &[2], LOCAL_MICROS), "1 µs local");
        let most = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(fails(MILLIS, &most, MICROS).0, ErrorKind::CorruptLog);
        let batch = read(&field(MILLIS), &field(MILLIS), ArrowMapping::File, &most).unwrap();
        assert!(batch.column(0).is_valid(0));
    }

    #[test]
    fn fields_go_by_name_and_the_missing_are_default_or_null() {
        let writer = schema(
            r#"{"name":"gone","type":"string"},{"name":"b","type":{"type":"record","name":"in","fields":[
               {"name":"y","type":"int"},{"name":"x","type":["null","int"]}]}},{"name":"a","type":"int"}"#,
        );
        let reader = schema(
            r#"{"name":"a","type":"int"},{"name":"A","type":["null","int"]},
               {"name":"b","type":{"type":"record","name":"other","fields":[{"name":"x","type":"int"},
                 {"name":"new","type":"string","default":"dflt"},{"name":"y","type":"long"}]}},
               {"name":"list","type":{"type":"array","items":"int"},"default":[1,2]},
               {"name":"u","type":["int","null"],"default":7},{"name":"n","type":["int","null"]}"#,
        );
        let batch = read(&writer, &reader, ArrowMapping::Table, b"\x02z\x06\x00\x08").unwrap();
        let row: Vec<String> = batch.columns().iter().map(|column| text(column)).collect();
        assert_eq!(row, ["4", "null", "{x: , new: dflt, y: 3}", "[1, 2]", "7", "null"]);

        let needed = schema(r#"{"name":"needed","type":"int"}"#);
        let error = DecodeProgram::compile_all(&writer, &needed, ArrowMapping::Table).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTable);
        assert!(error.to_string().contains("needed"), "{error}");
    }

    #[test]
    fn a_null_is_delivered_even_where_none_is_allowed() {
        assert_eq!(becomes(r#"["null","int"]"#, &[0], r#""int""#), "null");
        assert_eq!(becomes(r#"["int","null"]"#, &[0, 6], r#"["null","long"]"#), "3");
        assert_eq!(becomes(r#""null""#, &[], r#"["null","string"]"#), "null");
        assert_eq!(becomes(r#"["null"]"#, &[0], r#"["null","string"]"#), "null");
    }

    #[test]
    fn unions_of_numbers_are_numbers() {
        assert_eq!(becomes(r#"["null","int","long"]"#, &[4, 6], r#"["null","int","long"]"#), "3");
        assert_eq!(becomes(r#"["long","int"]"#, &[2, 6], r#"["long","int"]"#), "3");
        let mut float = vec![2];
        float.extend(1.5_f32.to_le_bytes());
        assert_eq!(becomes(r#"["double","float"]"#, &float, r#"["double","float"]"#), "1.5");
        assert_eq!(
            becomes(r#"["int","null","string"]"#, b"\x04\x02x", r#"["int","null","string"]"#),
            "{member0: , member1: x}"
        );
        assert_eq!(becomes(r#"["int","null","string"]"#, &[2], r#"["int","null","string"]"#), "null");
        assert_eq!(fails(r#"["int","null","string"]"#, &[6], r#"["int","null","string"]"#).0, ErrorKind::CorruptLog);
    }
}
