//! The Avro schema that Hudi's Spark writer gives columns (`HoodieSparkSchemaConverters`,
//! `HoodieAvroUtils.sanitizeName`).
//!
//! | Arrow | Avro |
//! |---|---|
//! | the whole | record `hoodie.<table>.<table>_record` |
//! | nullable | `["null", T]`, default null |
//! | int8 to int32, uint8, uint16 | int |
//! | int64, uint32, uint64 | long |
//! | decimal | fixed `<path>.<field>.fixed` of the fewest bytes that hold the precision |
//! | timestamp | timestamp-micros; local-timestamp-micros without a time zone |
//! | time32, time64 (which Spark has not) | time-millis, time-micros |
//! | struct | record `<path>.<field>`; in a list or a map it has that one's name |

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema};
use serde_json::Value;

use crate::arrow_types::under;
use crate::schema::Schema;
use crate::types::{Decimal, Field, Fixed, Record, Type};
use mortice_base::error::{Error, Result};

/// The schema of a table's columns; its meta columns are among them, if it has any.
///
/// # Errors
/// `InvalidArgument`, naming the column: a name that Avro does not allow, a type that has none in Avro.
pub fn hudi_schema(columns: &ArrowSchema, table_name: &str) -> Result<Schema> {
    let table = sanitized(table_name)?;
    let name = format!("hoodie.{table}.{table}_record");
    let fields = fields(columns.fields(), &name, "")?;
    Ok(Schema::record(&name, fields))
}

/// A table's name as Avro allows it.
fn sanitized(table_name: &str) -> Result<String> {
    let Some(first) = table_name.chars().next() else {
        return Err(Error::invalid_argument("the table name must not be empty"));
    };
    let replaced = |allowed: bool, letter: char| if allowed { letter.to_string() } else { "__".to_owned() };
    let start = replaced(first.is_ascii_alphabetic() || first == '_', first);
    let rest = table_name.chars().skip(1);
    Ok(start
        + &rest.map(|letter| replaced(letter.is_ascii_alphanumeric() || letter == '_', letter)).collect::<String>())
}

/// The fields of columns that a record has. Types that they define are named in `namespace`, the record's full name.
///
/// # Errors
/// As for [`hudi_schema`].
pub fn hudi_fields(columns: &Fields, namespace: &str, path: &str) -> Result<Vec<Field>> {
    fields(columns, namespace, path)
}

fn fields(columns: &Fields, namespace: &str, path: &str) -> Result<Vec<Field>> {
    columns.iter().map(|column| field(column, namespace, path)).collect()
}

fn field(column: &ArrowField, namespace: &str, path: &str) -> Result<Field> {
    let name = column.name();
    let path = under(path, name);
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if !starts || !letters.all(|letter| letter.is_alphanumeric() || letter == '_') {
        return Err(Error::invalid_argument(format!(
            "column {path:?}: names in Avro are of letters, digits and '_', and begin with no digit"
        )));
    }
    let ty = nullable(type_of(column.data_type(), name, namespace, &path)?, column.is_nullable());
    let default = column.is_nullable().then_some(Value::Null);
    Ok(Field { name: name.clone(), ty, default })
}

fn nullable(ty: Type, nullable: bool) -> Type {
    if nullable { ty.nullable() } else { ty }
}

/// `name` is that of the field, and of the types that it defines.
fn type_of(ty: &DataType, name: &str, namespace: &str, path: &str) -> Result<Type> {
    use DataType as Ty;
    let child = |item: &ArrowField, part: &str| {
        Ok(Arc::new(nullable(type_of(item.data_type(), name, namespace, &under(path, part))?, item.is_nullable())))
    };
    Ok(match ty {
        Ty::Dictionary(_, values) => type_of(values, name, namespace, path)?,
        Ty::RunEndEncoded(_, values) => type_of(values.data_type(), name, namespace, path)?,
        Ty::Boolean => Type::Boolean,
        Ty::Int8 | Ty::Int16 | Ty::Int32 | Ty::UInt8 | Ty::UInt16 => Type::Int,
        Ty::Int64 | Ty::UInt32 | Ty::UInt64 => Type::Long,
        Ty::Float16 | Ty::Float32 => Type::Float,
        Ty::Float64 => Type::Double,
        Ty::Utf8 | Ty::LargeUtf8 | Ty::Utf8View => Type::String,
        Ty::Binary | Ty::LargeBinary | Ty::BinaryView | Ty::FixedSizeBinary(_) => Type::Bytes,
        Ty::Date32 | Ty::Date64 => Type::Date,
        Ty::Time32(_) => Type::TimeMillis,
        Ty::Time64(_) => Type::TimeMicros,
        Ty::Timestamp(_, Some(_)) => Type::TimestampMicros,
        Ty::Timestamp(_, None) => Type::LocalTimestampMicros,
        Ty::Decimal32(precision, scale)
        | Ty::Decimal64(precision, scale)
        | Ty::Decimal128(precision, scale)
        | Ty::Decimal256(precision, scale) => decimal(*precision, *scale, name, namespace, path)?,
        Ty::List(item)
        | Ty::LargeList(item)
        | Ty::ListView(item)
        | Ty::LargeListView(item)
        | Ty::FixedSizeList(item, _) => Type::Array(child(item, "element")?),
        Ty::Map(entries, _) => match entries.data_type() {
            Ty::Struct(entry) if entry.len() == 2 => match entry.as_ref() {
                [key, value] if is_text(key.data_type()) => Type::Map(child(value, "value")?),
                _ => return Err(untyped(ty, path)),
            },
            _ => return Err(untyped(ty, path)),
        },
        Ty::Struct(members) => {
            let record = format!("{namespace}.{name}");
            let fields = fields(members, &record, path)?;
            Type::Record(Arc::new(Record::new(&record, fields)))
        }
        _ => return Err(untyped(ty, path)),
    })
}

fn is_text(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, values) => is_text(values),
        _ => matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn decimal(precision: u8, scale: i8, name: &str, namespace: &str, path: &str) -> Result<Type> {
    let digits = u32::from(precision);
    let (true, Ok(scale)) = (digits <= 38, u32::try_from(scale)) else {
        let message =
            format!("column {path}: unsupported decimal({precision},{scale}) (at most 38 digits, scale not negative)");
        return Err(Error::invalid_argument(message));
    };
    let most = 10_i128.pow(digits) - 1;
    let size = (1_usize..=16).find(|size| most >> (8 * size - 1) == 0).unwrap_or(16);
    let fixed = Fixed { name: format!("{namespace}.{name}.fixed"), size };
    Ok(Type::Decimal(Decimal { precision: digits, scale, fixed: Some(Arc::new(fixed)) }))
}

fn untyped(ty: &DataType, path: &str) -> Error {
    Error::invalid_argument(format!("column {path}: unsupported type {ty}: Avro has no such type"))
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;
    use mortice_base::error::ErrorKind;

    fn convert(columns: Vec<ArrowField>) -> Result<Schema> {
        hudi_schema(&ArrowSchema::new(columns), "t")
    }

    /// The names and sizes are those of Hudi 1.2.0.
    #[test]
    fn types_are_named_as_hudi_names_them() {
        let list = ArrowField::new("element", DataType::Decimal128(38, 18), true);
        let inner = ArrowField::new("d", DataType::List(Arc::new(list)), true);
        let outer = DataType::Struct(vec![inner, ArrowField::new("n", DataType::Int8, false)].into());
        let items = ArrowField::new("element", outer.clone(), true);
        let schema = convert(vec![
            ArrowField::new("k", DataType::Utf8, false),
            ArrowField::new("price", DataType::Decimal128(10, 2), true),
            ArrowField::new("st", outer, true),
            ArrowField::new("many", DataType::List(Arc::new(items)), false),
        ])
        .unwrap();
        let expected = r#"{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[
            {"name":"k","type":"string"},
            {"name":"price","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.price","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},
            {"name":"st","type":["null",{"type":"record","name":"st","namespace":"hoodie.t.t_record","fields":[
                {"name":"d","type":["null",{"type":"array","items":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.st.d","size":16,"logicalType":"decimal","precision":38,"scale":18}]}],"default":null},
                {"name":"n","type":"int"}]}],"default":null},
            {"name":"many","type":{"type":"array","items":["null",{"type":"record","name":"many","namespace":"hoodie.t.t_record","fields":[
                {"name":"d","type":["null",{"type":"array","items":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.many.d","size":16,"logicalType":"decimal","precision":38,"scale":18}]}],"default":null},
                {"name":"n","type":"int"}]}]}}]}"#;
        assert_eq!(schema, Schema::parse(expected).unwrap());
        assert_eq!(Schema::parse(schema.json()).unwrap(), schema);
    }

    #[test]
    fn times_by_their_zone_and_table_names_without_what_avro_forbids() {
        let zoned = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Nanosecond, zone.map(Into::into));
        let schema = ArrowSchema::new(vec![
            ArrowField::new("a", zoned(Some("Europe/Rome")), false),
            ArrowField::new("b", zoned(None), false),
        ]);
        let schema = hudi_schema(&schema, "1-trip.v2").unwrap();
        let types: Vec<&Type> = schema.fields().iter().map(|field| &field.ty).collect();
        assert_eq!(types, [&Type::TimestampMicros, &Type::LocalTimestampMicros]);
        assert_eq!(schema.as_record().unwrap().name, "hoodie.____trip__v2.____trip__v2_record");
    }

    #[test]
    fn decimals_have_the_fewest_bytes() {
        for (precision, size) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)] {
            let schema = convert(vec![ArrowField::new("d", DataType::Decimal128(precision, 0), false)]).unwrap();
            let Type::Decimal(Decimal { fixed: Some(fixed), .. }) = &schema.fields()[0].ty else { panic!("no fixed") };
            assert_eq!(fixed.size, size, "{precision}");
        }
    }

    #[test]
    fn what_avro_has_not_is_refused_by_name() {
        for (column, word) in [
            (ArrowField::new("a b", DataType::Int32, true), "a b"),
            (ArrowField::new("1a", DataType::Int32, true), "1a"),
            (ArrowField::new("x", DataType::Duration(TimeUnit::Second), true), "column x"),
            (ArrowField::new("x", DataType::Null, true), "column x"),
            (ArrowField::new("x", DataType::Decimal128(5, -2), true), "decimal(5,-2)"),
            (ArrowField::new("x", DataType::Decimal256(39, 2), true), "decimal(39,2)"),
        ] {
            let error = convert(vec![column]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(hudi_schema(&ArrowSchema::empty(), "").is_err());
    }
}
