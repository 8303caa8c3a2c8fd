//! Which Arrow type an Avro type becomes.
//!
//! [`ArrowMapping::Table`] is what Spark's `SchemaConverters` make of a schema, so that Spark takes the columns as they
//! are; [`ArrowMapping::File`] keeps the file's own units and `fixed`. Hudi's VECTOR is a list of numbers in both.
//! Everything is nullable but the keys of maps.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema, TimeUnit};

use super::schema::Schema;
use super::types::{LogicalRecord, Record, Type};
use super::vector::{HUDI_TYPE, VectorShape};
use mortice_base::error::{Error, Result};

/// The field of a variant that holds what was shredded (`HoodieSchema.Variant.VARIANT_TYPED_VALUE_FIELD`).
pub const TYPED_VALUE: &str = "typed_value";

/// Which mapping to Arrow types is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArrowMapping {
    /// As Spark maps them: timestamps in µs, `fixed` as binary.
    Table,
    /// As the file has them: milliseconds stay milliseconds, `fixed` is fixed-size binary.
    File,
}

/// The Arrow schema of a record schema.
///
/// # Errors
/// `InvalidTable` where the schema is no record; `Unsupported` where a type has no Arrow type (a decimal of more than
/// 38 digits), naming the field.
pub fn arrow_schema(schema: &Schema, types: ArrowMapping) -> Result<ArrowSchema> {
    Ok(ArrowSchema::new(struct_fields(schema.as_record()?, types, "")?))
}

/// The Arrow type of an Avro type; `path` is the field's name for messages.
pub(super) fn data_type(ty: &Type, types: ArrowMapping, path: &str) -> Result<DataType> {
    let local = |unit| DataType::Timestamp(unit, None);
    let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    let millis = if types == ArrowMapping::Table { TimeUnit::Microsecond } else { TimeUnit::Millisecond };
    Ok(match ty.non_null() {
        Type::Null => DataType::Null,
        Type::Boolean => DataType::Boolean,
        Type::Int | Type::TimeMillis => DataType::Int32,
        Type::Date => DataType::Date32,
        Type::Long | Type::TimeMicros => DataType::Int64,
        Type::TimestampMillis => utc(millis),
        Type::TimestampMicros => utc(TimeUnit::Microsecond),
        Type::LocalTimestampMillis => local(millis),
        Type::LocalTimestampMicros => local(TimeUnit::Microsecond),
        Type::Float => DataType::Float32,
        Type::Double => DataType::Float64,
        Type::Bytes => DataType::Binary,
        Type::String | Type::Uuid | Type::Enum(_) => DataType::Utf8,
        Type::Fixed(fixed) => match types {
            ArrowMapping::Table => DataType::Binary,
            ArrowMapping::File => DataType::FixedSizeBinary(i32::try_from(fixed.size).unwrap_or(i32::MAX)),
        },
        Type::Vector(vector) => {
            // `HoodieSparkSchemaConverters` refuses them too. Avro's names have no dots.
            if path.contains('.') {
                return Err(nested_vector(path, vector.shape));
            }
            vector.shape.data_type()
        }
        Type::Decimal(decimal) => {
            let digits = u8::try_from(decimal.precision).ok().filter(|digits| *digits <= 38);
            let scale = i8::try_from(decimal.scale).ok();
            let (Some(digits), Some(scale)) = (digits, scale) else {
                return Err(Error::unsupported(format!(
                    "column {path}: unsupported {}: more than 38 digits",
                    ty.describe()
                )));
            };
            DataType::Decimal128(digits, scale)
        }
        Type::Array(items) => DataType::List(field("element", items, types, &under(path, "element"))?),
        Type::Map(values) => map(field("value", values, types, &under(path, "value"))?),
        Type::Record(record) => {
            if types == ArrowMapping::Table && is_shredded(record) {
                return Err(shredded_variant(path));
            }
            DataType::Struct(struct_fields(record, types, path)?)
        }
        Type::Union(branches) => union(branches, types, path)?,
    })
}

/// A field's path one level down.
pub(super) fn under(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The number that a union of numbers becomes, if it is one: Spark makes int and long a long, float and double a
/// double.
pub(super) fn number_of_union(branches: &[Type]) -> Option<DataType> {
    let long = |ty: &Type| whole(ty) == Some(64);
    let int = |ty: &Type| whole(ty) == Some(32);
    let others: Vec<&Type> = branches.iter().filter(|branch| **branch != Type::Null).collect();
    let [one, other] = others.as_slice() else { return None };
    if int(one) && long(other) || long(one) && int(other) {
        return Some(DataType::Int64);
    }
    matches!((one, other), (Type::Float, Type::Double) | (Type::Double, Type::Float)).then_some(DataType::Float64)
}

/// Bits of an Avro int or long, of any logical type.
pub(super) fn whole(ty: &Type) -> Option<u32> {
    match ty {
        Type::Int | Type::Date | Type::TimeMillis => Some(32),
        Type::Long
        | Type::TimeMicros
        | Type::TimestampMillis
        | Type::TimestampMicros
        | Type::LocalTimestampMillis
        | Type::LocalTimestampMicros => Some(64),
        _ => None,
    }
}

/// The Arrow field of an Avro type. A type of Hudi's that Spark lacks is named in its metadata under [`HUDI_TYPE`], as
/// in the schemas of Hudi's Spark reader.
pub(super) fn field(name: &str, ty: &Type, types: ArrowMapping, path: &str) -> Result<FieldRef> {
    let field = Field::new(name, data_type(ty, types, path)?, true);
    let hudi_type = match ty.non_null() {
        Type::Vector(vector) => Some(vector.shape.descriptor()),
        Type::Record(record) => record.logical.map(|logical| logical.descriptor().to_owned()),
        _ => None,
    };
    Ok(Arc::new(match hudi_type {
        Some(hudi_type) => field.with_metadata(HashMap::from([(HUDI_TYPE.to_owned(), hudi_type)])),
        None => field,
    }))
}

/// Whether it is a variant that has some of its values in columns of their own.
fn is_shredded(record: &Record) -> bool {
    record.logical == Some(LogicalRecord::Variant) && record.field(TYPED_VALUE).is_some()
}

#[cold]
fn nested_vector(path: &str, shape: VectorShape) -> Error {
    let descriptor = shape.descriptor();
    Error::unsupported(format!(
        "column {path}: unsupported {descriptor} within another type: Hudi has vectors as top-level columns only"
    ))
}

/// The error for a shredded variant in `column`.
#[cold]
pub fn shredded_variant(column: &str) -> Error {
    Error::unsupported(format!(
        "column {column}: unsupported shredded VARIANT (with {TYPED_VALUE}); read it with Hudi on Spark 4, or rewrite the column \
         without shredding"
    ))
}

fn map(value: FieldRef) -> DataType {
    let key = Arc::new(Field::new("key", DataType::Utf8, false));
    let entries = DataType::Struct(Fields::from(vec![key, value]));
    DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
}

fn struct_fields(record: &Record, types: ArrowMapping, path: &str) -> Result<Fields> {
    let of = |one: &super::types::Field| field(&one.name, &one.ty, types, &under(path, &one.name));
    record.fields.iter().map(of).collect()
}

fn union(branches: &[Type], types: ArrowMapping, path: &str) -> Result<DataType> {
    if let Some(number) = number_of_union(branches) {
        return Ok(number);
    }
    let members = branches.iter().filter(|branch| **branch != Type::Null).enumerate();
    let fields = members.map(|(index, branch)| {
        let name = format!("member{index}");
        field(&name, branch, types, &under(path, &name))
    });
    Ok(DataType::Struct(fields.collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    fn types_of(ty: &str) -> [String; 2] {
        let text = format!(r#"{{"type":"record","name":"r","fields":[{{"name":"f","type":{ty}}}]}}"#);
        let schema = Schema::parse(&text).unwrap();
        [ArrowMapping::Table, ArrowMapping::File]
            .map(|types| arrow_schema(&schema, types).unwrap().field(0).data_type().to_string())
    }

    #[test]
    fn tables_have_sparks_types_and_files_their_own_units() {
        for (avro, table, file) in [
            (r#"["null","string"]"#, "Utf8", "Utf8"),
            (r#"{"type":"long","logicalType":"timestamp-millis"}"#, "Timestamp(µs, \"UTC\")", "Timestamp(ms, \"UTC\")"),
            (r#"{"type":"long","logicalType":"local-timestamp-millis"}"#, "Timestamp(µs)", "Timestamp(ms)"),
            (r#"{"type":"fixed","name":"x","size":4}"#, "Binary", "FixedSizeBinary(4)"),
            (r#"["int","null","long"]"#, "Int64", "Int64"),
            (r#"["float","double"]"#, "Float64", "Float64"),
            (
                r#"["string","int","null"]"#,
                "Struct(\"member0\": Utf8, \"member1\": Int32)",
                "Struct(\"member0\": Utf8, \"member1\": Int32)",
            ),
        ] {
            assert_eq!(types_of(avro), [table, file], "{avro}");
        }
    }

    #[test]
    fn a_decimal_too_wide_is_refused_by_name() {
        let text = r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":
            {"type":"bytes","logicalType":"decimal","precision":39,"scale":2}}}]}"#;
        let error = arrow_schema(&Schema::parse(text).unwrap(), ArrowMapping::Table).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("a.element"), "{error}");
    }
}
