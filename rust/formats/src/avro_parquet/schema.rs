//! The parquet schema that Hudi gives an Avro schema (parquet-avro's `AvroSchemaConverter`).
//!
//! | Avro | parquet |
//! |---|---|
//! | int, long, float, double, boolean | the physical type of that name, with the logical type's annotation |
//! | string, enum, bytes, fixed | binary (STRING, ENUM), fixed-length binary |
//! | decimal | stored as in Avro: binary or fixed-length binary, never a number |
//! | record | group |
//! | array | LIST, `repeated group list { element }` |
//! | map | MAP, `repeated group key_value { required key; value }` |
//! | union with null | optional |
//! | other unions | none: Hudi fails on them when it reads parquet |
//!
//! An array is that, or `repeated array` (see [`ListStructure`]); Hudi detects by the group's name which.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType, TypePtr};

use super::lists::ListStructure;
use mortice_avro::{Field, Schema, Type, Vector};
use mortice_base::error::{Error, Result};

/// The parquet schema of a record schema.
///
/// # Errors
/// `Unsupported`, naming the field, for types that Hudi could not read from parquet (null alone, unions of several
/// types).
pub fn parquet_schema(schema: &Schema, lists: ListStructure) -> Result<SchemaDescriptor> {
    let record = schema.as_record()?;
    let root = ParquetType::group_type_builder(&record.name).with_fields(fields(&record.fields, lists, "")?).build();
    Ok(SchemaDescriptor::new(Arc::new(root.map_err(|error| refused(&record.name, error))?)))
}

fn fields(fields: &[Field], lists: ListStructure, path: &str) -> Result<Vec<TypePtr>> {
    let node = |field: &Field| self::node(&field.name, &field.ty, lists, &under(path, &field.name));
    fields.iter().map(node).collect()
}

fn node(name: &str, ty: &Type, lists: ListStructure, path: &str) -> Result<TypePtr> {
    let repetition = if ty.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    repeated_node(name, ty, repetition, lists, path)
}

fn repeated_node(name: &str, ty: &Type, repetition: Repetition, lists: ListStructure, path: &str) -> Result<TypePtr> {
    let group = |fields| ParquetType::group_type_builder(name).with_repetition(repetition).with_fields(fields);
    let built = match ty.non_null() {
        Type::Record(record) => group(fields(&record.fields, lists, path)?).build(),
        Type::Array(items) => {
            let (element, path) = (lists.element(), &under(path, lists.element()));
            let list = match lists {
                ListStructure::TwoLevels => repeated_node(element, items, Repetition::REPEATED, lists, path)?,
                ListStructure::ThreeLevels => {
                    repeated("list", ConvertedType::NONE, vec![node(element, items, lists, path)?])
                        .map_err(|error| refused(path, error))?
                }
            };
            let logical = Some(LogicalType::List);
            group(vec![list]).with_logical_type(logical).with_converted_type(ConvertedType::LIST).build()
        }
        Type::Map(values) => {
            let entry =
                vec![node("key", &Type::String, lists, path)?, node("value", values, lists, &under(path, "value"))?];
            let entries =
                repeated("key_value", ConvertedType::MAP_KEY_VALUE, entry).map_err(|error| refused(path, error))?;
            let logical = Some(LogicalType::Map);
            group(vec![entries]).with_logical_type(logical).with_converted_type(ConvertedType::MAP).build()
        }
        leaf => primitive(name, leaf, repetition, path)?,
    };
    built.map(Arc::new).map_err(|error| refused(path, error))
}

fn repeated(name: &str, converted: ConvertedType, fields: Vec<TypePtr>) -> Result<TypePtr, ParquetError> {
    let group = ParquetType::group_type_builder(name).with_repetition(Repetition::REPEATED).with_fields(fields);
    group.with_converted_type(converted).build().map(Arc::new)
}

/// A leaf of the schema.
fn primitive(name: &str, ty: &Type, repetition: Repetition, path: &str) -> Result<Result<ParquetType, ParquetError>> {
    let (physical, logical) = match ty {
        Type::Boolean => (Physical::BOOLEAN, None),
        Type::Int => (Physical::INT32, None),
        Type::Date => (Physical::INT32, Some(LogicalType::Date)),
        Type::TimeMillis => (Physical::INT32, Some(time(TimeUnit::MILLIS))),
        Type::Long => (Physical::INT64, None),
        Type::TimeMicros => (Physical::INT64, Some(time(TimeUnit::MICROS))),
        Type::TimestampMillis => (Physical::INT64, Some(timestamp(true, TimeUnit::MILLIS))),
        Type::TimestampMicros => (Physical::INT64, Some(timestamp(true, TimeUnit::MICROS))),
        Type::LocalTimestampMillis => (Physical::INT64, Some(timestamp(false, TimeUnit::MILLIS))),
        Type::LocalTimestampMicros => (Physical::INT64, Some(timestamp(false, TimeUnit::MICROS))),
        Type::Float => (Physical::FLOAT, None),
        Type::Double => (Physical::DOUBLE, None),
        Type::Bytes => (Physical::BYTE_ARRAY, None),
        Type::String | Type::Uuid => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Type::Enum(_) => (Physical::BYTE_ARRAY, Some(LogicalType::Enum)),
        Type::Fixed(_) | Type::Vector(_) => (Physical::FIXED_LEN_BYTE_ARRAY, None),
        Type::Decimal(decimal) => {
            let stored = if decimal.fixed.is_some() { Physical::FIXED_LEN_BYTE_ARRAY } else { Physical::BYTE_ARRAY };
            (stored, None)
        }
        _ => return Err(unsupported(path, ty)),
    };
    let mut built = ParquetType::primitive_type_builder(name, physical).with_repetition(repetition);
    match ty {
        Type::Fixed(fixed) | Type::Vector(Vector { fixed, .. }) => built = built.with_length(int(fixed.size, path)?),
        Type::Decimal(decimal) => {
            let (precision, scale) = (int(decimal.precision as usize, path)?, int(decimal.scale as usize, path)?);
            if let Some(fixed) = &decimal.fixed {
                built = built.with_length(int(fixed.size, path)?);
            }
            built = built.with_precision(precision).with_scale(scale);
            built = built.with_logical_type(Some(LogicalType::decimal(scale, precision)));
            built = built.with_converted_type(ConvertedType::DECIMAL);
        }
        _ => built = built.with_logical_type(logical),
    }
    Ok(built.build())
}

fn time(unit: TimeUnit) -> LogicalType {
    LogicalType::time(true, unit)
}

fn timestamp(utc: bool, unit: TimeUnit) -> LogicalType {
    LogicalType::timestamp(utc, unit)
}

fn int(number: usize, path: &str) -> Result<i32> {
    i32::try_from(number).map_err(|_| Error::unsupported(format!("field {path}: invalid size {number}")))
}

fn under(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn unsupported(path: &str, ty: &Type) -> Error {
    let message = format!("field {path}: {} cannot be stored in parquet", ty.describe());
    Error::unsupported(message)
}

fn refused(path: &str, error: ParquetError) -> Error {
    Error::unsupported(format!("field {path} cannot be written as parquet")).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(fields: &str) -> Result<String> {
        printed_with(fields, ListStructure::ThreeLevels)
    }

    fn printed_with(fields: &str, lists: ListStructure) -> Result<String> {
        let text = format!(r#"{{"type":"record","name":"r","namespace":"h.t","fields":[{fields}]}}"#);
        let schema = parquet_schema(&Schema::parse(&text).unwrap(), lists)?;
        let mut out = Vec::new();
        parquet::schema::printer::print_schema(&mut out, schema.root_schema());
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn fields_are_as_hudis_avro_writer_has_them() {
        for (ty, line) in [
            (r#"["null","int"]"#, "OPTIONAL INT32 f;"),
            (r#""string""#, "REQUIRED BYTE_ARRAY f (STRING);"),
            (r#"{"type":"enum","name":"e","symbols":["A"]}"#, "REQUIRED BYTE_ARRAY f (ENUM);"),
            (r#"{"type":"fixed","name":"x","size":3}"#, "REQUIRED FIXED_LEN_BYTE_ARRAY (3) f;"),
            (
                r#"["null",{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}]"#,
                "OPTIONAL BYTE_ARRAY f (DECIMAL(5,2));",
            ),
            (
                r#"{"type":"fixed","name":"d","size":5,"logicalType":"decimal","precision":10,"scale":2}"#,
                "REQUIRED FIXED_LEN_BYTE_ARRAY (5) f (DECIMAL(10,2));",
            ),
            (r#"{"type":"int","logicalType":"date"}"#, "REQUIRED INT32 f (DATE);"),
            (r#"{"type":"int","logicalType":"time-millis"}"#, "REQUIRED INT32 f (TIME(MILLIS,true));"),
            (r#"{"type":"long","logicalType":"timestamp-micros"}"#, "REQUIRED INT64 f (TIMESTAMP(MICROS,true));"),
            (
                r#"{"type":"long","logicalType":"local-timestamp-millis"}"#,
                "REQUIRED INT64 f (TIMESTAMP(MILLIS,false));",
            ),
            (
                r#"{"type":"array","items":["null","long"]}"#,
                "REQUIRED group f (LIST) {\n    REPEATED group list {\n      OPTIONAL INT64 element;",
            ),
            (
                r#"["null",{"type":"map","values":"long"}]"#,
                "OPTIONAL group f (MAP) {\n    REPEATED group key_value (MAP_KEY_VALUE) {\n      REQUIRED BYTE_ARRAY key (STRING);\n      REQUIRED INT64 value;",
            ),
        ] {
            let printed = printed(&format!(r#"{{"name":"f","type":{ty}}}"#)).unwrap();
            assert!(printed.starts_with("message h.t.r {"), "{printed}");
            assert!(printed.contains(line), "{printed}\n{line}");
        }
    }

    #[test]
    fn lists_of_two_levels_are_as_parquet_avro_writes_them_by_default() {
        let nested =
            r#"{"type":"array","items":["null",{"type":"array","items":["null",{"type":"map","values":"long"}]}]}"#;
        let printed = printed_with(&format!(r#"{{"name":"f","type":{nested}}}"#), ListStructure::TwoLevels).unwrap();
        let expected = "  REQUIRED group f (LIST) {\n    REPEATED group array (LIST) {\n      REPEATED group array (MAP) {\n        REPEATED group key_value (MAP_KEY_VALUE) {";
        assert!(printed.contains(expected), "{printed}");
    }

    #[test]
    fn what_hudi_could_not_read_is_refused_by_name() {
        for (ty, word) in
            [(r#""null""#, "null"), (r#"["int","long"]"#, "[int, long]"), (r#"["null","float","double"]"#, "float")]
        {
            let nested = format!(r#"{{"name":"a","type":{{"type":"array","items":{ty}}}}}"#);
            let error = printed(&nested).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::Unsupported);
            assert!(error.to_string().contains("a.element") && error.to_string().contains(word), "{error}");
        }
    }
}
