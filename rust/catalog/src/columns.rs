//! Types of columns: Hive's names, and Spark's JSON.

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use mortice_base::error::{Error, Result};

/// Returns Hive's name of a type.
///
/// With `timestamps` false, timestamps are `bigint`, as Hudi's tool has them by default.
///
/// # Errors
/// `Unsupported` if Hive has none.
pub(crate) fn hive_type(kind: &DataType, timestamps: bool) -> Result<String> {
    let name = match kind {
        DataType::Boolean => "boolean",
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Time32(_) => "int",
        DataType::Int64 | DataType::Time64(_) => "bigint",
        DataType::Float32 => "float",
        DataType::Float64 => "double",
        DataType::Utf8 | DataType::LargeUtf8 => "string",
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => "binary",
        DataType::Date32 => "date",
        // Hudi's tool knows microseconds only: milliseconds remain numbers.
        DataType::Timestamp(TimeUnit::Microsecond, _) if timestamps => "timestamp",
        DataType::Timestamp(..) => "bigint",
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            return Ok(format!("decimal({precision},{scale})"));
        }
        DataType::Struct(fields) => {
            let fields =
                fields.iter().map(|one| Ok(format!("{}:{}", one.name(), hive_type(one.data_type(), timestamps)?)));
            return Ok(format!("struct<{}>", fields.collect::<Result<Vec<_>>>()?.join(",")));
        }
        DataType::Map(..) => {
            let (key, value) = map_fields(kind)?;
            let (key, value) = (hive_type(key.data_type(), timestamps)?, hive_type(value.data_type(), timestamps)?);
            return Ok(format!("map<{key},{value}>"));
        }
        _ => {
            let item =
                list_item(kind).ok_or_else(|| Error::unsupported(format!("a catalog has no type for {kind}")))?;
            return Ok(format!("array<{}>", hive_type(item.data_type(), timestamps)?));
        }
    };
    Ok(name.to_owned())
}

/// Returns columns as Spark's JSON, in the spelling of Hudi's tool (`Parquet2SparkSchemaUtils`).
pub(crate) fn spark_schema<'a>(fields: impl IntoIterator<Item = &'a Field>) -> Result<String> {
    let columns = fields.into_iter().map(|one| {
        let (name, kind, nullable) = (json(one.name()), spark_type(one.data_type())?, one.is_nullable());
        Ok(format!(r#"{{"name":{name},"type":{kind},"nullable":{nullable},"metadata":{{}}}}"#))
    });
    Ok(format!(r#"{{"type":"struct","fields":[{}]}}"#, columns.collect::<Result<Vec<_>>>()?.join(",")))
}

fn spark_type(kind: &DataType) -> Result<String> {
    if let Some(item) = list_item(kind) {
        let (of, nullable) = (spark_type(item.data_type())?, item.is_nullable());
        return Ok(format!(r#"{{"type":"array", "elementType":{of},"containsNull":{nullable}}}"#));
    }
    Ok(match kind {
        DataType::Map(..) => {
            let (key, value) = map_fields(kind)?;
            let (key, of, nullable) =
                (spark_type(key.data_type())?, spark_type(value.data_type())?, value.is_nullable());
            format!(r#"{{"type":"map", "keyType":{key},"valueType":{of},"valueContainsNull":{nullable}}}"#)
        }
        DataType::Struct(fields) => spark_schema(fields.iter().map(AsRef::as_ref))?,
        DataType::Timestamp(..) => json("timestamp"),
        _ => match hive_type(kind, true)?.as_str() {
            "int" => json("integer"),
            "bigint" => json("long"),
            other => json(other),
        },
    })
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list_item(kind: &DataType) -> Option<&FieldRef> {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// Returns the fields of the keys and the values of a map.
pub(crate) fn map_fields(kind: &DataType) -> Result<(&FieldRef, &FieldRef)> {
    let entries: Option<&Fields> = match kind {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => Some(fields),
            _ => None,
        },
        _ => None,
    };
    match entries.map(|fields| &fields[..]) {
        Some([key, value]) => Ok((key, value)),
        _ => Err(Error::internal(format!("{kind} is no map of keys and values"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn names_are_those_of_hive() {
        let field = |name: &str, kind| Field::new(name, kind, true);
        let list = DataType::List(Arc::new(field("element", DataType::Int32)));
        let nested = DataType::Struct(vec![field("x", DataType::Int16), field("y", list)].into());
        let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let millis = DataType::Timestamp(TimeUnit::Millisecond, None);
        for (kind, timestamps, name) in [
            (nested, true, "struct<x:int,y:array<int>>"),
            (micros.clone(), true, "timestamp"),
            (micros, false, "bigint"),
            (millis, true, "bigint"),
            (DataType::Decimal128(10, 2), false, "decimal(10,2)"),
            (DataType::Time64(TimeUnit::Microsecond), false, "bigint"),
            (DataType::Time32(TimeUnit::Millisecond), false, "int"),
        ] {
            assert_eq!(hive_type(&kind, timestamps).unwrap(), name);
        }
        let error = hive_type(&DataType::UInt64, true).unwrap_err();
        assert!(error.to_string().contains("a catalog has no type for UInt64"), "{error}");
    }

    #[test]
    fn names_of_columns_are_json() {
        let column = Field::new("a \"b\"", DataType::Int64, false);
        let expected =
            r#"{"type":"struct","fields":[{"name":"a \"b\"","type":"long","nullable":false,"metadata":{}}]}"#;
        assert_eq!(spark_schema([&column]).unwrap(), expected);
    }
}
