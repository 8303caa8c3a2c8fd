//! Which columns are nullable. Queries return all columns as nullable, as Hudi's do; the columns in a catalog are as
//! the writer said, by the Avro schema that commits carry.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use mortice_base::error::{Error, Result};
use serde_json::Value as Json;

/// Returns the columns of a schema, nullable where those of an Avro schema are; others stay as they are.
///
/// # Errors
/// `InvalidTable` if the Avro schema is not JSON.
pub(crate) fn with_nullability(schema: &Schema, avro: Option<&str>) -> Result<Fields> {
    let Some(avro) = avro else { return Ok(schema.fields().clone()) };
    let record = serde_json::from_str(avro)
        .map_err(|error| Error::invalid_table(format!("the Avro schema of a commit is not JSON: {error}")))?;
    Ok(of_record(schema.fields(), &record))
}

fn of_record(fields: &Fields, record: &Json) -> Fields {
    let described = record.get("fields").and_then(Json::as_array);
    let type_of = |name: &str| {
        let named = |one: &&Json| one.get("name").and_then(Json::as_str) == Some(name);
        described.and_then(|fields| fields.iter().find(named)).and_then(|field| field.get("type"))
    };
    fields.iter().map(|one| type_of(one.name()).map_or_else(|| Arc::clone(one), |avro| of_field(one, avro))).collect()
}

fn of_field(field: &FieldRef, avro: &Json) -> FieldRef {
    let (mut avro, mut nullable) = (Some(avro), false);
    if let Some(Json::Array(union)) = avro {
        nullable = union.iter().any(is_null);
        let mut others = union.iter().filter(|one| !is_null(one));
        avro = others.next().filter(|_| others.next().is_none());
    }
    let kind = avro.map_or_else(|| field.data_type().clone(), |avro| of_type(field.data_type(), avro));
    Arc::new(Field::new(field.name(), kind, nullable))
}

fn is_null(avro: &Json) -> bool {
    avro.as_str() == Some("null")
}

fn of_type(kind: &DataType, avro: &Json) -> DataType {
    match (kind, avro.get("items"), avro.get("values")) {
        (DataType::Struct(fields), ..) if avro.is_object() => DataType::Struct(of_record(fields, avro)),
        (DataType::List(item), Some(items), _) => DataType::List(of_field(item, items)),
        (DataType::Map(entries, sorted), _, Some(values)) => match entries.data_type() {
            DataType::Struct(fields) => {
                let of_entry =
                    |(at, one): (usize, &FieldRef)| if at == 1 { of_field(one, values) } else { Arc::clone(one) };
                let pair = DataType::Struct(fields.iter().enumerate().map(of_entry).collect());
                DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *sorted)
            }
            _ => kind.clone(),
        },
        _ => kind.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_fields_follow_the_avro_schema() {
        let any = |name: &str, kind| Field::new(name, kind, true);
        let list = DataType::List(Arc::new(any("element", DataType::Int32)));
        let schema = Schema::new(vec![any("id", DataType::Utf8), any("l", list), any("other", DataType::Int32)]);
        let avro = r#"{"type":"record","name":"r","fields":[
            {"name":"id","type":"string"},{"name":"l","type":["null",{"type":"array","items":"int"}]}]}"#;
        let fields = with_nullability(&schema, Some(avro)).unwrap();
        assert_eq!(fields.iter().map(|one| one.is_nullable()).collect::<Vec<_>>(), [false, true, true]);
        assert!(matches!(fields[1].data_type(), DataType::List(item) if !item.is_nullable()));
        assert_eq!(with_nullability(&schema, None).unwrap(), *schema.fields());
        assert!(with_nullability(&schema, Some("{")).is_err());
    }
}
