//! A table's schema with an id for each field, as commits store it under schema on read (`InternalSchema`,
//! `SerDeHelper`).
//!
//! ```text
//! {"max_column_id":10,"version_id":20261121030916833,"type":"record","fields":[
//!   {"id":5,"name":"id","optional":true,"type":"int"},
//!   {"id":6,"name":"tags","optional":true,"type":{"type":"array","element_id":8,"element":"string","element_optional":true}},
//!   {"id":7,"name":"m","optional":true,"type":{"type":"map","key_id":9,"key":"string","value_id":10,"value":"long","value_optional":true}}]}
//! ```
//! A field keeps its id when it is renamed; a field that is dropped and added again is another. Versions are the
//! instants that changed the schema, 0 for what was there before. Items of lists and maps have ids too, but no names to
//! lose.

use serde::Deserialize;
use serde_json::Value;

use super::internal_types::leaf;
use mortice_avro::{self as avro, Field, Record, Type};
use mortice_base::error::{Error, Result};
use mortice_base::names::{FieldNames, meta_columns};

/// A version of a table's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct InternalSchema {
    /// The instant that made it, as a number.
    pub version: i64,
    fields: Vec<IdField>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct IdField {
    id: i64,
    name: String,
    optional: bool,
    #[serde(rename = "type")]
    kind: IdType,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum IdType {
    Leaf(String),
    Nested(Nested),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Nested {
    Record { fields: Vec<IdField> },
    Array { element: Box<IdType>, element_optional: bool },
    Map { value: Box<IdType>, value_optional: bool },
}

#[derive(Deserialize)]
struct StoredSchema {
    #[serde(default)]
    version_id: i64,
    fields: Vec<IdField>,
}

#[derive(Deserialize)]
struct History {
    schemas: Vec<StoredSchema>,
}

impl InternalSchema {
    /// Reads the JSON of one version.
    ///
    /// # Errors
    /// `InvalidTable` where it is something else.
    pub fn parse(text: &str) -> Result<Self> {
        let stored: StoredSchema = serde_json::from_str(text)
            .map_err(|error| Error::invalid_table("invalid schema of schema on read").caused_by(error))?;
        Ok(stored.into())
    }

    /// Reads the JSON of a history: all versions up to one.
    ///
    /// # Errors
    /// `InvalidTable` where it is something else.
    pub fn parse_history(text: &[u8]) -> Result<Vec<Self>> {
        let history: History = serde_json::from_slice(text)
            .map_err(|error| Error::invalid_table("invalid schema history").caused_by(error))?;
        Ok(history.schemas.into_iter().map(Into::into).collect())
    }

    /// What the fields of this schema are called in files of another.
    #[must_use]
    pub fn names_in(&self, file: &Self) -> FieldNames {
        names(&self.fields, &file.fields)
    }

    /// The schema as Avro. `typed` is what the commit stores beside it: taken where it has the same fields, since it
    /// gives the types exactly.
    ///
    /// # Errors
    /// `Unsupported`, by name, for types that are not known.
    pub fn as_avro(&self, typed: Option<&avro::Schema>) -> Result<avro::Schema> {
        let own = |name: &str| !meta_columns::ALL.contains(&name);
        if let Some(typed) = typed {
            let columns = typed.fields().iter().filter(|field| own(&field.name));
            if agree(self.fields.iter().filter(|field| own(&field.name)), columns) {
                return Ok(typed.clone());
            }
        }
        let name = typed.and_then(|typed| typed.as_record().ok()).map_or("record", |record| record.name.as_str());
        Ok(avro::Schema::record(name, avro_fields(&self.fields, name)?))
    }
}

impl From<StoredSchema> for InternalSchema {
    fn from(stored: StoredSchema) -> Self {
        Self { version: stored.version_id, fields: stored.fields }
    }
}

impl IdType {
    /// The fields of the record that this is, or that its lists and maps hold.
    fn fields(&self) -> &[IdField] {
        match self {
            Self::Leaf(_) => &[],
            Self::Nested(Nested::Record { fields }) => fields,
            Self::Nested(Nested::Array { element, .. }) => element.fields(),
            Self::Nested(Nested::Map { value, .. }) => value.fields(),
        }
    }
}

fn names(table: &[IdField], file: &[IdField]) -> FieldNames {
    let mut found = FieldNames::default();
    for field in table {
        match file.iter().find(|one| one.id == field.id) {
            Some(old) => found.add(&field.name, Some(&old.name), names(field.kind.fields(), old.kind.fields())),
            // Added since. A file that has the column all the same was written with a newer schema than it should have
            // been.
            None => {
                let is_anothers = file.iter().any(|one| one.name == field.name);
                found.add(&field.name, Some(field.name.as_str()).filter(|_| !is_anothers), FieldNames::default());
            }
        }
    }
    found
}

/// Whether an Avro schema has the same fields in the same order, nested ones too.
fn agree<'a>(fields: impl Iterator<Item = &'a IdField>, avro: impl Iterator<Item = &'a Field>) -> bool {
    let (fields, avro): (Vec<_>, Vec<_>) = (fields.collect(), avro.collect());
    let alike = |one: &IdField, two: &Field| {
        one.name == two.name && agree(one.kind.fields().iter(), avro_fields_of(&two.ty).iter())
    };
    fields.len() == avro.len() && fields.iter().zip(avro).all(|(one, two)| alike(one, two))
}

fn avro_fields_of(kind: &Type) -> &[Field] {
    match kind.non_null() {
        Type::Record(record) => &record.fields,
        Type::Array(items) => avro_fields_of(items),
        Type::Map(values) => avro_fields_of(values),
        _ => &[],
    }
}

fn avro_fields(fields: &[IdField], path: &str) -> Result<Vec<Field>> {
    let field = |one: &IdField| {
        let ty = avro_type(&one.kind, one.optional, &format!("{path}.{}", one.name))?;
        Ok(Field { name: one.name.clone(), ty, default: one.optional.then_some(Value::Null) })
    };
    fields.iter().map(field).collect()
}

/// Records and fixed types are named by their path, so that no two share a name.
fn avro_type(kind: &IdType, optional: bool, path: &str) -> Result<Type> {
    let ty = match kind {
        IdType::Leaf(text) => leaf(text, path)?,
        IdType::Nested(Nested::Record { fields }) => Type::Record(Record::new(path, avro_fields(fields, path)?).into()),
        IdType::Nested(Nested::Array { element, element_optional }) => {
            Type::Array(avro_type(element, *element_optional, path)?.into())
        }
        IdType::Nested(Nested::Map { value, value_optional }) => {
            Type::Map(avro_type(value, *value_optional, path)?.into())
        }
    };
    Ok(if optional { ty.nullable() } else { ty })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: &str) -> InternalSchema {
        InternalSchema::parse(&format!(r#"{{"max_column_id":9,"version_id":7,"type":"record","fields":[{fields}]}}"#))
            .unwrap()
    }

    fn field(id: i64, name: &str, kind: &str) -> String {
        format!(r#"{{"id":{id},"name":"{name}","optional":true,"type":{kind}}}"#)
    }

    fn record(fields: &[String]) -> String {
        format!(r#"{{"type":"record","fields":[{}]}}"#, fields.join(","))
    }

    fn list(item: &str) -> String {
        format!(r#"{{"type":"array","element_id":90,"element":{item},"element_optional":false}}"#)
    }

    fn map(value: &str) -> String {
        format!(r#"{{"type":"map","key_id":91,"key":"string","value_id":92,"value":{value},"value_optional":true}}"#)
    }

    #[test]
    fn fields_are_known_by_their_ids() {
        let old = [field(1, "name", r#""string""#), field(2, "gone", r#""int""#), field(3, "swap", r#""int""#)];
        let new = [
            field(4, "gone", r#""int""#),
            field(1, "full_name", r#""string""#),
            field(5, "added", r#""int""#),
            field(3, "name", r#""long""#),
        ];
        let names = schema(&new.join(",")).names_in(&schema(&old.join(",")));
        assert_eq!(names.in_file("full_name").0, "name");
        assert_eq!(names.in_file("name").0, "swap");
        assert_eq!(names.in_file("added").0, "added");
        assert!(!["name", "gone", "swap"].contains(&names.in_file("gone").0.as_ref()), "dropped and added again");
        assert!(schema(&old.join(",")).names_in(&schema(&old.join(","))).is_identity());
    }

    #[test]
    fn nested_fields_are_found_in_lists_and_maps() {
        let of = |nested: &str| {
            let inner = record(&[field(9, nested, r#""int""#)]);
            schema(&[field(1, "l", &list(&inner)), field(2, "m", &map(&list(&inner)))].join(","))
        };
        let names = of("new").names_in(&of("old"));
        for column in ["l", "m"] {
            assert_eq!(names.in_file(column).1.in_file("new").0, "old");
        }
    }

    #[test]
    fn types_come_of_the_avro_schema_beside_it_or_of_its_own_words() {
        let fields = [
            field(0, "_hoodie_commit_time", r#""string""#),
            field(1, "d", r#""decimal(10, 2)""#),
            field(2, "s", &record(&[field(3, "at", r#""timestamp""#)])),
            field(4, "m", &map(&list(r#""fixed[3]""#))),
        ];
        let schema = schema(&fields.join(","));
        let own = schema.as_avro(None).unwrap();
        let again = avro::Schema::parse(own.json()).unwrap();
        assert_eq!(again, own);
        let types: Vec<String> = own.fields().iter().map(|field| field.ty.non_null().describe()).collect();
        assert_eq!(
            types,
            ["string", "decimal(10,2) (bytes)", "record record.s", "map<[null, array<fixed(3) record.m>]>"]
        );

        let millis = r#"{"type":"record","name":"t","fields":[{"name":"d","type":"int"},{"name":"s","type":
            {"type":"record","name":"s","fields":[{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}]}},
            {"name":"m","type":{"type":"map","values":{"type":"array","items":"bytes"}}}]}"#;
        let typed = avro::Schema::parse(millis).unwrap();
        assert_eq!(schema.as_avro(Some(&typed)).unwrap(), typed);
        let other = typed.without_fields(&["d"]).unwrap();
        assert_eq!(schema.as_avro(Some(&other)).unwrap().fields().len(), 4, "another schema is not believed");
    }

    #[test]
    fn what_is_no_schema_is_an_error() {
        for text in ["", "[]", "{}", r#"{"fields":[{"id":1,"name":"a","optional":true,"type":{"type":"set"}}]}"#] {
            assert!(InternalSchema::parse(text).is_err(), "{text}");
        }
        assert!(InternalSchema::parse_history(b"{}").is_err());
        assert_eq!(InternalSchema::parse(r#"{"fields":[]}"#).unwrap().version, 0);
    }
}
