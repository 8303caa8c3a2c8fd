//! An Avro schema: its tree of types and its JSON text, parsed or derived from another.

use std::sync::Arc;

use super::types::{Field, Record, Type};
use super::{json, parse};
use mortice_base::error::{Error, Result};

/// A parsed schema and its JSON text. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Schema {
    root: Type,
    text: Arc<str>,
}

/// Two schemas are equal where their trees are; docs, aliases and other properties do not count.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl Eq for Schema {}

impl Schema {
    /// Parses a schema's JSON.
    ///
    /// # Errors
    /// `InvalidTable` where it is not an Avro schema; `Unsupported` where it is recursive or too deep or too large to
    /// be columns (more than 64 levels or 65,536 types, references counted as often as they occur).
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { root: parse::parse(text)?, text: text.into() })
    }

    /// Makes sure that a schema of new columns can be read again, from the properties and commits of a table.
    ///
    /// # Errors
    /// `InvalidArgument` for columns that are nested too deeply, or too many.
    pub fn check_readable(&self) -> Result<()> {
        parse::parse(&self.text).map(drop).map_err(|error| {
            let message =
                format!("the columns cannot be those of a table, which could not be opened: {}", error.text());
            Error::invalid_argument(message).caused_by(error)
        })
    }

    /// A record schema of the given name and fields.
    #[must_use]
    pub fn record(name: &str, fields: Vec<Field>) -> Self {
        Self::from_root(Type::Record(Arc::new(Record::new(name, fields))))
    }

    fn from_root(root: Type) -> Self {
        let text = json::text(&root).into();
        Self { root, text }
    }

    /// The tree.
    #[must_use]
    pub fn root(&self) -> &Type {
        &self.root
    }

    /// The JSON text: as it was parsed, or written again if the schema was derived from another.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.text
    }

    /// The top-level record.
    ///
    /// # Errors
    /// `InvalidTable` where the schema is of another type.
    pub fn as_record(&self) -> Result<&Record> {
        match &self.root {
            Type::Record(record) => Ok(record),
            other => Err(Error::invalid_table(format!("expected a record schema, found {}", other.describe()))),
        }
    }

    /// The top-level fields; none where the schema is no record.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.root {
            Type::Record(record) => &record.fields,
            _ => &[],
        }
    }

    /// The top-level field of that name (case-sensitive).
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The same record with other top-level fields.
    ///
    /// # Errors
    /// `InvalidTable` where the schema is no record.
    pub fn with_fields(&self, fields: Vec<Field>) -> Result<Self> {
        let name = self.as_record()?.name.clone();
        Ok(Self::record(&name, fields))
    }

    /// The same record without the named top-level fields.
    ///
    /// # Errors
    /// `InvalidTable` where the schema is no record.
    pub fn without_fields(&self, names: &[&str]) -> Result<Self> {
        let kept = |field: &&Field| !names.contains(&field.name.as_str());
        self.with_fields(self.as_record()?.fields.iter().filter(kept).cloned().collect())
    }

    /// The same record with the named `["null", "string"]` fields (default null) in front, in that order; fields of
    /// those names that it already had are dropped. So the meta columns of Hudi come before a table's own.
    ///
    /// # Errors
    /// `InvalidTable` where the schema is no record.
    pub fn with_leading_nullable_strings(&self, names: &[&str]) -> Result<Self> {
        let own = self.as_record()?.fields.iter().filter(|field| !names.contains(&field.name.as_str()));
        let leading = names.iter().map(|name| Field::nullable_string(name));
        self.with_fields(leading.chain(own.cloned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: &str = r#"{"type":"record","name":"trip","namespace":"h","fields":[
        {"name":"_hoodie_file_name","type":["null","string"],"default":null},
        {"name":"price","type":{"type":"fixed","name":"f","namespace":"h.price","size":5,"logicalType":"decimal","precision":10,"scale":2}},
        {"name":"tip","type":["h.price.f","null"],"default":null}]}"#;

    #[test]
    fn meta_columns_are_put_in_front_once() {
        let schema = Schema::parse(TRIP).unwrap();
        let with = schema.with_leading_nullable_strings(&["_hoodie_commit_time", "_hoodie_file_name"]).unwrap();
        let names: Vec<&str> = with.fields().iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["_hoodie_commit_time", "_hoodie_file_name", "price", "tip"]);
        assert_eq!(Schema::parse(with.json()).unwrap(), with);
    }

    #[test]
    fn dropping_the_field_that_defined_a_type_leaves_it_defined() {
        let schema = Schema::parse(TRIP).unwrap().without_fields(&["price"]).unwrap();
        let again = Schema::parse(schema.json()).unwrap();
        assert_eq!(again, schema);
        assert!(matches!(again.field("tip").unwrap().ty.non_null(), Type::Decimal(decimal) if decimal.precision == 10));
        assert!(again.field("price").is_none() && again.field("TIP").is_none());
    }
}
