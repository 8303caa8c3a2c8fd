//! Conversion between typed fields and values.

use std::borrow::Cow;
use std::fmt;

use super::ordered_map::OrderedMap;
use mortice_avro::Value;
use mortice_base::error::Error;

/// A value that is not of the type that a field has, with the path to it.
#[derive(Debug)]
pub struct FieldMismatch {
    path: String,
    message: String,
}

impl FieldMismatch {
    /// Describes a value of another kind than expected.
    #[must_use]
    pub fn new(expected: &str, found: &Value<'_>) -> Self {
        Self { path: String::new(), message: format!("expected {expected}, found {}", found.kind()) }
    }

    /// Prepends a step to the path.
    #[must_use]
    pub fn within(mut self, step: impl fmt::Display) -> Self {
        self.path = format!("{step}{}", self.path);
        self
    }

    pub(super) fn into_error(self) -> Error {
        Error::invalid_table(format!("{}: {}", self.path, self.message))
    }
}

/// A type of a field of metadata.
pub trait MetadataField: Sized {
    /// Converts the value of the field.
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch>;

    /// Returns the value of the field, borrowing from it.
    fn to_value(&self) -> Value<'_>;

    /// Returns true if a file without the field means the same: nulls, empty strings and collections, zeros.
    fn is_absent(&self) -> bool;
}

/// Returns the value of a union's branch.
fn without_branch(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Branch(_, value) => *value,
        value => value,
    }
}

impl<T: MetadataField> MetadataField for Option<T> {
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }

    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::to_value)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl MetadataField for String {
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        match without_branch(value) {
            Value::String(text) => Ok(text.into_owned()),
            other => Err(FieldMismatch::new("a string", &other)),
        }
    }

    fn to_value(&self) -> Value<'_> {
        Value::String(Cow::Borrowed(self))
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl MetadataField for bool {
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        match without_branch(value) {
            Value::Boolean(value) => Ok(value),
            other => Err(FieldMismatch::new("a boolean", &other)),
        }
    }

    fn to_value(&self) -> Value<'_> {
        Value::Boolean(*self)
    }

    fn is_absent(&self) -> bool {
        !*self
    }
}

impl MetadataField for i64 {
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        match without_branch(value) {
            Value::Int(value) => Ok(value),
            other => Err(FieldMismatch::new("an integer", &other)),
        }
    }

    fn to_value(&self) -> Value<'_> {
        Value::Int(*self)
    }

    fn is_absent(&self) -> bool {
        *self == 0
    }
}

impl MetadataField for i32 {
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        match without_branch(value) {
            Value::Int(value) => Self::try_from(value).map_err(|_| FieldMismatch {
                path: String::new(),
                message: format!("{value} does not fit into 32 bits"),
            }),
            other => Err(FieldMismatch::new("an integer", &other)),
        }
    }

    fn to_value(&self) -> Value<'_> {
        Value::Int((*self).into())
    }

    fn is_absent(&self) -> bool {
        *self == 0
    }
}

impl MetadataField for f64 {
    /// Writers of JSON other than Hudi may write a whole number without a point. Jackson writes what JSON has no number
    /// for as a string.
    #[expect(clippy::cast_precision_loss, reason = "a metric")]
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        match without_branch(value) {
            Value::Double(value) => Ok(value),
            Value::Int(value) => Ok(value as Self),
            Value::String(text) if text == "NaN" => Ok(Self::NAN),
            Value::String(text) if text == "Infinity" => Ok(Self::INFINITY),
            Value::String(text) if text == "-Infinity" => Ok(Self::NEG_INFINITY),
            other => Err(FieldMismatch::new("a number", &other)),
        }
    }

    fn to_value(&self) -> Value<'_> {
        Value::Double(*self)
    }

    fn is_absent(&self) -> bool {
        *self == 0.0
    }
}

impl<T: MetadataField> MetadataField for Vec<T> {
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        let items = match without_branch(value) {
            Value::Array(items) => items,
            other => return Err(FieldMismatch::new("an array", &other)),
        };
        let item = |(at, item)| T::from_value(item).map_err(|error| error.within(format_args!("[{at}]")));
        items.into_iter().enumerate().map(item).collect()
    }

    fn to_value(&self) -> Value<'_> {
        Value::Array(self.iter().map(T::to_value).collect())
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: MetadataField> MetadataField for OrderedMap<T> {
    fn from_value(value: Value<'_>) -> Result<Self, FieldMismatch> {
        let members = match without_branch(value) {
            Value::Object(members) => members,
            other => return Err(FieldMismatch::new("an object", &other)),
        };
        let entry = |(key, value): (Cow<'_, str>, Value<'_>)| match Option::from_value(value) {
            Ok(value) => Ok((key.into_owned(), value)),
            Err(error) => Err(error.within(format_args!("[{key:?}]"))),
        };
        members.into_iter().map(entry).collect::<Result<_, _>>().map(Self::from_raw)
    }

    fn to_value(&self) -> Value<'_> {
        let members = self.raw().iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), value.to_value()));
        Value::Object(members.collect())
    }

    fn is_absent(&self) -> bool {
        self.raw().is_empty()
    }
}
