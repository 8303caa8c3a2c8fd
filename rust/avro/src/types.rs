//! Avro's types as a tree: what the parser builds and everything else in this module reads.
//!
//! Logical types are types of their own here (`Date`, `TimestampMicros`, …), since readers care for what a value means
//! more than for how it is stored. Named types are shared by reference, and a schema is never recursive (the parser
//! sees to it), so that a tree can be traversed without checks. Rules: the Avro specification, "Schema Declaration" and
//! "Logical Types".

use std::sync::Arc;

use serde_json::Value;

use super::vector::VectorShape;

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
    /// `fixed` / `vector`: Hudi's VECTOR.
    Vector(Vector),
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

/// A vector as an Avro schema declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// The `fixed` that holds it, of the shape's size.
    pub fixed: Arc<Fixed>,
    /// What is in it.
    pub shape: VectorShape,
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
    /// The type of Hudi's that it stores, if it is one.
    pub logical: Option<LogicalRecord>,
}

/// Logical types of records, which Hudi has since 1.2 (`HoodieSchemaType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalRecord {
    /// `variant`: semi-structured values, as bytes `value` and `metadata`. Shredded ones have a `typed_value` too.
    Variant,
    /// `blob`: bytes, or a reference to a file that has them.
    Blob,
}

impl LogicalRecord {
    /// The logical type of that name in an Avro schema.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Variant, Self::Blob].into_iter().find(|logical| logical.word() == word)
    }

    /// Its name in an Avro schema.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Variant => "variant",
            Self::Blob => "blob",
        }
    }

    /// Hudi's name of the type, as Spark's schemas have it.
    #[must_use]
    pub fn descriptor(self) -> &'static str {
        match self {
            Self::Variant => "VARIANT",
            Self::Blob => "BLOB",
        }
    }
}

impl Record {
    /// A record of no logical type.
    #[must_use]
    pub fn new(name: &str, fields: Vec<Field>) -> Self {
        Self { name: name.to_owned(), fields, logical: None }
    }

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

    /// Returns true if records without the field have another value than null in it.
    #[must_use]
    pub fn has_value_as_default(&self) -> bool {
        self.default.as_ref().is_some_and(|default| !default.is_null())
    }

    /// The same field, null a value of it. A default is one of the first branch's values, so that branch stays the
    /// first.
    #[must_use]
    pub fn nullable(self) -> Self {
        let ty = match self.default {
            Some(_) if !self.ty.is_nullable() && !matches!(self.ty, Type::Union(_)) => {
                Type::Union([self.ty, Type::Null].into())
            }
            _ => self.ty.nullable(),
        };
        Self { ty, ..self }
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
        match self {
            Self::Union(branches) if !branches.contains(&Self::Null) => {
                Self::Union(branches.iter().cloned().chain([Self::Null]).collect())
            }
            nullable if nullable.is_nullable() => nullable,
            other => Self::Union([Self::Null, other].into()),
        }
    }

    /// Avro's name of it: the full name of a named type, otherwise the word of the type without its logical type
    /// (`Schema.getFullName`).
    pub(super) fn avro_name(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int | Self::Date | Self::TimeMillis => "int",
            Self::Long
            | Self::TimeMicros
            | Self::TimestampMillis
            | Self::TimestampMicros
            | Self::LocalTimestampMillis
            | Self::LocalTimestampMicros => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes | Self::Decimal(Decimal { fixed: None, .. }) => "bytes",
            Self::String | Self::Uuid => "string",
            Self::Fixed(fixed) | Self::Decimal(Decimal { fixed: Some(fixed), .. }) => &fixed.name,
            Self::Vector(vector) => &vector.fixed.name,
            Self::Enum(symbols) => &symbols.name,
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Record(record) => &record.name,
            Self::Union(_) => "union",
        }
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
            Self::Vector(vector) => format!("{} (fixed({}))", vector.shape.descriptor(), vector.fixed.size),
            Self::Decimal(decimal) => {
                let stored =
                    decimal.fixed.as_ref().map_or("bytes".to_owned(), |fixed| format!("fixed({})", fixed.size));
                format!("decimal({},{}) ({stored})", decimal.precision, decimal.scale)
            }
            Self::Enum(symbols) => format!("enum {}", symbols.name),
            Self::Array(items) => format!("array<{}>", items.describe()),
            Self::Map(values) => format!("map<{}>", values.describe()),
            Self::Record(record) => match record.logical {
                Some(logical) => format!("{} (record {})", logical.word(), record.name),
                None => format!("record {}", record.name),
            },
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
            Self::Vector(vector) => vector.fixed.size,
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
