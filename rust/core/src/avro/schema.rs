//! An Avro schema as a tree: what the parser builds and everything else in this room reads.
//!
//! Logical types are types of their own here (`Date`, `TimestampMicros`, …), since readers care for what a value means more
//! than for how it is stored. Named types are shared by reference, and a schema is never recursive (the parser sees to it),
//! so that a tree can be walked without a net. Rules: the Avro specification, "Schema Declaration" and "Logical Types".

use std::sync::Arc;

use serde_json::Value;

use super::{json, parse};
use crate::error::{Error, Result};

/// An Avro type with its logical type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `null`: no bytes.
    Null,
    /// `boolean`: one byte.
    Boolean,
    /// `int`: zig-zag varint of 32 bits.
    Int,
    /// `int` / `date`: days since 1970-01-01.
    Date,
    /// `int` / `time-millis`.
    TimeMillis,
    /// `long`: zig-zag varint of 64 bits.
    Long,
    /// `long` / `time-micros`.
    TimeMicros,
    /// `long` / `timestamp-millis`, UTC.
    TimestampMillis,
    /// `long` / `timestamp-micros`, UTC.
    TimestampMicros,
    /// `long` / `local-timestamp-millis`.
    LocalTimestampMillis,
    /// `long` / `local-timestamp-micros`.
    LocalTimestampMicros,
    /// `float`: four bytes, little-endian.
    Float,
    /// `double`: eight bytes, little-endian.
    Double,
    /// `bytes`: a long and as many bytes.
    Bytes,
    /// `string`: a long and as many bytes of UTF-8.
    String,
    /// `string` / `uuid`.
    Uuid,
    /// `fixed`: as many bytes as its size.
    Fixed(Arc<Fixed>),
    /// `bytes` or `fixed` / `decimal`: two's complement, big-endian.
    Decimal(Decimal),
    /// `enum`: the index of a symbol.
    Enum(Arc<Enum>),
    /// `array` of items.
    Array(Arc<Type>),
    /// `map` from string to values.
    Map(Arc<Type>),
    /// `record`: its fields one after the other.
    Record(Arc<Record>),
    /// A union: the index of the branch, then the branch.
    Union(Arc<[Type]>),
}

/// A `fixed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// Full name.
    pub name: String,
    /// Bytes in a value.
    pub size: usize,
}

/// A decimal and how it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    /// Digits, at least 1.
    pub precision: u32,
    /// Digits behind the point, at most the precision.
    pub scale: u32,
    /// The `fixed` that holds it; none for `bytes`.
    pub fixed: Option<Arc<Fixed>>,
}

/// An `enum`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// Full name.
    pub name: String,
    /// Symbols, in the order of their indices.
    pub symbols: Vec<String>,
    /// The symbol that stands for those a reader does not know.
    pub default: Option<String>,
}

/// A `record`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Full name.
    pub name: String,
    /// Fields, in the order in which they are written.
    pub fields: Vec<Field>,
}

impl Record {
    /// The field of that name; names are case-sensitive, aliases do not count (as in Hudi).
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its default as JSON; `Some(Value::Null)` where the default is null.
    pub default: Option<Value>,
}

impl Field {
    /// A `["null", "string"]` field with default null, as Hudi's meta columns are.
    #[must_use]
    pub fn nullable_string(name: &str) -> Self {
        Self { name: name.to_owned(), ty: Type::String.nullable(), default: Some(Value::Null) }
    }
}

impl Type {
    /// The type itself, or the one branch of a union that is not null. A union of several branches is given back whole.
    #[must_use]
    pub fn non_null(&self) -> &Self {
        let Self::Union(branches) = self else { return self };
        let mut others = branches.iter().filter(|branch| **branch != Self::Null);
        match (others.next(), others.next()) {
            (Some(only), None) => only,
            (None, _) => &Self::Null,
            _ => self,
        }
    }

    /// Whether null is a value of it.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Union(branches) => branches.contains(&Self::Null),
            _ => false,
        }
    }

    /// `["null", self]`; itself where it is nullable already.
    #[must_use]
    pub fn nullable(self) -> Self {
        if self.is_nullable() { self } else { Self::Union([Self::Null, self].into()) }
    }

    /// What it is called in messages: the Avro word, with the logical type and the measures.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Boolean => "boolean".into(),
            Self::Int => "int".into(),
            Self::Date => "date (int)".into(),
            Self::TimeMillis => "time-millis (int)".into(),
            Self::Long => "long".into(),
            Self::TimeMicros => "time-micros (long)".into(),
            Self::TimestampMillis => "timestamp-millis (long)".into(),
            Self::TimestampMicros => "timestamp-micros (long)".into(),
            Self::LocalTimestampMillis => "local-timestamp-millis (long)".into(),
            Self::LocalTimestampMicros => "local-timestamp-micros (long)".into(),
            Self::Float => "float".into(),
            Self::Double => "double".into(),
            Self::Bytes => "bytes".into(),
            Self::String => "string".into(),
            Self::Uuid => "uuid (string)".into(),
            Self::Fixed(fixed) => format!("fixed({}) {}", fixed.size, fixed.name),
            Self::Decimal(decimal) => {
                let stored =
                    decimal.fixed.as_ref().map_or("bytes".to_owned(), |fixed| format!("fixed({})", fixed.size));
                format!("decimal({},{}) ({stored})", decimal.precision, decimal.scale)
            }
            Self::Enum(symbols) => format!("enum {}", symbols.name),
            Self::Array(items) => format!("array<{}>", items.describe()),
            Self::Map(values) => format!("map<{}>", values.describe()),
            Self::Record(record) => format!("record {}", record.name),
            Self::Union(branches) => {
                format!("[{}]", branches.iter().map(Self::describe).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The fewest bytes that a value can take: what keeps a count from promising more items than there are bytes.
    #[must_use]
    pub(super) fn least_bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Float => 4,
            Self::Double => 8,
            Self::Fixed(fixed) => fixed.size,
            Self::Decimal(Decimal { fixed: Some(fixed), .. }) => fixed.size,
            Self::Record(record) => {
                record.fields.iter().fold(0, |sum, field| sum.saturating_add(field.ty.least_bytes()))
            }
            Self::Union(branches) => {
                1_usize.saturating_add(branches.iter().map(Self::least_bytes).min().unwrap_or_default())
            }
            _ => 1,
        }
    }
}

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
    /// `InvalidTable` where it is not an Avro schema; `Unsupported` where it is recursive or too deep or too large to be
    /// columns (more than 64 levels or 65,536 types, references counted as often as they occur).
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { root: parse::parse(text)?, text: text.into() })
    }

    /// A record schema of the given name and fields.
    #[must_use]
    pub fn record(name: &str, fields: Vec<Field>) -> Self {
        Self::from_root(Type::Record(Arc::new(Record { name: name.to_owned(), fields })))
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

    /// The JSON text: as it was parsed, or written anew where the schema was derived from another.
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
            other => Err(Error::invalid_table(format!("a record schema was expected, found {}", other.describe()))),
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

    /// The same record with the named `["null", "string"]` fields (default null) in front, in that order; fields of those
    /// names that it already had are dropped. So the meta columns of Hudi come before a table's own.
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
