//! JSON as Hudi's Jackson reads and writes it (`JsonUtils`, `ObjectMapper.writerWithDefaultPrettyPrinter`).
//!
//! Members keep their order. Integers beyond 64 bits are read as floating-point numbers.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use mortice_avro::{Value, write_double};
use mortice_base::error::{Error, Result};

/// Parses JSON text. Nesting beyond 128 levels is an error.
pub(super) fn parse(bytes: &[u8]) -> Result<Value<'_>> {
    let invalid = |error: serde_json::Error| Error::invalid_table("metadata is not valid JSON").caused_by(error);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Tree.deserialize(&mut deserializer).map_err(invalid)?;
    deserializer.end().map_err(invalid)?;
    Ok(value)
}

struct Tree;

impl<'a> DeserializeSeed<'a> for Tree {
    type Value = Value<'a>;

    fn deserialize<D: serde::Deserializer<'a>>(self, deserializer: D) -> Result<Value<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Tree {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'a>, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'a>, E> {
        Ok(Value::Int(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "integers beyond 64 bits become floating-point numbers")]
    fn visit_u64<E>(self, value: u64) -> Result<Value<'a>, E> {
        Ok(i64::try_from(value).map_or(Value::Double(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'a>, E> {
        Ok(Value::Double(value))
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<Value<'a>, E> {
        Ok(Value::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'a>, E> {
        Ok(Value::String(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<Value<'a>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Tree)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<Value<'a>, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            members.push((key, entries.next_value_seed(Tree)?));
        }
        Ok(Value::Object(members))
    }
}

/// A key, which borrows from the text if it has no escapes.
struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Cow<'a, str>;

    fn deserialize<D: serde::Deserializer<'a>>(self, deserializer: D) -> Result<Cow<'a, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON key")
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

/// The text of a value, laid out as by Jackson's `DefaultPrettyPrinter`: two spaces a level, `" : "` between key and
/// value, the items of an array on one line.
pub(super) fn write(value: &Value<'_>) -> Vec<u8> {
    let mut out = String::new();
    write_value(value, 0, &mut out);
    out.into_bytes()
}

fn write_value(value: &Value<'_>, level: usize, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Double(value) if value.is_finite() => write_double(*value, out),
        // Jackson writes what JSON has no number for as a string.
        Value::Double(value) => {
            out.push('"');
            write_double(*value, out);
            out.push('"');
        }
        Value::Bytes(bytes) => write_string(&STANDARD.encode(bytes), out),
        Value::String(text) => write_string(text, out),
        Value::Branch(_, value) => write_value(value, level, out),
        Value::Array(items) => {
            out.push_str("[ ");
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_value(item, level, out);
            }
            out.push_str(if items.is_empty() { "]" } else { " ]" });
        }
        Value::Object(members) => {
            out.push('{');
            let inner = level.saturating_add(1);
            for (at, (key, member)) in members.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                new_line(inner, out);
                write_string(key, out);
                out.push_str(" : ");
                write_value(member, inner, out);
            }
            if members.is_empty() {
                out.push(' ');
            } else {
                new_line(level, out);
            }
            out.push('}');
        }
    }
}

fn new_line(level: usize, out: &mut String) {
    out.push('\n');
    (0..level).for_each(|_| out.push_str("  "));
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => out.push_str(&format!("\\u{:04X}", u32::from(control))),
            plain => out.push(plain),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jackson_writes_is_written_again() {
        let text = "{\n  \"z\" : [ ],\n  \"a\" : { },\n  \"nested\" : [ {\n    \"x\" : 1.0E10,\n    \"y\" : [ 1, -2 ]\n  }, \
                    null ],\n  \"é\" : \"\\\"\\\\\\n\\u0001\\u001F😀/\",\n  \"t\" : true,\n  \"d\" : 0.5\n}";
        assert_eq!(String::from_utf8(write(&parse(text.as_bytes()).unwrap())).unwrap(), text);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for wrong in ["", "{", "{\"a\":1}x", "{a:1}", "\u{feff}{}", "{\"a\":01}"] {
            assert_eq!(parse(wrong.as_bytes()).unwrap_err().kind(), mortice_base::ErrorKind::InvalidTable, "{wrong}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(parse(deep.as_bytes()).unwrap_err().kind(), mortice_base::ErrorKind::InvalidTable);
    }
}
