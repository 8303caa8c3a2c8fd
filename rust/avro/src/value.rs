//! Avro datums as a tree of values, decoded and encoded by a schema.
//!
//! Rows of a table are decoded into Arrow columns ([`super::Decoder`]). Timeline metadata is one record per file, so a
//! tree is simpler there, and it keeps what columns cannot: the order of map entries and the branch of a union. Rules:
//! the Avro specification, "Binary Encoding".

use std::borrow::Cow;

use serde_json::Value as Json;

use super::binary::{write_bytes, write_long};
use super::types::{Decimal, Field, Record, Type};
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Values that a datum may have beyond the number of its bytes. Only types without bytes (null, empty records) get
/// there.
const MAX_FREE_VALUES: usize = 1024;

/// A value of any Avro type, or of JSON. Borrows from the bytes and the schema that it was decoded from.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `boolean`.
    Boolean(bool),
    /// `int` and `long`, with any logical type.
    Int(i64),
    /// `float` and `double`.
    Double(f64),
    /// `bytes` and `fixed`, with any logical type.
    Bytes(Cow<'a, [u8]>),
    /// `string`, and the symbol of an `enum`.
    String(Cow<'a, str>),
    /// `array`.
    Array(Vec<Value<'a>>),
    /// `record` and `map`: members by name, in the order of the bytes.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
    /// A value of a union of several branches besides null, with the index of its branch.
    Branch(usize, Box<Value<'a>>),
}

impl Value<'_> {
    /// The same value, with its own copy of what it borrows.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::Boolean(value),
            Self::Int(value) => Value::Int(value),
            Self::Double(value) => Value::Double(value),
            Self::Bytes(value) => Value::Bytes(Cow::Owned(value.into_owned())),
            Self::String(value) => Value::String(Cow::Owned(value.into_owned())),
            Self::Array(items) => Value::Array(items.into_iter().map(Value::into_owned).collect()),
            Self::Object(members) => {
                let owned =
                    |(name, value): (Cow<'_, str>, Value<'_>)| (Cow::Owned(name.into_owned()), value.into_owned());
                Value::Object(members.into_iter().map(owned).collect())
            }
            Self::Branch(index, value) => Value::Branch(index, Box::new(value.into_owned())),
        }
    }

    /// The same value, borrowing from this one.
    #[must_use]
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Double(value) => Value::Double(*value),
            Self::Bytes(value) => Value::Bytes(Cow::Borrowed(value)),
            Self::String(value) => Value::String(Cow::Borrowed(value)),
            Self::Array(items) => Value::Array(items.iter().map(Value::borrowed).collect()),
            Self::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (Cow::Borrowed(&**name), value.borrowed())).collect())
            }
            Self::Branch(index, value) => Value::Branch(*index, Box::new(value.borrowed())),
        }
    }

    /// What kind of value it is, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Double(_) => "a floating-point number",
            Self::Bytes(_) => "bytes",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
            Self::Branch(_, value) => value.kind(),
        }
    }
}

/// Decodes one datum that takes all of `bytes`.
///
/// # Errors
/// `CorruptLog` with the offset if the bytes are not a datum of this type.
pub fn decode_value<'a>(ty: &'a Type, bytes: &'a [u8]) -> Result<Value<'a>> {
    let values_left = bytes.len().saturating_mul(2).saturating_add(MAX_FREE_VALUES);
    let mut reader = ValueReader { cursor: Cursor::new(bytes), values_left };
    let value = reader.value(ty)?;
    match reader.cursor.remaining() {
        0 => Ok(value),
        left => Err(reader.corrupt(format!("invalid Avro datum: {left} bytes follow its end"))),
    }
}

struct ValueReader<'a> {
    cursor: Cursor<'a>,
    values_left: usize,
}

impl<'a> ValueReader<'a> {
    fn corrupt(&self, message: String) -> Error {
        Error::corrupt(message).at_offset(self.cursor.position() as u64)
    }

    fn value(&mut self, ty: &'a Type) -> Result<Value<'a>> {
        self.values_left = self
            .values_left
            .checked_sub(1)
            .ok_or_else(|| self.corrupt("invalid Avro datum: more values than its bytes can hold".to_owned()))?;
        Ok(match ty {
            Type::Null => Value::Null,
            Type::Boolean => match self.cursor.u8()? {
                0 => Value::Boolean(false),
                1 => Value::Boolean(true),
                other => return Err(self.corrupt(format!("invalid Avro boolean: expected 0 or 1, found {other}"))),
            },
            Type::Int | Type::Date | Type::TimeMillis => {
                let value = self.cursor.varint()?;
                i32::try_from(value).map_err(|_| self.corrupt(format!("{value} does not fit into an Avro int")))?;
                Value::Int(value)
            }
            Type::Long
            | Type::TimeMicros
            | Type::TimestampMillis
            | Type::TimestampMicros
            | Type::LocalTimestampMillis
            | Type::LocalTimestampMicros => Value::Int(self.cursor.varint()?),
            Type::Float => Value::Double(f32::from_le_bytes(self.cursor.array()?).into()),
            Type::Double => Value::Double(f64::from_le_bytes(self.cursor.array()?)),
            Type::Fixed(fixed) | Type::Decimal(Decimal { fixed: Some(fixed), .. }) => self.fixed(fixed.size)?,
            Type::Vector(vector) => self.fixed(vector.fixed.size)?,
            Type::Bytes | Type::Decimal(_) => Value::Bytes(Cow::Borrowed(self.bytes()?)),
            Type::String | Type::Uuid => Value::String(Cow::Borrowed(self.string()?)),
            Type::Enum(symbols) => {
                let index = self.cursor.varint()?;
                let symbol = usize::try_from(index).ok().and_then(|index| symbols.symbols.get(index));
                let symbol = symbol.ok_or_else(|| self.corrupt(format!("{} has no symbol {index}", symbols.name)))?;
                Value::String(Cow::Borrowed(symbol))
            }
            Type::Array(items) => Value::Array(self.blocks(|reader| reader.value(items))?),
            Type::Map(values) => {
                let entry = |reader: &mut Self| Ok((Cow::Borrowed(reader.string()?), reader.value(values)?));
                Value::Object(self.blocks(entry)?)
            }
            Type::Record(record) => {
                let member = |field: &'a Field| Ok((Cow::Borrowed(field.name.as_str()), self.value(&field.ty)?));
                Value::Object(record.fields.iter().map(member).collect::<Result<_>>()?)
            }
            Type::Union(branches) => self.union(branches)?,
        })
    }

    fn union(&mut self, branches: &'a [Type]) -> Result<Value<'a>> {
        let index = self.cursor.varint()?;
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let branch =
            branches.get(at).ok_or_else(|| self.corrupt(format!("invalid Avro union: it has no branch {index}")))?;
        Ok(match (self.value(branch)?, is_ambiguous(branches)) {
            (Value::Null, _) => Value::Null,
            (value, true) => Value::Branch(at, Box::new(value)),
            (value, false) => value,
        })
    }

    fn fixed(&mut self, size: usize) -> Result<Value<'a>> {
        self.cursor.take(size).map(|bytes| Value::Bytes(Cow::Borrowed(bytes)))
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.cursor.varint()?;
        let length = usize::try_from(length).map_err(|_| self.corrupt(format!("invalid length {length}")))?;
        self.cursor.take(length)
    }

    fn string(&mut self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        str::from_utf8(bytes)
            .map_err(|error| self.corrupt("invalid Avro string: not UTF-8".to_owned()).caused_by(error))
    }

    /// Reads the items of an array or map. A false count ends where the bytes or the permitted values end.
    fn blocks<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        loop {
            let count = self.cursor.varint()?;
            if count == 0 {
                return Ok(items);
            }
            if count < 0 {
                self.cursor.varint()?;
            }
            for _ in 0..count.unsigned_abs() {
                items.push(item(self)?);
            }
        }
    }
}

/// Returns true if a value does not tell its branch: the union has several besides null.
fn is_ambiguous(branches: &[Type]) -> bool {
    branches.iter().filter(|branch| **branch != Type::Null).count() > 1
}

/// What becomes of members that the schema's record does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownMembers {
    /// They are left out.
    Drop,
    /// They are an error, unless they are null.
    Refuse,
}

/// Appends a value as a datum of `ty`. A member that the value lacks gets the default of its field in the schema, or
/// null.
///
/// # Errors
/// `InvalidArgument`, naming the field, if the value is not one of the type.
pub fn encode_value(value: &Value<'_>, ty: &Type, unknown: UnknownMembers, out: &mut Vec<u8>) -> Result<()> {
    match (ty, value) {
        (Type::Union(branches), value) => return union(value, branches, unknown, out),
        (ty, Value::Branch(_, value)) => return encode_value(value, ty, unknown, out),
        (Type::Null, Value::Null) => {}
        (Type::Boolean, Value::Boolean(value)) => out.push(u8::from(*value)),
        (Type::Enum(symbols), Value::String(symbol)) if symbols.symbols.iter().any(|one| one == symbol) => {
            let index = symbols.symbols.iter().position(|one| one == symbol).unwrap_or_default();
            write_long(index as i64, out);
        }
        (Type::Float, Value::Double(value)) => {
            #[expect(clippy::cast_possible_truncation, reason = "floats are held as doubles")]
            let value = *value as f32;
            out.extend_from_slice(&value.to_le_bytes());
        }
        (Type::Double, Value::Double(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (ty, Value::Int(value)) if accepts(ty, &Value::Int(*value)) => write_long(*value, out),
        (ty, Value::Bytes(bytes)) if fixed_size(ty) == Some(bytes.len()) => out.extend_from_slice(bytes),
        (Type::Bytes | Type::Decimal(Decimal { fixed: None, .. }), Value::Bytes(bytes)) => write_bytes(bytes, out),
        (Type::String | Type::Uuid, Value::String(text)) => write_bytes(text.as_bytes(), out),
        (Type::Array(items), Value::Array(values)) => {
            write_count(values.len(), out);
            values.iter().try_for_each(|value| encode_value(value, items, unknown, out))?;
            end_blocks(values.len(), out);
        }
        (Type::Map(values), Value::Object(members)) => {
            write_count(members.len(), out);
            for (key, value) in members {
                write_bytes(key.as_bytes(), out);
                encode_value(value, values, unknown, out)?;
            }
            end_blocks(members.len(), out);
        }
        (Type::Record(fields), Value::Object(members)) => record(members, fields, unknown, out)?,
        (ty, value) => {
            return Err(Error::invalid_argument(format!("expected {}, found {}", ty.describe(), value.kind())));
        }
    }
    Ok(())
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    // No Vec has more items than an i64 counts.
    write_long(count as i64, out);
}

/// The empty block that ends an array or map; an empty one consists of it alone.
fn end_blocks(count: usize, out: &mut Vec<u8>) {
    if count > 0 {
        out.push(0);
    }
}

fn record(
    members: &[(Cow<'_, str>, Value<'_>)],
    record: &Record,
    unknown: UnknownMembers,
    out: &mut Vec<u8>,
) -> Result<()> {
    if unknown == UnknownMembers::Refuse {
        let is_lost =
            |(name, value): &&(Cow<'_, str>, Value<'_>)| *value != Value::Null && record.field(name).is_none();
        if let Some((name, _)) = members.iter().find(is_lost) {
            let message = format!("the Avro schema of {} has no field {name}", record.name);
            return Err(Error::invalid_argument(message));
        }
    }
    for (at, field) in record.fields.iter().enumerate() {
        // Members mostly have the order of the fields.
        let same_place = members.get(at).filter(|(name, _)| *name == field.name);
        let member = same_place.or_else(|| members.iter().find(|(name, _)| *name == field.name));
        let encoded = match (member, &field.default) {
            (Some((_, value)), _) => encode_value(value, &field.ty, unknown, out),
            (None, Some(default)) => encode_value(&from_json(default), &field.ty, unknown, out),
            (None, None) => encode_value(&Value::Null, &field.ty, unknown, out),
        };
        encoded
            .map_err(|error| Error::new(error.kind(), format!("{}.{}: {}", record.name, field.name, error.text())))?;
    }
    Ok(())
}

fn union(value: &Value<'_>, branches: &[Type], unknown: UnknownMembers, out: &mut Vec<u8>) -> Result<()> {
    let (index, value) = match value {
        Value::Branch(index, value) => (Some(*index), &**value),
        value => (branches.iter().position(|branch| accepts(branch, value)), value),
    };
    let chosen = index.and_then(|index| Some((index, branches.get(index)?)));
    let Some((index, branch)) = chosen else {
        let names: Vec<String> = branches.iter().map(Type::describe).collect();
        return Err(Error::invalid_argument(format!("expected one of {}, found {}", names.join(", "), value.kind())));
    };
    write_count(index, out);
    encode_value(value, branch, unknown, out)
}

/// Returns true if a value of this kind can be a value of the type; the items of arrays and objects are not looked at.
fn accepts(ty: &Type, value: &Value<'_>) -> bool {
    match value {
        Value::Null => *ty == Type::Null,
        Value::Boolean(_) => *ty == Type::Boolean,
        Value::Int(value) => match ty {
            Type::Int | Type::Date | Type::TimeMillis => i32::try_from(*value).is_ok(),
            Type::Long
            | Type::TimeMicros
            | Type::TimestampMillis
            | Type::TimestampMicros
            | Type::LocalTimestampMillis
            | Type::LocalTimestampMicros => true,
            _ => false,
        },
        Value::Double(_) => matches!(ty, Type::Float | Type::Double),
        Value::Bytes(bytes) => match fixed_size(ty) {
            Some(size) => size == bytes.len(),
            None => matches!(ty, Type::Bytes | Type::Decimal(_)),
        },
        Value::String(text) => match ty {
            Type::Enum(symbols) => symbols.symbols.iter().any(|symbol| symbol == text),
            _ => matches!(ty, Type::String | Type::Uuid),
        },
        Value::Array(_) => matches!(ty, Type::Array(_)),
        Value::Object(_) => matches!(ty, Type::Map(_) | Type::Record(_)),
        Value::Branch(_, value) => accepts(ty, value),
    }
}

fn fixed_size(ty: &Type) -> Option<usize> {
    match ty {
        Type::Fixed(fixed) | Type::Decimal(Decimal { fixed: Some(fixed), .. }) => Some(fixed.size),
        Type::Vector(vector) => Some(vector.fixed.size),
        _ => None,
    }
}

/// The default of a field. Avro writes bytes as a string of as many characters; Hudi's metadata has no such default.
fn from_json(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Double(number.as_f64().unwrap_or(f64::NAN)), Value::Int)
        }
        Json::String(text) => Value::String(Cow::Borrowed(text)),
        Json::Array(items) => Value::Array(items.iter().map(from_json).collect()),
        Json::Object(members) => Value::Object(
            members.iter().map(|(name, value)| (Cow::Borrowed(name.as_str()), from_json(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use mortice_base::error::ErrorKind;

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
        {"name":"flag","type":"boolean"},{"name":"i","type":["int","null"],"default":1},{"name":"l","type":"long"},
        {"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"b","type":"bytes"},
        {"name":"x","type":{"type":"fixed","name":"x","size":2}},
        {"name":"e","type":{"type":"enum","name":"e","symbols":["A","B"]}},
        {"name":"m","type":{"type":"map","values":{"type":"array","items":["null","string"]}}},
        {"name":"u","type":["null","int","long","bytes","x"]},
        {"name":"o","type":["null",{"type":"record","name":"o","fields":[{"name":"n","type":"null"}]}],"default":null}]}"#;

    fn members(members: Vec<(&'static str, Value<'static>)>) -> Value<'static> {
        Value::Object(members.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect())
    }

    fn text(text: &'static str) -> Value<'static> {
        Value::String(Cow::Borrowed(text))
    }

    fn sample() -> Vec<(&'static str, Value<'static>)> {
        vec![
            ("flag", Value::Boolean(true)),
            ("i", Value::Int(-5)),
            ("l", Value::Int(i64::MIN)),
            ("f", Value::Double(0.5)),
            ("d", Value::Double(-1e300)),
            ("b", Value::Bytes(Cow::Borrowed(b"ab"))),
            ("x", Value::Bytes(Cow::Borrowed(b"cd"))),
            ("e", text("B")),
            ("m", members(vec![("z", Value::Array(vec![Value::Null, text("é")])), ("a", Value::Array(vec![]))])),
            ("u", Value::Branch(2, Box::new(Value::Int(7)))),
            ("o", members(vec![("n", Value::Null)])),
        ]
    }

    fn encoded(value: &Value<'_>, unknown: UnknownMembers) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        encode_value(value, Schema::parse(SCHEMA).unwrap().root(), unknown, &mut out)?;
        Ok(out)
    }

    #[test]
    fn a_decoded_datum_is_encoded_to_the_same_bytes() {
        let value = members(sample());
        let bytes = encoded(&value, UnknownMembers::Refuse).unwrap();
        let schema = Schema::parse(SCHEMA).unwrap();
        let again = decode_value(schema.root(), &bytes).unwrap();
        assert_eq!(again, value);
        assert_eq!(again.borrowed().into_owned(), value);
        assert_eq!(encoded(&again, UnknownMembers::Refuse).unwrap(), bytes);
    }

    #[test]
    fn missing_members_get_the_default_of_the_schema() {
        let mut missing = sample();
        missing.retain(|(name, _)| !["i", "o", "u"].contains(name));
        let bytes = encoded(&members(missing.clone()), UnknownMembers::Refuse).unwrap();
        let schema = Schema::parse(SCHEMA).unwrap();
        let Value::Object(found) = decode_value(schema.root(), &bytes).unwrap() else { panic!() };
        assert_eq!([&found[1].1, &found[9].1, &found[10].1], [&Value::Int(1), &Value::Null, &Value::Null]);
        missing.remove(0);
        let error = encoded(&members(missing), UnknownMembers::Refuse).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("r.flag: expected boolean, found null"), "{error}");
    }

    #[test]
    fn members_without_a_field_are_dropped_or_refused() {
        let mut more = sample();
        more.push(("new", text("x")));
        let error = encoded(&members(more.clone()), UnknownMembers::Refuse).unwrap_err();
        assert!(error.to_string().contains("has no field new"), "{error}");
        let dropped = encoded(&members(more), UnknownMembers::Drop).unwrap();
        assert_eq!(dropped, encoded(&members(sample()), UnknownMembers::Refuse).unwrap());
    }

    #[test]
    fn values_of_another_type_are_refused() {
        for (at, wrong) in [
            (1, Value::Int(1 << 40)),
            (2, text("1")),
            (6, Value::Bytes(Cow::Borrowed(b"abc"))),
            (7, text("C")),
            (8, Value::Array(vec![])),
            (9, text("t")),
            (9, Value::Branch(9, Box::new(Value::Int(1)))),
        ] {
            let mut values = sample();
            values[at].1 = wrong;
            assert_eq!(
                encoded(&members(values), UnknownMembers::Refuse).unwrap_err().kind(),
                ErrorKind::InvalidArgument
            );
        }
    }

    #[test]
    fn no_damage_makes_it_panic() {
        let bytes = encoded(&members(sample()), UnknownMembers::Refuse).unwrap();
        let schema = Schema::parse(SCHEMA).unwrap();
        for at in 0..bytes.len() {
            assert_eq!(decode_value(schema.root(), &bytes[..at]).unwrap_err().kind(), ErrorKind::CorruptLog);
            for byte in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                let _ = decode_value(schema.root(), &damaged);
            }
        }
    }

    #[test]
    fn a_false_count_of_values_without_bytes_ends() {
        let schema = Schema::parse(r#"{"type":"array","items":"null"}"#).unwrap();
        let mut bytes = Vec::new();
        write_long(i64::MAX, &mut bytes);
        assert_eq!(decode_value(schema.root(), &bytes).unwrap_err().kind(), ErrorKind::CorruptLog);
    }
}
